"""The JSON Schema of study files, for editors and other programs."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from msgspec import NODEFAULT, inspect

from offbeat.study.choices import choices
from offbeat.study.schema import Study
from offbeat.units import SIZE_UNITS, TIME_UNITS

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_NUMBER = r"^\s*\+?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?\s*"
_TIME_UNITS = [*TIME_UNITS, "\u03bcs"]  # with the Greek letter that looks like the micro sign
_TEXTS = {
    "bytes": rf"{_NUMBER}({'|'.join(SIZE_UNITS)})?\s*$",
    "seconds": rf"{_NUMBER}({'|'.join(_TIME_UNITS)})?\s*$",
}


def schema() -> dict[str, Any]:
    """The schema of a study file, in which sizes and times may be text with a unit."""
    made = msgspec.json.schema(Study)
    _add_defaults(made["$defs"], inspect.type_info(Study))
    adapted = _adapted(made)
    return {"$schema": DIALECT, "title": "offbeat study", **adapted}


def schema_text() -> str:
    """The schema as the file that is published."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _adapted(node: Any) -> Any:
    """The node with the schema's marks for quantities and choices turned into what they stand for."""
    if isinstance(node, list):
        return [_adapted(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    plain = {key: _adapted(value) for key, value in node.items() if key not in ("x-unit", "x-choice")}
    if "x-choice" in node:
        plain["enum"] = list(choices(node["x-choice"]))
    return _quantity(plain, node["x-unit"]) if "x-unit" in node else plain


def _quantity(node: dict[str, Any], unit: str) -> dict[str, Any]:
    """A number, or text with a unit."""
    outer: dict[str, Any] = {key: node[key] for key in ("description", "default") if key in node}
    number = {key: value for key, value in node.items() if key not in outer}
    return {**outer, "anyOf": [number, {"type": "string", "pattern": _TEXTS[unit]}]}


def _add_defaults(definitions: dict[str, Any], kind: inspect.Type) -> None:
    """Defaults that are lists, which the generator leaves out."""
    inner = kind.type if isinstance(kind, inspect.Metadata) else kind
    inner = inner.item_type if isinstance(inner, inspect.ListType) else inner
    if not isinstance(inner, inspect.StructType):
        return
    properties = definitions[inner.cls.__name__]["properties"]
    for field in inner.fields:
        if field.default_factory is not NODEFAULT:
            properties[field.encode_name].setdefault("default", msgspec.to_builtins(field.default_factory()))
        _add_defaults(definitions, field.type)
