"""The ``offbeat`` command: loads the requested verb and turns failures into exit statuses.

Only the module of that verb is imported, and verbs import their dependencies inside their functions, so that
``--help``, ``--version`` and shell completion are fast.
"""

from __future__ import annotations

import importlib
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import offbeat
from offbeat.cli.process import adapt_to_memory_limit, check_encoding, repair_streams, reporting_errors

VERBS = {
    "doctor": "Find MPI installations, build the native parts, and try one.",
    "init": "Write a commented study file that can be run as it is.",
    "pattern": "Make, show and check arrival patterns.",
    "platform": "List, show, write and calibrate simulated machines.",
    "algorithm": "List, draw and prove the algorithms of the simulator.",
    "program": "Describe, simulate and run programs of many iterations.",
    "clock": "Check how well processes start together on this machine.",
    "trace": "Record a program's collectives; see where the time goes.",
    "async": "See what processes gain or lose by running out of step.",
    "tune": "Make a program faster: trace, measure, tune and try it.",
    "run": "Measure or simulate a study, or resume it.",
    "status": "Show the progress of a study.",
    "results": "Exchange results with other tools.",
    "select": "Choose algorithms that stay good across arrival patterns.",
    "export": "Write tuning files for the MPI library.",
    "verify": "Verify that the library obeys its tuning files.",
    "site": "Keep a centre's measurements; write one tuning file.",
    "predict": "Predict a traced program's run time with each algorithm.",
    "try": "Run a program with the default and two choices, in turn.",
    "compare": "Show what changed between two studies or two trials.",
    "report": "Write tables and pictures of a study as one HTML file.",
    "script": "Write a job script for Slurm or PBS.",
    "partitioned": "Predict gains of partitioned messages; check MPI libraries.",
    "reproduce": "Reproduce figures of three papers and check their claims.",
    "schema": "Print the JSON Schema of study files.",
}
"""The verbs in the order of ``--help``, with their line in it.

Each is a module beside this one with a ``command`` (one verb) or an ``app`` (a verb with sub-verbs).
"""

_MODULES = {"try": "trial", "async": "asynchronous"}
"""Modules of verbs whose names are Python keywords."""


def load(verb: str) -> Any:
    """The command of a verb; imports its module."""
    module = importlib.import_module(f"offbeat.cli.{_MODULES.get(verb, verb)}")
    if hasattr(module, "app"):
        group = typer.main.get_group(module.app)
        group.name = verb
        return group
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name=verb, context_settings=getattr(module, "CONTEXT", None))(module.command)
    return typer.main.get_command(single)


class Verbs(TyperGroup):
    """The group of all verbs, which imports the module of a verb when that verb is to run."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all verbs."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A verb as listed by ``--help`` and completion: its name and its line, without importing it."""
        return TyperCommand(cmd_name, help=VERBS[cmd_name]) if cmd_name in VERBS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """The verb to run; for unknown names the error suggests similar verbs."""
        if args and args[0] in VERBS:
            from offbeat.cli.option_values import check_option_values

            verb = load(args[0])
            check_option_values(verb, args[1:])
            return args[0], verb, args[1:]
        self.commands = {verb: self.get_command(ctx, verb) for verb in VERBS}  # for the suggestions
        return super().resolve_command(ctx, args)


def build() -> typer.Typer:
    """The whole command line."""
    app = typer.Typer(
        name="offbeat",
        cls=Verbs,
        help="Tune MPI collectives for processes that do not arrive together.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # loading rich's Markdown takes as long as everything else of --help
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    return app


def _show_version(is_requested: bool) -> None:
    if is_requested:
        print(f"offbeat {offbeat.__version__}")
        raise typer.Exit


def _options(
    show_version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_show_version),
    ] = False,
) -> None:
    """Tune MPI collectives for processes that do not arrive together."""


def main() -> None:
    """Entry point of the ``offbeat`` script: exit status 2 for bad input, 1 for a failed run."""
    repair_streams()
    with reporting_errors():
        adapt_to_memory_limit()
        check_encoding(sys.argv[1:])
        build()()
