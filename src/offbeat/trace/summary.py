"""The summary of a trace, also as tables: how the time in MPI divides into waiting and operation.

The tables of point-to-point calls are in :mod:`offbeat.trace.messages.message_tables`.
"""

from __future__ import annotations

import math
from pathlib import Path

from msgspec import Struct

from offbeat.base.document.tables import Table
from offbeat.base.units import counted, format_time, rounded_size
from offbeat.trace.calls.call_aggregates import CallAggregates
from offbeat.trace.calls.call_matching import MOST_RECORDS, Counts, Matcher
from offbeat.trace.calls.call_site_stats import (
    LEAST_EXPLAINED,
    SHARES,
    CallSiteStats,
    StatsBuilder,
    Straggler,
    is_mixed,
    size_text,
)
from offbeat.trace.calls.call_times import analyse_calls
from offbeat.trace.calls.sparsity import sparsity_notes
from offbeat.trace.files.recorded_time import recorded_time
from offbeat.trace.files.trace_folder import Progress, ProgressOfBoth, ReadProgress, Trace
from offbeat.trace.messages.message_stats import MessageStats, MessageSums
from offbeat.trace.messages.message_tables import message_head, message_notes, message_table


class Summary(Struct, kw_only=True, eq=False):
    """The statistics of a whole trace.

    ``run_s`` is the time from MPI_Init to the end, summed over ranks, and ``recorded_s`` the recorded part of
    it; ``thread_run_s`` is that part summed over each rank's threads that call MPI concurrently, and shares
    are relative to it, so that they never exceed 100%.
    ``rows`` are sorted by ``spent_s`` in descending order; ``group_rows`` have one row per group of
    communicators. ``notes`` are caveats; ``sampling`` lists the sampling options, empty without sampling.
    ``labels`` are those of the communicators, by index. ``messages`` are the point-to-point calls in
    descending order of time, ``message_records`` their number in the files, ``marks`` the number of
    MPI_Pcontrol calls; ``has_messages`` tells whether point-to-point calls were recorded.
    """

    directory: str
    program: str
    library: str
    processes: int
    traced: int
    hosts: list[str]
    records: int
    run_s: float
    recorded_s: float
    thread_run_s: float
    bound_s: float
    rows: list[CallSiteStats]
    notes: list[str]
    group_rows: list[CallSiteStats] = []
    sampling: list[str] = []
    labels: list[str] = []
    has_messages: bool = False
    message_records: int = 0
    marks: int = 0
    messages: list[MessageStats] = []

    @property
    def mean_run_s(self) -> float:
        """The time from MPI_Init to the end, as a mean over the traced ranks."""
        return self.run_s / max(self.traced, 1)

    @property
    def mean_recorded_s(self) -> float:
        """The recorded part of that time."""
        return self.recorded_s / max(self.traced, 1)

    @property
    def threads(self) -> float:
        """How many threads of a rank call MPI concurrently, as a mean over the recorded time."""
        return self.thread_run_s / self.recorded_s if self.recorded_s > 0 else 1.0

    @property
    def messages_spent_s(self) -> float:
        """Time in point-to-point calls, summed over ranks."""
        return sum(row.spent_s for row in self.messages)

    @property
    def messages_waited_s(self) -> float:
        """The part of it in which ranks waited for a late partner."""
        return sum(row.waited_s for row in self.messages)

    @property
    def spent_s(self) -> float:
        """Time in collectives, summed over ranks."""
        return sum(row.spent_s for row in self.rows)

    @property
    def waited_s(self) -> float:
        """The part of it in which ranks waited for the last one to arrive."""
        return sum(row.waited_s for row in self.rows)


def summary_of_trace(trace: Trace) -> Summary:
    """The summary of a trace; shows the progress of reading it."""
    with ReadProgress("reading the trace") as progress:
        return summarise(trace, on_progress=progress.show_records)


