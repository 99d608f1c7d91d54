"""The cases of a result directory that can be relied on, and what had to be left out and why.

A case counts if its last line fits its checksum, its numbers can be true together, and its samples fit the
checksum that the line has of them. Each block of a case adds a line, which is about all of its blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import msgspec
import polars as pl
from msgspec import Struct

from offbeat.results import layout, samples
from offbeat.results.append import Lines, read_sealed
from offbeat.results.parts import committed_rows
from offbeat.results.plausible import implausible
from offbeat.results.row_checksums import of_rows
from offbeat.results.schema import CASES
from offbeat.units import counted

_JSON_TYPES = {pl.String: str, pl.Int64: int, pl.Float64: float | None}

SAMPLES_KEY = "samples"
"""The key of a case's line that holds the checksums of its rows in the other tables."""

_LINE_TYPES = {name: _JSON_TYPES[kind] for name, (kind, _) in CASES.items()} | {SAMPLES_KEY: str}

CASE_LINE: Any = TypedDict("CASE_LINE", _LINE_TYPES)  # type: ignore[misc]
"""A line of ``cases.jsonl``: the columns of CASES, of which those with fractions can be null, and the
checksums of its samples."""

SPARE_ROWS = 1_000_000
"""A table may have so many rows more than the lines of cases say: of cases whose lines are damaged."""

_NAMED = 5


class LeftOut(Struct, frozen=True):
    """Something that is damaged: the file and line, or the case, and what is wrong with it."""

    what: str
    why: str

    def __str__(self) -> str:
        """Both in a sentence."""
        return f"{self.what} ({self.why})"


class Recorded(Struct, kw_only=True, eq=False):
    """The sound cases as rows (with :data:`SAMPLES_KEY`), the repetitions on disk, and what is left out.

    ``lines`` are those of ``cases.jsonl`` as they were read. ``missing`` is how many cases have no samples.
    """

    lines: Lines
    rows: list[dict[str, Any]]
    repetitions: pl.DataFrame
    left_out: list[LeftOut]
    missing: int

    def notes(self, directory: Path) -> list[str]:
        """Sentences on what is left out."""
        said = []
        if self.missing:
            said.append(
                f"{counted(self.missing, 'case')} {'is' if self.missing == 1 else 'are'} left out because"
                f" their samples are missing in {directory}; 'offbeat run' measures them again"
            )
        if self.left_out:
            said.append(damage_note(self.left_out, directory))
        return said


def damage_note(left_out: Sequence[LeftOut], directory: Path) -> str:
    """One sentence on damaged records: how many, which, and what helps."""
    are = "is" if len(left_out) == 1 else "are"
    return (
        f"{counted(len(left_out), 'damaged record')} in {directory} {are} left out: {_listed(left_out)}."
        " 'offbeat run' with the study measures again what they held"
    )


def set_aside_note(left_out: Sequence[LeftOut], directory: Path) -> str:
    """The same when a run has set them aside."""
    are = "is" if len(left_out) == 1 else "are"
    return (
        f"{counted(len(left_out), 'damaged record')} {are} set aside in {directory / layout.DAMAGED}, and"
        f" what they held is measured again: {_listed(left_out)}"
    )


def _listed(left_out: Sequence[LeftOut]) -> str:
    more = f"; and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
    return "; ".join(str(one) for one in left_out[:_NAMED]) + more


def read_recorded(directory: Path) -> Recorded:
    """What a result directory holds of cases; raises BadInput for files that cannot be read at all."""
    # Cases before samples: of a run under way, samples may be ahead of the cases, and never behind.
    lines = read_sealed(directory / layout.CASES, CASE_LINE)
    left_out = [
        LeftOut(f"{layout.CASES}:{bad.number}{_named(bad.content)}", bad.why) for bad in lines.damaged
    ]
    latest: dict[str, dict[str, Any]] = {}
    for number, row in zip(lines.numbers, lines.items, strict=True):
        if why := implausible(row):
            left_out.append(LeftOut(f"{layout.CASES}:{number}, {case_words(row)}", why))
        else:
            latest[row["case"]] = row
    damage: list[samples.Damage] = []
    repetitions = committed_rows(
        samples.read_repetitions(directory, most_rows(latest.values()), damage), committed(latest.values())
    )
    left_out += [LeftOut(f"{one.path.parent.name}/{one.path.name}", one.why) for one in damage]
    sums = of_rows(repetitions)
    kept, missing = [], 0
    there = set(sums)
    for case, row in latest.items():
        if sums.get(case, 0) == stated_sums(row)[0]:
            kept.append(row)
        elif case not in there:
            missing += 1
        else:
            left_out.append(LeftOut(case_words(row), "its repetitions do not fit their checksum"))
    return Recorded(lines=lines, rows=kept, repetitions=repetitions, left_out=left_out, missing=missing)


def committed(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Case → how many of its repetitions count, by the lines of these cases."""
    return {row["case"]: row["repetitions"] + row["invalid"] for row in rows}


def most_rows(rows: Any, ranks: bool = False) -> int:
    """The most rows that the table of repetitions (or of ranks) can have beside these cases."""
    told = sum((row["repetitions"] + row["invalid"]) * (row["p"] if ranks else 1) for row in rows)
    return int(told) + SPARE_ROWS


def sums_text(repetitions: int, ranks: int) -> str:
    """The checksums of a case's rows, as its line has them."""
    return f"{repetitions:016x}-{ranks:016x}"


def stated_sums(row: Mapping[str, Any]) -> tuple[int, int]:
    """The checksums of a case's rows among repetitions and among ranks, as its line states them."""
    repetitions, _, ranks = str(row[SAMPLES_KEY]).partition("-")
    try:
        return int(repetitions, 16), int(ranks, 16)
    except ValueError:
        return -1, -1


def case_words(row: Mapping[str, Any]) -> str:
    """A case in words: ``reduce binomial, p = 4, 8 B, ascending``."""
    return f"{row['collective']} {row['algorithm']}, p = {row['p']}, {row['bytes']} B, {row['pattern']}"


def _named(line: bytes) -> str:
    """Which case a damaged line is of, as far as it can still be read."""
    try:
        row = msgspec.json.decode(line)
        return f", {case_words(row)[:200]}" if isinstance(row, dict) else ""
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError):
        return ""
