"""``offbeat trace export``: write a trace in the format of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from offbeat.cli.trace_options import Directory
from offbeat.errors import BadInput


def command(
    directory: Directory,
    to: Annotated[str, typer.Option(help="perfetto, otf2, parquet or csv.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write, or for otf2 a new folder. [default: beside DIR]"),
    ] = None,
    ranks: Annotated[str, typer.Option(help="Only these ranks, such as 0-3,8.")] = "",
) -> None:
    """Write the trace for other tools; Perfetto's JSON opens at https://ui.perfetto.dev."""
    from rich.console import Console

    from offbeat.trace.exports import EXPORTS, ranks_of  # loading pyarrow takes its time
    from offbeat.trace.progress import ReadProgress
    from offbeat.trace.read import open_trace

    if to not in EXPORTS:
        raise BadInput(f"--to {to}: the formats are {', '.join(EXPORTS)}")
    suffix, write = EXPORTS[to]
    trace = open_trace(directory)
    path = output or directory.absolute().with_name(f"{directory.absolute().name}{suffix}")
    with ReadProgress("writing") as progress:
        write(trace, path, ranks=ranks_of(ranks, trace), on_progress=progress.show_records)
    console = Console(highlight=False, soft_wrap=True)
    for note in trace.notes:
        console.print(f"note: {note}", markup=False)
    console.print(f"wrote {path}", markup=False)
