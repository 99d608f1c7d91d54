"""Writes the trace file of one rank piece by piece; nothing of it stays in memory, and no file stays open.

Until :meth:`RankWriter.finish` the header says that the process still runs: what was written by then can be
read, and the reader says that the rank did not end normally.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace.files import encode
from offbeat.trace.files import format as form


class _LastPage(Struct):
    """The page that is being filled with rows of one kind: its number, and its rows."""

    number: int
    rows: NDArray[Any]


class RankWriter:
    """The file of one rank, whose calls are all in lane 0. Every method raises OSError."""

    def __init__(
        self, folder: Path, rank: int, header: Mapping[str, Any], definitions: Iterable[bytes]
    ) -> None:
        """Create the file; ``header`` are the members of the header that are known beforehand."""
        self.path = folder / f"rank-{rank:06}.trace"
        pages = encode.definition_pages(definitions)
        self._header = dict(header) | {"rank": rank, "lanes": 1, "state": form.RUNNING}
        self._pages = 1 + len(pages) // form.PAGE_BYTES
        self._last: dict[int, _LastPage] = {}
        self.path.write_bytes(self._head() + self._with_checksums(pages, 1))

    def append(self, *parts: NDArray[Any]) -> None:
        """Append messages and records: ``MESSAGE`` and ``RECORD`` of :mod:`offbeat.trace.files.format`."""
        if not any(len(rows) for rows in parts):
            return
        descriptor = os.open(self.path, os.O_WRONLY)
        try:
            for rows in parts:
                self._append(descriptor, rows)
            _write(descriptor, self._head(), 0)
        finally:
            os.close(descriptor)

    def finish(self, ended_ns: int) -> None:
        """Say in the header that the process called MPI_Finalize at this local time."""
        self._header |= {"state": form.FINALIZED, "ended_ns": ended_ns}
        with self.path.open("r+b") as stream:
            stream.write(self._head())

    def _head(self) -> bytes:
        return encode.header_page(self._header | {"pages": self._pages})

    def _append(self, descriptor: int, rows: NDArray[Any]) -> None:
        """First fill the last page of this kind of rows, then add pages."""
        kind, per_page = encode.kind_and_rows_per_page(rows.dtype)
        last = self._last.get(kind)
        if last is not None and len(rows):
            room = per_page - len(last.rows)
            last.rows = np.concatenate([last.rows, rows[:room]])
            self._write_pages(descriptor, last.rows, last.number)
            rows = rows[room:]
        if not len(rows):
            return
        first = self._pages
        self._pages += -(-len(rows) // per_page)
        self._write_pages(descriptor, rows, first)
        in_last = len(rows) - (self._pages - 1 - first) * per_page
        self._last[kind] = _LastPage(self._pages - 1, rows[len(rows) - in_last :].copy())

    def _write_pages(self, descriptor: int, rows: NDArray[Any], first: int) -> None:
        _write(descriptor, self._with_checksums(encode.row_pages(rows), first), first * form.PAGE_BYTES)

    def _with_checksums(self, pages: bytes, first: int) -> bytes:
        return encode.with_checksums(pages, int(self._header.get("run", 0)), int(self._header["rank"]), first)


def _write(descriptor: int, data: bytes, position: int) -> None:
    unwritten = memoryview(data)
    while unwritten:
        count = os.pwrite(descriptor, unwritten, position)
        unwritten, position = unwritten[count:], position + count


def file_bytes(definitions: Iterable[bytes], messages: int, records: int) -> int:
    """How large the file of a rank becomes."""
    pages = 1 + len(encode.definition_pages(definitions)) // form.PAGE_BYTES
    for count, dtype in ((messages, form.MESSAGE), (records, form.RECORD)):
        pages += -(-count // encode.kind_and_rows_per_page(np.dtype(dtype))[1])
    return pages * form.PAGE_BYTES