def summarise(
    trace: Trace, *, most_records: int = MOST_RECORDS, on_progress: Progress | None = None
) -> Summary:
    """Read a trace once and summarise it, with at most ``most_records`` in memory."""
    progress = ProgressOfBoth(trace, on_progress)
    matcher = Matcher(trace, most_records=most_records, on_progress=progress.records)
    aggregates = CallAggregates(trace.communicators, trace.every)
    without_arrivals = 0
    for matched in matcher.batches():
        calls = analyse_calls(matched)
        without_arrivals += len(matched.starts) - len(calls)
        aggregates.add(calls)
    messages = MessageSums(trace, on_progress=progress.messages)
    time = recorded_time(trace, _last_exits_ns(trace, matcher, messages), messages.pause_marks)
    builder = StatsBuilder(trace, aggregates, time.thread_recorded_s)
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
        run_s=time.run_s,
        recorded_s=time.recorded_s,
        thread_run_s=time.thread_recorded_s,
        bound_s=max((row.bound_s for row in rows), default=0.0),
        rows=rows,
        group_rows=builder.per_group(),
        notes=[
            *trace.notes,
            *time.notes(len(trace.files)),
            *_notes(trace, matcher.counts, rows, without_arrivals, sampling),
            *message_notes(messages.counts),
        ],
        sampling=sampling,
        labels=[one.label for one in trace.communicators.all],
        has_messages=trace.has_messages or messages.counts.messages > messages.marks,
        message_records=messages.counts.messages,
        marks=messages.marks,
        messages=messages.rows(time.thread_recorded_s),
    )


def _last_exits_ns(trace: Trace, matcher: Matcher, messages: MessageSums) -> dict[int, int]:
    """The last exit of each rank that has a clock, by the index of its file."""
    return {
        number: max(matcher.last_exit_ns(number), messages.last_exit_ns(number))
        for number, clock in enumerate(trace.clocks.of_file)
        if clock is not None
    }


def _notes(
    trace: Trace, counts: Counts, rows: list[CallSiteStats], without_arrivals: int, sampling: list[str]
) -> list[str]:
    """Notes on records and calls that were ignored or are incomplete, abnormal ends, and sampling."""
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
    if any(not file.header.ended_ns for file in trace.files):
        notes.append("the run time of a rank that did not end normally counts to its last record only")
    if sampling:
        notes.append(f"the trace was sampled ({'; '.join(sampling)}): numbers refer to the recorded calls")
    return notes


NOTHING_KNOWN = "–"
MOST_ROWS = 20


def tables(summary: Summary, most: int = MOST_ROWS, *, apart: bool = False) -> list[Table]:
    """Time, skews and delays, stragglers, point-to-point calls: ``most`` rows each (0: all).

    Collectives are shown by groups of communicators unless ``apart``.
    """
    rows = summary.rows if apart else summary.group_rows
    shown = rows[:most] if most else rows
    omitted = len(rows) - len(shown)
    omitted_s = sum(row.spent_s for row in rows[len(shown) :])
    notes = [
        "share: of the recorded run time, summed over ranks; waited: in the call before the last arrival;"
        " operation: the rest of the call"
    ]
    if summary.threads > 1:
        notes.append(
            f"{summary.threads:.3g} threads of each rank call MPI concurrently: shares are of the run time of"
            " all threads"
        )
    notes.append(
        "size: the message size as studies state it, bytes per process as the MPI call states it (alltoallv,"
        " alltoallw and reduce_scatter: the mean block); bytes: sizes, summed over calls and ranks"
    )
    notes += sparsity_notes(shown)
    if omitted:
        notes.append(
            f"{counted(omitted, 'further row')} with {format_time(omitted_s)} together, summed over"
            " ranks; all with --rows 0"
        )
    if any(row.communicators > 1 for row in shown):
        notes.append(
            "N × MPI_Comm_split: calls on a group of N communicators (same parent, size, constructor and"
            " name, with the same ranks or without common ranks); ranks are those within each communicator;"
            " --apart shows communicators with different ranks separately"
        )
    late = _late(shown, several_nodes=len(summary.hosts) > 1)
    of_collectives = [_time(summary, shown, notes), _delays(shown), late]
    messages = message_table(summary.messages, summary.thread_run_s, most)
    return [*of_collectives, messages] if messages.rows else of_collectives


def head(summary: Summary) -> list[str]:
    """Lines about the run: program, nodes, library, and the share of collectives."""
    nodes = summary.hosts[0] if len(summary.hosts) == 1 else counted(len(summary.hosts), "node")
    traced = "" if summary.traced == summary.processes else f", {summary.traced} of them traced"
    processes = "1 process" if summary.processes == 1 else f"{summary.processes} processes"
    program = Path(summary.program).name or "a program"
    lines = [f"{program}: {processes} on {nodes}{traced}; {library_name(summary.library)}"]
    if summary.thread_run_s > 0:
        share, waited = summary.spent_s / summary.thread_run_s, summary.waited_s / summary.thread_run_s
        is_known = any(row.is_compared for row in summary.rows)
        lines.append(
            f"{summary.records} records; collectives take {share:.1%} of the run time"
            + (f", waiting for late ranks {waited:.1%}" if is_known else "")
        )
    else:
        lines.append(f"{summary.records} records")
    lines += message_head(summary)
    bound = (
        "all ranks read the same clock"
        if summary.bound_s == 0
        else f"error at most {format_time(summary.bound_s)}"
    )
    return [*lines, f"times between ranks: {bound}"]


