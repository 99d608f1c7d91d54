"""``offbeat trace report``: write the summary of a trace as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from offbeat.cli.trace_options import Directory, summary_of_trace


def command(
    directory: Directory,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The HTML file to write. [default: beside DIR]", metavar="FILE"),
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option(help="Also write all pictures to this folder, as PNG, PDF and SVG.", metavar="FOLDER"),
    ] = None,
) -> None:
    """Write the summary with pictures as one self-contained HTML file."""
    from rich.console import Console

    from offbeat.trace.arrivals import samples
    from offbeat.trace.page import drawn_rows, write_page  # importing matplotlib is slow
    from offbeat.trace.progress import ReadProgress
    from offbeat.trace.read import open_trace

    trace = open_trace(directory)
    summary = summary_of_trace(trace)
    with ReadProgress("reading arrivals") as progress:
        sampled = samples(trace, drawn_rows(summary), on_progress=progress.show_records)
    path = output or directory.absolute().with_name(f"{directory.absolute().name}.html")
    write_page(trace, summary, sampled, path, pictures)
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"report: {path}", markup=False)
    if pictures is not None:
        console.print(f"pictures: {pictures}", markup=False)
