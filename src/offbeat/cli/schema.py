"""``offbeat schema``: the JSON Schema of study files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def command(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; standard output if not given.")
    ] = None,
) -> None:
    """Print the JSON Schema of study files, for editors and other programs."""
    from offbeat.atomic_write import write_new
    from offbeat.study.template import schema_text

    if output is None:
        sys.stdout.write(schema_text())
    else:
        write_new(output, schema_text(), "the schema", force=True)
        print(f"wrote {output}")
