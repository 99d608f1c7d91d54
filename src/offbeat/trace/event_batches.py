"""Records read from one rank's file as batches of events on the shared clock.

An event is the part of a collective that one record describes: a blocking call, an issue, a start or a
completion. :mod:`offbeat.trace.match` groups the events of all ranks into calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace import format as form
from offbeat.trace.message_sizes import MessageSizes
from offbeat.trace.rank_file import RankFile
from offbeat.trace.read import Trace

CHANNEL_BITS, PLACE_BITS, SITE_BITS = 33, 37, 13
"""The lowest bit of the channel in a key, and of the position and the call site in a caller."""

_FEWEST_RECORDS = 64
"""A page is not split into parts of fewer records."""


class Columns(Struct, eq=False):
    """A table: each field is an array with one entry a row."""

    def __len__(self) -> int:
        return len(getattr(self, self.__struct_fields__[0]))

    def select(self, which: Any) -> Self:
        """The rows that a slice, a mask or an array of indices selects."""
        return type(self)(*(getattr(self, name)[which] for name in self.__struct_fields__))

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """All parts, at least one, as one table."""
        names = cls.__struct_fields__
        return cls(*(np.concatenate([getattr(one, name) for one in parts]) for name in names))


_NO_NUMBERS = np.empty(0, np.int64)


class EventBatch(Columns, eq=False):
    """Events, one per entry, (n,); times are on the shared clock.

    ``key`` is channel << 33 | sequence << 1 | (is a completion): sorting by it groups the events of a call,
    completions last. A channel is a communicator, or one persistent collective of a communicator. ``caller``
    is the rank in the communicator << 37 | call site << 13 | function, so that the minimum over a call is the
    entry of its lowest rank. ``spent_ns`` is the time in the MPI function; a function that completes several
    requests is divided among their completions.
    """

    key: NDArray[np.int64] = _NO_NUMBERS
    caller: NDArray[np.int64] = _NO_NUMBERS
    enter_ns: NDArray[np.int64] = _NO_NUMBERS
    exit_ns: NDArray[np.int64] = _NO_NUMBERS
    spent_ns: NDArray[np.int64] = _NO_NUMBERS
    bytes: NDArray[np.int64] = _NO_NUMBERS
    flags: NDArray[np.uint16] = np.empty(0, np.uint16)
    bound_ns: NDArray[np.float32] = np.empty(0, np.float32)


class EventReader:
    """Converts the records of one file into events.

    ``last_exit_ns`` is the latest exit of all records so far. ``channels_of`` maps pairs of communicator and
    sequence number of a persistent collective, (n, 2), to channels, (n,).
    """

    def __init__(
        self, trace: Trace, number: int, channels_of: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    ) -> None:
        file, clock = trace.files[number], trace.clocks.of_file[number]
        assert clock is not None
        self._clock, self._channels_of = clock, channels_of
        self._sites = trace.sites_of(file)
        self._functions = trace.function_numbers(file)
        self._sizes = MessageSizes(file)
        self._communicators = trace.communicators.index_of_ids(file)
        self._own_ranks = _rank_by_communicator_id(trace, file, self._communicators)
        self.last_exit_ns = int(np.iinfo(np.int64).min)

    def events(self, records: NDArray[Any]) -> EventBatch:
        """Records as events, without invalid records."""
        ids = np.minimum(records["communicator"], len(self._communicators) - 1)
        functions = self._functions[
            np.minimum(records["function"].astype(np.int32), len(self._functions) - 1)
        ]
        enter, leave = np.ascontiguousarray(records["enter_ns"]), np.ascontiguousarray(records["exit_ns"])
        valid = (self._own_ranks[ids] >= 0) & (functions >= 0) & (records["bytes"] < 2**62)
        valid &= (leave >= enter) & (enter > 0)
        if not valid.all():
            records, ids, functions = records[valid], ids[valid], functions[valid]
            enter, leave = enter[valid], leave[valid]
        flags = np.ascontiguousarray(records["flags"])
        sites = self._sites.numbers(np.ascontiguousarray(records["address"]))
        shared_exit = self._clock.shared_ns(leave)
        if len(records):
            self.last_exit_ns = max(self.last_exit_ns, int(shared_exit.max()))
        own_ranks = self._own_ranks[ids].astype(np.int64)
        return EventBatch(
            key=self._keys(self._communicators[ids], records, flags),
            caller=(own_ranks << PLACE_BITS) | (sites.astype(np.int64) << SITE_BITS) | functions,
            enter_ns=self._clock.shared_ns(enter),
            exit_ns=shared_exit,
            spent_ns=_spent_ns(enter, leave, flags),
            bytes=self._sizes.sizes(records),
            flags=flags,
            bound_ns=self._clock.bound_ns(enter).astype(np.float32),
        )

    def _keys(
        self, communicators: NDArray[np.int32], records: NDArray[Any], flags: NDArray[np.uint16]
    ) -> NDArray[np.int64]:
        channels, sequences = communicators.astype(np.int64), records["sequence"].astype(np.int64)
        persistent = np.flatnonzero(records["round"])
        if len(persistent):
            pairs = np.stack([channels[persistent], sequences[persistent]], axis=1)
            unique_pairs, inverse = np.unique(pairs, axis=0, return_inverse=True)
            channels[persistent] = self._channels_of(unique_pairs)[inverse.reshape(-1)]
            sequences[persistent] = records["round"][persistent]
        is_completion = (flags & form.PHASE) == form.COMPLETION
        return (channels << CHANNEL_BITS) | (sequences << 1) | is_completion


def _rank_by_communicator_id(trace: Trace, file: RankFile, ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """For one file: id of a communicator → rank of this process in it, -1 where it is no member."""
    communicators, ranks = trace.communicators.ranks_of(file.header.rank)
    if not len(communicators):
        return np.full(len(ids), -1, dtype=np.int32)
    at = np.minimum(np.searchsorted(communicators, ids), len(communicators) - 1)
    return np.where(communicators[at] == ids, ranks[at], -1).astype(np.int32)


def _spent_ns(
    enter: NDArray[np.int64], leave: NDArray[np.int64], flags: NDArray[np.uint16]
) -> NDArray[np.int64]:
    """Time in each MPI function; completions by the same function share its time equally."""
    spent = leave - enter
    is_completion = (flags & form.PHASE) == form.COMPLETION
    if not is_completion.any():
        return spent
    is_same_wait = (
        (enter[1:] == enter[:-1]) & (leave[1:] == leave[:-1]) & is_completion[1:] & is_completion[:-1]
    )
    starts = np.flatnonzero(np.concatenate([[True], ~is_same_wait]))
    lengths = np.diff(starts, append=len(spent))
    return spent // np.repeat(lengths, lengths)


class LaneReader:
    """Reads one lane (the records of one thread) of a file in parts of about ``part_records`` records.

    ``pending`` holds events that were read and not yet taken.
    """

    def __init__(self, number: int, file: RankFile, pages: NDArray[np.int64], part_records: int) -> None:
        self.number = number
        self.pending = EventBatch()
        self._file, self._pages = file, pages
        self._pages_per_part = max(1, part_records // form.RECORDS_A_PAGE)
        self._parts_per_page = -(-form.RECORDS_A_PAGE // max(part_records, _FEWEST_RECORDS))
        self._refill_below = max(1, min(part_records, form.RECORDS_A_PAGE * self._pages_per_part) // 2)
        self._next_page = self._next_part = 0

    @property
    def has_unread(self) -> bool:
        """Whether the file holds further records of the lane."""
        return self._next_page < len(self._pages)

    @property
    def needs_refill(self) -> bool:
        """Whether few events are pending and more can be read."""
        return self.has_unread and len(self.pending) < self._refill_below

    def next_records(self) -> NDArray[Any]:
        """Read the next part."""
        pages = self._pages[self._next_page : self._next_page + self._pages_per_part]
        records = self._file.records(pages)
        if self._parts_per_page == 1:
            self._next_page += len(pages)
            return records
        begin, end = (
            len(records) * part // self._parts_per_page for part in (self._next_part, self._next_part + 1)
        )
        self._next_part = (self._next_part + 1) % self._parts_per_page
        self._next_page += self._next_part == 0
        return records[begin:end]

    def take_until(self, until_ns: int | None) -> EventBatch:
        """Remove and return the pending events before the first that ends after ``until_ns``; None: all."""
        events, self.pending = self.pending, EventBatch()
        if until_ns is None:
            return events
        is_later = events.exit_ns > until_ns
        first = int(is_later.argmax())
        if not is_later[first]:
            return events
        self.pending = events.select(slice(first, None))
        return events.select(slice(0, first))
