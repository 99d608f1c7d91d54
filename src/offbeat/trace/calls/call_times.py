"""Arrival, end and waiting time of each matched call.

The terms are those of "MPI Collective Algorithm Selection in the Presence of Process Arrival Patterns",
section II.A: a rank arrives when it enters the call; total delay d* = last exit − first arrival (equation 1),
last delay d̂ = last exit − last arrival (equation 2); d* − d̂ is the skew. A rank enters a nonblocking call
when it issues it and a persistent call when it starts it; it leaves both when it completes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace.calls.call_matching import MatchedCalls
from offbeat.trace.calls.event_batches import CHANNEL_BITS, PLACE_BITS, SITE_BITS, EventBatch
from offbeat.trace.files import format as form

BLOCKING, NONBLOCKING, PERSISTENT = range(3)
"""Kinds of calls: blocking (and initialisations), nonblocking, starts of persistent collectives."""

_LATEST = np.iinfo(np.int64).max


class Calls(Struct, kw_only=True, eq=False):
    """Calls, one per entry, (n,), times in ns; and their arrivals, one per rank and call, (m,).

    ``is_complete``: every traced rank of the communicator arrived. ``has_end``: the exits of all of
    them were recorded. ``site`` and ``function`` are those of the lowest rank that arrived. ``sequence`` is
    the number on the communicator from 0 on; of starts of persistent ones, the round. ``bytes`` is the
    largest of any rank. ``blocks`` and ``empty_blocks`` are summed over ranks, ``largest_block_bytes`` is the
    largest of any rank.
    """

    first_ns: NDArray[np.int64]
    last_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    arrivals: NDArray[np.int64]
    is_complete: NDArray[np.bool_]
    has_end: NDArray[np.bool_]
    kind: NDArray[np.int64]
    function: NDArray[np.int64]
    communicator: NDArray[np.int64]
    sequence: NDArray[np.int64]
    site: NDArray[np.int64]
    bytes: NDArray[np.int64]
    all_bytes: NDArray[np.int64]
    spent_ns: NDArray[np.int64]
    waited_ns: NDArray[np.int64]
    failed: NDArray[np.bool_]
    in_place: NDArray[np.bool_]
    bound_ns: NDArray[np.float64]
    blocks: NDArray[np.int64]
    empty_blocks: NDArray[np.int64]
    largest_block_bytes: NDArray[np.int64]
    arrival_call: NDArray[np.int64]
    arrival_rank: NDArray[np.int64]
    arrival_delay_ns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.first_ns)

    @property
    def skew_ns(self) -> NDArray[np.int64]:
        """Last arrival − first arrival, (n,)."""
        return self.last_ns - self.first_ns

    def delays_s(self, is_selected: NDArray[np.bool_], p: int) -> NDArray[np.float64]:
        """Delays of some calls after their first arrival, (chosen, p); NaN where a rank did not arrive."""
        index = np.cumsum(is_selected) - 1
        is_selected_arrival = is_selected[self.arrival_call]
        delays = np.full((int(np.count_nonzero(is_selected)), p), np.nan)
        calls, ranks = index[self.arrival_call[is_selected_arrival]], self.arrival_rank[is_selected_arrival]
        delays[calls, ranks] = self.arrival_delay_ns[is_selected_arrival] / 1e9
        return delays


def analyse_calls(batch: MatchedCalls) -> Calls:
    """Analyse matched calls; calls without arrivals (only completions were recorded) are dropped."""
    events, starts = batch.events, batch.starts
    is_completion = (events.flags & form.PHASE) == form.COMPLETION
    # Completions are sorted behind arrivals, so a call has arrivals if its first event is one.
    has_arrivals = ~is_completion[starts]
    if not has_arrivals.all():
        lengths = np.diff(starts, append=len(events))
        events, lengths = events.select(np.repeat(has_arrivals, lengths)), lengths[has_arrivals]
        batch = MatchedCalls(
            events=events,
            starts=np.cumsum(lengths) - lengths,
            communicator=batch.communicator[has_arrivals],
            traced_ranks=batch.traced_ranks[has_arrivals],
        )
    if len(batch.starts):
        return _analyse(batch)
    types: dict[str, Any] = dict.fromkeys(("is_complete", "has_end", "failed", "in_place"), np.bool_)
    return Calls(**{name: np.empty(0, types.get(name, np.int64)) for name in Calls.__struct_fields__})


def waited_ns(batch: MatchedCalls) -> NDArray[np.int64]:
    """Time in each event's call before the last rank arrived, (events,); 0 where no arrival was recorded."""
    events, starts = batch.events, batch.starts
    if not len(starts):
        return np.empty(0, np.int64)
    phases = events.flags & form.PHASE
    arrived_ns = np.where(phases == form.COMPLETION, -_LATEST, events.enter_ns)
    last_ns = np.maximum.reduceat(arrived_ns, starts)
    return _waited_ns(events, phases, np.repeat(last_ns, np.diff(starts, append=len(events))))


