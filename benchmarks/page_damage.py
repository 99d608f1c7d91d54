"""Damages each page of a trace file in its own way, and finds which damages the reader of traces notices.

The checksum of a page covers its content, its place, its rank and its run, so that the reader decides on each
page independently of the others: one reading of a file is as many reads of damaged pages as it has pages.
"""

from __future__ import annotations

import mmap
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from offbeat.trace import format as form
from offbeat.trace.rank_file import RankFile, open_file

HEADER_WORDS = form.PAGE_HEADER_BYTES // 8
FLIPS, KINDS = 3, 9
"""Of so many kinds of damage, the first ones flip a bit."""


class DamagedPages:
    """A trace file whose pages are damaged again and again; ``close`` restores it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.whole = open_file(path)
        with path.open("r+b") as stream:
            self._mapped = mmap.mmap(stream.fileno(), 0)
        length = len(self._mapped) // form.PAGE_BYTES * form.PAGE_BYTES
        self._pages = np.frombuffer(self._mapped, np.uint8, length).reshape(-1, form.PAGE_BYTES)
        self._intact = self._pages.copy()
        self.numbers = np.flatnonzero(self.whole.pages.kind[: len(self._pages)] != form.NOTHING)
        """Of the pages that are damaged: those that are used."""

    def read(self, rng: np.random.Generator) -> Counter[str]:
        """How many of the pages, each damaged anew, are noticed, unchanged in what is read, or silent."""
        self._damage(rng)
        found = self._outcomes(open_file(self.path))
        self._pages[self.numbers] = self._intact[self.numbers]
        return found

    # --- damages ---

    def _damage(self, rng: np.random.Generator) -> None:
        count = len(self.numbers)
        kinds = rng.integers(0, KINDS, count)
        # Half of the changes are where pages begin, which are filled from the front.
        at = np.where(
            rng.random(count) < 0.5, rng.integers(0, 200, count), rng.integers(0, form.PAGE_BYTES, count)
        )
        flips = kinds < FLIPS
        bits = np.left_shift(1, rng.integers(0, 8, count)).astype(np.uint8)
        self._pages[self.numbers[flips], at[flips]] ^= bits[flips]
        for place in np.flatnonzero(~flips).tolist():
            self._damage_page(rng, int(kinds[place]), self._pages[self.numbers[place]], int(at[place]))

    def _damage_page(self, rng: np.random.Generator, kind: int, page: NDArray[np.uint8], at: int) -> None:
        words = page.view("<u8")
        if kind == 3:
            page[at : at + int(rng.integers(1, 64))] = int(rng.integers(0, 256))
        elif kind == 4:
            part = page[at : at + int(rng.integers(1, 64))]
            part[:] = np.frombuffer(rng.bytes(len(part)), np.uint8)
        elif kind == 5:  # the length of a disk's sector, of a page of memory or of the whole page
            length = int(rng.choice([8, 512, 4096, form.PAGE_BYTES]))
            page[at // length * length :][:length] = 0
        elif kind == 6:  # what belongs to another page
            page[:] = self._intact[int(rng.choice(self.numbers))]
        elif kind == 7:
            first, second = at // 8, int(rng.integers(0, len(words)))
            words[[first, second]] = words[[second, first]]
        else:
            words[min(at // 8, len(words) - 1)] += np.uint64(rng.integers(1, 3))

    # --- outcomes ---

    def _outcomes(self, file: RankFile) -> Counter[str]:
        named = {*file.pages.damaged, *file.pages.cut}
        is_named_in_text = any(f"{len(file.pages.damaged)} damaged page" in text for text in file.faults)
        found: Counter[str] = Counter()
        missing = 0
        for number in self.numbers.tolist():
            if number in named:
                found["noticed" if is_named_in_text or number in file.pages.cut else "silent"] += 1
            elif file.pages.kind[number] == form.NOTHING:
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
