"""``offbeat async report``: the iterations of a traced program, and how far its processes are out of step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.cli.completion import one_of
from offbeat.cli.output import AllNotes, Json, check_outputs, print_notes, prints_text, stdout, write_json
from offbeat.cli.program_options import Anchor
from offbeat.cli.trace_options import Directory

if TYPE_CHECKING:
    from offbeat.programs.iterations.report import Report


def command(
    directory: Directory,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="HTML file with pictures to write as well.", metavar="FILE"),
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option(help="With --output: write all pictures to this folder, too.", metavar="FOLDER"),
    ] = None,
    iterations: Annotated[
        str,
        typer.Option(
            "--iterations",
            help="How to find the iterations: marks (MPI_Pcontrol with level 2) or sites (call sites that"
            " repeat). [default: marks, if there are any]",
            show_default=False,
            metavar="WAY",
            autocompletion=one_of("marks", "sites"),
        ),
    ] = "",
    anchor: Anchor = "",
    domain_size: Annotated[
        int,
        typer.Option(
            "--domain-size",
            min=0,
            help="Size of a memory domain: number of neighbouring ranks of a node; 0: all ranks of a node.",
            metavar="N",
            show_default=False,
        ),
    ] = 0,
    domains: Annotated[
        str, typer.Option(help="The ranks of each memory domain, such as 0-17/18-35.", metavar="RANKS")
    ] = "",
    json: Json = "",
    all_notes: AllNotes = False,
) -> None:
    """Show the iterations of a traced program: their speed against lockstep, waiting, and idle waves."""
    from offbeat.base.errors import BadInput
    from offbeat.base.progress_bar import ProgressBar
    from offbeat.programs.iterations.document import report_document
    from offbeat.programs.iterations.report import analyse
    from offbeat.trace.files.trace_folder import open_trace

    if pictures is not None and output is None:
        raise BadInput("--pictures is for the page: give its file with --output")
    check_outputs(json, output)
    trace = open_trace(directory)
    with ProgressBar("reading the iterations", counts=False) as bar:

        def on_progress(count: int, total: int) -> None:
            bar.update(done_count=count, total=total)
            bar.print_periodically(f"reading the iterations: {count / total:.0%}")

        report = analyse(
            trace,
            way=iterations,
            anchor=anchor,
            domain_size=domain_size,
            domains=domains,
            on_progress=on_progress,
        )
    if prints_text(json):
        _print(report, all_notes=all_notes)
    write_json(json, lambda: report_document(report))
    if output is not None:
        _write(report, output, pictures, is_printed=prints_text(json))


def _print(report: Report, *, all_notes: bool) -> None:
    from offbeat.programs.iterations.summary import head, sentences, tables

    console = stdout()
    console.print(*head(report), sep="\n", markup=False)
    print_notes(console, report.notes, everything=all_notes)
    for table in tables(report):
        console.print()
        console.print(table.fit(console.width))
        if table.notes:
            console.print(*table.notes, sep="\n", markup=False)
    if lines := sentences(report):
        console.print()
        console.print(*lines, sep="\n", markup=False)


def _write(report: Report, output: Path, pictures: Path | None, *, is_printed: bool) -> None:
    from offbeat.presentation.pages.iterations import write_page  # importing matplotlib is slow

    write_page(report, output, pictures)
    if is_printed:
        stdout().print(f"\nreport: {output}", markup=False)
        if pictures is not None:
            stdout().print(f"pictures: {pictures}", markup=False)
