"""The valid cases of a result directory, and the damage: what is left out and why.

A case is valid if its last line matches its checksum, its numbers are plausible, and its samples match the
checksum in that line. Each block of a case adds a line, which describes all of its blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import msgspec
import polars as pl
from msgspec import Struct

from offbeat.base.campaign.append_file import Lines, read_checked_lines
from offbeat.base.reading import decode_json
from offbeat.base.units import amount, format_list
from offbeat.measurement.results import layout, sample_files
from offbeat.measurement.results.blocks import Block, Blocks
from offbeat.measurement.results.layout import DamagedRecord, describe_case
from offbeat.measurement.results.plausible import implausible
from offbeat.measurement.results.row_checksums import committed_rows, row_checksums
from offbeat.measurement.results.schema import CASES, COMMUNICATORS, PARTITIONS
from offbeat.model.study.case import OPTIONAL

_JSON_TYPES = {pl.String: str, pl.Int64: int, pl.Float64: float | None}

SAMPLES_KEY = "samples"
"""The key of a case's line that holds the checksums of its rows in the other tables."""

_LINE_TYPES = {name: _JSON_TYPES[kind] for name, (kind, _) in CASES.items()} | {
    SAMPLES_KEY: str,
    **dict.fromkeys(OPTIONAL, NotRequired[int]),
}

CASE_LINE: Any = TypedDict("CASE_LINE", _LINE_TYPES)  # type: ignore[misc]
"""A line of ``cases.jsonl``: the columns of CASES, of which floating-point ones can be null, and the
checksums of the samples."""

SPARE_ROWS = 1_000_000
"""How many more rows a table may have than the lines of cases state: those of damaged lines."""

_NAMED_RECORDS = 5
"""The most damaged records that a note names."""


class Recorded(Struct, kw_only=True, eq=False):
    """The valid cases as rows (with :data:`SAMPLES_KEY`), the repetitions on disk, and the damage.

    ``lines`` are those of ``cases.jsonl`` as they were read. ``missing`` is the number of cases without
    samples.
    """

    lines: Lines
    rows: list[dict[str, Any]]
    repetitions: pl.DataFrame
    damaged: list[DamagedRecord]
    missing: int

    def notes(self, directory: Path) -> list[str]:
        """Notes on missing and damaged records."""
        notes = []
        if self.missing:
            notes.append(
                f"{amount(self.missing, 'case')} {'is' if self.missing == 1 else 'are'} left out because"
                f" their samples are missing in {directory}; 'offbeat run' measures them again"
            )
        if self.damaged:
            notes.append(damage_note(self.damaged, directory))
        return notes


def damage_note(damaged_records: Sequence[DamagedRecord], directory: Path) -> str:
    """A note on damaged records: their number, the first of them, and the remedy."""
    are = "is" if len(damaged_records) == 1 else "are"
    return (
        f"{amount(len(damaged_records), 'damaged record')} in {directory} {are} left out:"
        f" {format_list(damaged_records, _NAMED_RECORDS, '; ')}. 'offbeat run' with the study measures again"
        " what they held"
    )


def moved_damage_note(damaged_records: Sequence[DamagedRecord], directory: Path) -> str:
    """A note on damaged records that a run has moved away."""
    are = "is" if len(damaged_records) == 1 else "are"
    return (
        f"{amount(len(damaged_records), 'damaged record')} {are} moved to {directory / layout.DAMAGED}, and"
        f" what they held is measured again: {format_list(damaged_records, _NAMED_RECORDS, '; ')}"
    )


def read_recorded(directory: Path) -> Recorded:
    """The cases of a result directory; raises BadInput for files that cannot be read at all."""
    # Cases are read before samples: an active run writes the samples of a case before its line.
    lines = read_checked_lines(directory / layout.CASES, CASE_LINE)
    damaged = [
        DamagedRecord(f"{layout.CASES}:{bad.number}{_name_of_line(bad.content)}", bad.reason)
        for bad in lines.damaged_lines
    ]
    latest: dict[str, dict[str, Any]] = {}
    for number, row in zip(lines.numbers, lines.items, strict=True):
        row |= {name: row.get(name, 1) for name in OPTIONAL}
        if reason := implausible(row):
            damaged.append(DamagedRecord(f"{layout.CASES}:{number}, {describe_case(row)}", reason))
        else:
            latest[row["case"]] = row
    rows, damage = sample_files.read_samples(directory, layout.REPETITIONS, max_rows(latest.values()))
    repetitions = committed_rows(rows, committed(latest.values()))
    damaged += damage
    sums = row_checksums(repetitions)
    valid, missing = [], 0
    for case, row in latest.items():
        if sums.get(case, 0) == stated_sums(row)[0]:
            valid.append(row)
        elif case not in sums:
            missing += 1
        else:
            damaged.append(DamagedRecord(describe_case(row), "its repetitions do not match their checksum"))
    return Recorded(lines=lines, rows=valid, repetitions=repetitions, damaged=damaged, missing=missing)


def read_blocks(directory: Path, rows: Sequence[Mapping[str, Any]]) -> dict[str, Blocks]:
    """The blocks of some cases of a result directory: of their rows of CASES, and the repetitions on disk."""
    repetitions, _ = sample_files.read_samples(directory, layout.REPETITIONS, max_rows(rows))
    valid = committed_rows(repetitions, committed(rows)).sort("repetition")
    by_case = valid.partition_by("case", as_dict=True)
    return {
        row["case"]: Blocks(
            tuple(
                _block_of_rows(by_case.get((row["case"],), valid.clear()), number)
                for number in range(row["blocks"])
            ),
            overshoot_s=row["overshoot_s"] or 0.0,
            clock_bound_s=row["clock_bound_s"] or 0.0,
        )
        for row in rows
    }


def _block_of_rows(repetitions: pl.DataFrame, number: int) -> Block:
    """A block of a case, from the repetitions of the case."""
    of_block = repetitions.filter(pl.col("block") == number)
    valid = of_block.filter("valid")
    return Block(
        last_delay_s=valid["last_delay_s"].to_numpy(),
        total_delay_s=valid["total_delay_s"].to_numpy(),
        invalid=of_block.height - valid.height,
        calls=None if valid["call"].null_count() else valid["call"].to_numpy(),
    )


def committed(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Case → number of its committed repetitions, as stated by the lines of these cases."""
    return {row["case"]: row["repetitions"] + row["invalid"] for row in rows}


def max_rows(rows: Any, ranks: bool = False) -> int:
    """The most rows that the table of repetitions (or of ranks) can have beside these cases."""
    row_count = sum(
        (row["repetitions"] + row["invalid"])
        * (row["p"] * row[COMMUNICATORS] * row[PARTITIONS] if ranks else 1)
        for row in rows
    )
    return int(row_count) + SPARE_ROWS


def sums_text(repetitions: int, ranks: int) -> str:
    """The checksums of a case's rows, in the format of its line."""
    return f"{repetitions:016x}-{ranks:016x}"


def stated_sums(row: Mapping[str, Any]) -> tuple[int, int]:
    """The checksums of a case's rows among repetitions and among ranks, as its line states them."""
    repetitions, _, ranks = str(row[SAMPLES_KEY]).partition("-")
    try:
        return int(repetitions, 16), int(ranks, 16)
    except ValueError:
        return -1, -1


def _name_of_line(line: bytes) -> str:
    """The case of a damaged line, if it can still be decoded."""
    try:
        row = decode_json(line)
        return f", {describe_case(row)[:200]}" if isinstance(row, dict) else ""
    except (msgspec.DecodeError, KeyError):
        return ""
