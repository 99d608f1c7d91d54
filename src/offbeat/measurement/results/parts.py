"""The Parquet files of results: checks of their columns and size, and the checksums of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from offbeat.base.campaign.checksum import ChecksumError
from offbeat.base.errors import BadInput
from offbeat.base.reading import RESULT_BYTES, open_regular, raise_too_large, size_limit
from offbeat.measurement.results.schema import PARTITION

_MASK = 2**64 - 1
_NAN = np.array([np.nan]).view(np.uint64)[0]


def row_checksums(frame: pl.DataFrame) -> dict[str, int]:
    """The checksum of each case's rows in a table with a column ``case``; a case without rows has none.

    The sum over rows of their mixed bits: independent of the order of rows and of how the table is split into
    pieces (the sums of the pieces add up modulo 2^64); any changed value changes it.
    """
    if frame.is_empty():
        return {}
    mixed = np.full(frame.height, 0x9E3779B97F4A7C15, dtype=np.uint64)
    for name in frame.columns:
        if name == PARTITION:  # the sums of rows without this column, which is 0 then, stay what they were
            partition = _bits(frame[name])
            mixed = np.where(partition == 0, mixed, _mix(mixed ^ partition))
        elif name != "case":
            mixed = _mix(mixed ^ _bits(frame[name]))
    runs = frame["case"].rle().struct.unnest()
    lengths = runs["len"].to_numpy().astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    sums: dict[str, int] = {}
    for name, value in zip(runs["value"], np.add.reduceat(mixed, starts).tolist(), strict=True):
        sums[name] = (sums.get(name, 0) + value) & _MASK
    return sums


def add_checksums(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """The checksums of two pieces of one table, added."""
    return dict(one) | {case: (one.get(case, 0) + value) & _MASK for case, value in other.items()}


def _bits(column: pl.Series) -> NDArray[np.uint64]:
    """The bits of each value; all missing values and NaNs have the same."""
    if column.dtype == pl.Float64:
        values = column.to_numpy()  # missing values become NaN
        bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
        return np.where(np.isnan(values), _NAN, bits)
    if column.null_count():
        column = column.cast(pl.Int64).fill_null(-(2**63))
    return np.ascontiguousarray(column.to_numpy(), dtype=np.int64).view(np.uint64)


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix every bit into all bits (the finaliser of SplitMix64, Steele et al. 2014)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


_BATCH_ROWS = 2**20

_MAX_ID_LENGTH = 64
"""The id of a case has 16 characters; a longer text in that column is not an id."""

_VALUE_BYTES = 8
"""Memory of a value."""

Schema = dict[str, type[pl.DataType]]


def checksums_of_part(
    path: Path, schema: Schema, max_rows: int, committed: Mapping[str, int] | None = None
) -> dict[str, int]:
    """The checksum of each case's rows in a part; raises as :func:`batches_of` does. Needs little memory.

    ``committed`` excludes uncommitted repetitions (:func:`offbeat.measurement.results.recorded.committed`).
    """
    sums: dict[str, int] = {}
    for frame in batches_of(path, schema, max_rows):
        sums = add_checksums(
            sums, row_checksums(frame if committed is None else committed_rows(frame, committed))
        )
    return sums


def committed_rows(frame: pl.DataFrame, committed: Mapping[str, int]) -> pl.DataFrame:
    """The rows that are committed, by :func:`offbeat.measurement.results.recorded.committed`."""
    counting = pl.DataFrame(
        {"case": list(committed), "counting": list(committed.values())},
        schema={"case": pl.String, "counting": pl.Int64},
    )
    joined = frame.join(counting, on="case", how="left", maintain_order="left")
    return joined.filter(pl.col("repetition") < pl.col("counting").fill_null(0)).drop("counting")


def batches_of(path: Path, schema: Schema, max_rows: int) -> Iterator[pl.DataFrame]:
    """The rows of a part in batches, as frames with these columns.

    Raises :class:`ChecksumError` for a file of another kind or with more rows than ``max_rows``, BadInput for
    one that takes more memory than the limit, FileNotFoundError if it does not exist.
    """
    try:
        with open_regular(path) as stream, pq.ParquetFile(stream, read_dictionary=["case"]) as file:
            rows = file.metadata.num_rows
            if rows > max_rows:
                raise ChecksumError(f"it has {rows} rows, and all cases together have {max_rows} at most")
            limit = size_limit(RESULT_BYTES)
            if rows * len(schema) * _VALUE_BYTES > limit:
                raise_too_large(path, rows * len(schema) * _VALUE_BYTES, limit, "would take in memory")
            read = 0
            for batch in file.iter_batches(batch_size=_BATCH_ROWS):
                read += batch.num_rows
                if read > rows:
                    raise ChecksumError("it has more rows than it says")
                yield with_schema(_to_frame(batch), schema)
    except (BadInput, FileNotFoundError):
        raise
    except (pa.ArrowException, pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise ChecksumError(str(error).splitlines()[0] if str(error) else type(error).__name__) from error


def with_schema(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """The columns of a schema; a missing PARTITION is 0, any other raises PolarsError."""
    if frame.schema == schema:
        return frame
    if PARTITION in schema and PARTITION not in frame.columns:
        frame = frame.with_columns(pl.lit(0, pl.Int64).alias(PARTITION))
    return frame.select(list(schema)).cast(schema)  # type: ignore[arg-type]


def _to_frame(batch: pa.RecordBatch) -> pl.DataFrame:
    """A batch as a frame; the texts of its dictionary column must be ids of cases."""
    case = batch.column("case") if "case" in batch.schema.names else None
    if not isinstance(case, pa.DictionaryArray) or not pa.types.is_string(case.type.value_type):
        raise ChecksumError("it has no column of texts named case")
    for name in case.dictionary:
        if not name.is_valid or len(name.as_py()) > _MAX_ID_LENGTH:
            raise ChecksumError("a text in its column case is no case")
    for field in batch.schema:
        if field.name != "case" and not pa.types.is_primitive(field.type):
            raise ChecksumError(f"its column {field.name} holds no numbers")
    return pl.DataFrame(pl.from_arrow(batch)).with_columns(pl.col("case").cast(pl.String))
