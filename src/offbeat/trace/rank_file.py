"""One file of a trace: its header, its definitions, and its records, read as far as they go.

A file may be cut off in the middle, end with zeros, or stop where the program was killed. What is there is
read; what is wrong with it is a sentence in ``faults``.
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
from offbeat.reading import raise_too_large, size_limit
from offbeat.trace import format as form
from offbeat.trace.definitions import Definitions, finish, read_page
from offbeat.units import counted

ENDINGS = {
    form.RUNNING: "did not end in order (killed, or still running)",
    form.EXITED: "ended without MPI_Finalize",
    form.ABORTED: "ended by MPI_Abort",
}
"""What is said of a process by the state in its header; nothing where it is whole."""


MOST_RANKS = 2**24
"""No run has more ranks; a file that says so is damaged."""

MOST_BYTES = 2**40
"""The largest file that is read where OFFBEAT_READ_LIMIT is not set: its table of pages takes 256 MiB."""

_RECORDS_BYTES = form.RECORDS_A_PAGE * form.RECORD_BYTES


class Header(Struct, frozen=True, kw_only=True):
    """The header of a file; times are of the process's local clock, those of records beside it by at most
    ``stamps_wrong_ns``."""

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
    host: str
    program: str
    library: str
    source: str
    sampling: str


class RankFile(Struct, kw_only=True, eq=False):
    """The file of one rank. ``lanes`` has the numbers of the pages with records, by lane, in their order.

    Records are mapped piece by piece and let go again, so that what was read does not fill the memory.
    """

    path: Path
    header: Header
    definitions: Definitions
    lanes: dict[int, NDArray[np.int64]]
    faults: list[str]
    size_bytes: int

    @property
    def record_pages(self) -> int:
        """How many pages hold records."""
        return sum(len(pages) for pages in self.lanes.values())

    def records(self, pages: NDArray[np.int64]) -> NDArray[Any]:
        """The records of some pages, (n,) of :data:`offbeat.trace.format.RECORD`, those that were written."""
        breaks = np.flatnonzero(np.diff(pages) != 1) + 1
        parts = [self._run(int(run[0]), len(run)) for run in np.split(pages, breaks) if len(run)]
        whole = parts[0] if len(parts) == 1 else np.concatenate([*parts, np.empty(0, form.RECORD)])
        written = whole["function"] != 0
        return whole if written.all() else whole[written]

    def _run(self, first: int, count: int) -> NDArray[Any]:
        """The records of neighbouring pages, copied; the last page may be cut off."""
        start = first * form.PAGE_BYTES
        length = min(count * form.PAGE_BYTES, self.size_bytes - start)
        mapped = np.fromfile(self.path, dtype=np.uint8, offset=start, count=length)
        whole = length // form.PAGE_BYTES
        pages = mapped[: whole * form.PAGE_BYTES].reshape(whole, form.PAGE_BYTES)
        body = pages[:, form.PAGE_HEADER_BYTES : form.PAGE_HEADER_BYTES + _RECORDS_BYTES]
        records = np.ascontiguousarray(body).reshape(-1).view(form.RECORD)
        rest = mapped[whole * form.PAGE_BYTES + form.PAGE_HEADER_BYTES :]
        if len(rest) < form.RECORD_BYTES:
            return records
        rest = rest[: len(rest) // form.RECORD_BYTES * form.RECORD_BYTES]
        return np.concatenate([records, np.array(rest).view(form.RECORD)])


def open_file(path: Path) -> RankFile:
    """Open a file of a trace. Raises :class:`BadInput` for one that holds nothing that can be read."""
    try:
        size = path.stat().st_size
        if size > (limit := size_limit(MOST_BYTES)):
            raise_too_large(path, size, limit)
        mapped = np.memmap(path, dtype=np.uint8, mode="r") if size else np.empty(0, np.uint8)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror or error}") from error
    header = _header(path, mapped)
    faults = [] if header.state == form.FINALIZED else [ENDINGS.get(header.state, "ended in no known way")]
    kinds, lanes = _pages(path, mapped)
    definitions = Definitions()
    for page in np.flatnonzero(kinds == form.DEFINITIONS) + 1:
        start = int(page) * form.PAGE_BYTES
        read_page(mapped[start + form.PAGE_HEADER_BYTES : start + form.PAGE_BYTES].tobytes(), definitions)
    finish(definitions)
    faults += _faults(mapped, kinds, definitions, header)
    places = np.flatnonzero(kinds == form.RECORDS)
    by_lane = {int(lane): places[lanes[places] == lane] + 1 for lane in np.unique(lanes[places])}
    return RankFile(
        path=path, header=header, definitions=definitions, lanes=by_lane, faults=faults, size_bytes=size
    )


def _header(path: Path, mapped: NDArray[np.uint8]) -> Header:
    """The header; BadInput where it isn't one of this version."""
    if len(mapped) >= len(form.MAGIC) and mapped[: len(form.MAGIC)].tobytes() != form.MAGIC:
        is_empty = not mapped[: form.PAGE_BYTES].any()
        what = "is empty: its process ended as it began" if is_empty else "is no trace of offbeat's"
        raise BadInput(f"{path} {what}")
    if len(mapped) < form.HEADER.itemsize:
        raise BadInput(f"{path} ends within its header: {counted(len(mapped), 'byte')} are left of it")
    raw = mapped[: form.HEADER.itemsize].view(form.HEADER)[0]
    if not 1 <= raw["version"] <= form.VERSION:
        raise BadInput(
            f"{path} is a trace of version {raw['version']}; this offbeat reads versions up to"
            f" {form.VERSION}: read it with the offbeat that it was made with"
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
    """Kind and lane of every page behind the header, also of one that is cut off."""
    whole = len(mapped) // form.PAGE_BYTES
    starts = mapped[: whole * form.PAGE_BYTES].reshape(whole, form.PAGE_BYTES)[:, :8]
    begin = np.zeros((whole, 2), dtype="<u4")
    for first, end in _stored(path, whole):
        begin[first:end] = np.ascontiguousarray(starts[first:end]).view("<u4").reshape(-1, 2)
    begin = begin[1:]
    rest = mapped[max(whole, 1) * form.PAGE_BYTES :]
    if len(rest) > form.PAGE_HEADER_BYTES:
        begin = np.vstack([begin, rest[:8].view("<u4").reshape(1, 2)])
    return begin[:, 0].copy(), begin[:, 1].copy()


def _stored(path: Path, pages: int) -> Iterator[tuple[int, int]]:
    """The runs of pages, first and end, that the disk holds something of: a sparse file may seem to have far
    more, all of them zero."""
    at, size = 0, pages * form.PAGE_BYTES
    with path.open("rb") as file:
        while at < size:
            try:
                start = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:  # this file system does not say
                    yield at // form.PAGE_BYTES, pages
                return
            at = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            yield start // form.PAGE_BYTES, min(-(-at // form.PAGE_BYTES), pages)


def _faults(
    mapped: NDArray[np.uint8], kinds: NDArray[np.uint32], definitions: Definitions, header: Header
) -> list[str]:
    """What is wrong with a file, apart from how its process ended."""
    said = []
    if len(mapped) % form.PAGE_BYTES:
        said.append("the file ends in the middle of a page: something cut it off")
    taken = int(mapped[: form.HEADER.itemsize].view(form.HEADER)[0]["pages"])
    used = int(np.count_nonzero((kinds == form.RECORDS) | (kinds == form.DEFINITIONS))) + 1
    if header.state != form.RUNNING and used < taken:
        verb = "is" if taken - used == 1 else "are"
        said.append(f"{counted(taken - used, 'page')} of {taken} {verb} missing or never written")
    strange = int(np.count_nonzero(kinds > form.DEFINITIONS))
    if strange:
        said.append(f"{counted(strange, 'page')} of an unknown kind")
    if definitions.unread:
        said.append(f"{counted(definitions.unread, 'definition')} that cannot be read")
    if header.lost and not any("found no room" in note for note in definitions.notes):
        reason = "OFFBEAT_TRACE_BYTES was reached"
        if header.lost_because > 0:
            reason = os.strerror(header.lost_because)
            if header.lost_because == errno.ENOSPC:
                reason = "the disk was full"
        said.append(f"{counted(header.lost, 'record')} found no room: {reason}")
    return said
