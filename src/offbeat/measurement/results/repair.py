"""Moving damaged records out of a result directory when a study resumes, so that they are measured again.

Nothing is deleted: damaged lines are appended to a file of the same name in the folder ``damaged``, and
damaged files of samples are moved there. If the process is killed between any two steps, the next run repairs
the directory in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from offbeat.base.campaign import durable
from offbeat.base.campaign.append_file import AppendFile, Lines, encode_lines, read_checked_lines
from offbeat.measurement.results import layout
from offbeat.measurement.results.layout import DamagedRecord, describe_case
from offbeat.measurement.results.recorded import committed, read_recorded, stated_sums
from offbeat.measurement.results.row_checksums import add_checksums
from offbeat.measurement.results.sample_files import (
    FOLDERS,
    committed_checksums,
    join_records,
    needs_joining,
    sample_files,
)


def repair_lines(directory: Path, name: str, kind: Any) -> tuple[list[Any], list[DamagedRecord]]:
    """Move the damaged lines of a file away; returns its valid lines and the damage. Raises OSError."""
    lines = read_checked_lines(directory / name, kind)
    _keep(directory, name, lines, lines.items)
    return lines.items, [DamagedRecord(f"{name}:{bad.number}", bad.reason) for bad in lines.damaged_lines]


def repair_cases(directory: Path) -> tuple[list[dict[str, Any]], list[DamagedRecord]]:
    """Remove everything that does not count; returns the rows of the valid cases and the damage.

    Raises OSError, RunFailed and BadInput.
    """
    for folder in FOLDERS:
        for temporary_file in (directory / folder).glob("*" + durable.TEMPORARY_SUFFIX):
            temporary_file.unlink()
    recorded_cases = read_recorded(directory)
    _keep(directory, layout.CASES, recorded_cases.lines, recorded_cases.rows)
    valid, damaged_records = _with_valid_ranks(directory, recorded_cases.rows)
    if len(valid) < len(recorded_cases.rows):
        durable.write_durably(directory / layout.CASES, encode_lines(valid))
    all_damage = [*recorded_cases.damaged, *damaged_records]
    _join_samples(directory, committed(valid), keep_copies=bool(all_damage))
    return valid, all_damage


def _keep(directory: Path, name: str, lines: Lines, items: list[Any]) -> None:
    """Make a file hold exactly these of its lines' items, and move its damaged lines away."""
    if lines.damaged_lines:
        (directory / layout.DAMAGED).mkdir(exist_ok=True)
        damage_file = AppendFile(directory / layout.DAMAGED / name)
        try:
            damage_file.append(b"".join(line.content + b"\n" for line in lines.damaged_lines))
        finally:
            damage_file.close()
    if len(items) < len(lines.items) or lines.damaged_lines:
        durable.write_durably(directory / name, encode_lines(items))
    else:
        AppendFile(directory / name, end=lines.end).close()


def _with_valid_ranks(
    directory: Path, rows: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[DamagedRecord]]:
    """The cases whose rank times match their checksums, and the damage; the files are read in batches."""
    sums: dict[str, int] = {}
    damaged_records: list[DamagedRecord] = []
    for path in sample_files(directory, layout.RANKS):
        part = committed_checksums(path, layout.RANKS, committed(rows), damaged_records)
        sums = add_checksums(sums, part)
    bad = [row for row in rows if sums.get(row["case"], 0) != stated_sums(row)[1]]
    reason = "the times of its ranks do not match their checksum"
    damaged_records += [DamagedRecord(describe_case(row), reason) for row in bad]
    damaged_cases = {row["case"] for row in bad}
    return [row for row in rows if row["case"] not in damaged_cases], damaged_records


def _join_samples(directory: Path, counts: Mapping[str, int], *, keep_copies: bool) -> None:
    """Join the records of the files of samples, without rows that do not count; ``keep_copies`` moves the old
    files to the folder for damaged files."""
    for folder in FOLDERS:
        for path in sample_files(directory, folder):
            if not needs_joining(path, folder, counts):
                continue
            copy = path.with_name(path.name + durable.TEMPORARY_SUFFIX + durable.TEMPORARY_SUFFIX)
            copy.unlink(missing_ok=True)
            copy.hardlink_to(path)
            join_records(path, folder, counts)
            if path.stat().st_size == 0:
                path.unlink()
            if keep_copies:
                layout.move_to_damaged(directory, copy)
            else:
                copy.unlink()
