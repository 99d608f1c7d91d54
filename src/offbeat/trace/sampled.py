"""Some calls of several rows, evenly chosen: for pictures of how delays spread and change over the run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace.calls import Calls, calls
from offbeat.trace.cells import powers
from offbeat.trace.families import families
from offbeat.trace.match import Matcher
from offbeat.trace.read import Trace
from offbeat.trace.rows import Row
from offbeat.trace.summary import Told

MOST_CALLS = 1000
MOST_VALUES = 4_000_000
"""So many calls of a row are kept, and so many delays: 32 MiB."""


class Sample(Struct, kw_only=True, eq=False):
    """Delays of some calls behind their first rank, in seconds, (calls, p), in the order in which they began;
    NaN where a rank is not traced. ``began_ns`` is when, (calls,), on the shared clock. Every ``step``-th was
    taken.
    """

    delays_s: NDArray[np.float64]
    began_ns: NDArray[np.int64]
    step: int


class _Chooser:
    """Takes every so many-th call of one row."""

    def __init__(self, row: Row, alike: NDArray[np.int64], most_calls: int, most_values: int) -> None:
        self._row, self._p = row, row.processes
        self._communicators = alike
        self.step = max(1, -(-row.whole // max(1, min(most_calls, most_values // row.processes))))
        self._met = 0
        self._delays: list[NDArray[np.float64]] = []
        self._began: list[NDArray[np.int64]] = []

    def add(self, found: Calls, power: NDArray[np.int64]) -> None:
        """Take what is due of these calls; ``power`` are those of their sizes."""
        site, function, kind, wanted, _ = self._row.key
        fit = found.is_whole & (found.site == site) & (found.function == function)
        fit &= (found.kind == kind) & (power == wanted) & np.isin(found.communicator, self._communicators)
        number = self._met + np.cumsum(fit) - 1
        self._met += int(np.count_nonzero(fit))
        fit &= number % self.step == 0
        if fit.any():
            self._delays.append(found.delays_s(fit, self._p))
            self._began.append(found.first_ns[fit])

    def sample(self) -> Sample:
        """What was taken."""
        began = np.concatenate([*self._began, np.empty(0, np.int64)])
        delays = np.concatenate([*self._delays, np.empty((0, self._p))])
        order = np.argsort(began, kind="stable")
        return Sample(delays_s=delays[order], began_ns=began[order], step=self.step)


def samples(
    trace: Trace,
    rows: Sequence[Row],
    *,
    most_calls: int = MOST_CALLS,
    most_values: int = MOST_VALUES,
    told: Told | None = None,
) -> list[Sample]:
    """Read the trace once more for some calls of each row; rows are those of ``Summary.families``."""
    first, total = families(trace.communicators), trace.most_records
    choosers = [
        _Chooser(row, np.flatnonzero(first == first[row.communicator_index]), most_calls, most_values)
        for row in rows
    ]
    if choosers:
        matcher = Matcher(trace, told=None if told is None else lambda done: told(done, total))
        for matched in matcher.batches():
            found = calls(matched)
            power = powers(found.bytes)
            for chooser in choosers:
                chooser.add(found, power)
    return [chooser.sample() for chooser in choosers]
