"""Sums over calls that belong together: one call site, communicator, function and size.

Everything here is a sum, a count or a histogram, so that a hundred million records need no more memory than a
thousand; and of communicators that were made again and again, on which of them the calls were. Sizes fall
together where they are within the same power of two; least and largest are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offbeat.trace.called_on import CalledOn
from offbeat.trace.calls import STARTED, Calls
from offbeat.trace.communicators import Communicators

MOST_CELLS = 20_000
"""Beyond so many cells, communicators are no longer told apart in new ones."""

MOST_MEMBERS = 20_000_000
"""Beyond so many delays, one for each rank of each cell's communicator, new cells have no pattern."""

SEVERAL, ALONE = -1, -2
"""Instead of a communicator: several of them; communicators of one process each."""

BINS_AN_OCTAVE = 8
_OCTAVES = 44
BINS = 1 + BINS_AN_OCTAVE * _OCTAVES

_COUNTS = np.dtype(
    [
        *(
            (name, "<i8")
            for name in ("calls", "made", "whole", "timed", "failed", "in_place", "arrivals", "all_bytes")
        ),
        *((name, "<i8") for name in ("least_bytes", "most_bytes", "spent_ns", "waited_ns")),
        *((name, "<f8") for name in ("skew_ns", "total_ns", "last_ns", "centred_square")),
        ("bound_ns", "<f8"),
    ]
)

Key = tuple[int, int, int, int, int]
"""Site, function, kind, power of two of the bytes, communicator (the first of those made alike)."""

_UNKNOWN = 2**62


