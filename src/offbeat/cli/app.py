"""The ``offbeat`` command: registers the verbs and turns failures into sentences and exit statuses."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer
from rich.console import Console

from offbeat.errors import OffbeatError

VERBS = (
    "doctor",
    "init",
    "pattern",
    "run",
    "status",
    "results",
    "select",
    "export",
    "verify",
    "report",
    "script",
    "schema",
)
"""The verbs in the order of ``--help``; each is a module beside this one with a ``command`` or an ``app``."""


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"offbeat {version('offbeat')}")
        raise typer.Exit


def build(verbs: Sequence[str] = VERBS) -> typer.Typer:
    """Put verbs together; a module offers ``command`` (one verb) or ``app`` (a verb with sub-verbs)."""
    app = typer.Typer(
        name="offbeat",
        help="Tune MPI collectives for processes that do not arrive together.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
    )
    app.callback()(_options)
    for verb in verbs:
        module = importlib.import_module(f"offbeat.cli.{verb}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=verb)
        else:
            app.command(name=verb)(module.command)
    return app


def _options(
    show_version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and end.", is_eager=True, callback=_show_version),
    ] = False,
) -> None:
    """Tune MPI collectives for processes that do not arrive together."""


def _asked_for(argv: Sequence[str]) -> Sequence[str]:
    """The verb of a command line alone: loading the others, with plots and statistics, takes a second."""
    return [argv[1]] if len(argv) > 1 and argv[1] in VERBS else VERBS


def main() -> None:
    """Entry point of the ``offbeat`` script: exit status 2 for bad input, 1 for a failed run."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without µ and × still gets everything else
    try:
        try:
            build(_asked_for(sys.argv))()
        finally:
            sys.stdout.flush()  # here, where a reader that has left is still noticed
    except OffbeatError as error:
        text = str(error)
        said = f"offbeat: {text}" if "\n" not in text else f"offbeat: this cannot be used:\n{text}"
        Console(stderr=True, highlight=False, soft_wrap=True).print(said, markup=False)
        sys.exit(error.exit_status)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        print("offbeat: interrupted; what was measured is kept.", file=sys.stderr)
        sys.exit(130)