def library_name(library: str) -> str:
    """The version text of the MPI library up to the first comma or line break: ``Open MPI v4.1.4``."""
    return " ".join(library.partition("\n")[0].partition(",")[0].split()) or "an unknown library"


def _time(summary: Summary, rows: list[CallSiteStats], notes: list[str]) -> Table:
    headings = ["#", "call site", "function", "communicator", "p", "size", "calls", "bytes", "share"]
    run_s = summary.thread_run_s if summary.thread_run_s > 0 else math.nan
    return Table(
        title="Where the time goes",
        headings=[*headings, "waited", "operation"],
        rows=[
            [
                str(number),
                row.site,
                _function(row),
                row.communicator,
                str(row.processes) if row.processes else NOTHING_KNOWN,
                size_text(row.least_bytes, row.most_bytes),
                str(row.calls),
                rounded_size(row.all_bytes),
                _share(row.share),
                _share(row.waited_s / run_s if row.is_compared else math.nan),
                _share(row.operation_s / run_s if row.is_compared else math.nan),
            ]
            for number, row in enumerate(rows, 1)
        ],
        texts=(1, 2, 3),
        notes=notes,
        spare=(3, 7),
    )


def _delays(rows: list[CallSiteStats]) -> Table:
    several = [
        (number, row)
        for number, row in enumerate(rows, 1)
        if row.processes != 1 and row.whole and row.is_compared
    ]
    headings = ["#", "call site", "function", "size", "d*", "d̂", "d* − d̂"]
    quantiles = [f"{share:.0%}" for share in SHARES]
    return Table(
        title="How far apart ranks arrive, and how long the operation takes",
        headings=[*headings, *(f"skew {q}" for q in quantiles)],
        rows=[
            [
                str(number),
                row.site,
                row.function,
                size_text(row.least_bytes, row.most_bytes),
                format_time(row.total_delay.mean_s),
                format_time(row.last_delay.mean_s),
                format_time(row.skew.mean_s),
                *(format_time(skew_s, 2) for skew_s in row.skew.quantiles_s),
            ]
            for number, row in several
        ],
        texts=(1, 2),
        spare=(1, 2, 8, 10),
        notes=[
            "d*: last exit − first arrival, d̂: last exit − last arrival, means over calls; their difference"
            " is the skew; the error of its quantiles is below 5%"
        ],
    )


def _late(rows: list[CallSiteStats], *, several_nodes: bool) -> Table:
    headings = ["#", "call site", "function", "stability", "latest ranks", "latest nodes"]
    cells = [
        [
            str(number),
            row.site,
            row.function,
            stability_text(row),
            straggler_text(row.latest_ranks),
            straggler_text(row.latest_nodes),
        ]
        for number, row in enumerate(rows, 1)
        if row.processes != 1 and row.latest_ranks
    ]
    shown = len(headings) if several_nodes else len(headings) - 1
    notes = [
        "mean delay relative to the first arrival, and the share of the calls in which it was the last;"
        " stability: the share of the variance of delays that is the same in every call"
    ]
    if mixed := [str(number) for number, row in enumerate(rows, 1) if is_mixed(row)]:
        several = f"rows {', '.join(mixed)}" if len(mixed) > 1 else f"row {mixed[0]}"
        notes.append(
            f"{several}: the mean pattern explains less than {LEAST_EXPLAINED:.0%} of the arrivals;"
            " 'offbeat trace pattern --what clusters' finds the typical patterns"
        )
    return Table(
        title="Who is late",
        headings=headings[:shown],
        rows=[row[:shown] for row in cells],
        texts=(1, 2, 4, 5),
        spare=(1, 2),
        notes=notes,
    )


def _function(row: CallSiteStats) -> str:
    failed = f" ({row.failed} failed)" if row.failed else ""
    kind = f" {row.kind}" if row.kind == "persistent" else ""
    return f"{row.function}{kind}{failed}"


def stability_text(row: CallSiteStats) -> str:
    """``0.93``, or a dash."""
    return NOTHING_KNOWN if math.isnan(row.stability) else f"{row.stability:.2f}"


def straggler_text(late: list[Straggler]) -> str:
    """``17: 42 µs (100%), 3: 5 µs (0%)``: rank or node, mean delay, share of calls in which it was last."""
    return ", ".join(f"{one.name}: {format_time(one.delay_s, 2)} ({one.last_share:.0%})" for one in late)


def _share(value: float) -> str:
    return NOTHING_KNOWN if math.isnan(value) else f"{value:.1%}"
