"""The calls of a trace that a prediction replaces, and the run time without them.

The run time is the mean over ranks, from MPI_Init to the end. A call contributes its last delay d̂ (last exit
− last arrival): before the last arrival, ranks compute or wait, which no algorithm changes. The computing
time is therefore run time − Σ d̂ over the calls. Calls on a communicator of some ranks are weighted with the
share of these ranks, calls of several threads with the share of a thread; and all calls with the share of
their d̂ that prolongs the run (:mod:`offbeat.trace.calls.critical_delays`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct, structs

from offbeat.base.errors import BadInput
from offbeat.base.units import format_time
from offbeat.model.study.collectives import PROPERTIES
from offbeat.model.study.communicators import CommunicatorLayout
from offbeat.trace.calls.call_bytes import collective_name
from offbeat.trace.calls.call_site_stats import CallSiteStats, description_of, file_stem_of, size_text
from offbeat.trace.calls.critical_delays import critical_shares
from offbeat.trace.files.trace_folder import Trace
from offbeat.trace.recommendation import NO_OPERATION
from offbeat.trace.summary import Summary

BLOCKING = "blocking"


_NEARLY_EXACT = 0.9
"""A number of calls is reported as uncertain if its lower limit is below this share of it."""


class TracedCalls(Struct, frozen=True, kw_only=True):
    """Calls of one site, communicator, collective and size class.

    ``number`` is the number of calls in the run; if every Nth was recorded, each recorded call represents N
    calls, or those left on its communicator. ``share`` is the share of the communicator in all ranks,
    ``critical`` the share of the last delays that prolongs the run.
    ``last_delay_s`` and ``skew_s`` are means over the calls, ``bound_s`` the largest error of a time.
    ``short`` is the prefix of the names of patterns that were extracted from these calls. ``size_bytes`` is
    the mean message size; ``spent_s`` the time in these calls, summed over ranks. ``layout`` is how all
    processes are divided into the communicators of the calls, None if they are not divided evenly.
    """

    description: str
    short: str
    collective: str
    processes: int
    least_bytes: int
    most_bytes: int
    number: int
    share: float
    last_delay_s: float
    skew_s: float
    bound_s: float = 0.0
    size_bytes: int = 0
    spent_s: float = 0.0
    in_place: bool = False
    layout: CommunicatorLayout | None = None
    critical: float = 1.0

    @property
    def weight(self) -> float:
        """By how much the run becomes longer if each of the calls does, both in seconds."""
        return self.number * self.share * self.critical

    @property
    def last_delays_s(self) -> float:
        """The recorded last delays of the calls, in seconds of a mean rank."""
        return self.number * self.share * self.last_delay_s

    @property
    def total_s(self) -> float:
        """The recorded contribution of the calls to the run time, in seconds."""
        return self.weight * self.last_delay_s

    @property
    def size(self) -> str:
        """``32 KiB``, or ``20 KiB to 32 KiB``."""
        return size_text(self.least_bytes, self.most_bytes)


class RecordedRun(Struct, frozen=True, kw_only=True):
    """A recorded run: its time, the calls that a prediction replaces, and all collective calls of the run
    with their time, summed over ranks.
    """

    program: str
    library: str
    processes: int
    run_s: float
    calls: list[TracedCalls]
    notes: list[str] = []
    all_calls: int = 0
    spent_s: float = 0.0

    @property
    def computing_s(self) -> float:
        """The run time without the last delays of these calls."""
        return self.run_s - sum(one.total_s for one in self.calls)


def recorded_run(trace: Trace, summary: Summary, rows: Sequence[CallSiteStats]) -> RecordedRun:
    """The recorded run, with the calls of some rows of its summary.

    Raises :class:`BadInput` for calls without a recorded end, and if they take longer than the run.
    """
    run = RecordedRun(
        program=summary.program,
        library=summary.library,
        processes=summary.processes,
        run_s=summary.mean_recorded_s,
        calls=[
            structs.replace(calls_of(row, summary), critical=critical)
            for row, critical in zip(rows, critical_shares(trace, rows), strict=True)
        ],
        notes=[*summary.notes, *_sampled(rows, trace.sampling_interval)],
        all_calls=all_calls(summary),
        spent_s=summary.spent_s,
    )
    _check_computing_time(run)
    return run


def _sampled(rows: Sequence[CallSiteStats], every: int) -> list[str]:
    """Notes on sampling, and on numbers of calls that are uncertain because of it."""
    if every == 1:
        return []
    notes = [
        f"every {every}th call was recorded: each represents {every} calls, or those left on its communicator"
    ]
    for row in rows:
        if row.run_calls_at_least < _NEARLY_EXACT * row.run_calls:
            notes.append(
                f"{description_of(row)} was called {row.run_calls_at_least} to {row.run_calls} times;"
                f" {row.run_calls} is assumed: the number of calls after the last recorded one is unknown for"
                " communicators that were not freed; trace without --every for the exact number"
            )
    return notes


def _check_computing_time(run: RecordedRun) -> None:
    if run.computing_s <= 0:
        total = sum(one.total_s for one in run.calls)
        raise BadInput(
            f"no computing time is left: the run took {format_time(run.run_s)} per rank, and the operations"
            f" of {', '.join(one.description for one in run.calls)} together {format_time(total)}."
            " Overlapping calls of several threads or a truncated trace cause this; trace the run again"
        )


def all_calls(summary: Summary) -> int:
    """The number of collective calls in the run, without constructors and initialisations."""
    return sum(row.run_calls for row in summary.group_rows if row.kind not in NO_OPERATION)


def size_bytes(row: CallSiteStats) -> int:
    """The message size for the rules of a tuning file: the mean over calls, and processes if they differ."""
    mean = round(row.all_bytes / max(row.calls * row.processes, 1))
    collective = PROPERTIES.get(collective_name(row.collective))
    differs = collective is not None and collective.has_uneven_counts and not collective.reduces
    least = 0 if differs else row.least_bytes
    return min(max(mean, least), row.most_bytes)


def calls_of(row: CallSiteStats, summary: Summary) -> TracedCalls:
    """A row of a summary as calls for a prediction. Raises :class:`BadInput` if they cannot be predicted."""
    if row.kind != BLOCKING:
        raise BadInput(
            f"{description_of(row)} is {row.kind}: its last delay includes computation between issue and"
            " completion, so the time with another algorithm cannot be predicted; choose blocking calls"
        )
    if row.is_inter:
        raise BadInput(
            f"{description_of(row)} is on an inter-communicator; algorithms were measured on an"
            " intra-communicator"
        )
    if math.isnan(row.last_delay.mean_s):
        raise BadInput(
            f"{description_of(row)} was never recorded completely, from the first arrival to the last exit;"
            " trace more of the run, or choose other calls"
        )
    threads = summary.threads
    return TracedCalls(
        description=description_of(row),
        short=file_stem_of(row),
        collective=collective_name(row.collective),
        processes=row.processes,
        least_bytes=row.least_bytes,
        most_bytes=row.most_bytes,
        number=row.run_calls,
        share=row.processes / summary.processes / threads,
        last_delay_s=row.last_delay.mean_s,
        skew_s=row.skew.mean_s,
        bound_s=row.bound_s,
        size_bytes=size_bytes(row),
        spent_s=row.spent_s,
        in_place=row.in_place,
        layout=row.layout,
    )
