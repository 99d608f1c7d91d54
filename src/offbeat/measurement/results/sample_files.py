"""The samples of cases on disk: records with checksums, each of which holds a table in Arrow's IPC format.

A session appends to two files: ``repetitions/session-NNNN.records`` has a row for each repetition, and
``ranks/session-NNNN.records`` a row for each repetition with the ranks' times as lists. Each record has its
length and checksum (:mod:`offbeat.measurement.results.records`), and only bytes that match them are decoded.
A case counts the rows that its line in ``cases.jsonl`` states, so that a kill at any moment loses no block.
When the session ends, its many small records are joined into large ones; the new file replaces the old one.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from offbeat.base.campaign import durable
from offbeat.base.campaign.append_file import AppendFile
from offbeat.measurement.results import layout
from offbeat.measurement.results.blocks import Samples, delays
from offbeat.measurement.results.layout import DamagedRecord, damaged_file
from offbeat.measurement.results.records import encode_record, read_records, record_contents
from offbeat.measurement.results.row_checksums import add_checksums, committed_rows, row_checksums
from offbeat.measurement.results.schema import PARTITION, PARTITIONS, RANKS, REPETITIONS, polars_schema

FOLDERS = (layout.REPETITIONS, layout.RANKS)

_LISTS = {"arrivals_s": pl.List(pl.Float64), "exits_s": pl.List(pl.Float64)}

_SCHEMAS: dict[str, dict[str, Any]] = {
    layout.REPETITIONS: polars_schema(REPETITIONS),
    layout.RANKS: {"case": pl.String, "repetition": pl.Int64, PARTITIONS: pl.Int64} | _LISTS,
}
"""The columns of each file's records. The lists have a time for each rank and partition, rank by rank."""

_RECORD_BYTES = 2**24
"""The memory of the rows that are joined into one record: large enough that headers do not count, and small
enough for the memory of a login node."""


class Records(NamedTuple):
    """Records to append to the files of a session: of repetitions, and of ranks."""

    repetitions: bytes = b""
    ranks: bytes = b""


def encode(blocks: Sequence[tuple[str, int, Samples]]) -> Records:
    """The records of blocks.

    A block is (id of its case, number of repetitions of that case before it, samples). Successive blocks of
    the same processes and partitions share a record; blocks without repetitions have none.
    """
    measured_blocks = [block for block in blocks if len(block[2].arrivals_s)]
    by_shape = groupby(measured_blocks, key=lambda block: (block[2].arrivals_s.shape[1:], block[2].layout))
    pieces = [_encode_same_shape(list(group)) for _, group in by_shape]
    return Records(*(b"".join(parts) for parts in zip(*pieces, strict=True)))


def _encode_same_shape(blocks: Sequence[tuple[str, int, Samples]]) -> Records:
    arrivals = np.concatenate([samples.arrivals_s for _, _, samples in blocks])
    exits = np.concatenate([samples.exits_s for _, _, samples in blocks])
    valid = np.concatenate([samples.valid for _, _, samples in blocks])
    shared_layout = blocks[0][2].layout
    last_s, total_s = delays(Samples(arrivals_s=arrivals, exits_s=exits, valid=valid, layout=shared_layout))
    identity = {
        "case": [case for case, _, samples in blocks for _ in samples.valid],
        "repetition": np.concatenate([first + np.arange(len(samples.valid)) for _, first, samples in blocks]),
    }
    calls = [_calls(samples.calls, len(samples.valid)) for _, _, samples in blocks]
    repetitions = identity | {
        "block": np.concatenate([np.full(len(samples.valid), samples.block) for _, _, samples in blocks]),
        "call": pl.concat(calls),
        "valid": valid,
        "last_delay_s": _without_nan(last_s),
        "total_delay_s": _without_nan(total_s),
    }
    partitions = int(np.prod(arrivals.shape[2:]))
    ranks = identity | {
        PARTITIONS: np.full(len(valid), partitions),
        "arrivals_s": _lists(arrivals),
        "exits_s": _lists(exits),
    }
    return Records(_record(layout.REPETITIONS, repetitions), _record(layout.RANKS, ranks))


def encode_delays(
    case: str,
    last_delay_s: Sequence[float],
    total_delay_s: Sequence[float | None],
    calls: NDArray[np.int64] | None = None,
    block_numbers: Sequence[int] | None = None,
) -> Records:
    """The record of a case of which only the delays are known; every repetition is valid."""
    count = len(last_delay_s)
    if count == 0:
        return Records()
    columns = {
        "case": [case] * count,
        "repetition": np.arange(count),
        "block": pl.Series(block_numbers or [None] * count, dtype=pl.Int64),
        "call": _calls(calls, count),
        "valid": np.ones(count, dtype=np.bool_),
        "last_delay_s": _without_nan(last_delay_s),
        "total_delay_s": _without_nan(total_delay_s),
    }
    return Records(_record(layout.REPETITIONS, columns))


