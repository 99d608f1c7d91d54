"""``offbeat trace summary``: where the time in collectives goes, and who is late."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.cli.output import AllNotes, Json, print_notes, prints_text, stdout, write_json
from offbeat.cli.trace_options import Directory, summed_up

if TYPE_CHECKING:
    from offbeat.table import Fitted
    from offbeat.trace.summary import Summary
    from offbeat.trace.tables import Table

MOST_ROWS = 20
"""Rows of each table unless --rows says otherwise."""

PICTURES = 5
"""So many rows, those whose operation takes the most time, get a picture."""


def command(
    directory: Directory,
    rows: Annotated[
        int, typer.Option(min=0, help="So many rows, those that take the most time; 0: all.")
    ] = MOST_ROWS,
    apart: Annotated[
        bool, typer.Option("--apart", help="Show communicators that are alike one by one.")
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
    """Show where the time in collectives goes: waiting or working, who is late, what to tune first."""
    import msgspec

    from offbeat.trace.read import open_trace
    from offbeat.trace.summary import as_plain

    summary = summed_up(open_trace(directory))
    if prints_text(json):
        _print(summary, rows, apart=apart, all_notes=all_notes)
    write_json(json, lambda: msgspec.json.encode(as_plain(summary)) + b"\n")
    if pictures is not None:
        _draw(summary, pictures)
        if prints_text(json):
            stdout().print(f"pictures: {pictures}", markup=False)


def _print(summary: Summary, rows: int, *, apart: bool, all_notes: bool) -> None:
    from offbeat.trace.advice import sentence
    from offbeat.trace.tables import head, tables

    console = stdout()
    for line in head(summary):
        console.print(line, markup=False)
    print_notes(console, summary.words, everything=all_notes)
    for table in tables(summary, rows, apart=apart):
        if table.rows:
            console.print()
            console.print(_fitting(table, console.width))
            for note in table.notes:
                console.print(note, markup=False)
    console.print()
    console.print(sentence(summary), markup=False)


def _draw(summary: Summary, folder: Path) -> None:
    from offbeat.report.pictures import write as write_picture  # loading matplotlib takes its time
    from offbeat.trace.choice import with_arrivals
    from offbeat.trace.draw import delay_figure
    from offbeat.trace.row_words import short_name

    drawn = with_arrivals(summary.families)
    for place, row in enumerate(sorted(drawn, key=lambda row: -row.operation_s)[:PICTURES], 1):
        write_picture(delay_figure(summary, row), folder, f"{place}-{short_name(row)}-delay")


def _fitting(table: Table, width: int) -> Fitted:
    """A table, in short where all of it does not fit."""
    whole = _drawn(table)
    return whole if whole.natural_width <= width else _drawn(table.in_short())


def _drawn(table: Table) -> Fitted:
    from offbeat.table import Fitted

    return Fitted(table.headings, table.rows, texts=table.texts, title=table.title)
