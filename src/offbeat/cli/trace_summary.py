"""``offbeat trace summary``: where the time in collectives goes, and which ranks are late."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.cli.output import AllNotes, Json, print_notes, prints_text, stdout, write_json
from offbeat.cli.trace_options import Directory, summary_of_trace

if TYPE_CHECKING:
    from offbeat.trace.summary import Summary

MOST_ROWS = 20
"""Default of --rows."""

PICTURES = 5
"""Number of rows with a picture, those with the most operation time."""


def command(
    directory: Directory,
    rows: Annotated[
        int, typer.Option(min=0, help="Number of rows, those that take the most time; 0: all.")
    ] = MOST_ROWS,
    apart: Annotated[
        bool, typer.Option("--apart", help="Show the communicators of a group separately.")
    ] = False,
    json: Json = "",
    all_notes: AllNotes = False,
    pictures: Annotated[
        Path | None,
        typer.Option(
            help="Folder for pictures of the mean delay by rank, as PNG, PDF and SVG.", metavar="FOLDER"
        ),
    ] = None,
) -> None:
    """Show where the time in collectives goes: waiting or operation, late ranks, what to tune first."""
    import msgspec

    from offbeat.trace.read import open_trace
    from offbeat.trace.summary import as_plain

    summary = summary_of_trace(open_trace(directory))
    if prints_text(json):
        _print(summary, rows, apart=apart, all_notes=all_notes)
    write_json(json, lambda: msgspec.json.encode(as_plain(summary)) + b"\n")
    if pictures is not None:
        _draw(summary, pictures)
        if prints_text(json):
            stdout().print(f"pictures: {pictures}", markup=False)


def _print(summary: Summary, rows: int, *, apart: bool, all_notes: bool) -> None:
    from offbeat.trace.recommendation import sentence
    from offbeat.trace.tables import head, tables

    console = stdout()
    for line in head(summary):
        console.print(line, markup=False)
    print_notes(console, summary.notes, everything=all_notes)
    for table in tables(summary, rows, apart=apart):
        if table.rows:
            console.print()
            console.print(table.fitted(console.width))
            for note in table.notes:
                console.print(note, markup=False)
    console.print()
    console.print(sentence(summary), markup=False)


def _draw(summary: Summary, folder: Path) -> None:
    from offbeat.drawing.pictures import write_pictures  # importing matplotlib is slow
    from offbeat.trace.call_site_stats import file_stem_of
    from offbeat.trace.draw import delay_figure
    from offbeat.trace.recommendation import with_arrivals

    drawn = with_arrivals(summary.group_rows)
    for place, row in enumerate(sorted(drawn, key=lambda row: -row.operation_s)[:PICTURES], 1):
        write_pictures(delay_figure(summary, row), folder, f"{place}-{file_stem_of(row)}-delay")
