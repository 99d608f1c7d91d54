"""Options that several verbs of ``offbeat trace`` share, and summarising a trace with progress shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.cli.completion import collectives, trace_directories
from offbeat.errors import BadInput
from offbeat.units import parse_size

if TYPE_CHECKING:
    from offbeat.trace.read import Trace
    from offbeat.trace.summary import Summary

Directory = Annotated[
    Path, typer.Argument(help="The folder with the trace.", metavar="DIR", autocompletion=trace_directories)
]
Collective = Annotated[
    str, typer.Option(help="Only calls of this collective, such as alltoall.", autocompletion=collectives)
]
Site = Annotated[str, typer.Option(help="Only call sites whose label contains this, such as ft.c:118.")]
Communicator = Annotated[str, typer.Option(help="Only this communicator, as summary --apart names it.")]
TraceOption = Annotated[
    Path | None,
    typer.Option(
        "--trace",
        help="A trace of the program: print which of its calls the files affect.",
        metavar="DIR",
    ),
]
Size = Annotated[str, typer.Option(help="Only calls of this size, such as '32 KiB'.")]


def summary_of_trace(trace: Trace) -> Summary:
    """The summary of a trace; shows the progress of reading it."""
    from offbeat.trace.read import ReadProgress
    from offbeat.trace.summary import summarise

    with ReadProgress("reading the trace") as progress:
        return summarise(trace, on_progress=progress.show_records)


def size_of(text: str) -> int | None:
    """Parse ``--size``; None for all sizes. Raises :class:`BadInput`."""
    try:
        return parse_size(text) if text else None
    except BadInput as error:
        raise BadInput(f"--size: {error}") from None
