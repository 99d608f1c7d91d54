"""Arrivals of single calls: all of one row, for patterns, and samples of several rows, for figures."""

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
"""Limit of delays in memory: 128 MiB. Of more calls, every second, fourth, ... is used."""


class Arrivals(Struct, kw_only=True, eq=False):
    """Arrivals of the calls that every traced rank made.

    ``delays_s`` has the delays relative to the first arrival, (calls, p), NaN where a rank is not traced.
    ``began_s`` is the first arrival of each call since that of the first call. ``step`` is 1 for all calls,
    2 for every second one, and so on. ``number`` is the number of each call.
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
    """Read the trace again for the arrivals of a row, in the order of its calls."""
    collector = _Collector(row, trace.communicators.canonical, most_values)
    matcher = Matcher(trace, most_records=most_records, on_progress=on_progress)
    for matched in matcher.batches():
        collector.add(analyse_calls(matched))
    return collector.arrivals()


class _Collector:
    """Collects the calls of a row: all of them, or every second, fourth, ... to limit memory."""

    def __init__(self, row: CallSiteStats, first: NDArray[np.int64], most_values: int) -> None:
        self._row, self._first, self._most = row, first, most_values
        self._met, self._step = 0, 1
        self._delays: list[NDArray[np.float64]] = []
        self._began: list[NDArray[np.int64]] = []
        self._numbers: list[NDArray[np.int64]] = []

    def add(self, calls: Calls) -> None:
        """Add those of the calls that belong to the row."""
        site, function, kind, size_class, communicator = self._row.key
        chosen = calls.is_complete & (self._first[calls.communicator] == communicator) & (calls.site == site)
        chosen &= (
            (calls.function == function) & (calls.kind == kind) & (size_classes(calls.bytes) == size_class)
        )
        number = self._met + _places(calls.first_ns, chosen)
        self._met += int(np.count_nonzero(chosen))
        chosen &= number % self._step == 0
        if not chosen.any():
            return
        delays = calls.delays_s(chosen, self._row.processes)
        # In a damaged file, one rank may arrive twice and another one not at all.
        sound = ~np.isnan(delays[:, ~np.isnan(self._row.delays_s)]).any(axis=1)
        self._delays.append(delays[sound])
        self._began.append(calls.first_ns[chosen][sound])
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
        """The collected calls in the order in which they began. Raises :class:`BadInput` without any."""
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
    """The position in time of each chosen call among the chosen ones, (n,); calls on several communicators
    and starts of several requests are interleaved.
    """
    where = np.flatnonzero(chosen)
    places = np.zeros(len(chosen), np.int64)
    places[where[np.argsort(began_ns[where], kind="stable")]] = np.arange(len(where))
    return places


SAMPLE_CALLS = 1000
SAMPLE_VALUES = 4_000_000
"""Limits of calls and of delays in the sample of a row: 32 MiB."""


class Sample(Struct, kw_only=True, eq=False):
    """Every ``step``-th call of a row: delays relative to the first arrival in seconds, (calls, p), in the
    order in which the calls began, NaN where a rank is not traced; ``began_ns``, (calls,), on the shared
    clock.
    """

    delays_s: NDArray[np.float64]
    began_ns: NDArray[np.int64]
    step: int


class _Sampler:
    """Collects every Nth call of one row."""

    def __init__(
        self, row: CallSiteStats, communicators: NDArray[np.int64], most_calls: int, most_values: int
    ) -> None:
        self._row, self._p = row, row.processes
        self._communicators = communicators
        self.step = max(1, -(-row.whole // max(1, min(most_calls, most_values // row.processes))))
        self._met = 0
        self._delays: list[NDArray[np.float64]] = []
        self._began: list[NDArray[np.int64]] = []

    def add(self, calls: Calls, size_class: NDArray[np.int64]) -> None:
        """Add those of the calls that belong to the sample; ``size_class`` is their size class."""
        site, function, kind, row_size_class, _ = self._row.key
        fit = calls.is_complete & (calls.site == site) & (calls.function == function)
        fit &= (
            (calls.kind == kind)
            & (size_class == row_size_class)
            & np.isin(calls.communicator, self._communicators)
        )
        number = self._met + np.cumsum(fit) - 1
        self._met += int(np.count_nonzero(fit))
        fit &= number % self.step == 0
        if fit.any():
            self._delays.append(calls.delays_s(fit, self._p))
            self._began.append(calls.first_ns[fit])

    def sample(self) -> Sample:
        """The collected calls."""
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
    """Read the trace again for a sample of the calls of each row; rows are of ``Summary.group_rows``."""
    first = communicator_groups(trace.communicators)
    samplers = [
        _Sampler(row, np.flatnonzero(first == first[row.communicator_index]), most_calls, most_values)
        for row in rows
    ]
    if samplers:
        matcher = Matcher(trace, on_progress=on_progress)
        for matched in matcher.batches():
            calls = analyse_calls(matched)
            size_class = size_classes(calls.bytes)
            for sampler in samplers:
                sampler.add(calls, size_class)
    return [sampler.sample() for sampler in samplers]
