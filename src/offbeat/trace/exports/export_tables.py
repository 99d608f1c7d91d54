"""Tables of a trace as Parquet and CSV files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from offbeat.base.atomic_write import atomic_writer
from offbeat.base.parquet_file import write_parquet
from offbeat.trace.files.trace_folder import Trace

Columns = dict[str, tuple[type[pl.DataType], str]]

MESSAGES_SUFFIX = "-messages"
"""What the name of a table of messages has after that of the table of collectives."""


def _empty(columns: Columns) -> pl.DataFrame:
    """A table with all columns and no rows."""
    return pl.DataFrame(schema={name: dtype for name, (dtype, _) in columns.items()})


def csv_table(path: Path, columns: Columns, frames: Iterable[pl.DataFrame], _trace: Trace) -> None:
    """A CSV file in UTF-8: a header, then one row per line."""
    with atomic_writer(path) as stream:
        stream.write(_empty(columns).write_csv().encode())
        for piece in frames:
            stream.write(piece.write_csv(include_header=False).encode())


def parquet_table(path: Path, columns: Columns, frames: Iterable[pl.DataFrame], trace: Trace) -> None:
    """A Parquet file, with the notes on the trace in its metadata."""
    metadata = {"offbeat.trace": str(trace.directory), "offbeat.words": "\n".join(trace.notes)}
    schema = {name: dtype for name, (dtype, _) in columns.items()}
    with atomic_writer(path) as stream:
        write_parquet(stream, schema, frames, metadata)


TABLES = {"parquet": parquet_table, "csv": csv_table}
"""The formats that are tables, and their writers."""
