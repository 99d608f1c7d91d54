"""The samples of cases on disk: a stream of records while a session measures, Parquet afterwards.

A session appends Arrow record batches, with a row for each repetition and the ranks' times as lists, to the
stream ``samples/session-NNNN.records``. Each batch has its length and checksum
(:mod:`offbeat.measurement.results.records`), and only bytes that match them are passed to Arrow. When the
session ends, or when the next one starts, the stream is converted to the Parquet files
``repetitions/part-NNNN.parquet`` and ``ranks/part-NNNN.parquet`` and then deleted. As long as the stream
exists, Parquet files of its number are ignored, so that a kill at any moment loses nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from offbeat.base.campaign import durable
from offbeat.base.campaign.checksum import ChecksumError
from offbeat.measurement.results import layout
from offbeat.measurement.results.blocks import Samples, delays
from offbeat.measurement.results.layout import DamagedRecord, damaged_file
from offbeat.measurement.results.parts import add_checksums, batches_of, row_checksums, with_schema
from offbeat.measurement.results.records import encode_record, read_records, record_contents
from offbeat.measurement.results.schema import PARTITION, PARTITIONS, RANKS, REPETITIONS, polars_schema

STREAM = pa.schema(
    {
        "case": pa.string(),
        "repetition": pa.int64(),
        "block": pa.int64(),
        "call": pa.int64(),
        "valid": pa.bool_(),
        "last_delay_s": pa.float64(),
        "total_delay_s": pa.float64(),
        "arrivals_s": pa.list_(pa.float64()),
        "exits_s": pa.list_(pa.float64()),
    }
)
"""The stream's columns; the lists are empty if the ranks' times are unknown (imports); only replays have
calls."""

PARTITIONED_STREAM = STREAM.append(pa.field(PARTITIONS, pa.int64()))
"""The columns of batches of partitioned sends, whose lists have a time for each rank and partition, rank by
rank. Such a batch is preceded by its schema."""

_GROUP_ROWS = 1_000_000


def encode(blocks: Sequence[tuple[str, int, Samples]]) -> bytes:
    """The records of blocks, as bytes to append to a stream.

    A block is (id of its case, number of repetitions of that case before it, samples). Successive blocks of
    the same processes and partitions share a batch; blocks without repetitions have none.
    """
    measured = [block for block in blocks if len(block[2].arrivals_s)]
    by_shape = groupby(measured, key=lambda block: (block[2].arrivals_s.shape[1:], block[2].layout))
    return b"".join(_encode_same_shape(list(group)) for _, group in by_shape)


def _encode_same_shape(blocks: Sequence[tuple[str, int, Samples]]) -> bytes:
    arrivals = np.concatenate([samples.arrivals_s for _, _, samples in blocks])
    exits = np.concatenate([samples.exits_s for _, _, samples in blocks])
    valid = np.concatenate([samples.valid for _, _, samples in blocks])
    layout_of_all = blocks[0][2].layout
    last_s, total_s = delays(Samples(arrivals_s=arrivals, exits_s=exits, valid=valid, layout=layout_of_all))
    numbers = [first + np.arange(len(samples.valid)) for _, first, samples in blocks]
    columns = {
        "case": [case for case, _, samples in blocks for _ in samples.valid],
        "repetition": np.concatenate(numbers),
        "block": np.concatenate([np.full(len(samples.valid), samples.block) for _, _, samples in blocks]),
        "call": pa.concat_arrays([_calls(samples.calls, len(samples.valid)) for _, _, samples in blocks]),
        "valid": valid,
        "last_delay_s": last_s,
        "total_delay_s": total_s,
        "arrivals_s": _lists(arrivals),
        "exits_s": _lists(exits),
    }
    return _batch(columns, partitions=int(np.prod(arrivals.shape[2:])))


def encode_delays(
    case: str,
    last_delay_s: Sequence[float],
    total_delay_s: Sequence[float | None],
    calls: NDArray[np.int64] | None = None,
    block_numbers: Sequence[int] | None = None,
) -> bytes:
    """The record batch of a case of which only the delays are known; every repetition is valid."""
    count = len(last_delay_s)
    if count == 0:
        return b""
    columns = {
        "case": [case] * count,
        "repetition": np.arange(count),
        "block": block_numbers or pa.nulls(count, pa.int64()),
        "call": _calls(calls, count),
        "valid": np.ones(count, dtype=np.bool_),
        "last_delay_s": last_delay_s,
        "total_delay_s": total_delay_s,
        "arrivals_s": [[]] * count,
        "exits_s": [[]] * count,
    }
    return _batch(columns)


def _batch(columns: dict[str, Any], partitions: int = 1) -> bytes:
    """The record of a batch with these columns; a delay of NaN is missing."""
    columns |= {
        name: pa.array(columns[name], type=pa.float64(), from_pandas=True)
        for name in ("last_delay_s", "total_delay_s")
    }
    if partitions == 1:
        return encode_record(bytes(pa.RecordBatch.from_pydict(columns, schema=STREAM).serialize()))
    columns[PARTITIONS] = [partitions] * len(columns["case"])
    batch = pa.RecordBatch.from_pydict(columns, schema=PARTITIONED_STREAM)
    return encode_record(bytes(PARTITIONED_STREAM.serialize()) + bytes(batch.serialize()))


def _calls(calls: NDArray[np.int64] | None, count: int) -> pa.Array:
    return pa.nulls(count, pa.int64()) if calls is None else pa.array(calls, type=pa.int64())


def _lists(times_s: NDArray[np.float64]) -> pa.Array:
    offsets = np.arange(len(times_s) + 1, dtype=np.int32) * int(np.prod(times_s.shape[1:]))
    return pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(times_s).ravel()))


def read_batches(stream: Path, damage: list[DamagedRecord]) -> Iterator[pa.RecordBatch]:
    """The valid record batches of a stream, without a truncated last one.

    Damaged records are skipped and added to ``damage``. Raises FileNotFoundError if the stream has been
    converted to Parquet meanwhile.
    """
    for record in read_records(stream):
        reason = record.reason
        if record.content is not None:
            try:
                yield _decode(record.content)
                continue
            except (pa.ArrowException, OSError, ValueError) as error:
                reason = str(error)
        damage.append(damaged_file(stream, f"the record at byte {record.start}: {reason}"))


def _decode(content: bytes) -> pa.RecordBatch:
    """One record batch of a stream; every offset and length in it is checked."""
    message = pa.ipc.read_message(content)
    if message.type == "schema":
        batch = pa.ipc.open_stream(content).read_next_batch()
        if batch.schema != PARTITIONED_STREAM:
            raise ValueError("it has other columns than repetitions have")
    else:
        batch = pa.ipc.read_record_batch(message, STREAM)
    batch.validate(full=True)
    arrivals, exits = (batch[name].value_lengths() for name in ("arrivals_s", "exits_s"))
    if not arrivals.equals(exits):
        raise ValueError("a repetition does not have as many arrivals as exits")
    if PARTITIONS in batch.schema.names and batch[PARTITIONS].to_numpy(zero_copy_only=False).min() < 1:
        raise ValueError("a repetition has no partitions")
    return batch


def stream_checksums(records: bytes) -> dict[str, tuple[int, int]]:
    """Case → checksums of its rows of repetitions and of ranks, in records of :func:`encode`."""
    repetitions: dict[str, int] = {}
    ranks: dict[str, int] = {}
    for record in record_contents(records):
        batch = _decode(record)
        repetitions = add_checksums(repetitions, row_checksums(_frame(repetition_table(batch), REPETITIONS)))
        ranks = add_checksums(ranks, row_checksums(_frame(rank_table(batch), RANKS)))
    return {case: (value, ranks.get(case, 0)) for case, value in repetitions.items()}


def _frame(table: pa.Table, columns: dict[str, tuple[type[pl.DataType], str]]) -> pl.DataFrame:
    return with_schema(pl.DataFrame(pl.from_arrow(table)), polars_schema(columns))


def repetition_table(batch: pa.RecordBatch) -> pa.Table:
    """The rows of a batch for the repetitions table."""
    return pa.table(batch.select(list(REPETITIONS)))


def rank_table(batch: pa.RecordBatch, with_partition: bool = False) -> pa.Table:
    """The rows of a batch for the ranks table: one for each repetition, rank and partition.

    Rows of collectives have the column PARTITION only ``with_partition``.
    """
    lengths = batch["arrivals_s"].value_lengths().to_numpy(zero_copy_only=False)
    row = np.repeat(np.arange(len(lengths)), lengths)
    start = np.cumsum(lengths) - lengths
    place = np.arange(len(row)) - start[row]
    columns = {
        "case": batch["case"].take(pa.array(row)),
        "repetition": batch["repetition"].take(pa.array(row)),
        "rank": pa.array(place, type=pa.int64()),
    }
    if with_partition or PARTITIONS in batch.schema.names:
        partitions = np.ones(len(row), dtype=np.int64)
        if PARTITIONS in batch.schema.names:
            partitions = batch[PARTITIONS].to_numpy(zero_copy_only=False)[row]
        columns["rank"] = pa.array(place // partitions, type=pa.int64())
        columns[PARTITION] = pa.array(place % partitions, type=pa.int64())
    columns |= {"arrival_s": batch["arrivals_s"].flatten(), "exit_s": batch["exits_s"].flatten()}
    return pa.table(columns)


def new_stream(directory: Path) -> Path:
    """The stream of a new session, whose number no stream and no Parquet file uses."""
    folders = (layout.SAMPLES, layout.RANKS, layout.REPETITIONS)
    files = [file for folder in folders for file in _numbered(directory / folder)]
    number = max((number for number, _ in files), default=0) + 1
    return directory / layout.SAMPLES / f"session-{number:04d}.records"


def convert_streams(directory: Path, committed: Mapping[str, int], has_partitions: bool) -> None:
    """Convert every stream to Parquet files of its committed repetitions; raises RunFailed.

    ``committed`` maps a case to the number of its committed repetitions: the first ones.
    ``has_partitions`` says that one of the cases has several partitions. A stream with damaged records is
    moved to the folder for damaged files.
    """
    # all tables of a file need the same columns
    ranks = partial(rank_table, with_partition=has_partitions)
    for number, stream in _numbered(directory / layout.SAMPLES):
        part = f"part-{number:04d}.parquet"
        damage: list[DamagedRecord] = []
        try:
            for folder, table_of in ((layout.RANKS, ranks), (layout.REPETITIONS, repetition_table)):
                damage = []
                write_part(
                    directory / folder / part,
                    (table_of(_committed(batch, committed)) for batch in read_batches(stream, damage)),
                )
            if damage:
                layout.move_to_damaged(directory, stream)
            else:
                stream.unlink()
            durable.sync_directory(stream.parent)
        except OSError as error:
            raise durable.disk_failure(directory / layout.RANKS / part, error) from error


def write_part(part: Path, tables: Iterable[pa.Table]) -> None:
    """Write one Parquet file; none if there are no rows. Raises OSError."""
    unfinished = part.with_name(part.name + durable.TEMPORARY_SUFFIX)
    nonempty = (table for table in tables if table.num_rows)
    first = next(nonempty, None)
    if first is None:
        return
    try:
        unfinished.unlink(missing_ok=True)
        with unfinished.open("xb") as file:
            with pq.ParquetWriter(file, first.schema, compression="zstd") as writer:
                for group in _grouped(first, nonempty):
                    writer.write_table(group)
            file.flush()
            os.fsync(file.fileno())
        durable.publish(unfinished, part)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def _committed(batch: pa.RecordBatch, committed: Mapping[str, int]) -> pa.RecordBatch:
    """The committed rows; a killed writer may have left a batch of which only some are committed."""
    rows = zip(batch["case"].to_pylist(), batch["repetition"].to_pylist(), strict=True)
    keep = [repetition < committed.get(case, 0) for case, repetition in rows]
    return batch if all(keep) else batch.filter(pa.array(keep, type=pa.bool_()))


def _grouped(first: pa.Table, rest: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Tables joined into row groups of at least _GROUP_ROWS; bounds the memory of the conversion."""
    waiting, rows = [first], first.num_rows
    for table in rest:
        if rows >= _GROUP_ROWS:
            yield pa.concat_tables(waiting)
            waiting, rows = [], 0
        waiting.append(table)
        rows += table.num_rows
    yield pa.concat_tables(waiting)


