"""The documents of ``--json``: their encoding, and the JSON Schema that describes them.

A document is a structure. Its keys are the names of the fields, and the description of a key is the part of
the structure's docstring that names the field in double backticks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from inspect import cleandoc
from typing import Any

import msgspec
from msgspec import Struct, inspect

SCHEMA_VERSION = 1
"""It increases when a key of any document is removed or changes its meaning; keys may be added."""

VERSION_KEY = "schema_version"
"""The first key of every document."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"

UNITS = {"s": "In seconds.", "ns": "In nanoseconds.", "bytes": "In bytes."}
"""The last word of a key → its unit."""


def encode_document(document: Struct) -> bytes:
    """A document as indented JSON; paths become text, and NaN and infinite numbers null."""
    plain = {VERSION_KEY: SCHEMA_VERSION} | msgspec.to_builtins(document, enc_hook=str)
    return msgspec.json.format(msgspec.json.encode(plain), indent=2) + b"\n"


def schema(title: str, kinds: Sequence[type[Struct]]) -> dict[str, Any]:
    """The JSON Schema of a document that is one of these structures."""
    tops, components = msgspec.json.schema_components(kinds, schema_hook=lambda _: {"type": "string"})
    kinds_by_name = {one.cls.__name__: one for kind in kinds for one in structures(kind)}
    parts = {name: _describe(_with_null(part), kinds_by_name[name]) for name, part in components.items()}
    return {
        "$schema": DIALECT,
        "title": title,
        "properties": {VERSION_KEY: {"const": SCHEMA_VERSION}},
        "required": [VERSION_KEY],
        **(tops[0] if len(tops) == 1 else {"anyOf": list(tops)}),
        "$defs": parts,
    }


def structures(kind: type[Struct]) -> list[inspect.StructType]:
    """A structure and all structures in it, each once, in the order in which its keys name them."""
    structure_types: dict[type, inspect.StructType] = {}
    _collect(inspect.type_info(kind), structure_types)
    return list(structure_types.values())


def purpose(kind: inspect.StructType) -> str:
    """The part of a structure's docstring that names no key."""
    names = {field.name for field in kind.fields}
    return " ".join(part for part in _parts(kind) if not names.intersection(_names(part)))


def meanings(kind: inspect.StructType) -> dict[str, str]:
    """Key → the part of the docstring that explains it, and its unit; empty if the name says everything."""
    texts = {}
    for field in kind.fields:
        naming_parts = [part for part in _parts(kind) if field.name in _names(part)]
        parts = [part for part in naming_parts if _names(part)[0] == field.name] or naming_parts
        extra_schema = field.type.extra_json_schema if isinstance(field.type, inspect.Metadata) else None
        if extra_schema and "description" in extra_schema:
            parts = [extra_schema["description"]]
        unit = UNITS.get(field.encode_name.rsplit("_", 1)[-1])
        texts[field.encode_name] = " ".join([*parts, *([unit] if unit else [])])
    return texts


def _describe(part: dict[str, Any], kind: inspect.StructType) -> dict[str, Any]:
    """The schema of a structure; encoded structures have all keys."""
    properties = {
        name: {key: value for key, value in node.items() if key != "default"}
        | ({"description": meaning.replace("``", "`")} if (meaning := meanings(kind)[name]) else {})
        for name, node in part["properties"].items()
    }
    return part | {
        "description": purpose(kind).replace("``", "`"),
        "properties": properties,
        "required": list(properties),
    }


def _with_null(node: Any) -> Any:
    """A schema in which every number that need not be whole may be null."""
    if isinstance(node, list):
        return [_with_null(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    entries = {key: _with_null(value) for key, value in node.items()}
    return entries | {"type": ["number", "null"]} if node.get("type") == "number" else entries


def _collect(kind: Any, structure_types: dict[type, inspect.StructType]) -> None:
    """Add the structures in a type, through lists, dictionaries and alternatives."""
    if isinstance(kind, inspect.StructType):
        if kind.cls not in structure_types:
            structure_types[kind.cls] = kind
            for field in kind.fields:
                _collect(field.type, structure_types)
        return
    for name in ("type", "item_type", "key_type", "value_type"):
        if hasattr(kind, name):
            _collect(getattr(kind, name), structure_types)
    for inner in (*getattr(kind, "types", ()), *getattr(kind, "item_types", ())):
        _collect(inner, structure_types)


def _parts(kind: inspect.StructType) -> list[str]:
    """The docstring in clauses: it is divided after full stops and before semicolons that a key follows."""
    text = " ".join(cleandoc(kind.cls.__doc__ or "").replace("\n- ", "\n\n").split())
    text = re.sub(r":\w+:`~?([^`]+)`", r"``\1``", text)
    text = re.sub(r"\b(NaN|None)\b", "null", text)
    clauses = re.split(r"(?<=\.) (?=[A-Z`])|; (?=``)", text)
    return [f"{clause[0].upper()}{clause[1:].rstrip('.')}." for clause in clauses if clause]


def _names(text: str) -> list[str]:
    """The words in double backticks, in their order."""
    return re.findall(r"``(\w+)``", text)
