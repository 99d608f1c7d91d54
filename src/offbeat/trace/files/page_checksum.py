"""The checksums of trace files: of pages and of headers, after ``native/trace/format.h``."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace.files import format as form

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTOR = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_KEYS = np.arange(1, form.PAGE_WORDS + 1, dtype=np.uint64) * _STEP

KIND_WORD, ORIGIN_WORD, RUN_WORD, PLACE_WORD = range(form.PAGE_WORDS, form.PAGE_WORDS + 4)
"""Indices of the words of a checksum that are not behind the header of the page."""

TEMPLATES_SHIFT, CHECKSUM_SHIFT = 13, 24
"""Of ``published``: the lower bits are the number of words, then that of templates, then the checksum."""

_STATE = ("state", "lanes", "ended_ns", "pages", "lost_count", "lost_because", "stamps_wrong_ns")
_CHECKSUMS = ("checksum", "state_checksum")


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The mixing function of each number; the array is overwritten."""
    words ^= words >> _HALF
    words *= _FACTOR
    words ^= words >> _HALF
    words *= _FACTOR
    words ^= words >> _HALF
    return words


def _sum(words: NDArray[np.uint64], first: int = 0) -> int:
    """What words of these indices add to a checksum: ``first``, ``first`` + 1 and so on."""
    keys = (np.arange(first + 1, first + 1 + len(words), dtype=np.uint64)) * _STEP
    return int(_mix(words + keys).sum(dtype=np.uint64))


def word_counts(state_words: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many words and how many templates of each page were written, (n,) each."""
    words = state_words & np.uint64((1 << TEMPLATES_SHIFT) - 1)
    templates = (state_words >> np.uint64(TEMPLATES_SHIFT)) & np.uint64(
        (1 << CHECKSUM_SHIFT - TEMPLATES_SHIFT) - 1
    )
    return words.astype(np.int64), templates.astype(np.int64)


def state_words(sums: NDArray[np.uint64], words: NDArray[Any], templates: NDArray[Any]) -> NDArray[np.uint64]:
    """The member ``published`` of pages with these checksums, (n,)."""
    counts = words.astype(np.uint64) | templates.astype(np.uint64) << np.uint64(TEMPLATES_SHIFT)
    return counts | sums >> np.uint64(CHECKSUM_SHIFT) << np.uint64(CHECKSUM_SHIFT)


def page_sums(
    pages: NDArray[np.uint64], words: NDArray[np.int64], templates: NDArray[np.int64], location: PageLocation
) -> NDArray[np.uint64]:
    """The checksums of pages, (n, PAGE_BYTES / 8), of which these numbers of words and templates count."""
    body, header = pages[:, form.PAGE_HEADER_BYTES // 8 :], pages[:, : form.PAGE_HEADER_BYTES // 8]
    ends = np.minimum(words, form.PAGE_WORDS)
    begins = np.maximum(form.PAGE_WORDS - form.TEMPLATE_WORDS * templates, 0)
    sums = np.zeros(len(pages), np.uint64)
    # Page by page: what is mixed stays in the first cache, and only the written part is mixed.
    for i, (page, end, begin) in enumerate(zip(body, ends.tolist(), begins.tolist(), strict=True)):
        sums[i : i + 1] += _mix(page[:end] + _KEYS[:end]).sum(dtype=np.uint64)
        sums[i : i + 1] += _mix(page[begin:] + _KEYS[begin:]).sum(dtype=np.uint64)
    for column, position in (
        (header[:, 0], KIND_WORD),
        (header[:, 3], ORIGIN_WORD),
        (np.full(len(pages), location.run, np.uint64), RUN_WORD),
        (np.uint64(location.rank) | location.numbers << _HALF, PLACE_WORD),
    ):
        sums += _mix(column + np.uint64((position + 1) * int(_STEP) % 2**64))
    return sums


class PageLocation(Struct, frozen=True, eq=False):
    """Where pages are: the run and the rank of their file, and their numbers, (n,)."""

    run: int
    rank: int
    numbers: NDArray[np.uint64]


def write_checksums(pages: NDArray[np.uint64], location: PageLocation) -> None:
    """Set the checksums of pages, (n, PAGE_BYTES / 8), whose numbers of words are set."""
    words, templates = word_counts(pages[:, 1])
    pages[:, 1] = state_words(page_sums(pages, words, templates, location), words, templates)


def header_checksums(header: NDArray[Any]) -> tuple[int, int]:
    """The checksum of the members of a header, (1,), that do not change, and that of those that do."""
    words = np.frombuffer(header.tobytes(), "<u8").copy()
    header_fields = words.view(form.HEADER)
    for name in (*_STATE, *_CHECKSUMS):
        header_fields[name] = 0
    state = [int(header[name][0]) for name in _STATE]
    state[_STATE.index("lost_because")] &= 0xFFFFFFFF
    of_state = np.array([value & 0xFFFFFFFFFFFFFFFF for value in state], np.uint64)
    return _sum(words), _sum(of_state)
