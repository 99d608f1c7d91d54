"""The JSON Schema of study files, for editors and other programs."""

from __future__ import annotations

from typing import Any

from offbeat.study.load import FORM
from offbeat.toml import json_schema

TITLE = "offbeat study"


def schema() -> dict[str, Any]:
    """The schema of a study file, in which sizes and times may be text with a unit."""
    return json_schema.schema(FORM, TITLE)


def schema_text() -> str:
    """The schema as the file that is published."""
    return json_schema.schema_text(FORM, TITLE)
