"""A trace as one table, for other tools: Parquet and CSV, written piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pyarrow.parquet as parquet

from offbeat.atomic_write import atomic_writer, write_error
from offbeat.trace.events import COLUMNS, Told, pieces
from offbeat.trace.read import Trace


def empty() -> pl.DataFrame:
    """A table with all columns and no row."""
    return pl.DataFrame(schema={name: dtype for name, (dtype, _) in COLUMNS.items()})


def export_csv(
    trace: Trace, path: Path, *, ranks: Sequence[int] | None = None, told: Told | None = None
) -> None:
    """Write a CSV file in UTF-8: a header, then a record a line. Raises :class:`BadInput` where it cannot."""
    try:
        with atomic_writer(path) as stream:
            stream.write(empty().write_csv().encode())
            for piece in pieces(trace, ranks=ranks, told=told):
                stream.write(piece.write_csv(include_header=False).encode())
    except OSError as error:
        raise write_error(path, error) from error


def export_parquet(
    trace: Trace, path: Path, *, ranks: Sequence[int] | None = None, told: Told | None = None
) -> None:
    """Write a Parquet file; what people must know of the trace is in its metadata (``offbeat.words``).

    Raises :class:`BadInput` where it cannot.
    """
    schema = empty().to_arrow().schema
    headers = {
        b"offbeat.trace": str(trace.directory).encode(),
        b"offbeat.words": "\n".join(trace.words).encode(),
    }
    try:
        with (
            atomic_writer(path) as stream,
            parquet.ParquetWriter(stream, schema.with_metadata(headers), compression="zstd") as writer,
        ):
            for piece in pieces(trace, ranks=ranks, told=told):
                writer.write_table(piece.to_arrow().cast(schema).replace_schema_metadata(headers))
    except OSError as error:
        raise write_error(path, error) from error
