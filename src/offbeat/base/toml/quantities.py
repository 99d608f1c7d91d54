"""Types of keys: numbers that may have a unit, words of a list; and the base class of tables.

A schema has a :class:`msgspec.Struct` for each table. Its annotations define all checks: type, range, unit,
list of words; its descriptions become the template, the JSON Schema and the reference page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Meta, Struct

from offbeat.base.units import (
    BANDWIDTH_UNITS,
    SIZE_UNITS,
    TIME_UNITS,
    format_bandwidth,
    format_size,
    format_time,
    parse_bandwidth,
    parse_size,
    parse_time,
)


class Unit(Struct, frozen=True, kw_only=True):
    """A kind of quantity: its name, description, parser and formatter. ``types`` are those of TOML values."""

    noun: str
    description: str
    expectation: str
    types: tuple[type, ...]
    units: tuple[str, ...]
    parse: Callable[[Any], float]
    format: Callable[[Any], str]


UNITS: dict[str, Unit] = {
    "bytes": Unit(
        noun="size",
        description="bytes; an integer or text such as '64 KiB'",
        expectation="a size: whole bytes, or text such as '64 KiB'",
        types=(int, str),
        units=tuple(SIZE_UNITS),
        parse=parse_size,
        format=format_size,
    ),
    "seconds": Unit(
        noun="time",
        description="seconds; a number or text such as '100 us'",
        expectation="a time: seconds, or text such as '100 us'",
        types=(int, float, str),
        units=tuple(TIME_UNITS),
        parse=parse_time,
        format=format_time,
    ),
    "bytes_per_second": Unit(
        noun="bandwidth",
        description="bytes per second; a number or text such as '10 Gbit/s'",
        expectation="a bandwidth: bytes per second, or text such as '10 Gbit/s'",
        types=(int, float, str),
        units=tuple(BANDWIDTH_UNITS),
        parse=parse_bandwidth,
        format=format_bandwidth,
    ),
}
"""The quantities by the unit of their number in the schema."""


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all tables: immutable, keyword-only, unknown keys refused."""


def quantity(unit: str, *, positive: bool = False, maximum: float | None = None) -> Meta:
    """A number that may be text with a unit; the loader and the JSON Schema evaluate ``unit``."""
    bound: dict[str, Any] = {"gt" if positive else "ge": 0}
    if maximum is not None:
        bound["le"] = maximum
    text, marks = UNITS[unit].description, {"x-unit": unit}
    return Meta(**bound, description=text, extra={"unit": unit}, extra_json_schema=marks)


def choice(noun: str) -> Meta:
    """A word of the list with that noun in the file's :data:`~offbeat.base.toml.faults.Vocabulary`."""
    return Meta(extra={"choice": noun}, extra_json_schema={"x-choice": noun})


Size = Annotated[int, quantity("bytes")]
Seconds = Annotated[float, quantity("seconds")]
PositiveSeconds = Annotated[float, quantity("seconds", positive=True)]
