"""Which share of the last delay of calls prolongs the run; the rest is absorbed by waiting in later calls.

The calls of a trace are repeated with other exits: ranks that left a call after its last arrival leave it
earlier by a share of the time since then; those that left before it, and the time that a rank spends between
its calls, stay as they were. So a rank that leaves earlier arrives earlier at its next call, but that call
begins no earlier unless its last rank does. On the columns of a process grid, say, only the calls of the
latest column count if a call on the rows follows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from offbeat.trace.calls.call_aggregates import size_classes
from offbeat.trace.calls.call_matching import MatchedCalls, Matcher
from offbeat.trace.calls.call_site_stats import CallSiteStats
from offbeat.trace.calls.call_times import BLOCKING, Calls, analyse_calls
from offbeat.trace.calls.communicators import communicator_groups
from offbeat.trace.calls.event_batches import PLACE_BITS
from offbeat.trace.calls.lane_windows import Columns
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import Trace

MOST_CALLS, MOST_ARRIVALS = 20_000, 2_000_000
"""The first calls of a trace that are repeated, and the arrivals of ranks at them: some seconds."""

SHORTER = 0.25
"""The share by which last delays are shortened."""


class _Events(Columns, eq=False):
    """One rank in one call, (n,): the number of the call, the world rank, its times, and the row of the call,
    -1 for calls of no row."""

    call: NDArray[np.int64] = np.empty(0, np.int64)
    rank: NDArray[np.int64] = np.empty(0, np.int64)
    enter_ns: NDArray[np.int64] = np.empty(0, np.int64)
    exit_ns: NDArray[np.int64] = np.empty(0, np.int64)
    row: NDArray[np.int64] = np.empty(0, np.int64)


def critical_shares(
    trace: Trace, rows: Sequence[CallSiteStats], *, most_calls: int = MOST_CALLS
) -> list[float]:
    """For each row of ``Summary.group_rows``: by how much the run becomes shorter if the last delays of its
    calls do, both as means over ranks.

    1 if the order of the calls is unknown: in a sampled trace, and if a rank's threads call at the same time;
    and for rows without calls among the first ``most_calls``.
    """
    if trace.sampling_interval > 1 or not rows:
        return [1.0] * len(rows)
    events = _first_calls(trace, rows, most_calls)
    follows = events.rank[1:] == events.rank[:-1]
    if (follows & (events.enter_ns[1:] < events.exit_ns[:-1])).any():
        return [1.0] * len(rows)
    delays = _replay(events, np.append(follows, False)[: len(events)], len(rows))
    if delays is None:
        return [1.0] * len(rows)
    earlier_ns, delays_ns = delays
    return [
        float(earlier / (SHORTER * delay)) if delay > 0 else 1.0
        for earlier, delay in zip(earlier_ns, delays_ns, strict=True)
    ]


def _first_calls(trace: Trace, rows: Sequence[CallSiteStats], most_calls: int) -> _Events:
    """The first calls by their last arrivals, sorted by rank and time."""
    parts, number, arrivals = [_Events()], 0, 0
    for batch in Matcher(trace).batches():
        calls = analyse_calls(batch)
        if len(calls) != len(batch.starts):  # there are completions of calls whose issue was not recorded
            continue
        parts.append(_events_of(trace, rows, batch, calls, number))
        number, arrivals = number + len(calls), arrivals + len(parts[-1])
        if number >= most_calls or arrivals >= MOST_ARRIVALS:
            break
    events = _Events.concatenate(parts)
    last_ns = np.full(number, np.iinfo(np.int64).min)
    np.maximum.at(last_ns, events.call, events.enter_ns)
    is_first = np.zeros(number, np.bool_)
    is_first[np.argsort(last_ns, kind="stable")[:most_calls]] = True
    events = events.select(is_first[events.call])
    return events.select(np.lexsort((events.enter_ns, events.rank)))


def _events_of(
    trace: Trace, rows: Sequence[CallSiteStats], batch: MatchedCalls, calls: Calls, number: int
) -> _Events:
    """The complete blocking calls of a batch, numbered from ``number`` on."""
    lengths = np.diff(batch.starts, append=len(batch.events))
    call = np.repeat(np.arange(len(calls)), lengths)
    usable = calls.is_complete & calls.has_end & (calls.kind == BLOCKING) & ~calls.failed
    phases = batch.events.flags & form.PHASE
    is_used = usable[call] & (phases == phases[batch.starts][call])
    events, call = batch.events.select(is_used), call[is_used]
    return _Events(
        call=number + call,
        rank=trace.communicators.world_ranks(calls.communicator[call], events.caller >> PLACE_BITS).astype(
            np.int64
        ),
        enter_ns=events.enter_ns,
        exit_ns=events.exit_ns,
        row=_rows_of(trace, rows, calls)[call],
    )


def _rows_of(trace: Trace, rows: Sequence[CallSiteStats], calls: Calls) -> NDArray[np.int64]:
    """The index of each call's row, -1 for calls of none."""
    group, size_class = communicator_groups(trace.communicators), size_classes(calls.bytes)
    row_numbers = np.full(len(calls), -1, np.int64)
    for index, row in enumerate(rows):
        site, function, kind, own_class, _ = row.key
        is_own = (calls.site == site) & (calls.function == function) & (calls.kind == kind)
        is_own &= size_class == own_class
        row_numbers[is_own & (group[calls.communicator] == group[row.communicator_index])] = index
    return row_numbers


