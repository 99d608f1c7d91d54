"""Matching calls across ranks: events of all files grouped by communicator, sequence number and round.

All files are read in parallel, one time window after another, so that memory holds the calls in flight and
not the whole trace. A call is complete, and is returned, when no rank can add an event to it: every traced
rank has passed it on its communicator or has no further records, and every issued request was completed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace.calls.event_batches import CHANNEL_BITS, PLACE_BITS, EventBatch, EventReader
from offbeat.trace.calls.lane_windows import LaneReader, part_records, windows
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import Progress, Trace

MOST_RECORDS = 2_000_000
"""Limit of records in memory, over all ranks. It is exceeded if a few records of each rank are more."""

MOST_PENDING = 3_000_000
"""Limit of events of incomplete calls; beyond it, the oldest calls are returned incomplete."""

_NO_POSITION = 2**33
"""Larger than every position of an event in a trace."""


class MatchedCalls(Struct, kw_only=True, eq=False):
    """Calls to which no event will be added, (calls,).

    ``starts`` has the index of each call's first event in ``events``, sorted by call, completions last;
    ``communicator`` is that of each call, ``traced_ranks`` the number of its traced ranks.
    """

    events: EventBatch
    starts: NDArray[np.int64]
    communicator: NDArray[np.int64]
    traced_ranks: NDArray[np.int64]


class Counts(Struct):
    """Counts over a whole read: records, ignored records, at most how many records of ranks without a clock,
    and calls that were returned incomplete because of :data:`MOST_PENDING`.
    """

    records: int = 0
    invalid: int = 0
    without_clock: int = 0
    incomplete: int = 0


class Matcher:
    """Reads a trace once from start to end and returns its calls."""

    def __init__(
        self, trace: Trace, *, most_records: int = MOST_RECORDS, on_progress: Progress | None = None
    ) -> None:
        self._on_progress, self._total = on_progress, trace.most_records
        self._watermarks = _Watermarks(trace)
        self._readers: dict[int, EventReader] = {}
        self._lanes: list[LaneReader[EventBatch]] = []
        self.counts = Counts()
        part = part_records(sum(len(file.lanes) for file in trace.files), most_records)
        for number, file in enumerate(trace.files):
            if trace.clocks.of_file[number] is None:
                self.counts.without_clock += file.most_records
                continue
            self._readers[number] = EventReader(trace, number, self._watermarks.channels)
            self._lanes += [
                LaneReader(
                    number,
                    pages,
                    read=file.records,
                    convert=partial(self._convert, number),
                    records_a_page=file.records_a_page,
                    part_records=part,
                )
                for pages in file.lanes.values()
            ]

    def last_exit_ns(self, number: int) -> int:
        """The latest exit in a file, on the shared clock; the smallest integer if it holds no record."""
        return self._readers[number].last_exit_ns

    def batches(self) -> Iterator[MatchedCalls]:
        """Every call of the trace once; the size of the parts decides which calls share a batch."""
        incomplete = EventBatch()
        for window in windows(self._lanes):
            events = EventBatch.concatenate([incomplete, *window])
            order = np.argsort(events.key, kind="stable")
            complete, incomplete = self._split(events, order)
            if len(complete):
                yield self._group(complete)
        if len(incomplete):
            yield self._group(incomplete)

    def _convert(self, number: int, records: NDArray[Any]) -> EventBatch:
        self.counts.records += len(records)
        if self._on_progress:
            self._on_progress(self.counts.records, self._total)
        events = self._readers[number].events(records)
        self.counts.invalid += len(records) - len(events)
        return events

    def _split(self, events: EventBatch, order: NDArray[np.int64]) -> tuple[EventBatch, EventBatch]:
        """The events of complete calls and those of pending calls, both sorted."""
        keys, ranks = events.key[order], events.caller[order] >> PLACE_BITS
        channels, sequences = keys >> CHANNEL_BITS, (keys >> 1) & 0xFFFFFFFF
        active = {lane.number for lane in self._lanes if lane.has_unread or lane.count}
        self._watermarks.advance(channels, sequences, ranks, active)
        is_complete = sequences <= self._watermarks.of_channels()[channels]
        phases = events.flags[order] & form.PHASE
        if phases.any():
            is_complete &= ~self._awaits_completion(keys, phases, channels, ranks)
        if is_complete.all():
            return events.select(order), EventBatch()
        complete, incomplete = events.select(order[is_complete]), events.select(order[~is_complete])
        if len(incomplete) <= MOST_PENDING:
            return complete, incomplete
        return self._release_oldest(complete, incomplete)

    def _awaits_completion(
        self,
        keys: NDArray[np.int64],
        phases: NDArray[Any],
        channels: NDArray[np.int64],
        ranks: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """For each sorted event whether its call has issued requests that are not completed, (n,)."""
        is_issue = (phases == form.ISSUE) | (phases == form.START)
        balance = is_issue.astype(np.int64) - (phases == form.COMPLETION)
        balance[self._watermarks.has_ended(channels, ranks)] = 0
        starts = _starts(keys)
        return np.repeat(np.add.reduceat(balance, starts) > 0, np.diff(starts, append=len(keys)))

    def _release_oldest(self, complete: EventBatch, incomplete: EventBatch) -> tuple[EventBatch, EventBatch]:
        """Move the older half of the pending calls to the complete ones."""
        starts = _starts(incomplete.key)
        ends = np.maximum.reduceat(incomplete.exit_ns, starts)
        is_old = ends <= np.median(ends)
        self.counts.incomplete += int(np.count_nonzero(is_old))
        old = np.repeat(is_old, np.diff(starts, append=len(incomplete)))
        complete = EventBatch.concatenate([complete, incomplete.select(old)])
        return complete.select(np.argsort(complete.key, kind="stable")), incomplete.select(~old)

    def _group(self, events: EventBatch) -> MatchedCalls:
        starts = _starts(events.key)
        channels = events.key[starts] >> CHANNEL_BITS
        return MatchedCalls(
            events=events,
            starts=starts,
            communicator=self._watermarks.communicators[channels],
            traced_ranks=self._watermarks.traced_ranks[channels],
        )


def _starts(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Index of the first event of each call; keys of its completions differ in the lowest bit only."""
    if not len(keys):
        return np.empty(0, np.int64)
    differs = np.concatenate([[True], (keys[1:] ^ keys[:-1]) > 1])
    return np.flatnonzero(differs)


