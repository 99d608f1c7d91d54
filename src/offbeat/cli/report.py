"""``offbeat report``: the tables and pictures of a study in one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from offbeat.base.errors import BadInput
from offbeat.cli.output import stdout
from offbeat.cli.selection_options import IncludeScenarios, ResultDirectory, Rule


def command(
    directory: ResultDirectory,
    rule: Rule = "average",
    include_scenarios: IncludeScenarios = False,
    output: Annotated[
        Path | None,
        typer.Option(help="The HTML file to write; DIR/report.html if not given.", metavar="FILE"),
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option(
            help="The folder for the pictures as PNG, PDF and SVG; DIR/pictures if not given.",
            metavar="FOLDER",
        ),
    ] = None,
    no_pictures: Annotated[
        bool, typer.Option("--no-pictures", help="Write only the HTML file, without pictures.")
    ] = False,
) -> None:
    """Write the report: one HTML file that opens without a network, and its pictures as files."""
    from offbeat.api.results import Results

    if no_pictures and pictures is not None:
        raise BadInput("--pictures and --no-pictures contradict each other; give one of them.")
    folder = None if no_pictures else pictures or directory / "pictures"
    selection = Results.open(directory).select(rule, include_scenarios=include_scenarios)
    path = selection.report(output, pictures=folder)
    console = stdout()
    console.print(f"report: {path}", markup=False)
    if folder is not None:
        console.print(f"pictures: {folder}", markup=False)
