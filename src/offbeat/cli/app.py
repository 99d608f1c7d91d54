"""The ``offbeat`` command: registers the verbs and turns failures into sentences and exit statuses."""

from __future__ import annotations

import importlib
import sys

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


def build() -> typer.Typer:
    """Put the verbs together; each module offers ``command`` (one verb) or ``app`` (a verb with sub-
    verbs)."""
    app = typer.Typer(
        name="offbeat",
        help="Tune MPI collectives for processes that do not arrive together.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
    )
    for verb in VERBS:
        module = importlib.import_module(f"offbeat.cli.{verb}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=verb)
        else:
            app.command(name=verb)(module.command)
    return app


def main() -> None:
    """Entry point of the ``offbeat`` script: exit status 2 for bad input, 1 for a failed run."""
    try:
        build()()
    except OffbeatError as error:
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"offbeat: {error}", markup=False)
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        print("offbeat: interrupted; what was measured is kept.", file=sys.stderr)
        sys.exit(130)
