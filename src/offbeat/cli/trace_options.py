"""Options that several verbs of ``offbeat trace`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from offbeat.base.errors import BadInput
from offbeat.base.units import parse_size
from offbeat.cli.completion import collectives, trace_directories

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


def size_of(text: str) -> int | None:
    """Parse ``--size``; None for all sizes. Raises :class:`BadInput`."""
    try:
        return parse_size(text) if text else None
    except BadInput as error:
        raise BadInput(f"--size: {error}") from None
