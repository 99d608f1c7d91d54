"""Arrivals of single calls: all calls of one row, for patterns, and samples of several rows, for figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.base.errors import BadInput
from offbeat.trace.calls.call_aggregates import size_classes
from offbeat.trace.calls.call_matching import MOST_RECORDS, Matcher
from offbeat.trace.calls.call_site_stats import CallSiteStats
from offbeat.trace.calls.call_times import Calls, analyse_calls
from offbeat.trace.calls.communicators import communicator_groups
from offbeat.trace.files.trace_folder import Progress, Trace

MOST_VALUES = 16_000_000
"""Limit of delays in memory: 128 MiB. Of more calls, every second, fourth, ... is used."""

SAMPLE_CALLS = 1000
SAMPLE_VALUES = 4_000_000
"""Limits of calls and of delays in the sample of a row: 32 MiB."""


class Arrivals(Struct, kw_only=True, eq=False):
    """Arrivals of every ``step``-th call of a row that every traced rank made, in the order of their begin.

    ``delays_s`` has the delays relative to the first arrival, (calls, p), NaN where a rank is not traced.
    ``began_ns`` is the first arrival of each call on the shared clock, ``number`` the number of each call.
    """

    row: CallSiteStats
    delays_s: NDArray[np.float64]
    began_ns: NDArray[np.int64]
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
    """Read the trace again for the arrivals of a row. Raises :class:`BadInput` if it has none."""
    collector = _Collector(row, trace.communicators.canonical == row.key[4], most_values)
    _read(Matcher(trace, most_records=most_records, on_progress=on_progress), [collector])
    arrivals = collector.arrivals(is_checked=True)
    if not len(arrivals.delays_s):
        raise BadInput(
            f"{row.function} at {row.site} was never recorded on all traced ranks of {row.communicator};"
            " trace more of the run, or choose other calls"
        )
    return arrivals


def samples(
    trace: Trace,
    rows: Sequence[CallSiteStats],
    *,
    most_calls: int = SAMPLE_CALLS,
    most_values: int = SAMPLE_VALUES,
    on_progress: Progress | None = None,
) -> list[Arrivals]:
    """Read the trace again for a sample of the calls of each row; rows are of ``Summary.group_rows``."""
    first = communicator_groups(trace.communicators)
    collectors = []
    for row in rows:
        step = max(1, -(-row.whole // max(1, min(most_calls, most_values // row.processes))))
        is_on = first == first[row.communicator_index]
        collectors.append(_Collector(row, is_on, most_values, step=step))
    if collectors:
        _read(Matcher(trace, on_progress=on_progress), collectors)
    return [collector.arrivals() for collector in collectors]


def _read(matcher: Matcher, collectors: Sequence[_Collector]) -> None:
    for batch in matcher.batches():
        calls = analyse_calls(batch)
        size_class = size_classes(calls.bytes)
        for collector in collectors:
            collector.add(calls, size_class)


class _Collector:
    """Collects every ``step``-th call of a row; twice the step whenever there are too many delays.

    ``is_on`` says of each communicator of the trace whether its calls belong to the row.
    """

    def __init__(
        self, row: CallSiteStats, is_on: NDArray[np.bool_], most_values: int, *, step: int = 1
    ) -> None:
        self._row, self._is_on, self._most_values, self._step = row, is_on, most_values, step
        self._calls_so_far = 0
        self._parts: list[tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]] = []

    def add(self, calls: Calls, size_class: NDArray[np.int64]) -> None:
        """Add those of the calls that belong to the row; ``size_class`` is their size class, (n,)."""
        site, function, kind, row_size_class, _ = self._row.key
        is_selected = calls.is_complete & self._is_on[calls.communicator] & (calls.site == site)
        is_selected &= (calls.function == function) & (calls.kind == kind) & (size_class == row_size_class)
        number = self._calls_so_far + _positions_in_time(calls.first_ns, is_selected)
        self._calls_so_far += int(np.count_nonzero(is_selected))
        is_selected &= number % self._step == 0
        if not is_selected.any():
            return
        delays = calls.delays_s(is_selected, self._row.processes)
        self._parts.append((delays, calls.first_ns[is_selected], number[is_selected]))
        while (
            call_count := sum(len(part[0]) for part in self._parts)
        ) * self._row.processes > self._most_values:
            if call_count <= 1:
                break
            self._step *= 2
            is_kept = [numbers % self._step == 0 for _, _, numbers in self._parts]
            self._parts = [
                (delays[keep], began[keep], numbers[keep])
                for (delays, began, numbers), keep in zip(self._parts, is_kept, strict=True)
            ]

    def arrivals(self, *, is_checked: bool = False) -> Arrivals:
        """The collected calls; ``is_checked``: without those to which a traced rank did not arrive."""
        empty = (np.empty((0, self._row.processes)), np.empty(0, np.int64), np.empty(0, np.int64))
        delays, began, number = map(np.concatenate, zip(empty, *self._parts, strict=True))
        if is_checked and len(delays):
            # In a damaged file, one rank may arrive twice and another one not at all.
            sound = ~np.isnan(delays[:, ~np.isnan(self._row.delays_s)]).any(axis=1)
            delays, began, number = delays[sound], began[sound], number[sound]
        order = np.argsort(began, kind="stable")
        return Arrivals(
            row=self._row,
            delays_s=delays[order],
            began_ns=began[order],
            number=np.arange(len(number)) if self._step == 1 else np.sort(number),
            step=self._step,
        )


def _positions_in_time(began_ns: NDArray[np.int64], is_selected: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The position in time of each chosen call among them, (n,): several communicators are interleaved."""
    where = np.flatnonzero(is_selected)
    positions = np.zeros(len(is_selected), np.int64)
    positions[where[np.argsort(began_ns[where], kind="stable")]] = np.arange(len(where))
    return positions
