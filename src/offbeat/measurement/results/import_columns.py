"""The columns of a foreign CSV: their meaning and unit."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.units import parse_size, parse_time
from offbeat.measurement.results.schema import CASES
from offbeat.model.study.skew_policy import POLICIES

ALTERNATIVES = {
    "library": ("machine",),
    "p": ("processes",),
    "ppn": ("processes_per_node",),
    "bytes": ("message_bytes", "message_size_bytes"),
    "block": ("launch", "run", "session"),
}
"""Our name of a column → other names of it."""


def _columns_of(kind: type[pl.DataType]) -> tuple[str, ...]:
    return tuple(
        name
        for name, (column_kind, _) in CASES.items()
        if column_kind == kind and name not in ("case", "engine")
    )


TEXTS = _columns_of(pl.String)
"""Columns that hold text."""

COUNTS = (*_columns_of(pl.Int64), "call", "block")
"""Columns that hold a whole number."""

NUMBERS = ("skew_factor",)
"""Columns that hold a number without a unit."""

TIMES = tuple(name.removesuffix("_s") for name in _columns_of(pl.Float64) if name not in NUMBERS)
"""Columns that hold a time; their names end in the unit: ``last_delay_ms``."""

TIME_SUFFIXES = ("s", "ms", "us", "ns")
"""The units at the end of names of time columns."""

_MAX_COUNT = 2**63 - 1

WORDS = {
    "pattern_kind": ("shape", "scenario", "replay"),
    "skew_policy": tuple(POLICIES),
    "status": ("measured", "unfinished", "incomplete", "quarantined"),
    "proof": ("proved", "indistinguishable", "unproved"),
}
"""Columns that hold one of a few words."""

REQUIRED_COLUMNS = ("collective", "algorithm", "bytes", "pattern", "last_delay")
"""Required columns; p, or nodes and ppn, are required as well."""


class Column(Struct, frozen=True):
    """A used column: ``name`` is ours (of a time without ``unit``), ``header`` the file's."""

    name: str
    header: str
    index: int
    unit: str = ""

    def parse(self, text: str) -> str | int | float:
        """The value of a field of this column, times in seconds; raises BadInput if it is invalid."""
        if self.unit:
            return parse_time(f"{text} {self.unit}")
        if self.name in COUNTS:
            return _count(self.name, text)
        if self.name in NUMBERS:
            return _number(text)
        return _word(text, WORDS[self.name]) if self.name in WORDS else _printable(text)


def known_names() -> list[str]:
    """All our column names, as ``--column`` accepts them."""
    return [*TEXTS, *COUNTS, *(f"{time}_{unit}" for time in TIMES for unit in TIME_SUFFIXES), *NUMBERS]


def find_columns(path: Path, header: Sequence[str], requested: Mapping[str, str]) -> dict[str, Column]:
    """The columns of a file by our name for them; ``requested`` maps our names to the file's and goes first.

    Raises BadInput if a given column does not exist, a required one is missing, or two say the same thing.
    """
    titles = [title.strip() for title in header]
    columns: dict[str, Column] = {}
    for column_name, title in requested.items():
        column = _requested_column(path, titles, column_name, title)
        columns[column.name] = column
    for name in (*TEXTS, *COUNTS, *NUMBERS, *TIMES):
        if name not in columns and (candidate := _find(path, titles, name)):
            columns[name] = candidate
    _check_required(path, titles, columns)
    return columns


def _requested_column(path: Path, titles: list[str], column_name: str, title: str) -> Column:
    if column_name not in known_names():
        close_matches = difflib.get_close_matches(column_name, known_names(), n=1)
        hint = (
            f"; did you mean {close_matches[0]}?"
            if close_matches
            else f"; known are {', '.join(known_names())}"
        )
        raise BadInput(f"--column {column_name}={title}: there is no column {column_name} to give{hint}")
    if title not in titles:
        raise BadInput(
            f"--column {column_name}={title}: {path} has no column {title!r}; it has {', '.join(titles)}"
        )
    name, _, unit = column_name.rpartition("_")
    is_time = name in TIMES
    return Column(
        name if is_time else column_name, title, _index_of(path, titles, title), unit if is_time else ""
    )


def _find(path: Path, titles: list[str], name: str) -> Column | None:
    """The column of the file for ``name``, by one of its known titles, or None."""
    if name in TIMES:
        candidates = [(f"{name}_{unit}", unit) for unit in TIME_SUFFIXES]
    else:
        candidates = [(title, "") for title in (name, *ALTERNATIVES.get(name, ()))]
    present = [(title, unit) for title, unit in candidates if title in titles]
    if name in TIMES and len(present) > 1:
        titles_in_file = " and ".join(title for title, _ in present)
        raise BadInput(
            f"{path}:1: {titles_in_file} both say the {name}; name one with --column {present[0][0]}=COLUMN"
        )
    if not present:
        return None
    title, unit = present[0]
    return Column(name, title, _index_of(path, titles, title), unit)


def _index_of(path: Path, titles: list[str], title: str) -> int:
    if titles.count(title) > 1:
        raise BadInput(
            f"{path}:1: there are {titles.count(title)} columns named {title!r}; rename one of them"
        )
    return titles.index(title)


def _check_required(path: Path, titles: list[str], columns: Mapping[str, Column]) -> None:
    for name in REQUIRED_COLUMNS:
        if name not in columns:
            column_name = f"{name}_ms" if name in TIMES else name
            raise BadInput(
                f"{path}:1: no column says the {name.replace('_', ' ')}; the columns are {', '.join(titles)}."
                f" If one of them does, add --column {column_name}=COLUMN"
            )
    if "p" not in columns and not {"nodes", "ppn"} <= set(columns):
        raise BadInput(
            f"{path}:1: no column says the number of processes (p, or nodes and ppn); the columns are"
            f" {', '.join(titles)}. If one of them does, add --column p=COLUMN"
        )


def _count(name: str, text: str) -> int:
    if name == "bytes":
        count = parse_size(text)
    elif text.isascii() and text.isdigit():
        count = int(text)
    else:
        raise BadInput(f"{text!r} is not a whole number")
    if count > _MAX_COUNT:
        raise BadInput(f"{text!r} is more than a table of results can hold ({_MAX_COUNT})")
    return count


def _printable(text: str) -> str:
    if not text.isprintable():
        raise BadInput(f"{text!r} holds a character that cannot be shown in a table; take it out")
    return text


def _word(text: str, choices: Sequence[str]) -> str:
    if text not in choices:
        raise BadInput(f"{text!r} is none of {', '.join(choices)}")
    return text


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise BadInput(f"{text!r} is not a number") from None
    if not (math.isfinite(number) and number >= 0):
        raise BadInput(f"{text!r} is not a finite number of 0 or more")
    return number
