"""The calls of some ranks during a few iterations, for timelines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offbeat.programs.iterations.iterations import NEVER, Iterations

MOST_RANKS = 64
MOST_CALLS = 60_000
"""Limits of a timeline: its ranks, and its calls."""

SHOWN_ITERATIONS = 4
PLACES = ("begin", "middle", "end")
"""Number of iterations in each timeline: at the beginning, in the middle and at the end of the run."""

WAITING, COLLECTIVE, MESSAGE = range(3)
"""Kinds of bars: waiting in a collective, the rest of it, a point-to-point call."""


class TimelineCalls:
    """The calls of the first ranks from one time to another.

    ``first_row`` and ``rows`` are the iterations that begin in it. A bar has the ``place`` of its rank, a
    begin and an end in ns on the shared clock, and a kind; ``left_out`` is the number of further calls.
    """

    def __init__(self, iterations: Iterations, first_row: int, rows: int) -> None:
        shown = iterations.edges_ns[:MOST_RANKS]
        edges = shown[:, [first_row, first_row + rows]]
        self.first_row, self.rows = first_row, rows
        self.ranks = iterations.ranks[:MOST_RANKS]
        self.begin_ns = int(edges[:, 0].min())
        ends = edges[:, 1][edges[:, 1] != NEVER]
        self.end_ns = int(ends.max()) if len(ends) else self.begin_ns
        self.begins_ns = shown[:, first_row : first_row + rows + 1]
        self.left_out = 0
        self._bars: list[NDArray[np.int64]] = []
        self._held = 0

    def add_collectives(
        self,
        place: NDArray[np.int64],
        enter_ns: NDArray[np.int64],
        exit_ns: NDArray[np.int64],
        waiting_ns: NDArray[np.int64],
        spent_ns: NDArray[np.int64],
    ) -> None:
        """Add calls of collectives, (n,), with the waiting in each."""
        at = self._inside(place, enter_ns, exit_ns, spent_ns)
        middle = enter_ns[at] + waiting_ns[at]
        self._add(place[at], enter_ns[at], middle, WAITING)
        self._add(place[at], middle, exit_ns[at], COLLECTIVE)

    def add_messages(
        self,
        place: NDArray[np.int64],
        enter_ns: NDArray[np.int64],
        exit_ns: NDArray[np.int64],
        spent_ns: NDArray[np.int64],
    ) -> None:
        """Add point-to-point calls, (n,)."""
        at = self._inside(place, enter_ns, exit_ns, spent_ns)
        self._add(place[at], enter_ns[at], exit_ns[at], MESSAGE)

    def bars(self) -> NDArray[np.int64]:
        """All bars, (n, 4): place, begin, end, kind."""
        return np.concatenate([np.empty((0, 4), np.int64), *self._bars])

    def _inside(
        self,
        place: NDArray[np.int64],
        enter_ns: NDArray[np.int64],
        exit_ns: NDArray[np.int64],
        spent_ns: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        is_inside = (place >= 0) & (place < MOST_RANKS) & (spent_ns > 0)
        is_inside &= (enter_ns < self.end_ns) & (exit_ns > self.begin_ns)
        return np.flatnonzero(is_inside)

    def _add(
        self, place: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64], kind: int
    ) -> None:
        is_visible = end > begin
        bars = np.stack([place, begin, end, np.full(len(place), kind)], axis=1)[is_visible]
        room = max(MOST_CALLS - self._held, 0)
        self.left_out += max(len(bars) - room, 0)
        self._bars.append(bars[:room])
        self._held += len(bars[:room])


def timelines_of(iterations: Iterations) -> list[TimelineCalls]:
    """Timelines of a few iterations at the beginning, in the middle and at the end of what is complete."""
    rows = iterations.complete()[0].rows
    if not rows:
        return []
    shown = min(SHOWN_ITERATIONS, rows)
    firsts = {0, max((rows - shown) // 2, 0), rows - shown}
    return [TimelineCalls(iterations, first, shown) for first in sorted(firsts)]
