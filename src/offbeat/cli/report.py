"""``offbeat report``: the tables and pictures of a study in one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from offbeat.cli.output import stdout
from offbeat.cli.selection_options import IncludeScenarios, ResultDirectory, Rule
from offbeat.errors import BadInput


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
    from rich.console import Console
    from rich.progress import Progress

    from offbeat.report.html import write_report
    from offbeat.results.read import read_study
    from offbeat.select.choose import select

    if no_pictures and pictures is not None:
        raise BadInput("--pictures and --no-pictures contradict each other; give one of them.")
    results = read_study(directory)
    selection = select(results, rule, include_scenarios=include_scenarios)
    folder = None if no_pictures else pictures or directory / "pictures"
    console = stdout()
    with Progress(
        console=Console(stderr=True), transient=True, disable=not Console(stderr=True).is_terminal
    ) as bar:
        task = bar.add_task("drawing pictures", total=None)
        path = write_report(
            results,
            selection,
            directory,
            output=output,
            pictures=folder,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    console.print(f"report: {path}", markup=False)
    if folder is not None:
        console.print(f"pictures: {folder}", markup=False)
