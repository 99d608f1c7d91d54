"""Reads the lanes of all files side by side, one time window after another, in bounded memory.

A lane is the records or the messages of one thread, in the order in which its calls returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

_FEWEST_RECORDS = 64
"""A page is not split into parts of fewer records."""

ENOUGH_RECORDS, ENOUGH_OF_A_LANE = 262_144, 8192
"""Larger parts, in total and of a lane, are not faster: they no longer fit into the caches."""


class Columns(Struct, eq=False):
    """A table: each field is an array with one entry a row."""

    def __len__(self) -> int:
        return len(getattr(self, self.__struct_fields__[0]))

    def select(self, rows: Any) -> Self:
        """The rows that a slice, a mask or an array of indices selects."""
        return type(self)(*(getattr(self, name)[rows] for name in self.__struct_fields__))

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """All parts, at least one, as one table."""
        names = cls.__struct_fields__
        return cls(*(np.concatenate([getattr(one, name) for one in parts]) for name in names))


class _TimedBatch(Protocol):
    """A table of events with the times at which they ended."""

    @property
    def exit_ns(self) -> NDArray[np.int64]: ...

    def __len__(self) -> int: ...

    def select(self, rows: Any) -> Self: ...

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self: ...


Batch = TypeVar("Batch", bound=_TimedBatch)


class LaneReader(Generic[Batch]):
    """Reads one lane of a file in parts of about ``part_records`` records.

    ``number`` is the index of the file, ``read`` reads some of its pages, of ``records_a_page`` each, and
    ``convert`` makes a batch of what was read. ``backlog`` holds events that were read and not yet taken.
    """

    def __init__(
        self,
        number: int,
        pages: NDArray[np.int64],
        *,
        read: Callable[[NDArray[np.int64]], NDArray[Any]],
        convert: Callable[[NDArray[Any]], Batch],
        records_a_page: int,
        part_records: int,
    ) -> None:
        self.number = number
        self.backlog: Batch | None = None
        self._pages, self._read, self._convert = pages, read, convert
        self._pages_per_part = max(1, part_records // records_a_page)
        self._parts_per_page = -(-records_a_page // max(part_records, _FEWEST_RECORDS))
        self._refill_below = max(1, min(part_records, records_a_page * self._pages_per_part) // 2)
        self._next_page = self._next_part = 0

    @property
    def has_unread(self) -> bool:
        """Whether the file holds further records of the lane."""
        return self._next_page < len(self._pages)

    @property
    def count(self) -> int:
        """The number of pending events."""
        return 0 if self.backlog is None else len(self.backlog)

    @property
    def needs_refill(self) -> bool:
        """Whether few events are pending and more can be read."""
        return self.has_unread and self.count < self._refill_below

    def refill(self) -> None:
        """Read the next part."""
        batch = self._convert(self._next_records())
        if self.backlog is None or not len(self.backlog):
            self.backlog = batch
        else:
            self.backlog = type(batch).concatenate([self.backlog, batch])

    def _next_records(self) -> NDArray[Any]:
        pages = self._pages[self._next_page : self._next_page + self._pages_per_part]
        records = self._read(pages)
        if self._parts_per_page == 1:
            self._next_page += len(pages)
            return records
        begin, end = (
            len(records) * part // self._parts_per_page for part in (self._next_part, self._next_part + 1)
        )
        self._next_part = (self._next_part + 1) % self._parts_per_page
        self._next_page += self._next_part == 0
        return records[begin:end]

    def take_until(self, until_ns: int | None) -> Batch:
        """Remove and return the pending events before the first that ends after ``until_ns``; None: all."""
        events = self.backlog
        assert events is not None
        self.backlog = None
        if until_ns is None:
            return events
        is_later = events.exit_ns > until_ns
        first = int(is_later.argmax())
        if not is_later[first]:
            return events
        self.backlog = events.select(slice(first, None))
        return events.select(slice(0, first))


def windows(lanes: Sequence[LaneReader[Batch]]) -> Iterator[list[Batch]]:
    """The events of all lanes, one time window after another."""
    while True:
        for lane in lanes:
            while lane.needs_refill:
                lane.refill()
        active = [lane for lane in lanes if lane.count]
        if not active:
            return
        until_ns = min(
            (
                int(lane.backlog.exit_ns.max())
                for lane in active
                if lane.has_unread and lane.backlog is not None
            ),
            default=None,
        )
        yield [lane.take_until(until_ns) for lane in active]


def part_records(lanes: int, most_records: int) -> int:
    """The number of records to read at once from each of ``lanes`` lanes.

    All lanes together then have at most ``most_records`` in memory.
    """
    lanes = max(lanes, 1)
    return min(most_records // lanes, max(ENOUGH_OF_A_LANE, ENOUGH_RECORDS // lanes))
