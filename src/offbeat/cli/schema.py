"""``offbeat schema``: the JSON Schema of study files, and of the documents that commands write."""

from __future__ import annotations

from typing import Annotated

import typer

from offbeat.cli.output import SchemaFile, write_schema


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="The command whose document of --json is meant, such as 'trace summary'; without one, the"
            " schema is that of study files.",
            metavar="[COMMAND]",
        ),
    ] = None,
    output: SchemaFile = None,
) -> None:
    """Print the JSON Schema of study files, or of what a command writes with --json."""
    if words:
        from offbeat.cli import documents

        write_schema(output, documents.schema_text(" ".join(words)))
    else:
        from offbeat.model.study import template

        write_schema(output, template.schema_text())
