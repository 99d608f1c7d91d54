"""The pages of a trace file: what each of them holds, and which of them are damaged."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.base.reading import open_regular
from offbeat.trace.files import format as form
from offbeat.trace.files.page_checksum import PageLocation, page_sums, state_words, word_counts

_PAGES_AT_ONCE = 32
"""Whose checksums are compared together."""

_ROW_WORDS = {form.MESSAGES: form.MESSAGE_BYTES // 8, form.RECORDS: form.RECORD_BYTES // 8, form.ENCODED: 1}
"""How many words a record or message takes at least."""


class Pages(Struct, eq=False):
    """The pages of a file by their numbers, (n,) each; page 0 is the header.

    ``kind`` is NOTHING of unused pages, ``words`` and ``templates`` say how much of a page was written.
    ``damaged_pages`` are the numbers of pages without the right checksum, whose kind is NOTHING here; ``cut``
    those whose last message was being written when the process was killed. ``page_count`` counts all but
    unused pages.
    """

    kind: NDArray[np.uint32]
    lane: NDArray[np.uint32]
    words: NDArray[np.int64]
    templates: NDArray[np.int64]
    damaged_pages: list[int]
    cut: list[int]
    page_count: int

    def most_rows(self, *kinds: int) -> NDArray[np.int64]:
        """How many records or messages each page of these kinds has at most, (pages,)."""
        rows = [self.words[self.kind == kind] // _ROW_WORDS[kind] for kind in kinds]
        return np.concatenate(rows)

    def of_lanes(self, *kinds: int) -> dict[int, NDArray[np.int64]]:
        """Lane → the numbers of its pages of these kinds, in order."""
        page_numbers = np.flatnonzero(np.isin(self.kind, kinds))
        lanes = self.lane[page_numbers]
        return {int(lane): page_numbers[lanes == lane] for lane in np.unique(lanes)}


def pages_of(path: Path, contents: NDArray[np.uint8], version: int, run: int, rank: int) -> Pages:
    """The pages of a file, also of a truncated last page."""
    count = -(-len(contents) // form.PAGE_BYTES)
    headers = np.zeros((count, form.PAGE_HEADER_BYTES // 8), "<u8")
    is_right, is_cut = np.ones(count, np.bool_), np.zeros(count, np.bool_)
    for first, end in _parts(path, count):
        part = words_of(contents, first, end)
        headers[first:end] = part[:, : headers.shape[1]]
        if version >= form.FIRST_VERSION_WITH_CHECKSUMS:
            location = PageLocation(run, rank, np.arange(first, end, dtype=np.uint64))
            is_right[first:end], is_cut[first:end] = _checksum_states(part, location)
    headers[0], is_right[0] = 0, True
    kind, lane = (headers[:, 0] & np.uint64(0xFFFFFFFF)), headers[:, 0] >> np.uint64(32)
    words, templates = word_counts(np.where(is_cut, headers[:, 2], headers[:, 1]))
    if version < form.FIRST_VERSION_WITH_CHECKSUMS:
        words, templates = np.full(count, form.PAGE_WORDS), np.zeros(count, np.int64)
    is_known = kind <= (form.ENCODED if version >= form.FIRST_VERSION_WITH_CHECKSUMS else form.MESSAGES)
    is_damaged = ~(is_right & is_known) & (kind != form.EMPTY)
    return Pages(
        kind=np.where(is_damaged, form.EMPTY, kind).astype(np.uint32),
        lane=lane.astype(np.uint32),
        words=words,
        templates=templates,
        damaged_pages=np.flatnonzero(is_damaged).tolist(),
        cut=np.flatnonzero(is_cut & ~is_damaged).tolist(),
        page_count=int(np.count_nonzero(kind)) + 1,
    )


def words_of(contents: NDArray[np.uint8], first: int, end: int) -> NDArray[np.uint64]:
    """Pages from ``first`` to ``end`` (exclusive) as words, (n, PAGE_BYTES / 8); what is missing is zero."""
    data = contents[first * form.PAGE_BYTES : end * form.PAGE_BYTES]
    missing_bytes = (end - first) * form.PAGE_BYTES - len(data)
    if missing_bytes:
        data = np.concatenate([data, np.zeros(missing_bytes, np.uint8)])
    return np.ascontiguousarray(data).view("<u8").reshape(end - first, form.PAGE_BYTES // 8)


def _checksum_states(
    part: NDArray[np.uint64], location: PageLocation
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which pages have the right checksum, and which of them only without their last message, a poll."""
    is_right = _has_checksum(part, part[:, 1], location)
    is_cut = np.zeros(len(part), np.bool_)
    is_message = part[:, 0] & np.uint64(0xFFFFFFFF) == form.MESSAGES
    rest = np.flatnonzero(~is_right & is_message & (part[:, 2] != 0))
    if len(rest):
        of_rest = PageLocation(location.run, location.rank, location.numbers[rest])
        is_cut[rest] = _has_checksum(part[rest], part[rest, 2], of_rest)
    return is_right | is_cut, is_cut


def _has_checksum(
    part: NDArray[np.uint64], states: NDArray[np.uint64], location: PageLocation
) -> NDArray[np.bool_]:
    words, templates = word_counts(states)
    is_possible = words + form.TEMPLATE_WORDS * templates <= form.PAGE_WORDS
    return np.asarray(
        is_possible & (state_words(page_sums(part, words, templates, location), words, templates) == states)
    )


def _parts(path: Path, pages: int) -> Iterator[tuple[int, int]]:
    """Ranges of a few pages each, first and end, outside of the holes of a sparse file."""
    for first, end in _data_ranges(path, pages):
        for begin in range(first, end, _PAGES_AT_ONCE):
            yield begin, min(begin + _PAGES_AT_ONCE, end)


def _data_ranges(path: Path, pages: int) -> Iterator[tuple[int, int]]:
    offset, size = 0, pages * form.PAGE_BYTES
    with open_regular(path) as file:
        while offset < size:
            try:
                start = os.lseek(file.fileno(), offset, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:  # this file system does not report holes
                    yield offset // form.PAGE_BYTES, pages
                return
            offset = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            yield start // form.PAGE_BYTES, min(-(-offset // form.PAGE_BYTES), pages)
