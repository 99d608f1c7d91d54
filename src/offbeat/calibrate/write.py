"""A calibrated platform as the file that people read, keep and change."""

from __future__ import annotations

from typing import Any

import tomlkit
from msgspec import NODEFAULT, inspect

from offbeat.calibrate.fit import NEVER
from offbeat.calibrate.measurements import Measurements
from offbeat.calibrate.residuals import Residual, in_words
from offbeat.platform.schema import PlatformFile
from offbeat.toml.template import comment
from offbeat.units import format_bandwidth, format_time

DIGITS = 6
"""Significant digits of what was fitted: far more than measurements have."""

ONE_NODE = (
    "Only one node was measured, so nothing is known between nodes, and this file describes one node. For"
    " several, set nodes and add a section [link] with bandwidth and latency, or calibrate with --base and a"
    " platform whose network is like yours, or on two nodes."
)

FROM_BASE = (
    "Only one node was measured: what messages between nodes cost, and how these are joined, is that of {}."
)

NO_INSIDE = "No two processes were on one node: messages inside a node cost what they cost between two."

ALL_EAGER = "No sender waited for its receiver at any size that was tried."


def notes(measured: Measurements, base: str) -> list[str]:
    """What a reader of the file must know about it, in sentences; ``base`` is the name of the platform from
    which what was not measured was taken, if any."""
    told = list(measured.warnings)
    if measured.between is None:
        told.append(FROM_BASE.format(base) if base else ONE_NODE)
    if measured.inside is None and not base:
        told.append(NO_INSIDE)
    pair = measured.between or measured.inside
    if pair is not None and not pair.eager_below and any(point.is_eager for point in pair.late):
        told.append(ALL_EAGER)
    return told


def text(platform: PlatformFile, told: list[str], found: list[Residual]) -> str:
    """The platform file: notes and the size of the errors as comments, then every key that has no default."""
    head = [comment(sentence) for sentence in (*told, *(f"{words}." for words in in_words(found)))]
    document = tomlkit.document()
    kind = inspect.type_info(PlatformFile)
    assert isinstance(kind, inspect.StructType)
    tables = {}
    for field in kind.fields:
        value = getattr(platform, field.name)
        if isinstance(field.type, inspect.StructType):
            tables[field.name] = _values(field.type, value)
        elif field.required or value != field.default:
            document.add(field.name, tomlkit.item(_shown(field.type, value)))
    for name, values in tables.items():
        if values:
            table = tomlkit.table()
            for key, value in values.items():
                table.add(key, value)
            document.add(name, table)
    return "\n".join([*head, tomlkit.dumps(document)])


def _values(kind: inspect.StructType, section: Any) -> dict[str, Any]:
    """The keys of a table that differ from their defaults, as TOML has them."""
    found = {}
    for field in kind.fields:
        value = getattr(section, field.name)
        default = (
            field.default_factory() if field.default is NODEFAULT and not field.required else field.default
        )
        if field.required or value != default:
            found[field.name] = _shown(field.type, value)
    return found


def _shown(kind: inspect.Type, value: Any) -> Any:
    """A value rounded to what it is worth, with its unit where it has one."""
    unit = (kind.extra or {}).get("unit") if isinstance(kind, inspect.Metadata) else None
    if isinstance(value, float):
        if unit == "bytes_per_second":
            return format_bandwidth(value, DIGITS)
        if unit == "seconds" or isinstance(kind, inspect.UnionType):
            return format_time(value, DIGITS).replace("µ", "u")
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, list):
        return [_shown(inspect.AnyType(), entry) for entry in value]
    if unit == "bytes" and value == NEVER:
        return "2147483647 B"
    return value
