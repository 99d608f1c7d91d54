"""The summary of a trace: how the time in MPI divides into waiting and operation.

:mod:`offbeat.trace.summary_tables` shows a summary.
"""

from __future__ import annotations

from msgspec import Struct

from offbeat.base.units import amount
from offbeat.trace.calls.call_aggregates import CallAggregates
from offbeat.trace.calls.call_matching import MOST_RECORDS, Counts, Matcher
from offbeat.trace.calls.call_site_stats import CallSiteStats, StatsBuilder
from offbeat.trace.calls.call_times import analyse_calls
from offbeat.trace.files.recorded_time import recorded_time
from offbeat.trace.files.trace_folder import Progress, ProgressOfBoth, ReadProgress, Trace
from offbeat.trace.messages.message_stats import MessageStats, MessageSums


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
    aggregates = CallAggregates(trace.communicators, trace.sampling_interval)
    without_arrivals = 0
    for batch in matcher.batches():
        calls = analyse_calls(batch)
        without_arrivals += len(batch.starts) - len(calls)
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
            *messages.counts.notes(),
        ],
        sampling=sampling,
        labels=[communicator.label for communicator in trace.communicators.table],
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
        notes.append(f"{amount(counts.invalid, 'invalid record')}: ignored")
    if counts.without_clock:
        notes.append(f"records of ranks without a clock: ignored, at most {counts.without_clock}")
    if without_arrivals:
        notes.append(f"{amount(without_arrivals, 'call')} with only the completion recorded: ignored")
    if counts.incomplete:
        notes.append(
            f"{amount(counts.incomplete, 'call')} counted as incomplete: the records of other ranks are too"
            " far behind"
        )
    single = sum(row.calls for row in rows if not row.is_compared)
    if single:
        notes.append(f"{amount(single, 'call')} with a single traced rank: its waiting time is unknown")
    partial = sum(row.calls - row.whole for row in rows)
    if partial:
        notes.append(
            f"{amount(partial, 'call')} without records of some traced ranks: counted in calls and time, not"
            " in arrivals and delays"
        )
    if any(not file.header.ended_ns for file in trace.files):
        notes.append("the run time of a rank that did not end normally counts to its last record only")
    if sampling:
        notes.append(f"the trace was sampled ({'; '.join(sampling)}): numbers refer to the recorded calls")
    return notes
