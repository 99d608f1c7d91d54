"""The summary of a trace: how the time in collectives divides into waiting and the operation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from msgspec import Struct

from offbeat.trace.call_aggregates import CallAggregates
from offbeat.trace.call_site_stats import CallSiteStats, StatsBuilder
from offbeat.trace.calls import analyse_calls
from offbeat.trace.match import MOST_RECORDS, Counts, Matcher
from offbeat.trace.read import Progress, Trace
from offbeat.units import counted


class Summary(Struct, kw_only=True, eq=False):
    """The statistics of a whole trace.

    ``run_s`` is the time from MPI_Init to the end, summed over ranks; ``thread_run_s`` is summed over each
    rank's threads that call MPI concurrently, and shares are relative to it, so that they never exceed 100%.
    ``rows`` are sorted by ``spent_s`` in descending order; ``group_rows`` have one row per group of
    communicators. ``notes`` are caveats; ``sampling`` lists the sampling options, empty without sampling.
    ``labels`` are those of the communicators, by index.
    """

    directory: str
    program: str
    library: str
    processes: int
    traced: int
    hosts: list[str]
    records: int
    run_s: float
    thread_run_s: float
    bound_s: float
    rows: list[CallSiteStats]
    notes: list[str]
    group_rows: list[CallSiteStats] = []
    sampling: list[str] = []
    labels: list[str] = []

    @property
    def spent_s(self) -> float:
        """Time in collectives, summed over ranks."""
        return sum(row.spent_s for row in self.rows)

    @property
    def waited_s(self) -> float:
        """The part of it in which ranks waited for the last one to arrive."""
        return sum(row.waited_s for row in self.rows)


def summarise(
    trace: Trace, *, most_records: int = MOST_RECORDS, on_progress: Progress | None = None
) -> Summary:
    """Read a trace once and summarise it; memory does not grow with its length.

    At most ``most_records`` are in memory; the result does not depend on it.
    """
    matcher = Matcher(trace, most_records=most_records, on_progress=on_progress)
    aggregates = CallAggregates(trace.communicators, trace.every)
    without_arrivals = 0
    for matched in matcher.batches():
        calls = analyse_calls(matched)
        without_arrivals += len(matched.starts) - len(calls)
        aggregates.add(calls)
    run_s, thread_run_s = _run_s(trace, matcher)
    builder = StatsBuilder(trace, aggregates, thread_run_s)
    rows = builder.per_communicator()
    first = trace.headers[0]
    sampling = sorted({header.sampling for header in trace.headers if header.sampling})
    return Summary(
        directory=str(trace.directory),
        program=first.program,
        library=first.library,
        processes=trace.size,
        traced=len(trace.files),
        hosts=trace.hosts,
        records=matcher.counts.records,
        run_s=run_s,
        thread_run_s=thread_run_s,
        bound_s=max((row.bound_s for row in rows), default=0.0),
        rows=rows,
        group_rows=builder.per_group(),
        notes=[*trace.notes, *_notes(matcher.counts, rows, without_arrivals), *_caveats(trace, sampling)],
        sampling=sampling,
        labels=[one.label for one in trace.communicators.all],
    )


def _run_s(trace: Trace, matcher: Matcher) -> tuple[float, float]:
    """Time from MPI_Init to the end, or to the last record if the process did not end normally: summed over
    ranks, and summed over the lanes of all ranks.
    """
    total = of_threads = 0
    for number, file in enumerate(trace.files):
        clock, header = trace.clocks.of_file[number], file.header
        if clock is None:
            continue
        began = int(clock.shared_ns(np.array([header.began_ns]))[0])
        last = matcher.last_exit_ns(number)
        if header.ended_ns:
            last = max(last, int(clock.shared_ns(np.array([header.ended_ns]))[0]))
        total += max(last - began, 0)
        of_threads += max(last - began, 0) * max(len(file.lanes), 1)
    return total / 1e9, of_threads / 1e9


def _notes(counts: Counts, rows: list[CallSiteStats], without_arrivals: int) -> list[str]:
    """Notes on records and calls that were ignored or are incomplete."""
    notes = []
    if counts.invalid:
        notes.append(f"{counted(counts.invalid, 'invalid record')}: ignored")
    if counts.without_clock:
        notes.append(f"records of ranks without a clock: ignored, at most {counts.without_clock}")
    if without_arrivals:
        notes.append(f"{counted(without_arrivals, 'call')} with only the completion recorded: ignored")
    if counts.incomplete:
        notes.append(
            f"{counted(counts.incomplete, 'call')} counted as incomplete: the records of other ranks are too"
            " far behind"
        )
    single = sum(row.calls for row in rows if not row.is_compared)
    if single:
        notes.append(f"{counted(single, 'call')} with a single traced rank: its waiting time is unknown")
    partial = sum(row.calls - row.whole for row in rows)
    if partial:
        notes.append(
            f"{counted(partial, 'call')} without records of some traced ranks: counted in calls and time, not"
            " in arrivals and delays"
        )
    return notes


def _caveats(trace: Trace, sampling: list[str]) -> list[str]:
    """Notes on processes that did not end normally, and on sampling."""
    notes = []
    if any(not file.header.ended_ns for file in trace.files):
        notes.append("the run time of a rank that did not end normally counts to its last record only")
    if sampling:
        notes.append(f"the trace was sampled ({'; '.join(sampling)}): numbers refer to the recorded calls")
    return notes


def as_plain(summary: Summary) -> dict[str, Any]:
    """A summary for JSON, NaN as null."""
    renamed = {"rows": "rows", "group_rows": "families", "notes": "words"}
    fields = [name for name in Summary.__struct_fields__ if name not in ("labels", "rows", "group_rows")]
    return {
        **{renamed.get(name, name): getattr(summary, name) for name in fields},
        **{
            renamed[name]: [_plain_row(row) for row in getattr(summary, name)]
            for name in ("rows", "group_rows")
        },
    }


def _plain_row(row: CallSiteStats) -> dict[str, Any]:
    left_out = ("delays_s", "key", "histograms", "communicator_indices", "run_calls", "run_calls_at_least")
    plain: dict[str, Any] = {
        name: getattr(row, name) for name in CallSiteStats.__struct_fields__ if name not in left_out
    }
    plain["operation_s"] = row.operation_s
    plain["delays_s"] = [None if math.isnan(delay) else delay for delay in row.delays_s.tolist()]
    return plain
