"""``offbeat trace summary``: where the time in collectives goes, and who is late."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from offbeat.cli.trace_options import Directory, summed_up
from offbeat.whole_file import refused, write_whole_file

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Drawn

    from offbeat.trace.summary import Summary
    from offbeat.trace.tables import Table

MOST_ROWS = 20
"""Rows of each table unless --rows says otherwise."""

PICTURES = 5
"""So many rows, those whose operation takes the most time, get a picture."""

_WIDE = 250


def command(
    directory: Directory,
    rows: Annotated[
        int, typer.Option(min=0, help="So many rows, those that take the most time; 0: all.")
    ] = MOST_ROWS,
    apart: Annotated[
        bool, typer.Option("--apart", help="Show communicators that are alike one by one.")
    ] = False,
    json: Annotated[
        Path | None, typer.Option("--json", help="File to write every number to as well.", metavar="FILE")
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option(
            help="Folder for pictures of the mean delay by rank, as PNG, PDF and SVG.", metavar="FOLDER"
        ),
    ] = None,
) -> None:
    """Show where the time in collectives goes: waiting or working, who is late, what to tune first."""
    import msgspec

    from offbeat.trace.advice import sentence
    from offbeat.trace.read import open_trace
    from offbeat.trace.summary import as_plain
    from offbeat.trace.tables import head, tables

    summary = summed_up(open_trace(directory))
    console = _console()
    for line in head(summary):
        console.print(line, markup=False)
    for words in summary.words:
        console.print(f"note: {words}", markup=False)
    for table in tables(summary, rows, apart=apart):
        if table.rows:
            console.print()
            console.print(_fitting(table, console))
            for note in table.notes:
                console.print(note, markup=False)
    console.print()
    console.print(sentence(summary), markup=False)
    if json is not None:
        _write(json, msgspec.json.encode(as_plain(summary)) + b"\n")
    if pictures is not None:
        _draw(summary, pictures)
        console.print(f"pictures: {pictures}", markup=False)


def _console() -> Console:
    """Standard output; what is no terminal has no width to fit."""
    from rich.console import Console

    wide = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(highlight=False, soft_wrap=True, width=_WIDE if wide else None)


def _draw(summary: Summary, folder: Path) -> None:
    from offbeat.report.pictures import write as write_picture  # loading matplotlib takes its time
    from offbeat.trace.choice import with_arrivals
    from offbeat.trace.draw import delay_figure
    from offbeat.trace.row_words import short_name

    drawn = with_arrivals(summary.families)
    for place, row in enumerate(sorted(drawn, key=lambda row: -row.operation_s)[:PICTURES], 1):
        write_picture(delay_figure(summary, row), folder, f"{place}-{short_name(row)}-delay")


def _fitting(table: Table, console: Console) -> Drawn:
    """A table, in short where all of it does not fit."""
    whole = _drawn(table)
    wanted = console.measure(whole, options=console.options.update(width=10_000)).maximum
    return whole if wanted <= console.width else _drawn(table.in_short())


def _drawn(table: Table) -> Drawn:
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(title=table.title, title_justify="left", box=None, pad_edge=False)
    for number, heading in enumerate(table.headings):
        is_text = number in table.texts
        justify: Literal["left", "right"] = "left" if is_text else "right"
        drawn.add_column(heading, justify=justify, overflow="fold", no_wrap=not is_text)
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row))  # names may hold brackets, which are no markup here
    return drawn


def _write(path: Path, content: bytes) -> None:
    try:
        write_whole_file(path, content)
    except OSError as error:
        raise refused(path, error) from error
