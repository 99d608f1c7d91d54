"""Damages each page of a trace file in its own way, and finds which damages the reader of traces notices.

The checksum of a page covers its content, its place, its rank and its run, so that the reader decides on each
page independently of the others: one reading of a file is as many reads of damaged pages as it has pages.
"""

from __future__ import annotations

import mmap
import random
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from offbeat.trace.files import format as form
from offbeat.trace.files.rank_file import RankFile, open_file

HEADER_WORDS = form.PAGE_HEADER_BYTES // 8
KINDS = 8
"""The number of kinds of damage; the first three flip a bit."""


class DamagedPages:
    """A trace file whose pages are damaged again and again; each reading restores them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.whole = open_file(path)
        with path.open("r+b") as stream:
            self._mapped = mmap.mmap(stream.fileno(), 0)
        length = len(self._mapped) // form.PAGE_BYTES * form.PAGE_BYTES
        self._pages = np.frombuffer(self._mapped, np.uint8, length).reshape(-1, form.PAGE_BYTES)
        self._intact = self._pages.copy()
        self.numbers = np.flatnonzero(self.whole.pages.kind[: len(self._pages)] != form.EMPTY)
        """The numbers of the pages that are used; these are damaged."""

    def read(self, rng: np.random.Generator) -> Counter[str]:
        """Damages each page and reads the file. Returns the number of pages by outcome: noticed, unchanged in
        what is read, or silent."""
        damages = self._damage(rng)
        found = self._outcomes(open_file(self.path))
        for number, part in damages:
            self._pages[number, part] = self._intact[number, part]
        return found

    # --- damages ---

    def _damage(self, rng: np.random.Generator) -> list[tuple[int, slice]]:
        """Damages each page. Returns the pages with their damaged parts."""
        count = len(self.numbers)
        # Half of the changes are where pages begin, which are filled from the front.
        at = rng.integers(0, np.where(rng.random(count) < 0.5, 200, form.PAGE_BYTES))
        drawn = zip(self.numbers.tolist(), rng.integers(0, KINDS, count).tolist(), at.tolist(), strict=True)
        numbers = rng.integers(1, 2**32, count).tolist()
        return [
            (number, _damage(self._pages[number], self._intact, kind, place, value))
            for (number, kind, place), value in zip(drawn, numbers, strict=True)
        ]

    # --- outcomes ---

    def _outcomes(self, file: RankFile) -> Counter[str]:
        named = {*file.pages.damaged_pages, *file.pages.cut}
        is_named_in_text = any(
            f"{len(file.pages.damaged_pages)} damaged page" in text for text in file.faults
        )
        found: Counter[str] = Counter()
        missing = 0
        for number in self.numbers.tolist():
            if number in named:
                found["noticed" if is_named_in_text or number in file.pages.cut else "silent"] += 1
            elif file.pages.kind[number] == form.EMPTY:
                missing += 1
            else:
                found["unchanged" if self._is_read_as_before(file, number) else "silent"] += 1
        found["noticed" if f"{missing} page" in " ".join(file.faults) else "silent"] += missing
        return found

    def _is_read_as_before(self, file: RankFile, number: int) -> bool:
        """Whether the parts of a page that are read are as they were."""
        pages, whole = file.pages, self.whole.pages
        for values, intact in (
            (pages.kind, whole.kind),
            (pages.lane, whole.lane),
            (pages.words, whole.words),
        ):
            if values[number] != intact[number]:
                return False
        templates = int(pages.templates[number])
        if templates != whole.templates[number]:
            return False
        words, intact = (part[number].view("<u8") for part in (self._pages, self._intact))
        end = HEADER_WORDS + int(pages.words[number])
        begin_of_templates = len(words) - form.TEMPLATE_WORDS * templates
        return (
            words[3] == intact[3]  # the time to which those of the records are relative
            and np.array_equal(words[HEADER_WORDS:end], intact[HEADER_WORDS:end])
            and np.array_equal(words[begin_of_templates:], intact[begin_of_templates:])
        )


def _damage(page: NDArray[np.uint8], intact: NDArray[np.uint8], kind: int, at: int, drawn: int) -> slice:
    """Damages a page by one of KINDS. Returns the part that may have changed; ``drawn`` is any number."""
    length = 1 + drawn % 63
    if kind < 3:
        page[at] ^= np.uint8(1 << drawn % 8)
        return slice(at, at + 1)
    if kind == 3:
        page[at : at + length] = drawn >> 8 & 0xFF
    elif kind == 4:
        part = page[at : at + length]
        part[:] = np.frombuffer(random.Random(drawn).randbytes(len(part)), np.uint8)
    elif kind == 5:  # a word, the sector of a disk, a page of memory, or the whole page
        length = (8, 512, 4096, form.PAGE_BYTES)[drawn % 4]
        at = at // length * length
        page[at : at + length] = 0
    elif kind == 6:  # what belongs to another page
        at, length = 0, form.PAGE_BYTES
        page[:] = intact[drawn % len(intact)]
    else:
        at, length = at // 8 * 8, 8
        page[at : at + 8].view("<u8")[:] += np.uint64(drawn % 3 + 1)
    return slice(at, at + length)
