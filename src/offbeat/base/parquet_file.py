"""Parquet files that are written piece by piece, in bounded memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO

import polars as pl
from polars.io.plugins import register_io_source


def write_parquet(
    stream: BinaryIO,
    schema: Mapping[str, type[pl.DataType]],
    frames: Iterable[pl.DataFrame],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write frames with the columns of ``schema``, one after another, and texts as the file's metadata.

    Raises OSError if the disk refuses the file, and what ``frames`` raises.
    """

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, batch_rows: int | None
    ) -> Iterator[pl.DataFrame]:  # the whole table is asked for: nothing is selected or filtered
        yield from frames

    table = register_io_source(source, schema=dict(schema))
    try:
        table.sink_parquet(stream, compression="zstd", metadata=dict(metadata or {}))
    except pl.exceptions.ComputeError as error:
        raise _disk_error(error) or error from error


def _disk_error(error: Exception) -> OSError | None:
    """The operating system's error that polars states in its message, if it does."""
    number = re.search(r"\(os error (\d+)\)", str(error))
    return OSError(int(number[1]), os.strerror(int(number[1]))) if number else None
