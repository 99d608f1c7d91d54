"""The calls of some consecutive iterations of a trace: which message or collective belongs to which call.

A *burst* is a series of calls of a rank in one iteration that belong to one exchange of messages: a call that
posts a message after another call has completed a receive begins a new one, because what it sends may depend
on what was received. Each collective is a burst of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.programs.iterations.iterations import Iterations
from offbeat.programs.iterations.rank_calls import MARK, RankCalls, rank_calls
from offbeat.trace.calls.call_matching import MatchedCalls, Matcher
from offbeat.trace.calls.event_batches import PLACE_BITS, SITE_BITS
from offbeat.trace.calls.lane_windows import Columns
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import Trace
from offbeat.trace.messages.message_matching import MatchedMessages, MessageMatcher

MOST_ROWS = 200
MOST_CALLS = 4_000_000
"""The most rows, and calls of all ranks, that are read: then a gigabyte of memory is enough."""


class SentMessages(Columns, eq=False):
    """Messages in the order of ranks and posts, (n,).

    They go from the burst ``sent`` to the burst ``received``, indices of :class:`Bursts`; ``issued_by`` is
    the index of the function that posted the send.
    """

    sent: NDArray[np.int64]
    received: NDArray[np.int64]
    bytes: NDArray[np.int64]
    issued_by: NDArray[np.int64]


class Bursts(Columns, eq=False):
    """Bursts in the order of places and rows, (n,); ``place`` is an index of ``Iterations.ranks``.

    ``row`` is counted from the first one that was read. ``site`` is a number for the set of callers, equal
    for equal sets, ``caller`` one of them. ``computed_ns`` is the time outside MPI before its calls,
    ``spent_ns`` that inside them. ``collective`` is the number of its collective call, equal on all ranks of
    the call; -1 if it has none.
    """

    place: NDArray[np.int64]
    row: NDArray[np.int64]
    site: NDArray[np.int64]
    caller: NDArray[np.int64]
    computed_ns: NDArray[np.int64]
    spent_ns: NDArray[np.int64]
    collective: NDArray[np.int64]


class Collective(Struct, frozen=True, kw_only=True):
    """A collective call; ``name`` is that of the blocking function, such as MPI_Allreduce."""

    name: str
    communicator: int
    bytes: int
    sequence: int


class IterationCalls(Struct, kw_only=True, eq=False):
    """The calls of ``rows`` rows of a trace's iterations, from row ``first`` on, of p ranks.

    ``rest_ns`` (p, rows) is the time between the last call of a row and its end. ``lost`` counts messages
    whose other end is not in these rows.
    """

    first: int
    rows: int
    bursts: Bursts
    messages: SentMessages
    collectives: list[Collective]
    rest_ns: NDArray[np.int64]
    lost: int


class _Calls(Columns, eq=False):
    """Calls in the order of places and times."""

    place: NDArray[np.int64]
    row: NDArray[np.int64]
    caller: NDArray[np.int64]
    enter_ns: NDArray[np.int64]
    exit_ns: NDArray[np.int64]


def read_calls(trace: Trace, iterations: Iterations) -> IterationCalls:
    """Read the rows in the middle of the run; all ranks have the same number of rows, at least one."""
    first, rows = _middle(trace, iterations)
    edges_ns = iterations.edges_ns[:, first : first + rows + 1]
    calls = _Calls.concatenate([_calls_of(trace, iterations, place, edges_ns) for place in _places(edges_ns)])
    index = _CallIndex(trace, iterations, calls, edges_ns)
    collective, collectives = _collectives(trace, index, calls)
    ends = _message_ends(trace, index)
    burst = _burst_of_call(calls, collective, ends)
    begins = np.flatnonzero(np.diff(burst, prepend=-1))
    latest = _latest_exit(calls, edges_ns)
    computed = np.maximum(calls.enter_ns - latest, 0)
    return IterationCalls(
        first=first,
        rows=rows,
        bursts=Bursts(
            place=calls.place[begins],
            row=calls.row[begins],
            site=_site_numbers(calls.caller, burst),
            caller=calls.caller[begins],
            computed_ns=_sums(computed, begins),
            spent_ns=_sums(calls.exit_ns - np.maximum(calls.enter_ns, latest), begins),
            collective=collective[begins],
        ),
        messages=SentMessages(
            sent=burst[ends.sent],
            received=burst[ends.completed],
            bytes=ends.bytes,
            issued_by=ends.issued_by,
        ),
        collectives=collectives,
        rest_ns=_rest_ns(calls, edges_ns),
        lost=ends.lost,
    )


def _middle(trace: Trace, iterations: Iterations) -> tuple[int, int]:
    """The first row that is read, and how many are."""
    rows = iterations.rows
    in_a_row = (trace.most_records + trace.most_messages) / rows
    read = int(min(rows, MOST_ROWS, max(MOST_CALLS // max(in_a_row, 1), 1)))
    return (rows - read) // 2, read


def _places(edges_ns: NDArray[np.int64]) -> range:
    return range(len(edges_ns))


def _calls_of(trace: Trace, iterations: Iterations, place: int, edges_ns: NDArray[np.int64]) -> _Calls:
    """The calls of one rank that begin in the rows."""
    edges = edges_ns[place]
    parts = [RankCalls()]
    for calls in rank_calls(trace, int(iterations.file[place])):
        is_inside = (calls.enter_ns >= edges[0]) & (calls.enter_ns < edges[-1]) & (calls.caller != MARK)
        parts.append(calls.select(is_inside))
        if len(calls) and calls.enter_ns.min() >= edges[-1]:
            break
    calls = RankCalls.concatenate(parts)
    calls = calls.select(np.argsort(calls.enter_ns, kind="stable"))
    return _Calls(
        place=np.full(len(calls), place),
        row=np.searchsorted(edges, calls.enter_ns, side="right") - 1,
        caller=calls.caller,
        enter_ns=calls.enter_ns,
        exit_ns=calls.exit_ns,
    )


class _CallIndex:
    """Finds the call of a rank at a time."""

    def __init__(
        self, trace: Trace, iterations: Iterations, calls: _Calls, edges_ns: NDArray[np.int64]
    ) -> None:
        self._enter_ns = calls.enter_ns
        self._begin_ns, self._end_ns = edges_ns[:, 0], edges_ns[:, -1]
        self.last_end_ns = int(self._end_ns.max())
        self._starts = np.searchsorted(calls.place, np.arange(len(edges_ns) + 1))
        self.place_of_rank = np.full(trace.size + 1, -1)
        self.place_of_rank[iterations.ranks] = np.arange(len(iterations.ranks))

    def of(self, place: NDArray[np.int64], time_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """The last call that had begun at this time, (n,); -1 outside of the rows."""
        found = np.full(len(place), -1)
        is_inside = (place >= 0) & (time_ns >= self._begin_ns[place]) & (time_ns < self._end_ns[place])
        for number in np.unique(place[is_inside]).tolist():
            at = np.flatnonzero(is_inside & (place == number))
            begin, end = self._starts[number : number + 2]
            within = np.searchsorted(self._enter_ns[begin:end], time_ns[at], side="right") - 1
            found[at] = np.where(within >= 0, begin + within, -1)
        return found


def _collectives(
    trace: Trace, index: _CallIndex, calls: _Calls
) -> tuple[NDArray[np.int64], list[Collective]]:
    """The number of the collective of each call, -1 for others, and the collectives."""
    of_call = np.full(len(calls), -1)
    found: list[Collective] = []
    for matched in _until(Matcher(trace).batches(), index.last_end_ns):
        events = matched.events
        group = np.repeat(np.arange(len(matched.starts)), np.diff(matched.starts, append=len(events)))
        is_arrival = (events.flags & form.PHASE) != form.COMPLETION
        ranks = trace.communicators.world_ranks(matched.communicator[group], events.caller >> PLACE_BITS)
        place = index.place_of_rank[ranks]
        call = np.where(is_arrival, index.of(place, events.enter_ns), -1)
        numbers = np.unique(group[call >= 0])
        of_call[call[call >= 0]] = len(found) + np.searchsorted(numbers, group[call >= 0])
        largest = np.maximum.reduceat(events.bytes, matched.starts) if len(events) else events.bytes
        for number in numbers.tolist():
            begin = matched.starts[number]
            function = trace.functions[int(events.caller[begin]) & ((1 << SITE_BITS) - 1)]
            found.append(
                Collective(
                    name=function.collective,
                    communicator=int(matched.communicator[number]),
                    bytes=int(largest[number]),
                    sequence=int(events.key[begin] >> 1) & 0xFFFFFFFF,
                )
            )
    return of_call, found


def _until(batches: Iterator[MatchedCalls], end_ns: int) -> Iterator[MatchedCalls]:
    """The batches up to the one after which no call is before ``end_ns``."""
    for matched in batches:
        yield matched
        if len(matched.events) and matched.events.enter_ns.min() >= end_ns:
            return


class _MessageEnds(Struct, kw_only=True, eq=False):
    """For each message the calls that sent it, posted its receive, and completed it, (n,)."""

    sent: NDArray[np.int64]
    posted: NDArray[np.int64]
    completed: NDArray[np.int64]
    bytes: NDArray[np.int64]
    issued_by: NDArray[np.int64]
    lost: int


def _message_ends(trace: Trace, index: _CallIndex) -> _MessageEnds:
    parts = [np.empty((5, 0), np.int64)]
    lost = 0
    for matched in MessageMatcher(trace).batches():
        sends, receives = matched.sends, matched.receives
        source, target = index.place_of_rank[sends.source], index.place_of_rank[sends.destination]
        sent = index.of(source, sends.posted_ns)
        completed = index.of(target, receives.enter_ns)
        is_inside = (sent >= 0) & (completed >= 0)
        lost += int(np.count_nonzero((sent >= 0) != (completed >= 0)))
        rows = [sent, index.of(target, receives.posted_ns), completed, sends.bytes, sends.posting_function]
        parts.append(np.stack(rows)[:, is_inside])
        if _is_behind(matched, index.last_end_ns):
            break
    joined = np.concatenate(parts, axis=1)
    sent, posted, completed, sizes, issued_by = joined[:, np.argsort(joined[0], kind="stable")]
    return _MessageEnds(
        sent=sent, posted=posted, completed=completed, bytes=sizes, issued_by=issued_by, lost=lost
    )


def _is_behind(matched: MatchedMessages, end_ns: int) -> bool:
    """Whether everything that was matched last is after the rows."""
    return len(matched.sends) > 0 and int(matched.sends.posted_ns.min()) >= end_ns


def _burst_of_call(calls: _Calls, collective: NDArray[np.int64], ends: _MessageEnds) -> NDArray[np.int64]:
    """The burst of each call, (n,), counted from 0."""
    posts, completes = np.zeros(len(calls), np.bool_), np.zeros(len(calls), np.bool_)
    posts[ends.sent] = posts[ends.posted[ends.posted >= 0]] = True
    completes[ends.completed] = True
    is_collective = collective >= 0
    begins = (np.diff(calls.place, prepend=-1) != 0) | (np.diff(calls.row, prepend=-1) != 0)
    begins |= is_collective | np.roll(is_collective, 1)
    # the last call before each one that posts or completes a message
    marked = np.where(posts | completes, np.arange(len(calls)), -1)
    before = np.concatenate([[-1], np.maximum.accumulate(marked)])[:-1]
    begins |= posts & (before >= 0) & completes[before]
    return np.cumsum(begins) - 1


def _site_numbers(caller: NDArray[np.int64], burst: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for the set of callers of each burst."""
    pairs = np.unique(np.stack([burst, caller], axis=1), axis=0)
    begins = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))
    numbers: dict[bytes, int] = {}
    sets = np.split(pairs[:, 1], begins[1:]) if len(begins) else []
    return np.array([numbers.setdefault(one.tobytes(), len(numbers)) for one in sets], np.int64)


def _latest_exit(calls: _Calls, edges_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """When each call's rank was last inside MPI before it, or began the row, (n,)."""
    row_begin = edges_ns[calls.place, calls.row]
    latest = np.empty(len(calls), np.int64)
    bounds = np.searchsorted(calls.place, np.arange(len(edges_ns) + 1))
    for begin, end in itertools.pairwise(bounds):
        exits = np.concatenate([[np.iinfo(np.int64).min], calls.exit_ns[begin:end]])[: end - begin]
        latest[begin:end] = np.maximum.accumulate(exits)
    return np.maximum(latest, row_begin)


def _rest_ns(calls: _Calls, edges_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """The time from the last call of each row to its end, (p, rows)."""
    last = edges_ns[:, :-1].copy()
    np.maximum.at(last, (calls.place, calls.row), calls.exit_ns)
    return np.maximum(edges_ns[:, 1:] - last, 0)


def _sums(values: NDArray[np.int64], begins: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.add.reduceat(values, begins) if len(begins) else values[:0]
