"""Arguments and options that the commands for programs of many iterations share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