def _record(folder: str, columns: Mapping[str, Any]) -> bytes:
    return encode_record(_table_bytes(pl.DataFrame(columns, schema=_SCHEMAS[folder])))


def _table_bytes(frame: pl.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.write_ipc_stream(stream)
    return stream.getvalue()


def _without_nan(delays_s: Any) -> pl.Series:
    """A column of delays; a delay of NaN is missing."""
    return pl.Series(delays_s, dtype=pl.Float64).fill_nan(None)


def _calls(calls: NDArray[np.int64] | None, count: int) -> pl.Series:
    return pl.Series([None] * count if calls is None else calls, dtype=pl.Int64)


def _lists(times_s: NDArray[np.float64]) -> pl.Series:
    """A list for each repetition: the times of its ranks and their partitions."""
    return pl.Series(np.ascontiguousarray(times_s).reshape(len(times_s), -1)).arr.to_list()


def read_tables(path: Path, folder: str, damage: list[DamagedRecord]) -> Iterator[pl.DataFrame]:
    """The tables of the valid records of a file; a truncated last record does not count.

    Damaged records are skipped and added to ``damage``. Raises OSError, and BadInput for anything but a
    regular file.
    """
    for record in read_records(path):
        reason = record.reason
        if record.content is not None:
            try:
                yield _decode(record.content, folder)
                continue
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
                reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        damage.append(damaged_file(path, f"the record at byte {record.start}: {reason}"))


def _decode(content: bytes, folder: str) -> pl.DataFrame:
    """The table of a record. Raises ValueError for other columns or impossible lists."""
    table = pl.read_ipc_stream(io.BytesIO(content))
    if dict(table.schema) != _SCHEMAS[folder]:
        raise ValueError(f"its columns are not those of {folder}")
    if folder == layout.RANKS and table.height:
        if not (table["arrivals_s"].list.len() == table["exits_s"].list.len()).all():
            raise ValueError("a repetition does not have as many arrivals as exits")
        if (table[PARTITIONS].fill_null(0) < 1).any():
            raise ValueError("a repetition has no partitions")
    return table


def record_checksums(records: Records) -> dict[str, tuple[int, int]]:
    """Case → checksums of its rows of repetitions and of ranks, in records of :func:`encode`."""
    sums = [
        _sum_checksums(rows_of(_decode(content, folder), folder) for content in record_contents(part))
        for folder, part in zip(FOLDERS, records, strict=True)
    ]
    return {case: (value, sums[1].get(case, 0)) for case, value in sums[0].items()}


def _sum_checksums(frames: Iterable[pl.DataFrame]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for frame in frames:
        sums = add_checksums(sums, row_checksums(frame))
    return sums


def committed_checksums(
    path: Path, folder: str, committed: Mapping[str, int], damage: list[DamagedRecord]
) -> dict[str, int]:
    """Case → checksum of its committed rows in a file; damaged records are added to ``damage``."""
    tables = read_tables(path, folder, damage)
    return _sum_checksums(rows_of(committed_rows(table, committed), folder) for table in tables)


def needs_joining(path: Path, folder: str, committed: Mapping[str, int]) -> bool:
    """Whether a file has damaged records, rows that are not committed, or many small records."""
    damage: list[DamagedRecord] = []
    count = 0
    for table in read_tables(path, folder, damage):
        count += 1
        if damage or committed_rows(table, committed).height < table.height:
            return True
    return bool(damage) or count > 1 + path.stat().st_size // _RECORD_BYTES


def rows_of(table: pl.DataFrame, folder: str) -> pl.DataFrame:
    """The rows of a record's table: of REPETITIONS as they are; of RANKS one for each repetition, rank and
    partition."""
    if folder == layout.REPETITIONS:
        return table
    positions = pl.int_ranges(pl.col("arrivals_s").list.len()).alias("position")
    rows = table.with_columns(positions).explode("arrivals_s", "exits_s", "position").drop_nulls("position")
    return rows.select(
        "case",
        "repetition",
        (pl.col("position") // pl.col(PARTITIONS)).alias("rank"),
        (pl.col("position") % pl.col(PARTITIONS)).alias(PARTITION),
        pl.col("arrivals_s").alias("arrival_s"),
        pl.col("exits_s").alias("exit_s"),
    )


def read_samples(directory: Path, folder: str, max_rows: int) -> tuple[pl.DataFrame, list[DamagedRecord]]:
    """All rows on disk of the repetitions or of the ranks' times, committed or not, and the damage.

    The frame has the columns of REPETITIONS or RANKS. Damaged records are skipped; a file with more than
    ``max_rows`` rows counts as damaged.
    """
    schema = polars_schema(REPETITIONS if folder == layout.REPETITIONS else RANKS)
    damage: list[DamagedRecord] = []
    frames = [pl.DataFrame(schema=schema)]
    for path in sample_files(directory, folder):
        tables, count = [], 0
        for table in read_tables(path, folder, damage):
            is_list = folder == layout.RANKS
            count += int(table["arrivals_s"].list.len().sum()) if is_list else table.height
            tables += [rows_of(table, folder)] if count <= max_rows else []
        if count > max_rows:
            reason = f"it has {count} rows, and all cases together have {max_rows} at most"
            damage.append(damaged_file(path, reason))
        else:
            frames += tables
    return pl.concat(frames), damage


def join_records(path: Path, folder: str, committed: Mapping[str, int]) -> None:
    """Replace a file by one with its committed rows in few large records. Raises OSError."""
    temporary_file = path.with_name(path.name + durable.TEMPORARY_SUFFIX)
    try:
        temporary_file.unlink(missing_ok=True)
        with temporary_file.open("xb") as file:
            tables = (committed_rows(table, committed) for table in read_tables(path, folder, []))
            for table in _join_tables(tables):
                file.write(encode_record(_table_bytes(table)))
            file.flush()
            os.fsync(file.fileno())
        durable.publish(temporary_file, path)
    except OSError:
        temporary_file.unlink(missing_ok=True)
        raise


def _join_tables(tables: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Tables joined until they have _RECORD_BYTES, which bounds the memory that joining needs."""
    pending_tables: list[pl.DataFrame] = []
    size_bytes = 0
    for table in tables:
        if table.height:
            pending_tables.append(table)
            size_bytes += int(table.estimated_size())
        if size_bytes >= _RECORD_BYTES:
            yield pl.concat(pending_tables, rechunk=True)
            pending_tables, size_bytes = [], 0
    if pending_tables:
        yield pl.concat(pending_tables, rechunk=True)


def sample_files(directory: Path, folder: str) -> list[Path]:
    """The sessions' files in a folder by number; none if there is no folder."""
    return [path for _, path in sorted(_session_files(directory / folder))]


def _session_files(folder: Path) -> list[tuple[int, Path]]:
    numbers_and_files = [(file.stem.rpartition("-")[2], file) for file in folder.glob("session-*.records")]
    return [(int(number), file) for number, file in numbers_and_files if number.isdecimal()]


class SessionFiles:
    """The files to which a session appends its samples; they are created with the first ones."""

    def __init__(self, directory: Path) -> None:
        """Nothing is opened yet; raises nothing."""
        self._directory = directory
        self._files: dict[str, AppendFile] = {}

    def append(self, records: Records) -> None:
        """Append records to both files: to both or to none. Raises RunFailed if the disk refuses them."""
        if not any(records):
            return
        if not self._files:
            self._open()
        ends = self.ends
        try:
            for folder, part in zip(FOLDERS, records, strict=True):
                if part:
                    self._files[folder].append(part)
        except BaseException:
            self.rewind(ends)
            raise

    @property
    def ends(self) -> dict[str, int]:
        """The committed length of each file in bytes; of a file that does not exist yet, nothing."""
        return {folder: file.end for folder, file in self._files.items()}

    def rewind(self, ends: Mapping[str, int]) -> None:
        """Remove what was appended since the files had the lengths ``ends``."""
        for folder, file in self._files.items():
            file.rewind(ends.get(folder, 0))

    def close(self, committed: Mapping[str, int]) -> None:
        """Close the files and join their records. Raises RunFailed if the disk is full: the files then stay
        as they are."""
        files, self._files = self._files, {}
        for file in files.values():
            file.close()
        for folder, file in files.items():
            try:
                join_records(file.path, folder, committed)
            except OSError as error:
                raise durable.disk_failure(file.path, error) from error

    def _open(self) -> None:
        numbers = [number for folder in FOLDERS for number, _ in _session_files(self._directory / folder)]
        name = f"session-{max(numbers, default=0) + 1:04d}.records"
        for folder in FOLDERS:
            path = self._directory / folder / name
            self._files[folder] = AppendFile(path, end=0)
            try:
                durable.sync_directory(path.parent)
            except OSError as error:
                raise durable.disk_failure(path, error) from error
