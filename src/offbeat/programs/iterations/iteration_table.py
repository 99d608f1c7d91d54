"""What each rank does in each iteration: computation, communication, waiting.

The time of an iteration of a rank is divided completely:

- *collective* and *message*: the time inside collectives, and inside point-to-point calls. The rest is
  computation; calls that were not recorded count as computation.
- *collective waiting*: the time in a collective until the last process arrived; *late partner*: the time in a
  point-to-point call until the partner was ready (:mod:`offbeat.trace.messages.message_waits`).
- *natural communication*: the time in MPI without both kinds of waiting.

A call belongs to the iteration in which its rank entered it.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from offbeat.programs.iterations.iterations import NEVER, Iterations
from offbeat.programs.iterations.timelines import TimelineCalls
from offbeat.trace.calls.call_aggregates import CallAggregates
from offbeat.trace.calls.call_matching import Counts, MatchedCalls, Matcher
from offbeat.trace.calls.call_site_stats import CallSiteStats, StatsBuilder
from offbeat.trace.calls.call_times import analyse_calls, waited_ns
from offbeat.trace.calls.event_batches import PLACE_BITS
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import Progress, ProgressOfBoth, Trace
from offbeat.trace.messages.message_batches import MessageBatch
from offbeat.trace.messages.message_matching import MessageCounts, MessageMatcher
from offbeat.trace.messages.message_waits import CallWaitingSums, CompletingCalls, completing_calls

Times = NDArray[np.float32]


class IterationTable(Struct, kw_only=True, eq=False):
    """The iterations of a trace; times in seconds, (rows, p) each, NaN where a rank has no such row.

    ``iterations`` has the ranks (p,) and the edges of the rows. ``collectives`` are the statistics of the
    collectives of the whole run by call site. ``unknown_s`` is the time, summed over ranks, in point-to-point
    calls of iterations whose partner is not in the trace. ``neighbours`` (n, 2) are the pairs of ranks, the
    smaller one first, that exchange messages. ``threads`` is the largest number of threads of a
    rank that call MPI at the same time; their times are added up.
    """

    iterations: Iterations
    collective_s: Times
    message_s: Times
    collective_waiting_s: Times
    late_partner_s: Times
    collectives: list[CallSiteStats]
    timelines: list[TimelineCalls]
    unknown_s: float
    neighbours: NDArray[np.int64]
    threads: int
    counts: Counts
    message_counts: MessageCounts

    @property
    def p(self) -> int:
        """The number of ranks."""
        return len(self.iterations.ranks)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.iterations.rows

    def complete(self) -> IterationTable:
        """The table without gaps (:meth:`Iterations.complete`), so that no value is missing."""
        kept, places = self.iterations.complete()
        names = ("collective_s", "message_s", "collective_waiting_s", "late_partner_s")
        return structs.replace(
            self, iterations=kept, **{name: getattr(self, name)[: kept.rows, places] for name in names}
        )

    def ends_s(self) -> NDArray[np.float64]:
        """When each rank ends each row, in seconds after the first begin of a row, (rows, p)."""
        return self._edges_s()[1:]

    def begins_s(self) -> NDArray[np.float64]:
        """When each rank begins each row, likewise."""
        return self._edges_s()[:-1]

    def times_s(self) -> NDArray[np.float64]:
        """How long each row of each rank takes, (rows, p)."""
        return np.diff(self._edges_s(), axis=0)

    def mpi_s(self) -> Times:
        """The time inside MPI."""
        return self.collective_s + self.message_s

    def waiting_s(self) -> Times:
        """The waiting for other processes inside MPI."""
        return self.collective_waiting_s + self.late_partner_s

    def natural_s(self) -> Times:
        """The natural communication."""
        return self.mpi_s() - self.waiting_s()

    def computed_s(self) -> NDArray[np.float64]:
        """The time outside MPI; 0 where several threads are longer inside MPI than the row takes."""
        return np.maximum(self.times_s() - self.mpi_s(), 0.0)

    def _edges_s(self) -> NDArray[np.float64]:
        edges = self.iterations.edges_ns
        origin = edges.min(initial=NEVER)
        return np.where(edges == NEVER, np.nan, (edges - origin) / 1e9).T


def read_table(
    trace: Trace,
    iterations: Iterations,
    timelines: list[TimelineCalls] | None = None,
    *,
    on_progress: Progress | None = None,
) -> IterationTable:
    """Read the trace for a table of its iterations, which may be empty; adds the calls of ``timelines``."""
    progress = ProgressOfBoth(trace, on_progress)
    timelines = timelines or []
    cells = _Cells(trace, iterations)
    matcher = Matcher(trace, on_progress=progress.records)
    aggregates = CallAggregates(trace.communicators, trace.sampling_interval)
    collectives = _Collectives(trace, cells, timelines)
    for matched in matcher.batches():
        aggregates.add(analyse_calls(matched))
        collectives.add(matched)
    messages = _Messages(trace, cells, timelines)
    message_matcher = MessageMatcher(trace, on_progress=progress.messages)
    messages.read(message_matcher)
    has_row = np.arange(iterations.rows)[:, None] < iterations.rows_of

    def table(sums: Times) -> Times:
        return np.where(has_row, sums.reshape(len(iterations.ranks), iterations.rows).T, np.float32(np.nan))

    return IterationTable(
        iterations=iterations,
        collective_s=table(collectives.spent_s),
        message_s=table(messages.spent_s),
        collective_waiting_s=table(collectives.waiting_s),
        late_partner_s=table(messages.waiting_s),
        collectives=StatsBuilder(trace, aggregates, 0.0).per_group(),
        timelines=timelines,
        unknown_s=messages.unknown_s,
        neighbours=messages.neighbours(),
        threads=max((file.threads for file in trace.files), default=1),
        counts=matcher.counts,
        message_counts=message_matcher.counts,
    )


class _Cells:
    """The cell, row of a rank, to which a time belongs: place × rows + row, or -1."""

    def __init__(self, trace: Trace, iterations: Iterations) -> None:
        self._edges, self._rows_of = iterations.edges_ns, iterations.rows_of
        self._rows = iterations.rows
        self.count = len(iterations.ranks) * iterations.rows
        self.place_of_rank = np.full(trace.size + 1, -1)
        self.place_of_rank[iterations.ranks] = np.arange(len(iterations.ranks))

    def of(self, place: NDArray[np.int64], times_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cells of times of the ranks at these places, (n,)."""
        cells = np.full(len(place), -1)
        if not self._rows or not len(place):
            return cells
        order = np.argsort(place, kind="stable")
        starts = np.flatnonzero(np.diff(place[order], prepend=-2))
        for group in np.split(order, starts[1:]):
            number = int(place[group[0]])
            if number < 0:
                continue
            row = np.searchsorted(self._edges[number], times_ns[group], side="right") - 1
            is_inside = (row >= 0) & (row < self._rows_of[number])
            cells[group] = np.where(is_inside, number * self._rows + row, -1)
        return cells

    def add(self, sums: Times, cells: NDArray[np.int64], times_ns: NDArray[np.int64]) -> None:
        """Add times to their cells."""
        is_inside = cells >= 0
        np.add.at(sums, cells[is_inside], (times_ns[is_inside] / 1e9).astype(np.float32))


