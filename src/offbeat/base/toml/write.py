"""Files as text, from their structures."""

from __future__ import annotations

from typing import Any

import tomlkit
from msgspec import NODEFAULT, inspect

from offbeat.base.toml.quantities import Section
from offbeat.base.toml.structure import table_of
from offbeat.base.units import format_bandwidth, format_time

DIGITS = 6
"""Significant digits of numbers with a fraction: far more than the accuracy of measurements."""


def toml_text(file: Section) -> str:
    """The text of a file: every key that differs from its default."""
    kind = inspect.type_info(type(file))
    assert isinstance(kind, inspect.StructType)
    return tomlkit.dumps(_values(kind, file))


def _values(kind: inspect.StructType, section: Any) -> dict[str, Any]:
    """The keys of a table that differ from their defaults, as TOML has them; tables behind other keys."""
    keys, tables = {}, {}
    for field in kind.fields:
        value = getattr(section, field.name)
        if table := table_of(field.type):
            is_list = isinstance(value, list)
            if values := [_values(table, one) for one in value] if is_list else _values(table, value):
                tables[field.name] = values
            continue
        is_made = field.default is NODEFAULT and not field.required
        if field.required or value != (field.default_factory() if is_made else field.default):
            keys[field.name] = _format(field.type, value)
    return keys | tables


def _format(kind: inspect.Type, value: Any) -> Any:
    """A value rounded to DIGITS digits, with its unit if it has one."""
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
