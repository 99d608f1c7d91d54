"""The iterations in the sequence of a rank's calls: which calls begin them.

The calls of a call site divide the sequence into pieces; so do the first calls of each group of calls that a
site makes one directly after the other (a loop over neighbours), and every second, third, ... call. They
begin iterations if the pieces are alike in two ways. The pieces take about the same time to compute: between
the steps of an inner loop, such as those of a hand-written allreduce, there is none. And most of them have
the same call sites: a collective in every 20th iteration is an exception, as is what a program calls before
and after. Of all such divisions, that with the most pieces has the iterations.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.programs.iterations.rank_calls import RankCalls

FEWEST = 3
"""Fewer calls begin no iterations."""

_COMMON = 0.9
"""A call site belongs to the iteration if it occurs in this share of the pieces."""

_RARE = 0.2
"""A call site that occurs in a smaller share of the pieces is an exception."""

_LEAST_COVERED = 0.5
"""The least share of the call sites, or of the calls, that belong to the iteration."""

_LEAST_SPAN = 0.3
"""The least share of the time that the iterations take."""

_LEAST_COMPUTED = 0.1
"""If computation takes less than this share of the time, pieces are compared by their whole time."""

_LEAST_MEDIAN, _WIDEST_QUARTILES = 0.4, 4.0
"""Pieces are alike: their median is at least the first × their mean, and the upper quartile at most the
second × the lower."""

_WIDEST_OF_SAME, _PERIODIC, _FEWEST_PERIODS = 50.0, 4.0, 9
"""Pieces with the same number of calls are alike: nine tenths take at most the first × the time of one tenth,
and of each second, third, ... the lower quartile is at most the second × the upper one of the others, in so
many periods."""

_LONGER = 1.5
"""A piece is longer if it has this many times the usual number of calls."""

_MOST_SITES, _MOST_EVERY = 256, 32

_NEAR = 0.9
"""Call sites with this share of the largest number of pieces divide the same loop."""

_SIMILAR_WAIT = 0.7
"""Of anchors with this share of the longest computation before them, the simplest is best."""


class Anchor(Struct, frozen=True):
    """Which calls begin iterations: those of a call site (``caller``); with ``is_group`` only those whose
    previous call is one of another site; and of these every ``every``-th, from the one with the number
    ``first`` (from 0) on.
    """

    caller: int
    is_group: bool = False
    every: int = 1
    first: int = 0


def anchors(calls: RankCalls) -> list[tuple[Anchor, int]]:
    """All anchors of the iterations with the number of iterations of each, the best first.

    ``calls`` are those of one rank in the order of time, without marks. The best anchors come after the
    longest computation of an iteration. Empty if nothing repeats.
    """
    sequence = _Sequence(calls)
    divided = [one for site in sequence.frequent_sites() for one in sequence.divisions(site)]
    if not divided:
        return []
    iterations = _iterations(divided)
    best = [one for one in divided if one.iterations == iterations]
    longest_s = max(one.before_s for one in best)
    best.sort(
        key=lambda one: (
            one.before_s < _SIMILAR_WAIT * longest_s,
            one.anchor.every,
            one.anchor.is_group,
            -one.before_s,
        )
    )
    return [(one.anchor, one.iterations) for one in best]


class _Division(Struct, frozen=True):
    """A division of the sequence into pieces that are alike; ``before_s`` is the mean computation before the
    calls of its anchor."""

    anchor: Anchor
    iterations: int
    before_s: float


def _iterations(divided: list[_Division]) -> int:
    """The number of iterations: that of the shortest pieces.

    Call sites differ by a few calls if the program uses them before the loop as well (the first residual of a
    solver) or leaves the loop in the middle. A site with one call in each iteration is most likely the loop's
    own; of the others that with the fewest calls.
    """
    most = max(one.iterations for one in divided)
    near = [one for one in divided if one.iterations >= _NEAR * most]
    single = [one.iterations for one in near if one.anchor.every == 1 and not one.anchor.is_group]
    if single:
        return max(single, key=lambda count: (single.count(count), count))
    return min(one.iterations for one in near)


class _Pieces(Struct, frozen=True):
    """The share of the repeated call sites, and of the calls, that occur in most pieces; and the share of the
    pieces with the most frequent number of calls, without those of rare sites."""

    sites: float
    calls: float
    same: float


class _Sequence:
    """The calls of a rank, with their call sites as numbers from 0, and the computation before each."""

    def __init__(self, calls: RankCalls) -> None:
        self._callers, self._of = np.unique(calls.caller, return_inverse=True)
        self._enter_s = (calls.enter_ns - calls.enter_ns[:1]) / 1e9
        latest_ns = np.maximum.accumulate(calls.exit_ns)
        gap_ns = np.maximum(calls.enter_ns[1:] - latest_ns[:-1], 0)
        self._gap_s = np.concatenate([np.zeros(min(len(calls), 1)), gap_ns / 1e9])
        self._computed_s = np.cumsum(self._gap_s)

    def frequent_sites(self) -> list[int]:
        """The call sites with enough calls, those with the longest computation before their calls first."""
        if not len(self._of):
            return []
        counts = np.bincount(self._of)
        before_s = np.bincount(self._of, weights=self._gap_s)
        order = np.argsort(-before_s, kind="stable")
        return [int(site) for site in order[counts[order] >= FEWEST][:_MOST_SITES]]

    def divisions(self, site: int) -> Iterator[_Division]:
        """The divisions at calls of a site: at all or, if these are not alike, at every second, third, ..."""
        places = np.flatnonzero(self._of == site)
        is_group_start = self._of[places - 1] != site
        is_group_start[0] = True
        for is_group, begins in ((False, places), (True, places[is_group_start])):
            if is_group and is_group_start.all():
                continue
            for every in range(1, min(_MOST_EVERY, len(begins) // FEWEST) + 1):
                first = max(range(every), key=lambda one: self._gap_s[begins[one::every]].mean())
                chosen = begins[first::every]
                if self._is_alike(chosen, is_exact=every > 1):
                    caller = int(self._callers[site])
                    before_s = float(self._gap_s[chosen].mean())
                    yield _Division(Anchor(caller, is_group, every, first), len(chosen), before_s)
                    break

    def _is_alike(self, places: NDArray[np.int64], *, is_exact: bool) -> bool:
        """Whether the pieces between these calls are alike, and take much of the time; with ``is_exact`` most
        of them must also have the same number of calls."""
        times_s, computed_s = np.diff(self._enter_s[places]), np.diff(self._computed_s[places])
        span_s = float(times_s.sum())
        if span_s < _LEAST_SPAN * float(self._enter_s[-1]):
            return False
        by_computation = computed_s.sum() >= _LEAST_COMPUTED * span_s
        if not _are_alike(computed_s if by_computation else times_s, np.diff(places)):
            return False
        pieces = self._pieces(places)
        if is_exact and pieces.same < _COMMON:
            return False
        return (max(pieces.sites, pieces.calls) if by_computation else pieces.sites) >= _LEAST_COVERED

    def _pieces(self, places: NDArray[np.int64]) -> _Pieces:
        """What the pieces between these calls have in common."""
        of = self._of[places[0] : places[-1]]
        count, most = len(places) - 1, len(self._callers)
        piece = np.repeat(np.arange(count), np.diff(places))
        present = np.bincount(np.unique(piece * most + of) % most, minlength=most)
        calls = np.bincount(of, minlength=most)
        is_repeated, is_common = calls >= FEWEST - 1, present >= _COMMON * count
        lengths = np.bincount(piece, weights=present[of] >= _RARE * count, minlength=count)
        return _Pieces(
            sites=float((is_common & is_repeated).sum() / max(is_repeated.sum(), 1)),
            calls=float(calls[is_common].sum()) / max(len(of), 1),
            same=float(np.unique(lengths, return_counts=True)[1].max() / count),
        )


def _are_alike(times_s: NDArray[np.float64], lengths: NDArray[np.int64]) -> bool:
    """Whether pieces take about the same time, but for noise; ``lengths`` are their numbers of calls.

    A piece of the usual length that takes much longer was disturbed. Where pieces with more calls take most
    of the time, the others are steps of an inner loop. If almost all have the same number of calls, noise may
    be any; but each second, third, ... piece must not differ from the others.
    """
    is_usual = lengths <= _LONGER * np.median(lengths)
    if np.unique(lengths, return_counts=True)[1].max() >= _COMMON * len(lengths):
        low, high = np.quantile(times_s, (0.1, 0.9))
        of_usual_s = float(times_s[is_usual].sum())
        is_loop = of_usual_s >= _LEAST_MEDIAN * float(times_s.sum())
        return bool(is_loop and high <= _WIDEST_OF_SAME * low and not _is_periodic(times_s))
    low, median, high = np.quantile(times_s, (0.25, 0.5, 0.75))
    without_noise_s = np.where(is_usual, np.minimum(times_s, _WIDEST_QUARTILES * high), times_s)
    return bool(median >= _LEAST_MEDIAN * without_noise_s.mean() and high <= _WIDEST_QUARTILES * low)


def _is_periodic(times_s: NDArray[np.float64]) -> bool:
    """Whether each second, third, ... of some times is much longer than those between."""
    for period in range(2, min(_MOST_EVERY, len(times_s) // _FEWEST_PERIODS) + 1):
        rounds = times_s[: len(times_s) // period * period].reshape(-1, period)
        low, high = np.quantile(rounds, (0.25, 0.75), axis=0)
        if low.max() > _PERIODIC * high.min():
            return True
    return False