class _Collectives:
    """Sums of the time in collectives."""

    def __init__(self, trace: Trace, cells: _Cells, timelines: list[TimelineCalls]) -> None:
        self._cells, self._timelines = cells, timelines
        self._communicators = trace.communicators
        self.spent_s = np.zeros(cells.count, np.float32)
        self.waiting_s = np.zeros(cells.count, np.float32)

    def add(self, matched: MatchedCalls) -> None:
        """Add calls that were matched."""
        events = matched.events
        within = np.repeat(matched.communicator, np.diff(matched.starts, append=len(events)))
        ranks = self._communicators.world_ranks(within, events.caller >> PLACE_BITS)
        place = self._cells.place_of_rank[ranks]
        waiting_ns = waited_ns(matched)
        cells = self._cells.of(place, events.enter_ns)
        self._cells.add(self.spent_s, cells, events.spent_ns)
        self._cells.add(self.waiting_s, cells, waiting_ns)
        for timeline in self._timelines:
            timeline.add_collectives(place, events.enter_ns, events.exit_ns, waiting_ns, events.spent_ns)


class _Messages:
    """Sums of the time in point-to-point calls."""

    def __init__(self, trace: Trace, cells: _Cells, timelines: list[TimelineCalls]) -> None:
        self._cells, self._timelines = cells, timelines
        self._place = np.array([cells.place_of_rank[file.header.rank] for file in trace.files])
        self._waits = CallWaitingSums(trace)
        self.spent_s = np.zeros(cells.count, np.float32)
        self.waiting_s = np.zeros(cells.count, np.float32)
        self.unknown_s = 0.0
        self._size = trace.size
        self._pairs = np.empty(0, np.int64)

    def neighbours(self) -> NDArray[np.int64]:
        """The pairs of ranks that exchanged the messages read so far, (n, 2)."""
        return np.stack(np.divmod(self._pairs, self._size), axis=1)

    def read(self, matcher: MessageMatcher) -> None:
        """Read and add all messages."""
        for matched in matcher.batches():
            self._add_pairs(matched.sends.source, matched.sends.destination)
            calls = [self._add(batch) for batch in matched.batches or [MessageBatch()]]
            self._add_waits(self._waits.add(matched, CompletingCalls.concatenate(calls)))
        self._add_waits(self._waits.rest())

    def _add_pairs(self, source: NDArray[np.int64], destination: NDArray[np.int64]) -> None:
        first, second = np.minimum(source, destination), np.maximum(source, destination)
        pairs = (first.astype(np.int64) * self._size + second)[first != second]
        self._pairs = np.union1d(self._pairs, pairs)

    def _add(self, batch: MessageBatch) -> CompletingCalls:
        batch = batch.select(batch.kind != form.MARK)
        place = self._place[batch.file]
        cells = self._cells.of(place, batch.enter_ns)
        self._cells.add(self.spent_s, cells, batch.spent_ns)
        for timeline in self._timelines:
            timeline.add_messages(place, batch.enter_ns, batch.exit_ns, batch.spent_ns)
        return completing_calls(batch, cells)

    def _add_waits(self, calls: CompletingCalls) -> None:
        waiting_ns = calls.late_sender_ns + calls.late_receiver_ns
        self._cells.add(self.waiting_s, calls.row, waiting_ns)
        is_unknown = calls.is_unknown & (calls.row >= 0)
        self.unknown_s += float((calls.spent_ns - waiting_ns)[is_unknown].sum()) / 1e9
