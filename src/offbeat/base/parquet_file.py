"""Parquet files that are written piece by piece, in bounded memory."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO, cast

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
    target = _Target(stream)
    try:
        table.sink_parquet(cast("BinaryIO", target), compression="zstd", metadata=dict(metadata or {}))
    except pl.exceptions.ComputeError as error:
        raise target.error or error from error


class _Target(io.RawIOBase):
    """The stream that polars writes to; ``error`` is the error of a write, which polars reports as text."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def writable(self) -> bool:
        """True: the stream is open for writing."""
        return True

    def write(self, data: Any) -> int:
        """Write and flush, so that an error of the disk is known here."""
        try:
            count = self._stream.write(data)
            self._stream.flush()
        except OSError as error:
            self.error = error
            raise
        return count
