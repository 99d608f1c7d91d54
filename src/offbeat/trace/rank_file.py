"""The trace file of one rank: its header, its definitions and its records.

A file may be truncated, end with zeros, or stop where the program was killed. Everything readable is read;
each defect is a sentence in ``faults``.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.errors import BadInput
from offbeat.reading import map_file, open_regular, read_part
from offbeat.trace import format as form
from offbeat.trace.format import Definitions, read_page, resolve_collectives
from offbeat.units import counted

ENDINGS = {
    form.RUNNING: "did not end normally (killed, or still running)",
    form.EXITED: "ended without MPI_Finalize",
    form.ABORTED: "ended by MPI_Abort",
}
"""The fault of a file by the state in its header; a finalised process has none."""

MOST_RANKS = 2**24
"""Plausible limit; a header with more ranks is damaged."""

MOST_BYTES = 2**40
"""Limit of the file size unless OFFBEAT_READ_LIMIT is set: its table of pages takes 256 MiB."""


class Header(Struct, frozen=True, kw_only=True):
    """The header of a file; times are on the local clock, records' times within ``stamps_wrong_ns`` of it."""

    rank: int
    size: int
    run: int
    pid: int
    began_ns: int
    began_unix_ns: int
    ended_ns: int
    drift_limit: float
    wander: float
    state: int
    lost: int
    lost_because: int
    every: int
    stamps_wrong_ns: int = 0
    has_messages: int = 0
    host: str
    program: str
    library: str
    source: str
    sampling: str


class RankFile(Struct, kw_only=True, eq=False):
    """The file of one rank. ``lanes`` maps each lane, the records of one thread, to the numbers of its record
    pages in order, ``message_lanes`` to those of its message pages; they are read on request.
    """

    path: Path
    header: Header
    definitions: Definitions
    lanes: dict[int, NDArray[np.int64]]
    message_lanes: dict[int, NDArray[np.int64]]
    faults: list[str]
    size_bytes: int

    @property
    def threads(self) -> int:
        """How many threads called MPI at the same time, at least 1."""
        return max(len(self.lanes.keys() | self.message_lanes.keys()), 1)

    @property
    def memory_domain(self) -> int | None:
        """The memory domain of the rank, unique among all nodes; None if the trace does not say it."""
        for note in self.definitions.notes:
            number = note.removeprefix(form.MEMORY_DOMAIN_NOTE)
            if number != note and number.isdecimal() and len(number) < 10:
                return int(number)
        return None

    @property
    def message_pages(self) -> int:
        """How many pages hold messages."""
        return sum(len(pages) for pages in self.message_lanes.values())

    @property
    def record_pages(self) -> int:
        """How many pages hold records."""
        return sum(len(pages) for pages in self.lanes.values())

    def records(self, pages: NDArray[np.int64]) -> NDArray[Any]:
        """The written records of some pages, (n,) of :data:`offbeat.trace.format.RECORD`."""
        return self._written(pages, form.RECORD)

    def messages(self, pages: NDArray[np.int64]) -> NDArray[Any]:
        """The written messages of some pages, (n,) of :data:`offbeat.trace.format.MESSAGE`."""
        return self._written(pages, form.MESSAGE)

    def _written(self, pages: NDArray[np.int64], kind: np.dtype[Any]) -> NDArray[Any]:
        """The written entries of a kind of some pages, (n,)."""
        breaks = np.flatnonzero(np.diff(pages) != 1) + 1
        parts = [self._read(int(run[0]), len(run), kind) for run in np.split(pages, breaks) if len(run)]
        entries = parts[0] if len(parts) == 1 else np.concatenate([*parts, np.empty(0, kind)])
        is_written = entries["function"] != 0
        return entries if is_written.all() else entries[is_written]

    def _read(self, first: int, count: int, kind: np.dtype[Any]) -> NDArray[Any]:
        """The entries of consecutive pages; the last page may be truncated."""
        used = (form.PAGE_BYTES - form.PAGE_HEADER_BYTES) // kind.itemsize * kind.itemsize
        start = first * form.PAGE_BYTES
        length = min(count * form.PAGE_BYTES, self.size_bytes - start)
        mapped = np.frombuffer(read_part(self.path, start, length), np.uint8)
        page_count = length // form.PAGE_BYTES
        pages = mapped[: page_count * form.PAGE_BYTES].reshape(page_count, form.PAGE_BYTES)
        body = pages[:, form.PAGE_HEADER_BYTES : form.PAGE_HEADER_BYTES + used]
        entries = np.ascontiguousarray(body).reshape(-1).view(kind)
        last_page = mapped[page_count * form.PAGE_BYTES + form.PAGE_HEADER_BYTES :]
        if len(last_page) < kind.itemsize:
            return entries
        last_page = last_page[: len(last_page) // kind.itemsize * kind.itemsize]
        return np.concatenate([entries, np.array(last_page).view(kind)])


def open_file(path: Path) -> RankFile:
    """Open a file of a trace. Raises :class:`BadInput` for an unreadable file."""
    try:
        mapped = np.frombuffer(map_file(path, MOST_BYTES), np.uint8)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror or error}") from error
    header = _header(path, mapped)
    faults = (
        [] if header.state == form.FINALIZED else [ENDINGS.get(header.state, "ended in an unknown state")]
    )
    kinds, lanes = _pages(path, mapped)
    definitions = Definitions()
    for page in np.flatnonzero(kinds == form.DEFINITIONS) + 1:
        start = int(page) * form.PAGE_BYTES
        read_page(mapped[start + form.PAGE_HEADER_BYTES : start + form.PAGE_BYTES].tobytes(), definitions)
    resolve_collectives(definitions)
    faults += _faults(mapped, kinds, definitions, header)
    return RankFile(
        path=path,
        header=header,
        definitions=definitions,
        lanes=_by_lane(kinds == form.RECORDS, lanes),
        message_lanes=_by_lane(kinds == form.MESSAGES, lanes),
        faults=faults,
        size_bytes=len(mapped),
    )


