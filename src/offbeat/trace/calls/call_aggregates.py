"""Aggregates over the calls with the same call site, communicator, function and size class.

An aggregate holds sums, counts and histograms, so that memory does not grow with the number of records; and,
where a communicator was re-created, the communicators that its calls used. A size class is the sizes
between two powers of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offbeat.trace.calls.call_times import PERSISTENT, Calls
from offbeat.trace.calls.communicators import Communicators

MOST_AGGREGATES = 20_000
"""Limit of aggregates by communicator; further calls are aggregated over all communicators."""

MOST_MEMBERS = 20_000_000
"""Limit of mean delays, one for each rank and aggregate; further aggregates have no delays by rank."""

SEVERAL_COMMUNICATORS, SINGLE_PROCESS = -1, -2
"""Instead of a communicator: any of several; any communicator with a single process."""

BINS_PER_OCTAVE = 8
_OCTAVES = 44
BINS = 1 + BINS_PER_OCTAVE * _OCTAVES

_INTEGERS = (
    *("calls", "run_calls", "whole", "timed", "failed", "in_place", "all_bytes"),
    *("least_bytes", "most_bytes", "spent_ns", "waited_ns"),
    *("blocks", "empty_blocks", "largest_block_bytes"),
)
_FLOATS = ("skew_ns", "total_ns", "last_ns", "centred_square", "bound_ns")
_COUNTS = np.dtype([*((name, "<i8") for name in _INTEGERS), *((name, "<f8") for name in _FLOATS)])

AggregateKey = tuple[int, int, int, int, int]
"""Site, function, kind, size class, communicator (the canonical one of re-created communicators)."""

_NEVER_FREED = 2**62
"""The number of calls until a communicator is freed, if it is not."""

_MERGE_AFTER = 2**16
"""The number of new pairs from which on they are merged into the sorted ones."""


class CallAggregates:
    """The aggregates of a trace, of which every ``every``-th call on each communicator was recorded."""

    def __init__(self, communicators: Communicators, sampling_interval: int = 1) -> None:
        self._sizes = np.array([max(one.size, 1) for one in communicators.table], dtype=np.int64)
        self._canonical, self._sampling_interval = communicators.canonical, sampling_interval
        self._is_recreated = np.bincount(self._canonical)[self._canonical] > 1
        calls = np.array([one.calls for one in communicators.table], dtype=np.int64)
        self._calls_until_freed = np.where(calls < 0, _NEVER_FREED, calls)
        self._communicators_used = _CommunicatorsUsed()
        self.keys: list[AggregateKey] = []
        self._numbers: dict[AggregateKey, int] = {}
        self.counts = np.zeros(16, _COUNTS)
        self.histograms = np.zeros((16, 3, BINS), np.uint32)
        self.rank_offset = np.full(16, -1, np.int64)
        """Index of the aggregate's first rank in ``delay_ns`` and ``times_last``; -1: no delays by rank."""
        self.delay_ns = np.zeros(1024)
        self.times_last = np.zeros(1024, np.int64)
        self._member_count = 0

    def add(self, calls: Calls) -> None:
        """Add calls to their aggregates, which are created as needed."""
        if not len(calls):
            return
        aggregate = self._numbers_of(calls)
        counts = self.counts
        for name, values in (
            ("calls", 1),
            ("run_calls", self._represented_calls(calls)),
            ("whole", calls.is_complete),
            ("failed", calls.failed),
            ("in_place", calls.in_place),
            ("all_bytes", calls.all_bytes),
            ("spent_ns", calls.spent_ns),
            ("waited_ns", calls.waited_ns),
            ("blocks", calls.blocks),
            ("empty_blocks", calls.empty_blocks),
        ):
            np.add.at(counts[name], aggregate, values)
        np.minimum.at(counts["least_bytes"], aggregate, calls.bytes)
        np.maximum.at(counts["most_bytes"], aggregate, calls.bytes)
        np.maximum.at(counts["largest_block_bytes"], aggregate, calls.largest_block_bytes)
        np.maximum.at(counts["bound_ns"], aggregate, calls.bound_ns)
        self._add_times(calls, aggregate)
        self._add_patterns(calls, aggregate)
        is_recreated = self._is_recreated[calls.communicator]
        if is_recreated.any():
            self._communicators_used.add(aggregate[is_recreated], calls.communicator[is_recreated])

    def communicators(self, number: int) -> NDArray[np.int64]:
        """The communicators of an aggregate's calls, ascending; empty where they are not distinguished."""
        index = self.keys[number][4]
        if index < 0:
            return np.empty(0, np.int64)
        return (
            self._communicators_used.communicators_of(number)
            if self._is_recreated[index]
            else np.array([index])
        )

    def _represented_calls(self, calls: Calls) -> NDArray[np.int64] | int:
        """How many calls of the run each recorded call represents: up to the next, or the last one there."""
        if self._sampling_interval == 1:
            return 1
        left = self._calls_until_freed[calls.communicator] - calls.sequence
        return np.where(
            calls.kind == PERSISTENT, self._sampling_interval, np.clip(left, 1, self._sampling_interval)
        )

    def _add_times(self, calls: Calls, aggregate: NDArray[np.int64]) -> None:
        is_complete = calls.is_complete
        np.add.at(
            self.counts["skew_ns"], aggregate[is_complete], calls.skew_ns[is_complete].astype(np.float64)
        )
        self._count(0, aggregate[is_complete], calls.skew_ns[is_complete])
        has_times = is_complete & calls.has_end
        timed_aggregates = aggregate[has_times]
        np.add.at(self.counts["timed"], timed_aggregates, 1)
        for row, name, times in (
            (1, "total_ns", calls.end_ns[has_times] - calls.first_ns[has_times]),
            (2, "last_ns", calls.end_ns[has_times] - calls.last_ns[has_times]),
        ):
            np.add.at(self.counts[name], timed_aggregates, times.astype(np.float64))
            self._count(row, timed_aggregates, times)

    def _count(self, row: int, aggregate: NDArray[np.int64], times_ns: NDArray[np.int64]) -> None:
        """Add times to one of the three histograms of their aggregates."""
        np.add.at(self.histograms.reshape(-1), (aggregate * 3 + row) * BINS + bins(times_ns), 1)

    def _add_patterns(self, calls: Calls, aggregate: NDArray[np.int64]) -> None:
        """Delays by rank, and the squared deviation of delays within a call, for complete calls."""
        offset = np.where(calls.is_complete, self.rank_offset[aggregate], -1)
        call = calls.arrival_call
        is_counted = offset[call] >= 0
        if is_counted.all():
            index, delays = offset[call] + calls.arrival_rank, calls.arrival_delay_ns
        else:
            call = call[is_counted]
            index = offset[call] + calls.arrival_rank[is_counted]
            delays = calls.arrival_delay_ns[is_counted]
        delay = delays.astype(np.float64)
        np.add.at(self.delay_ns, index, delay)
        np.add.at(self.times_last, index[delays == calls.skew_ns[call]], 1)
        size = np.maximum(calls.arrivals, 1)
        sums = np.bincount(call, weights=delay, minlength=len(calls))
        squares = np.bincount(call, weights=delay * delay, minlength=len(calls))
        np.add.at(self.counts["centred_square"], aggregate, np.maximum(squares - sums * sums / size, 0))

    def _numbers_of(self, calls: Calls) -> NDArray[np.int64]:
        """The aggregate of each call, (n,)."""
        is_single = self._sizes[calls.communicator] == 1
        communicator = np.where(is_single, SINGLE_PROCESS, self._canonical[calls.communicator])
        codes = (calls.site << 22) | (calls.function << 9) | (calls.kind << 7) | size_classes(calls.bytes)
        communicators, of_communicator = np.unique(communicator, return_inverse=True)
        distinct_codes, code_of_call = np.unique(codes, return_inverse=True)
        # One np.unique over pairs of small indices is faster than one over the rows of a matrix.
        p = len(communicators)
        pairs, of_pair = np.unique(code_of_call * p + of_communicator, return_inverse=True)
        numbers = [
            self._number(int(distinct_codes[pair // p]), int(communicators[pair % p])) for pair in pairs
        ]
        return np.array(numbers)[of_pair]

    def _number(self, code: int, communicator: int) -> int:
        key = (code >> 22, (code >> 9) & 8191, (code >> 7) & 3, code & 127, communicator)
        if key not in self._numbers and len(self.keys) >= MOST_AGGREGATES and communicator != SINGLE_PROCESS:
            key = (*key[:4], SEVERAL_COMMUNICATORS)
        index = self._numbers.get(key)
        if index is None:
            index = self._numbers[key] = len(self.keys)
            self.keys.append(key)
            self._allocate(index, key[4])
        return index

    def _allocate(self, number: int, communicator: int) -> None:
        """Initialise an aggregate; arrays grow by doubling."""
        if number == len(self.counts):
            self.counts = np.concatenate([self.counts, np.zeros_like(self.counts)])
            self.histograms = np.concatenate([self.histograms, np.zeros_like(self.histograms)])
            self.rank_offset = np.concatenate([self.rank_offset, np.full_like(self.rank_offset, -1)])
        self.counts["least_bytes"][number] = np.iinfo(np.int64).max
        if communicator < 0:
            return
        size = int(self._sizes[communicator])
        if self._member_count + size > MOST_MEMBERS:
            return
        while self._member_count + size > len(self.delay_ns):
            self.delay_ns = np.concatenate([self.delay_ns, np.zeros_like(self.delay_ns)])
            self.times_last = np.concatenate([self.times_last, np.zeros_like(self.times_last)])
        self.rank_offset[number] = self._member_count
        self._member_count += size

    def sums(self, numbers: Sequence[int]) -> dict[str, Any]:
        """The combined counts of some aggregates: sums, minima and maxima."""
        reductions = {"least_bytes": np.min}
        reductions |= dict.fromkeys(("most_bytes", "bound_ns", "largest_block_bytes"), np.max)
        counts = self.counts[numbers]
        return {name: reductions.get(name, np.sum)(counts[name]).item() for name in _COUNTS.fields or ()}

    def by_rank(self, number: int, size: int) -> tuple[NDArray[np.float64], NDArray[np.int64]] | None:
        """For each rank of an aggregate's communicator: sum of delays in ns, number of times it was last."""
        begin = int(self.rank_offset[number])
        if begin < 0:
            return None
        return self.delay_ns[begin : begin + size], self.times_last[begin : begin + size]


def size_classes(size_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The size class of each size: 0 for nothing, 1 for 1 B, 2 for 2 B, 3 for 3 and 4 B, 4 for 5 to 8 B."""
    return np.ceil(np.log2(np.maximum(size_bytes, 0.5))).astype(np.int64) + 1


def bins(times_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """The histogram bin of each time: bin 0 below 1 ns, then eight bins per octave."""
    logs = np.floor(np.log2(np.maximum(times_ns, 0.5)) * BINS_PER_OCTAVE).astype(np.int64)
    return np.clip(logs + 1, 0, BINS - 1)


def upper_ns(bins: NDArray[np.int64]) -> NDArray[np.float64]:
    """The upper ends of histogram bins."""
    return np.asarray(2.0 ** (bins / BINS_PER_OCTAVE))


def quantile_ns(histogram: NDArray[np.uint32], share: float) -> float:
    """The quantile of a histogram at a share, to within 5%; NaN for an empty histogram."""
    total = int(histogram.sum())
    if total == 0:
        return float("nan")
    bin_number = int(np.searchsorted(np.cumsum(histogram), share * total, side="left"))
    bin_number = int(np.flatnonzero(histogram)[0]) if share == 0 else bin_number
    return 0.0 if bin_number == 0 else float(2.0 ** ((bin_number - 0.5) / BINS_PER_OCTAVE))


class _CommunicatorsUsed:
    """The pairs of an aggregate and a communicator that it has calls on; at most 16 bytes per pair."""

    def __init__(self) -> None:
        self._pairs = np.empty(0, np.int64)
        self._new: list[NDArray[np.int64]] = []

    def add(self, aggregates: NDArray[np.int64], communicators: NDArray[np.int64]) -> None:
        """Add pairs, (n,) each."""
        self._new.append(np.unique(aggregates << 32 | communicators))
        if sum(map(len, self._new)) > len(self._pairs) + _MERGE_AFTER:
            self._merge()

    def communicators_of(self, aggregate: int) -> NDArray[np.int64]:
        """The communicators of an aggregate, ascending."""
        self._merge()
        begin, end = np.searchsorted(self._pairs, [aggregate << 32, (aggregate + 1) << 32])
        return self._pairs[begin:end] & 0xFFFFFFFF

    def _merge(self) -> None:
        if self._new:
            self._pairs = np.unique(np.concatenate([self._pairs, *self._new]))
            self._new = []
