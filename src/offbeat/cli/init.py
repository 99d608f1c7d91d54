"""``offbeat init``: write a commented study file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer


def command(
    path: Annotated[Path, typer.Argument(help="The study file to write.", metavar="PATH")] = Path(
        "study.toml"
    ),
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Write a commented study file that can be run as it is."""
    from offbeat.atomic_write import write_new
    from offbeat.study.template import TEMPLATE

    write_new(path, TEMPLATE, "the study file", force=force)
    print(f"wrote {path}; run it with 'offbeat run {shlex.quote(str(path))}'")
