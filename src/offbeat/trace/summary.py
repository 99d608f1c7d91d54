"""The summary of a trace: where the time in collectives goes, into waiting or into the operation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct

from offbeat.trace.calls import calls
from offbeat.trace.cells import Cells
from offbeat.trace.match import MOST_RECORDS, Counts, Matcher
from offbeat.trace.read import Trace
from offbeat.trace.rows import Row, RowMaker
from offbeat.units import counted

Told = Callable[[int, int], None]
"""Called with the number of records read so far, and how many there are at most."""


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
    rows: list[Row]
    words: list[str]
    families: list[Row] = []
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


def summarize(trace: Trace, *, most_records: int = MOST_RECORDS, told: Told | None = None) -> Summary:
    """Read a trace once and sum it up; memory does not grow with its length.

    ``most_records`` are read at once, and what is found does not depend on it.
    """
    total = trace.most_records
    matcher = Matcher(
        trace, most_records=most_records, told=None if told is None else lambda done: told(done, total)
    )
    cells = Cells(trace.communicators, trace.every)
    lost = 0
    for matched in matcher.batches():
        worked_out = calls(matched)
        lost += len(matched.starts) - len(worked_out)
        cells.add(worked_out)
    run_s, thread_run_s = _run_s(trace, matcher)
    maker = RowMaker(trace, cells, thread_run_s)
    rows = maker.each()
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
        families=maker.together(),
        words=[*trace.words, *_words(matcher.counts, rows, lost), *_cautions(trace, sampling)],
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


def _words(counts: Counts, rows: list[Row], lost: int) -> list[str]:
    said = []
    if counts.strange:
        said.append(f"{counted(counts.strange, 'record')} that make no sense: left out")
    if counts.untimed:
        said.append(f"records of ranks without a clock: left out, {counts.untimed} at most")
    if lost:
        said.append(f"{counted(lost, 'call')} of which only the completion was recorded: left out")
    if counts.forced:
        said.append(
            f"{counted(counts.forced, 'call')} waited too long for records of other ranks and were taken as"
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
    """A summary for JSON: names as in the structures, NaN as null."""
    rows, left_out = ("rows", "families"), ("labels",)
    return {
        **{
            name: getattr(summary, name)
            for name in Summary.__struct_fields__
            if name not in (*rows, *left_out)
        },
        **{name: [_plain_row(row) for row in getattr(summary, name)] for name in rows},
    }


def _plain_row(row: Row) -> dict[str, Any]:
    left_out = ("delays_s", "key", "histograms", "on", "made", "made_at_least")
    plain: dict[str, Any] = {
        name: getattr(row, name) for name in Row.__struct_fields__ if name not in left_out
    }
    plain["operation_s"] = row.operation_s
    plain["delays_s"] = [None if math.isnan(delay) else delay for delay in row.delays_s.tolist()]
    return plain
