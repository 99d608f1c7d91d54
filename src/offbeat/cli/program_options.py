"""Arguments and options that the commands for programs of many iterations share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from offbeat.model.platform.machine import Platform as Machine
    from offbeat.programs.iterations.derived_program import DerivedProgram

PLATFORM = "A platform file, or a name that 'offbeat platform list' prints."

File = Annotated[
    str,
    typer.Argument(help="A program file, or a name that 'offbeat program list' prints.", metavar="PROGRAM"),
]
Platform = Annotated[str, typer.Option("--platform", help=PLATFORM)]
Ranks = Annotated[
    int, typer.Option("--ranks", "-p", min=0, help="Number of ranks; 0: the file's.", show_default=False)
]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of random delays. [default: the file's]")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Parquet file to write as well: the end and the communication time of each iteration of each"
        " rank.",
    ),
]
PictureFile = Annotated[
    Path | None, typer.Option("--picture", help="Picture to write as well: a .png, .svg or .pdf file.")
]
Anchor = Annotated[
    str,
    typer.Option(
        help="The call site that begins iterations: a part of its function and place, such as cg.c:118.",
        metavar="TEXT",
    ),
]


def derived_from(directory: Path, platform: Machine, anchor: str) -> DerivedProgram:
    """The program of a trace, read with a progress bar."""
    from offbeat.base.progress_bar import ProgressBar
    from offbeat.programs.iterations.derived_program import derive_program
    from offbeat.trace.files.trace_folder import open_trace

    trace = open_trace(directory)
    with ProgressBar("reading the iterations", counts=False) as bar:

        def on_progress(count: int, total: int) -> None:
            bar.update(done_count=count, total=total)
            bar.print_periodically(f"reading the iterations: {count / total:.0%}")

        return derive_program(trace, platform, anchor=anchor, on_progress=on_progress)