def _replay(
    events: _Events, has_next: NDArray[np.bool_], rows: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """For each row: how much earlier ranks leave their last call if its calls are shorter, and the last
    delays of its calls, both as means over ranks in ns, (rows,). None if calls wait for each other.

    ``events`` are sorted by rank and time; ``has_next`` says whether the next one is of the same rank.
    """
    _, events.call = np.unique(events.call, return_inverse=True)
    by_call = np.argsort(events.call, kind="stable")
    first = np.searchsorted(events.call[by_call], np.arange(int(events.call.max(initial=-1)) + 2))
    next_call = np.where(has_next, np.append(events.call[1:], -1), -1)
    _, rank = np.unique(events.rank, return_inverse=True)
    ranks = int(rank.max(initial=-1)) + 1
    earlier_ns, delays_ns = np.zeros((rows, ranks)), np.zeros(rows)
    is_first = np.append(True, ~has_next[:-1])[: len(has_next)]
    open_dependencies = np.diff(first)
    np.subtract.at(open_dependencies, events.call[is_first], 1)
    ready = deque(np.flatnonzero(open_dependencies == 0).tolist())
    while ready:
        call = ready.popleft()
        call_events = by_call[first[call] : first[call + 1]]
        members, enter_ns, after_ns = (
            rank[call_events],
            events.enter_ns[call_events],
            events.exit_ns[call_events],
        )
        last_ns = enter_ns.max()
        after_ns = after_ns - last_ns
        is_after = after_ns >= 0
        starts_earlier_ns = last_ns - (enter_ns - earlier_ns[:, members]).max(axis=1, keepdims=True)
        new_earlier_ns = np.where(is_after, starts_earlier_ns, earlier_ns[:, members])
        row = int(events.row[call_events[0]])
        if row >= 0:
            new_earlier_ns[row] += SHORTER * np.maximum(after_ns, 0)
            delays_ns[row] += max(after_ns.max(), 0) * len(call_events) / ranks
        earlier_ns[:, members] = new_earlier_ns
        successors = next_call[call_events]
        successors = successors[successors >= 0]
        np.subtract.at(open_dependencies, successors, 1)
        ready.extend(np.unique(successors[open_dependencies[successors] == 0]).tolist())
    return (earlier_ns.mean(axis=1), delays_ns) if not open_dependencies.any() else None