class Cells:
    """All cells of a summary, growing. Of the calls on each communicator, every so many-th was recorded."""

    def __init__(self, communicators: Communicators, every: int = 1) -> None:
        self._sizes = np.array([max(one.size, 1) for one in communicators.all], dtype=np.int64)
        self._first, self._every = communicators.first, every
        self._is_again = np.bincount(self._first)[self._first] > 1
        made = np.array([one.calls for one in communicators.all], dtype=np.int64)
        self._made = np.where(made < 0, _UNKNOWN, made)
        self._called_on = CalledOn()
        self.keys: list[Key] = []
        self._numbers: dict[Key, int] = {}
        self.counts = np.zeros(16, _COUNTS)
        self.histograms = np.zeros((16, 3, BINS), np.uint32)
        self.members = np.full(16, -1, np.int64)
        """Where the cell's ranks begin in the sums over ranks; -1: it has none."""
        self.delay_ns = np.zeros(1024)
        self.latest = np.zeros(1024, np.int64)
        self._used = 0

    def add(self, calls: Calls) -> None:
        """Add calls to their cells."""
        if not len(calls):
            return
        cell = self._of(calls)
        counts = self.counts
        for name, values in (
            ("calls", 1),
            ("made", self._stand_for(calls)),
            ("whole", calls.is_whole),
            ("failed", calls.failed),
            ("in_place", calls.in_place),
            ("arrivals", calls.arrived),
            ("all_bytes", calls.all_bytes),
            ("spent_ns", calls.spent_ns),
            ("waited_ns", calls.waited_ns),
        ):
            np.add.at(counts[name], cell, values)
        np.minimum.at(counts["least_bytes"], cell, calls.bytes)
        np.maximum.at(counts["most_bytes"], cell, calls.bytes)
        np.maximum.at(counts["bound_ns"], cell, calls.bound_ns)
        self._add_times(calls, cell)
        self._add_patterns(calls, cell)
        again = self._is_again[calls.communicator]
        if again.any():
            self._called_on.add(cell[again], calls.communicator[again])

    def communicators(self, number: int) -> NDArray[np.int64]:
        """The communicators that a cell has calls on, rising; empty where they are not told apart."""
        index = self.keys[number][4]
        if index < 0:
            return np.empty(0, np.int64)
        return self._called_on.of(number) if self._is_again[index] else np.array([index])

    def _stand_for(self, calls: Calls) -> NDArray[np.int64] | int:
        """How many calls of the run each one stands for: those up to the next one that is recorded, or up to
        the last on its communicator.
        """
        if self._every == 1:
            return 1
        left = self._made[calls.communicator] - calls.sequence
        return np.where(calls.kind == STARTED, self._every, np.clip(left, 1, self._every))

    def _add_times(self, calls: Calls, cell: NDArray[np.int64]) -> None:
        whole = calls.is_whole
        np.add.at(self.counts["skew_ns"], cell[whole], calls.skew_ns[whole].astype(np.float64))
        self._count(0, cell[whole], calls.skew_ns[whole])
        timed = whole & calls.has_end
        at = cell[timed]
        np.add.at(self.counts["timed"], at, 1)
        for row, name, times in (
            (1, "total_ns", calls.end_ns[timed] - calls.first_ns[timed]),
            (2, "last_ns", calls.end_ns[timed] - calls.last_ns[timed]),
        ):
            np.add.at(self.counts[name], at, times.astype(np.float64))
            self._count(row, at, times)

    def _count(self, row: int, cell: NDArray[np.int64], times_ns: NDArray[np.int64]) -> None:
        """Add times to one of the three histograms of their cells."""
        np.add.at(self.histograms.reshape(-1), (cell * 3 + row) * BINS + bins(times_ns), 1)

    def _add_patterns(self, calls: Calls, cell: NDArray[np.int64]) -> None:
        """Delays by rank, and what a call's delays differ among each other, of whole calls."""
        begin = np.where(calls.is_whole, self.members[cell], -1)
        of = calls.arrival_call
        counted = begin[of] >= 0
        if counted.all():
            places, delays, of_counted = begin[of] + calls.arrival_place, calls.arrival_delay_ns, of
        else:
            of_counted = of[counted]
            places = begin[of_counted] + calls.arrival_place[counted]
            delays = calls.arrival_delay_ns[counted]
        delay = delays.astype(np.float64)
        np.add.at(self.delay_ns, places, delay)
        np.add.at(self.latest, places[delays == calls.skew_ns[of_counted]], 1)
        size = np.maximum(calls.arrived, 1)
        sums = np.bincount(of_counted, weights=delay, minlength=len(calls))
        squares = np.bincount(of_counted, weights=delay * delay, minlength=len(calls))
        np.add.at(self.counts["centred_square"], cell, np.maximum(squares - sums * sums / size, 0))

    def _of(self, calls: Calls) -> NDArray[np.int64]:
        """The cell of each call, (n,)."""
        power = powers(calls.bytes)
        alone = self._sizes[calls.communicator] == 1
        communicator = np.where(alone, ALONE, self._first[calls.communicator])
        place = (calls.site << 22) | (calls.function << 9) | (calls.kind << 7) | power
        within, codes = np.unique(communicator, return_inverse=True)
        where, sites = np.unique(place, return_inverse=True)
        joint, back = np.unique(sites * len(within) + codes, return_inverse=True)
        numbers = np.array(
            [self._number(int(where[one // len(within)]), int(within[one % len(within)])) for one in joint]
        )
        return numbers[back]

    def _number(self, place: int, communicator: int) -> int:
        key = (place >> 22, (place >> 9) & 8191, (place >> 7) & 3, place & 127, communicator)
        if key not in self._numbers and len(self.keys) >= MOST_CELLS and communicator != ALONE:
            key = (*key[:4], SEVERAL)
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(self.keys)
            self.keys.append(key)
            self._make(known, key[4])
        return known

    def _make(self, number: int, communicator: int) -> None:
        """Room for a cell more."""
        if number == len(self.counts):
            self.counts = np.concatenate([self.counts, np.zeros_like(self.counts)])
            self.histograms = np.concatenate([self.histograms, np.zeros_like(self.histograms)])
            self.members = np.concatenate([self.members, np.full_like(self.members, -1)])
        self.counts["least_bytes"][number] = np.iinfo(np.int64).max
        if communicator < 0:
            return
        size = int(self._sizes[communicator])
        if self._used + size > MOST_MEMBERS:
            return
        while self._used + size > len(self.delay_ns):
            self.delay_ns = np.concatenate([self.delay_ns, np.zeros_like(self.delay_ns)])
            self.latest = np.concatenate([self.latest, np.zeros_like(self.latest)])
        self.members[number] = self._used
        self._used += size

    def summed(self, numbers: Sequence[int]) -> dict[str, Any]:
        """The sums of some cells together; of least and largest the least and the largest."""
        chosen, ways = self.counts[numbers], {"least_bytes": np.min, "most_bytes": np.max, "bound_ns": np.max}
        return {name: ways.get(name, np.sum)(chosen[name]).item() for name in _COUNTS.fields or ()}

    def by_rank(self, number: int, size: int) -> tuple[NDArray[np.float64], NDArray[np.int64]] | None:
        """Sum of delays in ns, and how often it was the latest, of each rank of a cell's communicator."""
        begin = int(self.members[number])
        if begin < 0:
            return None
        return self.delay_ns[begin : begin + size], self.latest[begin : begin + size]


def powers(size_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The power of two that each size falls under: 0 for nothing, 1 for 1 B, 2 for 2 B, 3 for 3 and 4 B."""
    return np.ceil(np.log2(np.maximum(size_bytes, 0.5))).astype(np.int64) + 1


def bins(times_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """The histogram bin of each time: 0 below 1 ns, then eight an octave."""
    logs = np.floor(np.log2(np.maximum(times_ns, 0.5)) * BINS_AN_OCTAVE).astype(np.int64)
    return np.clip(logs + 1, 0, BINS - 1)


def upper_ns(places: NDArray[np.int64]) -> NDArray[np.float64]:
    """The upper ends of histogram bins; what lies in bin 0 is below 1 ns."""
    return np.asarray(2.0 ** (places / BINS_AN_OCTAVE))


def quantile_ns(histogram: NDArray[np.uint32], share: float) -> float:
    """The time below which a share of a histogram lies, to within 5%; NaN of an empty one."""
    total = int(histogram.sum())
    if total == 0:
        return float("nan")
    place = int(np.searchsorted(np.cumsum(histogram), share * total, side="left"))
    place = int(np.flatnonzero(histogram)[0]) if share == 0 else place
    return 0.0 if place == 0 else float(2.0 ** ((place - 0.5) / BINS_AN_OCTAVE))
