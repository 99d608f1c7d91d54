"""Moving damaged records out of a result directory when a study resumes, so that they are measured again.

Nothing is deleted: damaged lines are appended to a file of the same name in the folder ``damaged``, and
damaged files of samples are moved there. If the process is killed between any two steps, the next run repairs
the directory in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from offbeat.base.campaign import durable
from offbeat.base.campaign.append_file import AppendFile, Lines, encode_lines, read_checked_lines
from offbeat.base.campaign.checksum import ChecksumError
from offbeat.base.reading import open_regular
from offbeat.measurement.results import layout, sample_files
from offbeat.measurement.results.layout import DamagedRecord, describe_case
from offbeat.measurement.results.parts import add_checksums, batches_of, checksums_of_part, committed_rows
from offbeat.measurement.results.recorded import (
    committed,
    has_partitions,
    max_rows,
    read_recorded,
    stated_sums,
)
from offbeat.measurement.results.schema import RANKS, REPETITIONS, polars_schema

_TABLES = ((layout.REPETITIONS, REPETITIONS), (layout.RANKS, RANKS))


def repair_lines(directory: Path, name: str, kind: Any) -> tuple[list[Any], list[DamagedRecord]]:
    """Move the damaged lines of a file away; returns its valid lines and the damage. Raises OSError."""
    lines = read_checked_lines(directory / name, kind)
    _keep(directory, name, lines, lines.items)
    return lines.items, [DamagedRecord(f"{name}:{bad.number}", bad.reason) for bad in lines.damaged_lines]


def repair_cases(directory: Path) -> tuple[list[dict[str, Any]], list[DamagedRecord]]:
    """Remove everything that does not count; returns the rows of the valid cases and the damage.

    Streams of samples become Parquet. Raises OSError, RunFailed and BadInput.
    """
    for folder, _ in _TABLES:
        for unfinished in (directory / folder).glob("*" + durable.TEMPORARY_SUFFIX):
            unfinished.unlink()
    recorded = read_recorded(directory)
    _keep(directory, layout.CASES, recorded.lines, recorded.rows)
    sample_files.convert_streams(directory, committed(recorded.rows), has_partitions(recorded.rows))
    valid, damaged_records = _with_valid_ranks(directory, recorded.rows)
    if len(valid) < len(recorded.rows):
        durable.write_durably(directory / layout.CASES, encode_lines(valid))
    _drop_rows(directory, valid)
    return valid, [*recorded.damaged, *damaged_records]


def _keep(directory: Path, name: str, lines: Lines, items: list[Any]) -> None:
    """Make a file hold exactly these of its lines' items, and move its damaged lines away."""
    if lines.damaged_lines:
        (directory / layout.DAMAGED).mkdir(exist_ok=True)
        damaged = AppendFile(directory / layout.DAMAGED / name)
        try:
            damaged.append(b"".join(line.content + b"\n" for line in lines.damaged_lines))
        finally:
            damaged.close()
    if len(items) < len(lines.items) or lines.damaged_lines:
        durable.write_durably(directory / name, encode_lines(items))
    else:
        AppendFile(directory / name, end=lines.end).close()


def _with_valid_ranks(
    directory: Path, rows: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[DamagedRecord]]:
    """The cases whose rank times match their checksums, and the damage; the files are read in batches."""
    sums: dict[str, int] = {}
    damaged_records = []
    limit = max_rows(rows, ranks=True)
    for part in sample_files.parts_of(directory, layout.RANKS):
        try:
            part_sums = checksums_of_part(part, polars_schema(RANKS), limit, committed(rows))
        except ChecksumError as error:
            damaged_records.append(DamagedRecord(f"{layout.RANKS}/{part.name}", str(error)))
            continue
        sums = add_checksums(sums, part_sums)
    bad = [row for row in rows if sums.get(row["case"], 0) != stated_sums(row)[1]]
    reason = "the times of its ranks do not match their checksum"
    damaged_records += [DamagedRecord(describe_case(row), reason) for row in bad]
    damaged_cases = {row["case"] for row in bad}
    return [row for row in rows if row["case"] not in damaged_cases], damaged_records


def _drop_rows(directory: Path, rows: list[dict[str, Any]]) -> None:
    """Remove the rows of other cases from the Parquet files; damaged files are moved away."""
    counts = committed(rows)
    for folder, columns in _TABLES:
        schema = polars_schema(columns)
        for part in sample_files.parts_of(directory, folder):
            limit = max_rows(rows, ranks=folder == layout.RANKS)
            try:
                all_rows = checksums_of_part(part, schema, limit)
                committed_sums = checksums_of_part(part, schema, limit, counts)
            except ChecksumError:
                layout.move_to_damaged(directory, part)
                continue
            if all_rows == committed_sums:
                continue
            copy = part.with_name(part.name + durable.TEMPORARY_SUFFIX + durable.TEMPORARY_SUFFIX)
            copy.unlink(missing_ok=True)
            copy.hardlink_to(part)
            sample_files.write_part(part, _tables(copy, schema, limit, counts))
            if not committed_sums:
                part.unlink()
            layout.move_to_damaged(directory, copy)


def _tables(part: Path, schema: Any, limit: int, counts: Mapping[str, int]) -> Iterator[pa.Table]:
    with open_regular(part) as stream:
        in_part = pq.read_schema(stream).names
    schema = {name: kind for name, kind in schema.items() if name in in_part}
    for frame in batches_of(part, schema, limit):
        yield committed_rows(frame, counts).to_arrow()
