"""Calls across ranks: records of all files brought together by communicator, sequence and round.

Files are read side by side, a window of time after another, so that memory holds the calls in flight and not
the trace. A call is given out as soon as no rank can add to it: every rank that is traced has gone past it on
its communicator, or its file has ended, and what was issued has been completed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace import format as form
from offbeat.trace.frontier import Frontier
from offbeat.trace.lane import Lane
from offbeat.trace.moments import CHANNEL_BITS, PLACE_BITS, Moments, RankReader
from offbeat.trace.read import Trace

MOST_RECORDS = 2_000_000
"""Records that are held at once, of all ranks together, where ranks don't have more than a few each."""

ENOUGH_RECORDS, ENOUGH_OF_A_LANE = 262_144, 8192
"""More at once is no quicker: they no longer fit into the caches."""

MOST_WAITING = 3_000_000
"""Records that may wait for others; beyond it the oldest calls are given out as they are."""

Told = Callable[[int], None]
"""Called with the number of records read so far."""


class Matched(Struct, kw_only=True, eq=False):
    """Calls that nothing will be added to. ``starts`` has where each begins in ``moments``, which are sorted:
    first the calls (or issues), then the completions of each. ``communicator`` is that of each call,
    ``expected`` how many of its ranks are traced, (calls,).
    """

    moments: Moments
    starts: NDArray[np.int64]
    communicator: NDArray[np.int64]
    expected: NDArray[np.int64]


class Counts(Struct):
    """What became of the records: ``strange`` ones make no sense and are left out; at most ``untimed`` are of
    ranks without a clock, and are not read; ``forced`` calls were given out because too many were waiting.
    """

    records: int = 0
    strange: int = 0
    untimed: int = 0
    forced: int = 0


class Matcher:
    """Reads a trace once from its beginning to its end."""

    def __init__(self, trace: Trace, *, most_records: int = MOST_RECORDS, told: Told | None = None) -> None:
        self._told = told
        self._frontier = Frontier(trace)
        self._readers: dict[int, RankReader] = {}
        self._lanes: list[Lane] = []
        self.counts = Counts()
        lanes = max(sum(len(file.lanes) for file in trace.files), 1)
        each = min(most_records // lanes, max(ENOUGH_OF_A_LANE, ENOUGH_RECORDS // lanes))
        for number, file in enumerate(trace.files):
            if trace.clocks.of_file[number] is None:
                self.counts.untimed += file.record_pages * form.RECORDS_A_PAGE
                continue
            self._readers[number] = RankReader(trace, number, self._frontier)
            self._lanes += [Lane(number, file, pages, each) for pages in file.lanes.values()]

    def last_exit_ns(self, number: int) -> int:
        """The last moment that was seen of a file, on the shared clock; far in the past if none was."""
        return self._readers[number].last_exit_ns

    def batches(self) -> Iterator[Matched]:
        """Every call of the trace once; which calls come together depends on how much is read at once."""
        waiting = Moments.none()
        for fresh in self._windows():
            moments = Moments.joined([waiting, *fresh])
            order = np.argsort(moments.key, kind="stable")
            given, waiting = self._split(moments, order)
            if len(given):
                yield self._grouped(given)
        if len(waiting):
            yield self._grouped(waiting)

    def _windows(self) -> Iterator[list[Moments]]:
        """The records of all files up to a moment, then up to a later one, and so on."""
        while True:
            for lane in self._lanes:
                while lane.is_short:
                    lane.add(self._read(lane))
            alive = [lane for lane in self._lanes if len(lane.held)]
            if not alive:
                return
            until = min((lane.last_exit_ns for lane in alive if lane.has_more), default=None)
            yield [lane.cut(until) for lane in alive]

    def _read(self, lane: Lane) -> Moments:
        records = lane.next_records()
        self.counts.records += len(records)
        if self._told:
            self._told(self.counts.records)
        moments = self._readers[lane.number].moments(records)
        self.counts.strange += len(records) - len(moments)
        return moments

    def _split(self, moments: Moments, order: NDArray[np.int64]) -> tuple[Moments, Moments]:
        """What can be given out, and what waits; both in this order."""
        keys, places = moments.key[order], moments.caller[order] >> PLACE_BITS
        channels, sequences = keys >> CHANNEL_BITS, (keys >> 1) & 0xFFFFFFFF
        alive = {lane.number for lane in self._lanes if lane.is_alive}
        self._frontier.passed(channels, sequences, places, alive)
        final = sequences <= self._frontier.reached()[channels]
        phases = moments.flags[order] & form.PHASE
        if phases.any():
            final &= ~self._is_open(keys, phases, channels, places)
        if final.all():
            return moments.taken(order), Moments.none()
        given, waiting = moments.taken(order[final]), moments.taken(order[~final])
        return (given, waiting) if len(waiting) <= MOST_WAITING else self._forced(given, waiting)

    def _is_open(
        self,
        keys: NDArray[np.int64],
        phases: NDArray[Any],
        channels: NDArray[np.int64],
        places: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Of which sorted moments the call waits for completions, (n,)."""
        issued = (phases == form.ISSUE) | (phases == form.START)
        balance = issued.astype(np.int64) - (phases == form.COMPLETION)
        balance[self._frontier.has_ended(channels, places)] = 0
        starts = _starts(keys)
        return np.repeat(np.add.reduceat(balance, starts) > 0, np.diff([*starts, len(keys)]))

    def _forced(self, given: Moments, waiting: Moments) -> tuple[Moments, Moments]:
        """Half of the calls that wait, the older ones, are given out as they are."""
        starts = _starts(waiting.key)
        ends = np.maximum.reduceat(waiting.exit_ns, starts)
        is_old = ends <= np.median(ends)
        self.counts.forced += int(np.count_nonzero(is_old))
        old = np.repeat(is_old, np.diff([*starts, len(waiting)]))
        given = Moments.joined([given, waiting.taken(old)])
        return given.taken(np.argsort(given.key, kind="stable")), waiting.taken(~old)

    def _grouped(self, moments: Moments) -> Matched:
        starts = _starts(moments.key)
        channels = moments.key[starts] >> CHANNEL_BITS
        return Matched(
            moments=moments,
            starts=starts,
            communicator=self._frontier.communicators[channels],
            expected=self._frontier.traced[channels],
        )


def _starts(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each call begins in sorted keys; its completions differ in the last bit alone."""
    if not len(keys):
        return np.empty(0, np.int64)
    differs = np.concatenate([[True], (keys[1:] ^ keys[:-1]) > 1])
    return np.flatnonzero(differs)
