"""What a trace says of the calls that a prediction replaces, and what is left of the run without them.

The run time is that of a rank on average, from MPI_Init to the end. A call contributes its last delay d̂
(last exit − last arrival): until the last rank has arrived, ranks compute or wait, and no algorithm changes
that. So the computing time is run time − Σ d̂ over the calls. Calls on a communicator of some of the ranks
count for these ranks' share of the run, and calls of threads that call MPI at the same time for one thread's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.trace.call_site_stats import CallSiteStats, description_of, file_stem_of, size_text
from offbeat.trace.message_sizes import collective_name
from offbeat.trace.read import Trace
from offbeat.trace.recommendation import NO_OPERATION
from offbeat.trace.summary import Summary
from offbeat.units import format_time

BLOCKING = "blocking"

IRREGULAR = ("allgatherv", "alltoallv")
"""Collectives in which each process gives a size of its own."""

_SURE = 0.9
"""Above this share of a number of calls, what is not sure of it is not worth a note."""


class TracedCalls(Struct, frozen=True, kw_only=True):
    """Calls of one site, communicator, collective and size.

    ``number`` is how many the run made; where every k-th was recorded, each stands for k, or for as many as
    there were on its communicator. ``share`` is the communicator's part of all ranks. ``last_delay_s`` and
    ``skew_s`` are means over the calls, ``bound_s`` the largest error of a time. ``short`` begins the names
    of patterns that were made of these calls. ``size_bytes`` is the mean message size, which is compared with
    measured ones; ``spent_s`` the time in these calls, summed over ranks.
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

    @property
    def total_s(self) -> float:
        """Their part of the run time, as recorded."""
        return self.number * self.share * self.last_delay_s

    @property
    def size(self) -> str:
        """``32 KiB``, or ``20 KiB to 32 KiB``."""
        return size_text(self.least_bytes, self.most_bytes)


class RecordedRun(Struct, frozen=True, kw_only=True):
    """A recorded run: its time, and the calls that a prediction is about.

    ``all_calls`` are all collective calls of the run, ``spent_s`` is the time in them, summed over ranks.
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
        """What is left of the run without the operations of these calls."""
        return self.run_s - sum(one.total_s for one in self.calls)


def recorded_run(trace: Trace, summary: Summary, rows: Sequence[CallSiteStats]) -> RecordedRun:
    """What a trace says of some rows of its summary.

    Raises :class:`BadInput` for calls of which no end was seen, and where they take longer than the run.
    """
    notes = [*summary.notes, *_sampled(rows, trace.every)]
    made = RecordedRun(
        program=summary.program,
        library=summary.library,
        processes=summary.processes,
        run_s=summary.run_s / max(summary.traced, 1),
        calls=[calls_of(row, summary) for row in rows],
        notes=notes,
        all_calls=all_calls(summary),
        spent_s=summary.spent_s,
    )
    return with_time_left(made)


def _sampled(rows: Sequence[CallSiteStats], every: int) -> list[str]:
    """What calls that were not recorded are taken for, and where their number is a guess."""
    if every == 1:
        return []
    notes = [
        f"every {every}th call was recorded: each stands for {every}, or for those left on its communicator"
    ]
    for row in rows:
        if row.run_calls_at_least < _SURE * row.run_calls:
            notes.append(
                f"{description_of(row)} was called {row.run_calls_at_least} to {row.run_calls} times, and {row.run_calls} are"
                " taken: of communicators that were not freed it is not known how many calls came after the"
                " last recorded one; trace without --every to be sure"
            )
    return notes


def with_time_left(made: RecordedRun) -> RecordedRun:
    """The same run, if its calls take less time than it does. Raises :class:`BadInput`."""
    if made.computing_s > 0:
        return made
    total = sum(one.total_s for one in made.calls)
    raise BadInput(
        f"no computing time is left: the run took {format_time(made.run_s)} a rank, and the operations of"
        f" {', '.join(one.description for one in made.calls)} together {format_time(total)}. Calls that overlap"
        " (several threads) or a trace that lost its end give this; trace the run anew"
    )


def all_calls(summary: Summary) -> int:
    """How many collective calls with an operation the run made."""
    return sum(row.run_calls for row in summary.group_rows if row.kind not in NO_OPERATION)


def size_bytes(row: CallSiteStats) -> int:
    """The message size of calls that tuning files compare: the mean over calls and, where processes give
    different sizes, over processes, as libraries take it.
    """
    mean = round(row.all_bytes / max(row.calls * row.processes, 1))
    least = 0 if collective_name(row.collective) in IRREGULAR else row.least_bytes
    return min(max(mean, least), row.most_bytes)


def calls_of(row: CallSiteStats, summary: Summary) -> TracedCalls:
    """A row of a summary as calls that can be replaced. Raises :class:`BadInput` where they cannot."""
    if row.kind != BLOCKING:
        raise BadInput(
            f"{description_of(row)} is {row.kind}: its last delay holds what is computed between its two ends, so"
            " it says nothing of what another algorithm would take; choose blocking calls"
        )
    if row.is_inter:
        raise BadInput(
            f"{description_of(row)} joins two groups of processes; algorithms were measured within one"
        )
    if math.isnan(row.last_delay.mean_s):
        raise BadInput(
            f"{description_of(row)} was never seen whole, from the first arrival to the last exit; trace more of"
            " the run, or choose other calls"
        )
    threads = summary.thread_run_s / summary.run_s if summary.run_s > 0 else 1.0
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
    )
