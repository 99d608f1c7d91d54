"""The trace file of one rank: its header, its definitions and its records.

A file may be truncated, end with zeros, or stop where the program was killed. Everything readable is read;
each defect is a sentence in ``faults``.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.base.errors import BadInput
from offbeat.base.reading import map_file, read_part
from offbeat.base.units import amount
from offbeat.trace.files import format as form
from offbeat.trace.files.decode import decode
from offbeat.trace.files.format import Definitions, read_page, resolve_collectives
from offbeat.trace.files.page_checksum import header_checksums
from offbeat.trace.files.pages import Pages, pages_of, words_of

ENDINGS = {
    form.RUNNING: "did not end normally (killed, or still running)",
    form.EXITED: "ended without MPI_Finalize",
    form.ABORTED: "ended by MPI_Abort",
}
"""The fault of a file by the state in its header; a finalised process has none."""

_UNKNOWN_END = "ended in an unknown state"

_RECORD_KINDS = (form.RECORDS, form.ENCODED)

_MOST_LISTED_PAGES = 6
"""So many damaged pages are named."""

MOST_RANKS = 2**24
"""Plausible limit; a header with more ranks is damaged."""

MOST_BYTES = 2**40
"""Limit of the file size unless OFFBEAT_READ_LIMIT is set: its table of pages takes 256 MiB."""


class Header(Struct, frozen=True, kw_only=True):
    """The header of a file; times are on the local clock, records' times within ``stamps_wrong_ns`` of it."""

    version: int
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
    pages: int
    lost_count: int
    lost_because: int
    period: int
    stamps_wrong_ns: int = 0
    has_messages: int = 0
    host: str
    program: str
    library: str
    source: str
    sampling: str
    has_state: bool
    """Whether what changes while the program runs, from ``ended_ns`` on, is known."""


