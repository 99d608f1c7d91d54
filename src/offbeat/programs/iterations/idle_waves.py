"""Idle waves: how a delay of one rank propagates through its neighbours, and how fast.

A delay is a computation that is much longer than the rank's usual one. Its neighbours wait for the delayed
rank, their neighbours wait for them, and so on: a front of waiting that moves through the ranks in all
directions (A. Afzal et al., section 1). Neighbours are ranks that exchange messages, and a direction is the
difference of their numbers: 1 and -1 on a line or a ring, also 6 and -6 on a grid whose rows have 6 ranks.
The last rank of a ring is a neighbour of the first one; that of a line is not. A front is followed in one
direction from neighbour to neighbour as long as each waits much longer than usual for the partner of a
message, in the same or one of the next iterations; waiting in collectives does not count, as it reaches all
ranks at once. The speed is the slope of a line through ranks and times. In neighbours per iteration, the
iteration is one that no delay and no such waiting prolongs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.programs.iterations.iteration_table import IterationTable

FEWEST_RANKS = 4
"""Fronts that reach fewer ranks are not followed: their speed would be chance."""

MOST_DELAYS = 200
"""The largest delays are followed."""

MOST_DIRECTIONS = 13
"""Pairs of opposite directions: those of a box in three dimensions."""

_TIMES_SPREAD, _LEAST_SHARE = 6.0, 0.05
"""A delay, or a wait, is long if it exceeds the median of its rank by the first × the median deviation, and
by the second × the mean iteration."""

_LEAST_REMAINING = 0.3
"""A rank belongs to the front if it waits at least for this share of the rank before."""

_ROWS_BETWEEN = 3
"""A front reaches the next rank within this number of iterations."""


class IdleWave(Struct, frozen=True, kw_only=True):
    """A front of waiting that a delay causes at one neighbour after the other.

    ``rank`` was delayed, in ``iteration`` (from 1). ``direction`` is the difference of the numbers of
    neighbours.

    ``ranks`` are those that it reached. ``speed`` is in neighbours per second, ``per_iteration`` in
    neighbours per iteration without delays; ``fit`` is the coefficient of determination R² of the line.
    ``delay_s`` is the delay, ``first_s`` and ``last_s`` what the first and the last rank waited; ``times_s``
    when each of them stopped waiting, after the end of the delayed iteration.
    """

    rank: int
    iteration: int
    direction: int
    ranks: int
    speed: float
    per_iteration: float
    fit: float
    delay_s: float
    first_s: float
    last_s: float
    times_s: list[float]


class _Found(Struct):
    """A front as it is followed: of each rank the distance from the delayed one, the time, the waiting."""

    distances: list[int]
    times_s: list[float]
    waits_s: list[float]


def idle_waves(table: IterationTable) -> list[IdleWave]:
    """The fronts in a table without missing values, those with the most ranks first."""
    if table.p < FEWEST_RANKS + 1 or table.rows < 3 or table.iterations.each > 1:
        return []
    neighbours = _Neighbours(table)
    times_s = table.times_s()
    mean_s = float(np.median(times_s))
    waits_s = excess_s(table.late_partner_s.astype(np.float64), mean_s)
    delays_s = excess_s(table.computed_s(), mean_s)
    is_usual = (waits_s == 0) & (delays_s == 0)
    usual_s = float(times_s[is_usual].mean()) if is_usual.any() else mean_s
    ends_s = table.ends_s()
    places = np.argwhere(delays_s > 0)
    order = np.argsort(-delays_s[places[:, 0], places[:, 1]], kind="stable")[:MOST_DELAYS]
    waves, used = [], np.zeros(waits_s.shape, np.bool_)
    for row, place in places[order].tolist():
        for direction in neighbours.directions:
            found = _followed(waits_s, ends_s, used, row, neighbours.along(place, direction))
            if len(found.distances) >= FEWEST_RANKS:
                delay_s = float(delays_s[row, place])
                rank, began_s = int(table.iterations.ranks[place]), float(ends_s[row, place])
                waves.append(_wave(found, rank, row, direction, delay_s, began_s, usual_s))
    return sorted(waves, key=lambda one: (-one.ranks, one.iteration, one.rank))


class _Neighbours:
    """Which ranks exchange messages, and in which directions."""

    def __init__(self, table: IterationTable) -> None:
        ranks, self._p = table.iterations.ranks, table.p
        is_known = np.isin(table.neighbours, ranks).all(axis=1)
        pairs = np.searchsorted(ranks, table.neighbours[is_known])
        self._pairs = {*map(tuple, pairs.tolist()), *map(tuple, pairs[:, ::-1].tolist())}
        offsets = pairs[:, 1] - pairs[:, 0]
        usual = np.where(offsets > self._p // 2, offsets - self._p, offsets)  # the ends of a ring
        sizes, counts = np.unique(np.abs(usual), return_counts=True)
        kept = sizes[np.argsort(-counts, kind="stable")][:MOST_DIRECTIONS].tolist()
        self.directions = [signed for size in sorted(kept) for signed in (size, -size)]

    def along(self, place: int, direction: int) -> list[int]:
        """The neighbours in a direction, up to the last one; on a ring up to the opposite rank."""
        found = [place]
        while (found[-1], after := (found[-1] + direction) % self._p) in self._pairs:
            if after == place:
                half = len(found) // 2 if direction > 0 else (len(found) - 1) // 2
                return found[1 : 1 + half]
            found.append(after)
        return found[1:]


def excess_s(times_s: NDArray[np.float64], mean_s: float) -> NDArray[np.float64]:
    """By how much times (rows, p) exceed the median of their rank; 0 where that is not much."""
    above_s = times_s - np.median(times_s, axis=0)
    spread_s = np.median(np.abs(above_s), axis=0)
    above_s[above_s <= np.maximum(_TIMES_SPREAD * spread_s, _LEAST_SHARE * mean_s)] = 0
    return above_s


def _followed(
    waits_s: NDArray[np.float64],
    ends_s: NDArray[np.float64],
    used: NDArray[np.bool_],
    row: int,
    places: Sequence[int],
) -> _Found:
    """Follow a front through these places; marks the waiting that belongs to it as used."""
    found = _Found([], [], [])
    for distance, place in enumerate(places, start=1):
        rows = slice(row, row + _ROWS_BETWEEN)
        least_s = _LEAST_REMAINING * found.waits_s[-1] if found.waits_s else 0.0
        is_hit = (waits_s[rows, place] > least_s) & ~used[rows, place]
        if not is_hit.any():
            break
        row += int(is_hit.argmax())
        used[row, place] = True
        found.distances.append(distance)
        found.times_s.append(float(ends_s[row, place]))
        found.waits_s.append(float(waits_s[row, place]))
    return found


def _wave(
    found: _Found, rank: int, row: int, direction: int, delay_s: float, began_s: float, usual_s: float
) -> IdleWave:
    distances, times_s = np.array(found.distances, float), np.array(found.times_s)
    times_s = times_s - times_s.mean()
    square = float(times_s @ times_s)
    centred = distances - distances.mean()
    # Times are the uncertain ones: fit them over the ranks, and invert the slope.
    slope = float(centred @ times_s) / float(centred @ centred)
    return IdleWave(
        rank=rank,
        iteration=row + 1,
        direction=direction,
        ranks=len(distances),
        speed=1 / slope if slope > 0 else np.inf,
        per_iteration=usual_s / slope if slope > 0 else np.inf,
        fit=(slope * float(centred @ times_s)) / square if square else 0.0,
        delay_s=delay_s,
        first_s=found.waits_s[0],
        last_s=found.waits_s[-1],
        times_s=[one - began_s for one in found.times_s],
    )