def _analyse(batch: MatchedCalls) -> Calls:
    events, starts = batch.events, batch.starts
    phases = events.flags & form.PHASE
    is_completion = phases == form.COMPLETION
    is_arrival = None if not is_completion.any() else ~is_completion
    call_of = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(events)))
    enter = events.enter_ns
    first = _minimum(enter, is_arrival, starts)
    last = -_minimum(-enter, is_arrival, starts)
    caller = _minimum(events.caller, is_arrival, starts)
    arrivals = np.add.reduceat(~is_completion, starts, dtype=np.int64)
    kind = np.where(phases == form.START, PERSISTENT, np.where(phases == form.ISSUE, NONBLOCKING, BLOCKING))[
        starts
    ]
    ends, has_end = _ends(events, is_completion, starts, arrivals, kind)
    flags = np.bitwise_or.reduceat(events.flags, starts)
    own_bytes = events.bytes if is_arrival is None else np.where(is_arrival, events.bytes, 0)
    delay = enter - first[call_of]
    return Calls(
        first_ns=first,
        last_ns=last,
        end_ns=ends,
        arrivals=arrivals,
        is_complete=arrivals >= batch.traced_ranks,
        has_end=has_end,
        kind=kind,
        function=caller & (2**SITE_BITS - 1),
        communicator=batch.communicator,
        sequence=(events.key[starts] >> 1) & (2 ** (CHANNEL_BITS - 1) - 1),
        site=(caller >> SITE_BITS) & (2 ** (PLACE_BITS - SITE_BITS) - 1),
        bytes=np.maximum.reduceat(events.bytes, starts),
        all_bytes=np.add.reduceat(own_bytes, starts),
        spent_ns=np.add.reduceat(events.spent_ns, starts),
        waited_ns=np.add.reduceat(_waited_ns(events, phases, last[call_of]), starts),
        failed=(flags & form.FAILED) != 0,
        in_place=(flags & form.IN_PLACE) != 0,
        bound_ns=np.maximum.reduceat(events.bound_ns, starts).astype(np.float64),
        blocks=_block_sum(events.blocks, is_arrival, starts),
        empty_blocks=_block_sum(events.empty_blocks, is_arrival, starts),
        largest_block_bytes=np.maximum.reduceat(events.largest_block_bytes, starts),
        arrival_call=call_of if is_arrival is None else call_of[is_arrival],
        arrival_rank=(events.caller if is_arrival is None else events.caller[is_arrival]) >> PLACE_BITS,
        arrival_delay_ns=delay if is_arrival is None else delay[is_arrival],
    )


def _block_sum(
    blocks: NDArray[np.uint32], is_arrival: NDArray[np.bool_] | None, starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The sum over the arrivals (None: all events) of each call: a completion repeats the counts."""
    arrival_blocks = blocks if is_arrival is None else np.where(is_arrival, blocks, 0)
    return np.asarray(np.add.reduceat(arrival_blocks, starts, dtype=np.int64))


def _minimum(
    values: NDArray[np.int64], is_arrival: NDArray[np.bool_] | None, starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The minimum over the arrivals (None: all events) of each call."""
    return np.minimum.reduceat(
        values if is_arrival is None else np.where(is_arrival, values, _LATEST), starts
    )


def _waited_ns(events: EventBatch, phases: NDArray[Any], last_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Time in each event's call before the last rank arrived, (events,); 0 for issues and starts."""
    waiting_ns = np.minimum(last_ns, events.exit_ns)
    waiting_ns -= events.enter_ns
    np.minimum(waiting_ns, events.spent_ns, out=waiting_ns)
    np.maximum(waiting_ns, 0, out=waiting_ns)
    if phases.any():
        waiting_ns[(phases == form.ISSUE) | (phases == form.START)] = 0
    return waiting_ns


def _ends(
    events: EventBatch,
    is_completion: NDArray[np.bool_],
    starts: NDArray[np.int64],
    arrivals: NDArray[np.int64],
    kind: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The last exit of each call, and whether all exits were recorded."""
    if not is_completion.any():
        return np.maximum.reduceat(events.exit_ns, starts), kind == BLOCKING
    is_freed = is_completion & ((events.flags >> form.BY_SHIFT) == form.BY_FREE)
    exits_ns = np.where(is_freed, -_LATEST, events.exit_ns)
    completions = np.add.reduceat((is_completion & ~is_freed).astype(np.int64), starts)
    return np.maximum.reduceat(exits_ns, starts), (kind == BLOCKING) | (completions >= arrivals)