class RankFile(Struct, kw_only=True, eq=False):
    """The file of one rank. ``lanes`` maps each lane, the records of one thread, to the numbers of its record
    pages in order, ``message_lanes`` to those of its message pages; they are read on request.
    """

    path: Path
    header: Header
    definitions: Definitions
    pages: Pages
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
    def most_records(self) -> int:
        """Upper limit of the number of records."""
        return int(self.pages.most_rows(*_RECORD_KINDS).sum())

    @property
    def most_messages(self) -> int:
        """Upper limit of the number of messages."""
        return int(self.pages.most_rows(form.MESSAGES).sum())

    @property
    def records_a_page(self) -> int:
        """How many records a page has at most, at least 1."""
        return max(int(self.pages.most_rows(*_RECORD_KINDS).max(initial=1)), 1)

    def records(self, pages: NDArray[np.int64]) -> NDArray[Any]:
        """The written records of some pages, (n,) of :data:`offbeat.trace.files.format.RECORD`."""
        return self._entries_of(pages, form.RECORD)

    def messages(self, pages: NDArray[np.int64]) -> NDArray[Any]:
        """The written messages of some pages, (n,) of :data:`offbeat.trace.files.format.MESSAGE`."""
        return self._entries_of(pages, form.MESSAGE)

    def _entries_of(self, pages: NDArray[np.int64], kind: np.dtype[Any]) -> NDArray[Any]:
        """The written entries of a kind of some pages, (n,)."""
        breaks = np.flatnonzero(np.diff(pages) != 1) + 1
        parts = [
            self._entries(page, int(number), kind)
            for run in np.split(pages, breaks)
            if len(run)
            for number, page in zip(run, self._read(int(run[0]), len(run)), strict=True)
        ]
        entries = parts[0] if len(parts) == 1 else np.concatenate([*parts, np.empty(0, kind)])
        is_written = entries["function"] != 0
        return entries if is_written.all() else entries[is_written]

    def _read(self, first: int, count: int) -> NDArray[np.uint64]:
        """Consecutive pages as words."""
        start = first * form.PAGE_BYTES
        length = min(count * form.PAGE_BYTES, self.size_bytes - start)
        return words_of(np.frombuffer(read_part(self.path, start, length), np.uint8), 0, count)

    def _entries(self, page: NDArray[np.uint64], number: int, kind: np.dtype[Any]) -> NDArray[Any]:
        """The records or messages of a page."""
        words, templates = int(self.pages.words[number]), int(self.pages.templates[number])
        if self.pages.kind[number] == form.ENCODED:
            return decode(page, words, templates)
        stored_kind = kind
        if kind == form.RECORD and self.header.version < form.FIRST_VERSION_WITH_CHECKSUMS:
            stored_kind = form.RECORD_BEFORE_5
        body = page[form.PAGE_HEADER_BYTES // 8 :].view(np.uint8)
        entries = body[: 8 * words // stored_kind.itemsize * stored_kind.itemsize].view(stored_kind)
        if stored_kind == kind:
            return entries
        complete = np.zeros(len(entries), kind)
        for name in stored_kind.names or ():
            complete[name] = entries[name]
        return complete


def open_file(path: Path) -> RankFile:
    """Open a file of a trace. Raises :class:`BadInput` for an unreadable file."""
    try:
        contents = np.frombuffer(map_file(path, MOST_BYTES), np.uint8)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror or error}") from error
    header = _header(path, contents)
    faults = [] if header.state == form.FINALIZED else [ENDINGS.get(header.state, _UNKNOWN_END)]
    pages = pages_of(path, contents, header.version, header.run, header.rank)
    definitions = Definitions()
    for number in np.flatnonzero(pages.kind == form.DEFINITIONS).tolist():
        start = number * form.PAGE_BYTES + form.PAGE_HEADER_BYTES
        read_page(contents[start : start + 8 * int(pages.words[number])].tobytes(), definitions)
    resolve_collectives(definitions)
    return RankFile(
        path=path,
        header=header,
        definitions=definitions,
        pages=pages,
        lanes=pages.of_lanes(*_RECORD_KINDS),
        message_lanes=pages.of_lanes(form.MESSAGES),
        faults=faults + _faults(path, contents, pages, definitions, header),
        size_bytes=len(contents),
    )


def _header(path: Path, contents: NDArray[np.uint8]) -> Header:
    """The header. Raises :class:`BadInput` for another kind or version of file."""
    if len(contents) >= len(form.MAGIC) and contents[: len(form.MAGIC)].tobytes() != form.MAGIC:
        is_empty = not contents[: form.PAGE_BYTES].any()
        problem = "is empty: its process ended during MPI_Init" if is_empty else "is not an offbeat trace"
        raise BadInput(f"{path} {problem}")
    if len(contents) < form.HEADER.itemsize:
        raise BadInput(f"{path} is truncated within its header, after {amount(len(contents), 'byte')}")
    whole = contents[: form.HEADER.itemsize].view(form.HEADER)
    raw = whole[0]
    if not 1 <= raw["version"] <= form.VERSION:
        raise BadInput(
            f"{path} has format version {raw['version']}; this offbeat reads versions up to {form.VERSION}:"
            " read it with the offbeat that recorded it"
        )
    is_checked = raw["version"] >= form.FIRST_VERSION_WITH_CHECKSUMS
    if is_checked and header_checksums(whole)[0] != raw["checksum"]:
        raise BadInput(f"{path} has a damaged header: it does not match its checksum")
    sizes = (int(raw["page_bytes"]), int(raw["page_header_bytes"]), int(raw["record_bytes"]))
    record_bytes = form.RECORD_BYTES if is_checked else form.RECORD_BEFORE_5.itemsize
    if sizes != (form.PAGE_BYTES, form.PAGE_HEADER_BYTES, record_bytes):
        raise BadInput(f"{path} has a damaged header: pages and records of {sizes} bytes")
    if not 0 <= raw["rank"] < raw["size"] <= MOST_RANKS:
        raise BadInput(f"{path} has a damaged header: rank {raw['rank']} of {raw['size']}")
    values: dict[str, Any] = {"has_state": True}
    for name in Header.__struct_fields__:
        if name not in values:
            value = raw[name].item()
            values[name] = value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
    if is_checked and header_checksums(whole)[1] != raw["state_checksum"]:
        values |= {"has_state": False, "state": form.RUNNING}
        values |= dict.fromkeys(("lost_count", "lost_because", "ended_ns", "pages"), 0)
    return Header(**values)


_LOSS_REASONS = {
    errno.ENOSPC: "the disk was full",
    errno.ESTALE: "another program truncated, moved or deleted the file while the program ran",
}
"""Why records are missing, by the errno value in the header."""


def _faults(
    path: Path, contents: NDArray[np.uint8], pages: Pages, definitions: Definitions, header: Header
) -> list[str]:
    """The defects of a file, without how its process ended."""
    faults = []
    if len(contents) % form.PAGE_BYTES:
        faults.append("the file is truncated in the middle of a page")
    if not header.has_state:
        faults.append(
            f"the part of the header of {path.name} that says how the process ended is damaged, or the"
            " process was killed while it changed that part"
        )
    if (
        header.state != form.RUNNING or header.version >= form.FIRST_VERSION_WITH_CHECKSUMS
    ) and pages.page_count < header.pages:
        missing_pages = header.pages - pages.page_count
        faults.append(
            f"{amount(missing_pages, 'page')} of {header.pages} {'is' if missing_pages == 1 else 'are'}"
            " missing or never written"
        )
    if pages.damaged_pages:
        offsets = ", ".join(
            str(number * form.PAGE_BYTES) for number in pages.damaged_pages[:_MOST_LISTED_PAGES]
        )
        more = ", ..." if len(pages.damaged_pages) > _MOST_LISTED_PAGES else ""
        faults.append(
            f"{amount(len(pages.damaged_pages), 'damaged page')} of {path.name} left out, at byte"
            f" {offsets}{more}"
        )
    if pages.cut:
        faults.append("the process was killed while it recorded a call, which is left out")
    if definitions.invalid:
        faults.append(f"{amount(definitions.invalid, 'unreadable definition')}")
    if header.lost_count and not any("found no room" in note for note in definitions.notes):
        reason = "OFFBEAT_TRACE_BYTES was reached"
        if header.lost_because > 0:
            reason = _LOSS_REASONS.get(header.lost_because, os.strerror(header.lost_because))
        faults.append(f"{amount(header.lost_count, 'record')} could not be written: {reason}")
    return faults
