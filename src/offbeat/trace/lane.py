"""One lane of a file, read piece by piece, with what was read and is not yet due."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offbeat.trace import format as form
from offbeat.trace.moments import Moments
from offbeat.trace.rank_file import RankFile

_LEAST_PART = 64
"""A page is not cut into smaller pieces."""


class Lane:
    """A lane of the file with this number; a piece is some pages, or a part of one, of ``each`` records."""

    def __init__(self, number: int, file: RankFile, pages: NDArray[np.int64], each: int) -> None:
        self.number = number
        self.held = Moments.none()
        self._file, self._pages = file, pages
        self._pages_each = max(1, each // form.RECORDS_A_PAGE)
        self._parts = -(-form.RECORDS_A_PAGE // max(each, _LEAST_PART))
        self._enough = max(1, min(each, form.RECORDS_A_PAGE * self._pages_each) // 2)
        self._next = self._part = 0

    @property
    def has_more(self) -> bool:
        """Whether there is more to read."""
        return self._next < len(self._pages)

    @property
    def is_short(self) -> bool:
        """Whether it should be read on: little is held."""
        return self.has_more and len(self.held) < self._enough

    @property
    def is_alive(self) -> bool:
        """Whether anything else comes from it."""
        return self.has_more or len(self.held) > 0

    @property
    def last_exit_ns(self) -> int:
        """The last exit of what is held."""
        return int(self.held.exit_ns.max())

    def next_records(self) -> NDArray[Any]:
        """The next piece."""
        pages = self._pages[self._next : self._next + self._pages_each]
        records = self._file.records(pages)
        if self._parts == 1:
            self._next += len(pages)
            return records
        begin, end = (len(records) * part // self._parts for part in (self._part, self._part + 1))
        self._part = (self._part + 1) % self._parts
        self._next += self._part == 0
        return records[begin:end]

    def add(self, moments: Moments) -> None:
        """Hold these as well."""
        self.held = Moments.joined([self.held, moments]) if len(self.held) else moments

    def cut(self, until_ns: int | None) -> Moments:
        """Give out what ended up to a moment (None: all), as far as nothing before it ended later."""
        given, self.held = self.held, Moments.none()
        if until_ns is None:
            return given
        late = given.exit_ns > until_ns
        first = int(late.argmax())
        if not late[first]:
            return given
        self.held = given.taken(slice(first, None))
        return given.taken(slice(0, first))
