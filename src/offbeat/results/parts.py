"""The Parquet files of results, read behind checks: their form, size, and the checksums of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from offbeat.reading import RESULT_BYTES, raise_too_large, size_limit
from offbeat.results.checksum import Damaged
from offbeat.results.row_checksums import added, of_rows

_ROWS_AT_ONCE = 2**20

_LONGEST_NAME = 64
"""The identity of a case has 16 characters; a longer text in that column is not one."""

_WIDTH_BYTES = 8
"""What a value takes in memory."""

Schema = dict[str, type[pl.DataType]]


def read_part(path: Path, schema: Schema, most_rows: int) -> pl.DataFrame:
    """A whole part as a frame with these columns.

    Raises :class:`Damaged` for a file that is none of ours or has more rows than ``most_rows``, BadInput for
    one that takes more memory than the limit, FileNotFoundError where there is none.
    """
    frames = list(batches_of(path, schema, most_rows))
    return pl.concat([pl.DataFrame(schema=schema), *frames])


def checksums_of_part(
    path: Path, schema: Schema, most_rows: int, committed: Mapping[str, int] | None = None
) -> dict[str, int]:
    """The checksum of each case's rows in a part; raises as :func:`read_part` does. Takes little memory.

    ``committed`` leaves out what does not count (:func:`offbeat.results.recorded.committed`).
    """
    sums: dict[str, int] = {}
    for frame in batches_of(path, schema, most_rows):
        sums = added(sums, of_rows(frame if committed is None else committed_rows(frame, committed)))
    return sums


def committed_rows(frame: pl.DataFrame, committed: Mapping[str, int]) -> pl.DataFrame:
    """The rows of committed blocks, of repetitions or of ranks; ``committed`` is as :func:`checksums_of_part`
    takes it."""
    counting = pl.DataFrame(
        {"case": list(committed), "counting": list(committed.values())},
        schema={"case": pl.String, "counting": pl.Int64},
    )
    kept = frame.join(counting, on="case", how="left", maintain_order="left")
    return kept.filter(pl.col("repetition") < pl.col("counting").fill_null(0)).drop("counting")


def batches_of(path: Path, schema: Schema, most_rows: int) -> Iterator[pl.DataFrame]:
    """The rows of a part, some at a time; raises as :func:`read_part` does."""
    try:
        with pq.ParquetFile(path, read_dictionary=["case"]) as file:
            rows = file.metadata.num_rows
            if rows > most_rows:
                raise Damaged(f"it has {rows} rows, and all cases together have {most_rows} at most")
            limit = size_limit(RESULT_BYTES)
            if rows * len(schema) * _WIDTH_BYTES > limit:
                raise_too_large(path, rows * len(schema) * _WIDTH_BYTES, limit, "would take in memory")
            read = 0
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
                read += batch.num_rows
                if read > rows:
                    raise Damaged("it has more rows than it says")
                yield shaped(_plain(batch), schema)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise Damaged(str(error).splitlines()[0] if str(error) else type(error).__name__) from error


def shaped(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """The columns of a schema, of its types; raises PolarsError where they are not there."""
    if frame.schema == schema:
        return frame
    return frame.select(list(schema)).cast(schema)  # type: ignore[arg-type]


def _plain(batch: pa.RecordBatch) -> pl.DataFrame:
    """A batch as a frame; its texts, a dictionary until now, must be names of cases."""
    case = batch.column("case") if "case" in batch.schema.names else None
    if not isinstance(case, pa.DictionaryArray) or not pa.types.is_string(case.type.value_type):
        raise Damaged("it has no column of texts named case")
    for name in case.dictionary:
        if not name.is_valid or len(name.as_py()) > _LONGEST_NAME:
            raise Damaged("a text in its column case is no case")
    for field in batch.schema:
        if field.name != "case" and not pa.types.is_primitive(field.type):
            raise Damaged(f"its column {field.name} holds no numbers")
    return pl.DataFrame(pl.from_arrow(batch)).with_columns(pl.col("case").cast(pl.String))
