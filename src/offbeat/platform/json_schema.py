"""The JSON Schema of platform files, for editors and other programs."""

from __future__ import annotations

from offbeat.platform.machine import FORM
from offbeat.toml import json_schema

TITLE = "offbeat platform"


def schema_text() -> str:
    """The schema as the file that is published."""
    return json_schema.schema_text(FORM, TITLE)
