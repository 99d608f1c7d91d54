"""What each matched call was: who arrived when, when it ended, how long ranks waited.

The words are those of "MPI Collective Algorithm Selection in the Presence of Process Arrival Patterns",
section II.A: arrival is the moment of entering, the total delay d* = last exit − first arrival (equation 1),
the last delay d̂ = last exit − last arrival (equation 2); d* − d̂ is the skew. A nonblocking call is entered
where it is issued, a persistent one where it is started, and left where it is completed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace import format as form
from offbeat.trace.match import Matched
from offbeat.trace.moments import CHANNEL_BITS, PLACE_BITS, SITE_BITS, Moments

PLAIN, NONBLOCKING, STARTED = range(3)
"""Kinds of calls: blocking (and initialisations), nonblocking, starts of persistent ones."""

_NEVER = np.iinfo(np.int64).max


class Calls(Struct, kw_only=True, eq=False):
    """Calls, one an entry, (n,), times in ns; and their arrivals, one a rank that arrived, (m,).

    ``is_whole``: every traced rank of the communicator arrived. ``has_end``: all of those were seen to leave.
    ``site`` and ``function`` are those of the first rank in the communicator that arrived. ``sequence`` is
    the number on the communicator from 0 on; of starts of persistent ones, the round. ``bytes`` is the
    largest of any rank.
    """

    first_ns: NDArray[np.int64]
    last_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    arrived: NDArray[np.int64]
    is_whole: NDArray[np.bool_]
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
    arrival_call: NDArray[np.int64]
    arrival_place: NDArray[np.int64]
    arrival_delay_ns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.first_ns)

    @property
    def skew_ns(self) -> NDArray[np.int64]:
        """Last arrival − first arrival, (n,)."""
        return self.last_ns - self.first_ns

    def delays_s(self, chosen: NDArray[np.bool_], p: int) -> NDArray[np.float64]:
        """Delays of some calls behind their first rank, in seconds, (chosen, p); NaN where none arrived."""
        place = np.cumsum(chosen) - 1
        mine = chosen[self.arrival_call]
        delays = np.full((int(np.count_nonzero(chosen)), p), np.nan)
        delays[place[self.arrival_call[mine]], self.arrival_place[mine]] = self.arrival_delay_ns[mine] / 1e9
        return delays


def calls(matched: Matched) -> Calls:
    """Work out matched calls; those of which only completions are left (their issue is lost) are dropped."""
    moments, starts = matched.moments, matched.starts
    done = (moments.flags & form.PHASE) == form.COMPLETION
    # Completions come after arrivals, so the first moment tells whether there are arrivals.
    begun = ~done[starts]
    if not begun.all():
        lengths = np.diff([*starts, len(moments)])
        moments, lengths = moments.taken(np.repeat(begun, lengths)), lengths[begun]
        matched = Matched(
            moments=moments,
            starts=np.cumsum(lengths) - lengths,
            communicator=matched.communicator[begun],
            expected=matched.expected[begun],
        )
    return _worked_out(matched) if len(matched.starts) else _none()


def _worked_out(matched: Matched) -> Calls:
    moments, starts = matched.moments, matched.starts
    phases = moments.flags & form.PHASE
    done = phases == form.COMPLETION
    arrives = None if not done.any() else ~done
    of = np.repeat(np.arange(len(starts)), np.diff([*starts, len(moments)]))
    enter = moments.enter_ns
    first = _least(enter, arrives, starts)
    last = -_least(-enter, arrives, starts)
    caller = _least(moments.caller, arrives, starts)
    arrived = np.add.reduceat(~done, starts, dtype=np.int64)
    kind = np.where(phases == form.START, STARTED, np.where(phases == form.ISSUE, NONBLOCKING, PLAIN))[starts]
    ends, has_end = _ends(moments, done, starts, arrived, kind)
    flags = np.bitwise_or.reduceat(moments.flags, starts)
    own_bytes = moments.bytes if arrives is None else np.where(arrives, moments.bytes, 0)
    delay = enter - first[of]
    return Calls(
        first_ns=first,
        last_ns=last,
        end_ns=ends,
        arrived=arrived,
        is_whole=arrived >= matched.expected,
        has_end=has_end,
        kind=kind,
        function=caller & (2**SITE_BITS - 1),
        communicator=matched.communicator,
        sequence=(moments.key[starts] >> 1) & (2 ** (CHANNEL_BITS - 1) - 1),
        site=(caller >> SITE_BITS) & (2 ** (PLACE_BITS - SITE_BITS) - 1),
        bytes=np.maximum.reduceat(moments.bytes, starts),
        all_bytes=np.add.reduceat(own_bytes, starts),
        spent_ns=np.add.reduceat(moments.spent_ns, starts),
        waited_ns=np.add.reduceat(_waited_ns(moments, phases, last[of]), starts),
        failed=(flags & form.FAILED) != 0,
        in_place=(flags & form.IN_PLACE) != 0,
        bound_ns=np.maximum.reduceat(moments.bound_ns, starts).astype(np.float64),
        arrival_call=of if arrives is None else of[arrives],
        arrival_place=(moments.caller if arrives is None else moments.caller[arrives]) >> PLACE_BITS,
        arrival_delay_ns=delay if arrives is None else delay[arrives],
    )


def _least(
    values: NDArray[np.int64], arrives: NDArray[np.bool_] | None, starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The least value of those that arrive (None: all), of each call."""
    return np.minimum.reduceat(values if arrives is None else np.where(arrives, values, _NEVER), starts)


def _waited_ns(moments: Moments, phases: NDArray[Any], last_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Time in each call before the last rank arrived, (moments,); issuing a call is no waiting."""
    waited = np.minimum(last_ns, moments.exit_ns)
    waited -= moments.enter_ns
    np.minimum(waited, moments.spent_ns, out=waited)
    np.maximum(waited, 0, out=waited)
    if phases.any():
        waited[(phases == form.ISSUE) | (phases == form.START)] = 0
    return waited


def _ends(
    moments: Moments,
    done: NDArray[np.bool_],
    starts: NDArray[np.int64],
    arrived: NDArray[np.int64],
    kind: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The last exit of each call, and whether all exits were seen."""
    if not done.any():
        return np.maximum.reduceat(moments.exit_ns, starts), kind == PLAIN
    freed = done & ((moments.flags >> form.BY_SHIFT) == form.BY_FREE)
    seen = np.where(freed, -_NEVER, moments.exit_ns)
    completed = np.add.reduceat((done & ~freed).astype(np.int64), starts)
    return np.maximum.reduceat(seen, starts), (kind == PLAIN) | (completed >= arrived)


def _none() -> Calls:
    types: dict[str, Any] = dict.fromkeys(("is_whole", "has_end", "failed", "in_place"), np.bool_)
    empty: dict[str, Any] = {name: np.empty(0, types.get(name, np.int64)) for name in Calls.__struct_fields__}
    return Calls(**empty)