def _by_lane(is_selected: NDArray[np.bool_], lanes: NDArray[np.uint32]) -> dict[int, NDArray[np.int64]]:
    """Lane → the numbers of its selected pages, in order."""
    places = np.flatnonzero(is_selected)
    return {int(lane): places[lanes[places] == lane] + 1 for lane in np.unique(lanes[places])}


def _header(path: Path, mapped: NDArray[np.uint8]) -> Header:
    """The header. Raises :class:`BadInput` for another kind or version of file."""
    if len(mapped) >= len(form.MAGIC) and mapped[: len(form.MAGIC)].tobytes() != form.MAGIC:
        is_empty = not mapped[: form.PAGE_BYTES].any()
        problem = "is empty: its process ended during MPI_Init" if is_empty else "is not an offbeat trace"
        raise BadInput(f"{path} {problem}")
    if len(mapped) < form.HEADER.itemsize:
        raise BadInput(f"{path} is truncated within its header, after {counted(len(mapped), 'byte')}")
    raw = mapped[: form.HEADER.itemsize].view(form.HEADER)[0]
    if not 1 <= raw["version"] <= form.VERSION:
        raise BadInput(
            f"{path} has format version {raw['version']}; this offbeat reads versions up to {form.VERSION}:"
            " read it with the offbeat that recorded it"
        )
    sizes = (int(raw["page_bytes"]), int(raw["page_header_bytes"]), int(raw["record_bytes"]))
    if sizes != (form.PAGE_BYTES, form.PAGE_HEADER_BYTES, form.RECORD_BYTES):
        raise BadInput(f"{path} has a damaged header: pages and records of {sizes} bytes")
    if not 0 <= raw["rank"] < raw["size"] <= MOST_RANKS:
        raise BadInput(f"{path} has a damaged header: rank {raw['rank']} of {raw['size']}")
    values: dict[str, Any] = {}
    for name in Header.__struct_fields__:
        value = raw[name].item()
        values[name] = value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
    return Header(**values)


def _pages(path: Path, mapped: NDArray[np.uint8]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Kind and lane of every page after the header, including a truncated last page."""
    pages = len(mapped) // form.PAGE_BYTES
    starts = mapped[: pages * form.PAGE_BYTES].reshape(pages, form.PAGE_BYTES)[:, :8]
    page_headers = np.zeros((pages, 2), dtype="<u4")
    for first, end in _allocated_pages(path, pages):
        page_headers[first:end] = np.ascontiguousarray(starts[first:end]).view("<u4").reshape(-1, 2)
    page_headers = page_headers[1:]
    last_page = mapped[max(pages, 1) * form.PAGE_BYTES :]
    if len(last_page) > form.PAGE_HEADER_BYTES:
        page_headers = np.vstack([page_headers, last_page[:8].view("<u4").reshape(1, 2)])
    return page_headers[:, 0].copy(), page_headers[:, 1].copy()


def _allocated_pages(path: Path, pages: int) -> Iterator[tuple[int, int]]:
    """Ranges of pages, first and end, outside of the holes of a sparse file."""
    at, size = 0, pages * form.PAGE_BYTES
    with open_regular(path) as file:
        while at < size:
            try:
                start = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:  # this file system does not report holes
                    yield at // form.PAGE_BYTES, pages
                return
            at = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            yield start // form.PAGE_BYTES, min(-(-at // form.PAGE_BYTES), pages)


_LOSS_REASONS = {
    errno.ENOSPC: "the disk was full",
    errno.ESTALE: "another program truncated, moved or deleted the file while the program ran",
}
"""Why records are missing, by the errno value in the header."""


def _faults(
    mapped: NDArray[np.uint8], kinds: NDArray[np.uint32], definitions: Definitions, header: Header
) -> list[str]:
    """The defects of a file, without how its process ended."""
    faults = []
    if len(mapped) % form.PAGE_BYTES:
        faults.append("the file is truncated in the middle of a page")
    reserved = int(mapped[: form.HEADER.itemsize].view(form.HEADER)[0]["pages"])
    used = int(np.count_nonzero((kinds != form.NOTHING) & (kinds <= form.MESSAGES))) + 1
    if header.state != form.RUNNING and used < reserved:
        verb = "is" if reserved - used == 1 else "are"
        faults.append(f"{counted(reserved - used, 'page')} of {reserved} {verb} missing or never written")
    unknown = int(np.count_nonzero(kinds > form.MESSAGES))
    if unknown:
        faults.append(f"{counted(unknown, 'page')} of an unknown kind")
    if definitions.invalid:
        faults.append(f"{counted(definitions.invalid, 'unreadable definition')}")
    if header.lost and not any("found no room" in note for note in definitions.notes):
        reason = "OFFBEAT_TRACE_BYTES was reached"
        if header.lost_because > 0:
            reason = _LOSS_REASONS.get(header.lost_because, os.strerror(header.lost_because))
        faults.append(f"{counted(header.lost, 'record')} could not be written: {reason}")
    return faults