def read_samples(directory: Path, folder: str, max_rows: int) -> tuple[pl.DataFrame, list[DamagedRecord]]:
    """All rows on disk of the repetitions or of the ranks' times, committed or not, and the damage.

    The frame has the columns of REPETITIONS or RANKS. Damaged records and files are skipped; a file with more
    than ``max_rows`` rows counts as damaged.
    """
    columns, table_of = (
        (REPETITIONS, repetition_table) if folder == layout.REPETITIONS else (RANKS, rank_table)
    )
    schema = polars_schema(columns)
    while True:  # starts over if a stream is converted meanwhile
        damage: list[DamagedRecord] = []
        streams = _numbered(directory / layout.SAMPLES)
        parts = _numbered(directory / folder)
        in_streams = {number for number, _ in streams}
        try:
            tables = [table_of(batch) for _, stream in streams for batch in read_batches(stream, damage)]
        except FileNotFoundError:
            continue
        frames = [pl.DataFrame(schema=schema)]
        for part in (part for number, part in parts if number not in in_streams):
            try:
                frames += list(batches_of(part, schema, max_rows))
            except ChecksumError as error:
                damage.append(damaged_file(part, str(error)))
        return pl.concat([*frames, *(_frame(table, columns) for table in tables)]), damage


def parts_of(directory: Path, folder: str) -> list[Path]:
    """The Parquet files of a folder by number."""
    return [part for _, part in _numbered(directory / folder)]


def _numbered(folder: Path) -> list[tuple[int, Path]]:
    """The sessions' files in a folder by number; empty if there is no folder."""
    files = [*folder.glob("session-*.records"), *folder.glob("part-*.parquet")]
    numbered = [(file.stem.rpartition("-")[2], file) for file in files]
    return sorted((int(number), file) for number, file in numbered if number.isdecimal())
