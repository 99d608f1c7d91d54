"""Files as text, from their structures."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
import tomlkit
from msgspec import inspect

from offbeat.base.toml.faults import Tree
from offbeat.base.toml.quantities import Section
from offbeat.base.toml.structure import stated_keys, table_of
from offbeat.base.units import format_bandwidth, format_time

DIGITS = 6
"""Significant digits of numbers with a fraction: far more than the accuracy of measurements."""

File = TypeVar("File", bound=Section)


def toml_text(file: Section) -> str:
    """Returns the text of a file: every key that differs from its default, rounded to DIGITS digits."""
    kind = inspect.type_info(type(file))
    assert isinstance(kind, inspect.StructType)
    return tomlkit.dumps(_format_table(kind, stated_keys(file)))


def values_text(values: Tree) -> str:
    """Returns plain values as the text of a file, exactly; tables stand behind other keys."""
    document = tomlkit.document()
    for name, value in sorted(values.items(), key=lambda item: _is_table(item[1])):
        document.add(name, tomlkit.item(value))
    return tomlkit.dumps(document)


def round_numbers(file: File) -> File:
    """Returns the structure with numbers rounded as in its text: reading :func:`toml_text` returns this
    structure."""
    return msgspec.convert(_round_value(stated_keys(file)), type(file))


def _round_value(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, list):
        return [_round_value(item) for item in value]
    return {name: _round_value(item) for name, item in value.items()} if isinstance(value, dict) else value


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)
    )


def _format_table(kind: inspect.StructType, values: Tree) -> Tree:
    """Returns the values of a table as TOML has them; tables stand behind other keys."""
    keys, tables = {}, {}
    for field in kind.fields:
        if field.encode_name not in values:
            continue
        value = values[field.encode_name]
        if table := table_of(field.type):
            tables[field.encode_name] = (
                [_format_table(table, item) for item in value]
                if isinstance(value, list)
                else _format_table(table, value)
            )
        else:
            keys[field.encode_name] = _format(field.type, value)
    return keys | tables


def _format(kind: inspect.Type, value: Any) -> Any:
    """Returns a value rounded to DIGITS digits, with its unit if it has one."""
    unit = (kind.extra or {}).get("unit") if isinstance(kind, inspect.Metadata) else None
    if isinstance(value, float):
        if unit == "bytes_per_second":
            return format_bandwidth(value, DIGITS)
        if unit == "seconds" or isinstance(kind, inspect.UnionType):
            return format_time(value, DIGITS).replace("µ", "u")
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, list):
        inner = kind.type if isinstance(kind, inspect.Metadata) else kind
        item = inner.item_type if isinstance(inner, inspect.ListType) else inspect.AnyType()
        return [_format(item, entry) for entry in value]
    return value
