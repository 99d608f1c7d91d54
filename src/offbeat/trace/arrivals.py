"""The arrivals of one row of a summary, call by call: what patterns and replays are made from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.errors import BadInput
from offbeat.trace.call_aggregates import size_classes
from offbeat.trace.call_site_stats import CallSiteStats
from offbeat.trace.calls import Calls, analyse_calls
from offbeat.trace.communicators import communicator_groups
from offbeat.trace.match import MOST_RECORDS, Matcher
from offbeat.trace.read import Progress, Trace

MOST_VALUES = 16_000_000
"""Delays that are held at once: 128 MiB. Of more calls, every second, fourth, ... is kept."""


class Arrivals(Struct, kw_only=True, eq=False):
    """Delays of calls that every traced rank made, in seconds behind the first rank: ``delays_s`` (calls, p),
    NaN where a rank is not traced. ``began_s`` is when each call's first rank arrived, since the first of
    them. ``step`` tells which calls: 1 all of them, 2 every second one. ``number`` is each call's number.
    """

    row: CallSiteStats
    delays_s: NDArray[np.float64]
    began_s: NDArray[np.float64]
    number: NDArray[np.int64]
    step: int


def collect(
    trace: Trace,
    row: CallSiteStats,
    *,
    most_records: int = MOST_RECORDS,
    most_values: int = MOST_VALUES,
    on_progress: Progress | None = None,
) -> Arrivals:
    """Read the trace once more for the arrivals of a row, in the order of its calls."""
    collector = _Collector(row, trace.communicators.canonical, most_values)
    matcher = Matcher(trace, most_records=most_records, on_progress=on_progress)
    for matched in matcher.batches():
        collector.add(analyse_calls(matched))
    return collector.arrivals()


class _Collector:
    """Keeps the calls of a row: all of them, or every second, fourth, ... where they are too many."""

    def __init__(self, row: CallSiteStats, first: NDArray[np.int64], most_values: int) -> None:
        self._row, self._first, self._most = row, first, most_values
        self._met, self._step = 0, 1
        self._delays: list[NDArray[np.float64]] = []
        self._began: list[NDArray[np.int64]] = []
        self._numbers: list[NDArray[np.int64]] = []

    def add(self, found: Calls) -> None:
        """Keep what is the row's of these calls."""
        site, function, kind, power, communicator = self._row.key
        chosen = found.is_complete & (self._first[found.communicator] == communicator) & (found.site == site)
        chosen &= (found.function == function) & (found.kind == kind) & (size_classes(found.bytes) == power)
        number = self._met + _places(found.first_ns, chosen)
        self._met += int(np.count_nonzero(chosen))
        chosen &= number % self._step == 0
        if not chosen.any():
            return
        delays = found.delays_s(chosen, self._row.processes)
        # In a damaged file a rank may arrive twice instead of another one.
        sound = ~np.isnan(delays[:, ~np.isnan(self._row.delays_s)]).any(axis=1)
        self._delays.append(delays[sound])
        self._began.append(found.first_ns[chosen][sound])
        self._numbers.append(number[chosen][sound])
        while (held := sum(map(len, self._delays))) * self._row.processes > self._most and held > 1:
            self._thin_out()

    def _thin_out(self) -> None:
        self._step *= 2
        kept = [numbers % self._step == 0 for numbers in self._numbers]
        self._delays = [part[keep] for part, keep in zip(self._delays, kept, strict=True)]
        self._began = [part[keep] for part, keep in zip(self._began, kept, strict=True)]
        self._numbers = [part[keep] for part, keep in zip(self._numbers, kept, strict=True)]

    def arrivals(self) -> Arrivals:
        """What was kept, in the order in which the calls began. Raises :class:`BadInput` if nothing was."""
        row = self._row
        if not any(map(len, self._delays)):
            raise BadInput(
                f"{row.function} at {row.site} was never recorded on all traced ranks of {row.communicator};"
                " trace more of the run, or choose other calls"
            )
        began = np.concatenate(self._began)
        order = np.argsort(began, kind="stable")
        number = np.sort(np.concatenate(self._numbers))
        return Arrivals(
            row=row,
            delays_s=np.concatenate(self._delays)[order],
            began_s=(began[order] - began.min()) / 1e9,
            number=np.arange(len(number)) if self._step == 1 else number,
            step=self._step,
        )


def _places(began_ns: NDArray[np.int64], chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The place in time of each chosen call among them, (n,): calls on several communicators, and starts of
    several requests, come in turns."""
    where = np.flatnonzero(chosen)
    places = np.zeros(len(chosen), np.int64)
    places[where[np.argsort(began_ns[where], kind="stable")]] = np.arange(len(where))
    return places


# FROM: Some calls of several rows, evenly chosen: for pictures of how delays spread and change over the

SAMPLE_CALLS = 1000
SAMPLE_VALUES = 4_000_000
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

    def __init__(
        self, row: CallSiteStats, alike: NDArray[np.int64], most_calls: int, most_values: int
    ) -> None:
        self._row, self._p = row, row.processes
        self._communicators = alike
        self.step = max(1, -(-row.whole // max(1, min(most_calls, most_values // row.processes))))
        self._met = 0
        self._delays: list[NDArray[np.float64]] = []
        self._began: list[NDArray[np.int64]] = []

    def add(self, found: Calls, power: NDArray[np.int64]) -> None:
        """Take what is due of these calls; ``power`` are those of their sizes."""
        site, function, kind, wanted, _ = self._row.key
        fit = found.is_complete & (found.site == site) & (found.function == function)
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
    rows: Sequence[CallSiteStats],
    *,
    most_calls: int = SAMPLE_CALLS,
    most_values: int = SAMPLE_VALUES,
    on_progress: Progress | None = None,
) -> list[Sample]:
    """Read the trace once more for some calls of each row; rows are those of ``Summary.group_rows``."""
    first = communicator_groups(trace.communicators)
    choosers = [
        _Chooser(row, np.flatnonzero(first == first[row.communicator_index]), most_calls, most_values)
        for row in rows
    ]
    if choosers:
        matcher = Matcher(trace, on_progress=on_progress)
        for matched in matcher.batches():
            found = analyse_calls(matched)
            power = size_classes(found.bytes)
            for chooser in choosers:
                chooser.add(found, power)
    return [chooser.sample() for chooser in choosers]