class _Watermarks:
    """The last sequence number of each rank on each channel: a communicator, or one persistent collective.

    ``communicators`` has the communicator of each channel, ``traced_ranks`` the number of its traced ranks.
    The first channels are the communicators themselves.
    """

    def __init__(self, trace: Trace) -> None:
        files_by_rank = np.full(trace.size, -1, dtype=np.int32)
        for number, file in enumerate(trace.files):
            if trace.clocks.of_file[number] is not None:
                files_by_rank[file.header.rank] = number
        self._members = [
            np.where(one.members >= 0, files_by_rank[one.members], -1).astype(np.int32)
            for one in trace.communicators.table
        ]
        self._is_active = np.ones(len(trace.files), np.bool_)
        self._numbers: dict[tuple[int, int], int] = {}
        self._files = np.empty(0, np.int32)
        self._last = np.empty(0, np.int64)
        self._starts = np.zeros(1, np.int64)
        self.communicators = np.empty(0, np.int64)
        self.traced_ranks = np.empty(0, np.int64)
        self._add(range(len(trace.communicators.table)))

    def channels(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The channels of persistent collectives, (n,), by communicator and sequence number, (n, 2)."""
        channel_keys = [tuple(pair) for pair in pairs.tolist()]
        new = [pair for pair in dict.fromkeys(channel_keys) if pair not in self._numbers]
        if new:
            first = len(self.communicators)
            self._numbers |= {pair: first + index for index, pair in enumerate(new)}
            self._add([communicator for communicator, _ in new])
        return np.array([self._numbers[pair] for pair in channel_keys], dtype=np.int64)

    def _add(self, communicators: Sequence[int]) -> None:
        """Add a channel on each of some communicators."""
        members = [self._members[communicator] for communicator in communicators]
        lengths = np.array([len(one) for one in members], dtype=np.int64)
        traced_ranks = np.array([np.count_nonzero(one >= 0) for one in members], dtype=np.int64)
        self._files = np.concatenate([self._files, *members])
        self._last = np.concatenate([self._last, np.full(len(self._files) - len(self._last), -1)])
        self._starts = np.concatenate([self._starts, self._starts[-1] + np.cumsum(lengths)])
        self.communicators = np.concatenate([self.communicators, np.array(communicators, dtype=np.int64)])
        self.traced_ranks = np.concatenate([self.traced_ranks, traced_ranks])

    def advance(
        self,
        channels: NDArray[np.int64],
        sequences: NDArray[np.int64],
        ranks: NDArray[np.int64],
        active: Iterable[int],
    ) -> None:
        """Include events, sorted by channel and sequence; ``active`` are the files that have more events."""
        self._is_active = np.zeros_like(self._is_active)
        self._is_active[list(active)] = True
        latest = np.full(len(self._last), -1)
        latest[self._starts[channels] + ranks] = sequences  # of several assignments, the last one remains
        np.maximum(self._last, latest, out=self._last)

    def has_ended(self, channels: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether these ranks have no further events, (n,)."""
        return ~self._is_active[self._files[self._starts[channels] + ranks]]

    def of_channels(self) -> NDArray[np.int64]:
        """For every channel the last sequence number that all active ranks have passed, (channels,)."""
        if not len(self._files):
            return np.empty(0, np.int64)
        counts = (self._files >= 0) & self._is_active[self._files]
        return np.minimum.reduceat(np.where(counts, self._last, _NO_POSITION), self._starts[:-1])
