"""``offbeat schema``: the JSON Schema of study files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from offbeat.cli.output import write_or_print


def command(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; standard output if not given.")
    ] = None,
) -> None:
    """Print the JSON Schema of study files, for editors and other programs."""
    from offbeat.study.template import schema_text

    if write_or_print(output, schema_text(), "the schema", force=True):
        print(f"wrote {output}")
