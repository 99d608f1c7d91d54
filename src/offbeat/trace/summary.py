"""The summary of a trace: where the time in collectives goes, into waiting or into the operation."""

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
    """A whole trace.

    ``run_s`` is the time from MPI_Init to the end, summed over ranks, ``thread_run_s`` the same times the
    number of each rank's threads that call MPI at the same time: shares are of that, so that they never add
    up to more than all. ``rows`` are sorted by ``spent_s``, the largest first. ``families`` are the same with
    one row for communicators that are alike. ``words`` is what must be known to judge the numbers;
    ``sampling`` is what was left out on purpose, empty where nothing was. ``labels`` are the words for each
    communicator of the trace, by its index.
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
    """Read a trace once and sum it up; memory does not grow with its length.

    ``most_records`` are read at once, and what is found does not depend on it.
    """
    matcher = Matcher(trace, most_records=most_records, on_progress=on_progress)
    cells = CallAggregates(trace.communicators, trace.every)
    lost = 0
    for matched in matcher.batches():
        worked_out = analyse_calls(matched)
        lost += len(matched.starts) - len(worked_out)
        cells.add(worked_out)
    run_s, thread_run_s = _run_s(trace, matcher)
    builder = StatsBuilder(trace, cells, thread_run_s)
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
        notes=[*trace.notes, *_notes(matcher.counts, rows, lost), *_cautions(trace, sampling)],
        sampling=sampling,
        labels=[one.label for one in trace.communicators.all],
    )


def _run_s(trace: Trace, matcher: Matcher) -> tuple[float, float]:
    """From MPI_Init to the end, or to the last record of what did not end in order; summed over ranks, and
    over the lanes of each rank: threads that call MPI at the same time have one each.
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


def _notes(counts: Counts, rows: list[CallSiteStats], lost: int) -> list[str]:
    said = []
    if counts.invalid:
        said.append(f"{counted(counts.invalid, 'record')} that make no sense: left out")
    if counts.without_clock:
        said.append(f"records of ranks without a clock: left out, {counts.without_clock} at most")
    if lost:
        said.append(f"{counted(lost, 'call')} of which only the completion was recorded: left out")
    if counts.incomplete:
        said.append(
            f"{counted(counts.incomplete, 'call')} waited too long for records of other ranks and were taken as"
            " they were"
        )
    alone = sum(row.calls for row in rows if not row.is_compared)
    if alone:
        said.append(
            f"{counted(alone, 'call')} of which one rank alone is traced: what of its time is waiting for the"
            " others is not known"
        )
    partial = sum(row.calls - row.whole for row in rows)
    if partial:
        said.append(
            f"{counted(partial, 'call')} on which some traced ranks are missing: they count as calls and time"
            " and not for arrivals and delays"
        )
    return said


def _cautions(trace: Trace, sampling: list[str]) -> list[str]:
    """What sampling left out on purpose, and up to where a run counts that did not end in order."""
    said = []
    if any(not file.header.ended_ns for file in trace.files):
        said.append("the run's time of a rank that did not end in order counts to its last record only")
    if sampling:
        said.append(f"the trace was sampled ({'; '.join(sampling)}): numbers are of what was recorded")
    return said


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
    left_out = ("delays_s", "key", "histograms", "on", "made", "run_calls_at_least")
    plain: dict[str, Any] = {
        name: getattr(row, name) for name in CallSiteStats.__struct_fields__ if name not in left_out
    }
    plain["operation_s"] = row.operation_s
    plain["delays_s"] = [None if math.isnan(delay) else delay for delay in row.delays_s.tolist()]
    return plain
