"""``offbeat export``: write the tuning files that make the MPI library use what was selected."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from offbeat.cli.completion import result_directories
from offbeat.cli.output import AllNotes, print_notes
from offbeat.cli.selection_options import IncludeScenarios, Rule
from offbeat.units import counted


def command(
    directory: Annotated[
        Path,
        typer.Argument(
            help="The result directory of a study.", metavar="DIR", autocompletion=result_directories
        ),
    ],
    rule: Rule = "average",
    include_scenarios: IncludeScenarios = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The folder to write into; DIR/tuning if not given."),
    ] = None,
    format_version: Annotated[
        int | None,
        typer.Option(
            "--format",
            min=1,
            max=2,
            help="Open MPI's file format: 1, or 2 for 5.0.7 and later, which also holds limits of "
            "requests at once.",
        ),
    ] = None,
    mpi: Annotated[
        str,
        typer.Option(
            "--mpi",
            help="The MPI installation to write for; if not given, the measured one, or the first one of the"
            " family that was simulated.",
            metavar="PREFIX",
        ),
    ] = "",
    all_notes: AllNotes = False,
) -> None:
    """Write tuning files that make the measured MPI library use the selected algorithms."""
    from rich.console import Console

    from offbeat.results.read import read_study
    from offbeat.select.choose import choose
    from offbeat.tuning.manifest import write_manifest
    from offbeat.tuning.write import plan_for, write

    results = read_study(directory)
    choices = choose(results, rule, bootstrap=0, include_scenarios=include_scenarios)
    made, installation = plan_for(results, choices, mpi)
    folder = output or directory / "tuning"
    files = write(made, installation, folder, format_version)
    write_manifest(files, rule, installation, folder)
    console = Console(highlight=False, soft_wrap=True)
    collectives = ", ".join(dict.fromkeys(rule.collective for rule in files.rules))
    console.print(
        f"{counted(len(files.rules), 'measured cell')} of {collectives}, for {installation.name}:",
        markup=False,
    )
    for path in files.files:
        console.print(f"  {path}", markup=False)
    console.print("Use them with one of", markup=False)
    for line in files.usage:
        console.print(f"  {line}", markup=False)
    print_notes(console, files.notes, everything=all_notes, word="Note")
