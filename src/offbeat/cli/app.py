"""The ``offbeat`` command: registers the verbs and turns failures into sentences and exit statuses."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

import offbeat
from offbeat.cli.ending import ending
from offbeat.cli.memory import settle_memory
from offbeat.cli.surroundings import check_names, settle

VERBS = (
    "doctor",
    "init",
    "pattern",
    "platform",
    "algorithm",
    "clock",
    "trace",
    "run",
    "status",
    "results",
    "select",
    "export",
    "verify",
    "predict",
    "try",
    "report",
    "script",
    "reproduce",
    "schema",
)
"""The verbs in the order of ``--help``; each is a module beside this one with a ``command`` or an ``app``."""

_MODULES = {"try": "trial"}
"""The modules of verbs that cannot be the names of one in Python."""


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"offbeat {offbeat.__version__}")
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
        module = importlib.import_module(f"offbeat.cli.{_MODULES.get(verb, verb)}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=verb)
        else:
            app.command(name=verb, context_settings=getattr(module, "CONTEXT", None))(module.command)
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
    settle()
    with ending():
        settle_memory()
        check_names(sys.argv[1:])
        build(_asked_for(sys.argv))()
