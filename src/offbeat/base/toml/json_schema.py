"""The JSON Schema of a file, for editors and other programs."""

from __future__ import annotations

import json
from inspect import cleandoc
from typing import Any

import msgspec
from msgspec import NODEFAULT, inspect

from offbeat.base.toml.quantities import UNITS
from offbeat.base.toml.structure import Form, table_of

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_NUMBER = r"^\s*\+?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?\s*"


def schema(form: Form, title: str) -> dict[str, Any]:
    """The schema of a file, in which quantities may be text with a unit."""
    document = msgspec.json.schema(form.kind)
    _add_defaults(document["$defs"], form.structure())
    return {"$schema": DIALECT, "title": title, **_expand(document, form)}


def schema_text(form: Form, title: str) -> str:
    """The text of the published schema file."""
    return json.dumps(schema(form, title), indent=2, ensure_ascii=False) + "\n"


def _expand(node: Any, form: Form) -> Any:
    """The node with its marks for quantities and choices replaced by JSON Schema."""
    if isinstance(node, list):
        return [_expand(entry, form) for entry in node]
    if not isinstance(node, dict):
        return node
    expansion = {
        key: _expand(value, form) for key, value in node.items() if key not in ("x-unit", "x-choice")
    }
    if isinstance(node.get("description"), str):
        expansion["description"] = cleandoc(node["description"])  # msgspec does so from version 0.23 on
    if "x-choice" in node:
        expansion["enum"] = list(form.vocabulary[node["x-choice"]].choices)
    return _quantity(expansion, node["x-unit"]) if "x-unit" in node else expansion


def _quantity(node: dict[str, Any], unit: str) -> dict[str, Any]:
    outer: dict[str, Any] = {key: node[key] for key in ("description", "default") if key in node}
    number = {key: value for key, value in node.items() if key not in outer}
    units = list(UNITS[unit].units)
    units += ["\u03bcs"] if "µs" in units else []  # with the Greek letter, which looks like the micro sign
    text = {"type": "string", "pattern": rf"{_NUMBER}({'|'.join(units)})?\s*$"}
    return {**outer, "anyOf": [number, text]}


def _add_defaults(definitions: dict[str, Any], kind: inspect.Type) -> None:
    """Add defaults that are lists, which msgspec leaves out."""
    table = table_of(kind)
    if table is None:
        return
    properties = definitions[table.cls.__name__]["properties"]
    for field in table.fields:
        if field.default_factory is not NODEFAULT:
            properties[field.encode_name].setdefault("default", msgspec.to_builtins(field.default_factory()))
        _add_defaults(definitions, field.type)
