"""Replays out of a trace: the arrivals of one call site, call by call."""

from __future__ import annotations

import numpy as np

from offbeat.errors import BadInput
from offbeat.pattern.replay import Replay
from offbeat.trace.arrivals import Arrivals
from offbeat.trace.patterns import SCALING, nearest, origin, scaled_delays, stand_ins
from offbeat.trace.row_words import described, short_name
from offbeat.trace.summary import Summary
from offbeat.units import counted


def recorded_calls(summary: Summary, arrivals: Arrivals, *, most: int | None = None) -> Replay:
    """The recorded calls in their order, or at most ``most`` of them, evenly chosen.

    Ranks that were not traced have the delay of the nearest one that was. Raises :class:`BadInput` where no
    call was recorded on all traced ranks.
    """
    row, delays = arrivals.row, arrivals.delays_s
    chosen = _evenly(len(delays), most)
    traced = np.flatnonzero(~np.isnan(delays).any(axis=0))
    if not len(traced) or not len(chosen):
        raise BadInput(f"{described(row)}: no call was recorded on all traced ranks, so there is no replay")
    filled = delays[chosen][:, nearest(traced, row.processes)]
    what = _which(len(chosen), row.whole)
    return Replay(
        name=f"{short_name(row)}-calls",
        delays_s=filled - filled.min(axis=1, keepdims=True),
        header=origin(summary, row) | {"replay": what} | stand_ins(traced, row.processes),
    )


def scaled(sequence: Replay, p: int) -> Replay:
    """A replay for another number of processes: each call as :func:`offbeat.trace.patterns.scaled` does it.

    Raises :class:`BadInput` as :func:`offbeat.trace.patterns.scaled_delays` does.
    """
    if p == sequence.p:
        return sequence
    return Replay(
        name=f"{sequence.name}-p{p}",
        delays_s=scaled_delays(sequence.delays_s, p),
        header=sequence.header | {"scaled_from": f"p = {sequence.p}", "scaling": SCALING},
    )


def _evenly(count: int, most: int | None) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """So many of the numbers below ``count``, the first among them, as far apart as possible."""
    taken = count if most is None else min(count, most)
    return np.arange(taken, dtype=np.int64) * count // max(taken, 1)


def _which(taken: int, recorded: int) -> str:
    if taken == recorded:
        return f"all {counted(recorded, 'call')}"
    return f"{taken} of {counted(recorded, 'call')}, evenly chosen"
