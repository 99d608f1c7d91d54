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

PLAIN, NONBLOCKING, STARTED = range(3)
"""Kinds of calls: blocking (and initialisations), nonblocking, starts of persistent ones."""

_NEVER = np.iinfo(np.int64).max


class Calls(Struct, kw_only=True, eq=False):
    """Calls, one an entry, (n,), times in ns; and their arrivals, one a rank that arrived, (m,).

    ``is_whole``: every traced rank of the communicator arrived. ``has_end``: all of those were seen to leave.
    ``site`` is that of the first rank in the communicator. ``bytes`` is the largest of any rank.
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
    site: NDArray[np.int64]
    bytes: NDArray[np.int64]
    all_bytes: NDArray[np.int64]
    spent_ns: NDArray[np.int64]
    waited_ns: NDArray[np.int64]
    failed: NDArray[np.bool_]
    in_place: NDArray[np.bool_]
    root: NDArray[np.int64]
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


def calls(matched: Matched) -> Calls:
    """Work out matched calls; those of which only completions are left (their issue is lost) are dropped."""
    moments, starts = matched.moments, matched.starts
    phases = moments["flags"] & form.PHASE
    done = phases == form.COMPLETION
    lengths = np.diff([*starts, len(moments)])
    # Completions come after arrivals, so the first moment tells whether there are arrivals.
    begun = ~done[starts] if len(starts) else np.empty(0, np.bool_)
    if not begun.all():
        keep = np.repeat(begun, lengths)
        moments, phases, done = moments[keep], phases[keep], done[keep]
        lengths = lengths[begun]
        starts = np.cumsum(lengths) - lengths
        matched = Matched(moments=moments, starts=starts, expected=matched.expected[begun])
    of = np.repeat(np.arange(len(starts)), lengths)
    return _worked_out(matched, phases, done, of)


def _worked_out(
    matched: Matched, phases: NDArray[Any], done: NDArray[np.bool_], of: NDArray[np.int64]
) -> Calls:
    moments, starts = matched.moments, matched.starts
    if not len(starts):
        return _none()
    reduce_max, reduce_min, total = np.maximum.reduceat, np.minimum.reduceat, np.add.reduceat
    enter, left = moments["enter_ns"], moments["exit_ns"]
    arrives = ~done
    some_done = done.any()
    first = reduce_min(np.where(arrives, enter, _NEVER) if some_done else enter, starts)
    last = reduce_max(np.where(arrives, enter, -_NEVER) if some_done else enter, starts)
    arrived = total(arrives.astype(np.int64), starts)
    kind = np.where(phases == form.START, STARTED, np.where(phases == form.ISSUE, NONBLOCKING, PLAIN))[starts]
    ends, has_end = _ends(moments, done, starts, arrived, kind)
    waited = np.clip(np.minimum(last[of], left) - enter, 0, moments["spent_ns"])
    waited[(phases == form.ISSUE) | (phases == form.START)] = 0
    order = (moments["place"].astype(np.int64) << 25) | moments["site"]
    flags = moments["flags"]
    return Calls(
        first_ns=first,
        last_ns=last,
        end_ns=ends,
        arrived=arrived,
        is_whole=arrived >= matched.expected,
        has_end=has_end,
        kind=kind,
        function=moments["function"][starts].astype(np.int64),
        communicator=moments["communicator"][starts].astype(np.int64),
        site=reduce_min(np.where(arrives, order, _NEVER), starts) & (2**25 - 1),
        bytes=reduce_max(moments["bytes"], starts),
        all_bytes=total(np.where(arrives, moments["bytes"], 0), starts),
        spent_ns=total(moments["spent_ns"], starts),
        waited_ns=total(waited, starts),
        failed=reduce_max(flags & form.FAILED, starts) > 0,
        in_place=reduce_max(flags & form.IN_PLACE, starts) > 0,
        root=moments["root"][starts].astype(np.int64),
        bound_ns=reduce_max(moments["bound_ns"], starts).astype(np.float64),
        arrival_call=of[arrives] if some_done else of,
        arrival_place=(moments["place"][arrives] if some_done else moments["place"]).astype(np.int64),
        arrival_delay_ns=(enter - first[of])[arrives] if some_done else enter - first[of],
    )


def _ends(
    moments: NDArray[Any],
    done: NDArray[np.bool_],
    starts: NDArray[np.int64],
    arrived: NDArray[np.int64],
    kind: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The last exit of each call, and whether all exits were seen."""
    if not done.any():
        return np.maximum.reduceat(moments["exit_ns"], starts), kind == PLAIN
    freed = done & ((moments["flags"] >> form.BY_SHIFT) == form.BY_FREE)
    seen = np.where(freed, -_NEVER, moments["exit_ns"])
    completed = np.add.reduceat((done & ~freed).astype(np.int64), starts)
    return np.maximum.reduceat(seen, starts), (kind == PLAIN) | (completed >= arrived)


def _none() -> Calls:
    types: dict[str, Any] = dict.fromkeys(("is_whole", "has_end", "failed", "in_place"), np.bool_)
    empty: dict[str, Any] = {name: np.empty(0, types.get(name, np.int64)) for name in Calls.__struct_fields__}
    return Calls(**empty)
