"""``offbeat schema``: the JSON Schema of study files."""

from __future__ import annotations

from offbeat.cli.output import SchemaFile, write_schema


def command(output: SchemaFile = None) -> None:
    """Print the JSON Schema of study files, for editors and other programs."""
    from offbeat.study.template import schema_text

    write_schema(output, schema_text())
