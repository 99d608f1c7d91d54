"""When each rank leaves a call under an arrival pattern, on a simulated platform."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat import _simulator
from offbeat.algorithm.subject import Call, Subject
from offbeat.errors import BadInput
from offbeat.pattern import replay as replay_file
from offbeat.platform.machine import Platform
from offbeat.units import format_time


class Timed(Struct, frozen=True, kw_only=True):
    """Arrivals and exits of one call (p,) in seconds; ``evaluation`` is ``longest_path`` or ``fluid``."""

    platform: str
    pattern: str
    arrivals_s: NDArray[np.float64]
    exits_s: NDArray[np.float64]
    evaluation: str

    @property
    def last_delay_s(self) -> float:
        """From the last arrival to the last exit."""
        return float(self.exits_s.max() - self.arrivals_s.max())

    @property
    def total_delay_s(self) -> float:
        """From the first arrival to the last exit."""
        return float(self.exits_s.max() - self.arrivals_s.min())


def timed(
    subject: Subject,
    call: Call,
    platform: Platform,
    pattern: str,
    skew_s: float | None,
    *,
    seed: int = 1,
    ppn: int = 0,
) -> Timed:
    """Simulate a call under a pattern: a shape, or a pattern file.

    Without a skew, shapes are as long as the call takes when all ranks arrive together. ``ppn`` is for the
    shape ``node_delayed``. Raises :class:`BadInput` for what doesn't exist, fit, or is refused.
    """
    messages = platform.file.messages
    local_work = any((messages.receive_overhead, messages.reduce_bandwidth, messages.copy_bandwidth))
    network = platform.network(call.p, node_of_rank=list(call.node_of_rank))
    try:
        schedule = subject.schedule(call, local_work=local_work)

        def exits(arrivals_s: NDArray[np.float64]) -> tuple[NDArray[np.float64], str]:
            both = _simulator.evaluate(schedule, network, arrivals_s[np.newaxis], float(call.element_bytes))
            return both[0][0], both[1][0]

        if skew_s is None:
            skew_s = float(exits(np.zeros(call.p))[0].max())
        shown = replay_file.file_or_shape(pattern, call.p, skew_s, seed=seed, ppn=ppn)
        if shown.p != call.p:
            raise BadInput(f"{pattern} is a pattern for {shown.p} ranks, not for p = {call.p}")
        exits_s, evaluation = exits(shown.delays_s)
    except (ValueError, RuntimeError) as error:
        raise BadInput(f"{subject.title} at p = {call.p}: {error}") from None
    return Timed(
        platform=platform.name,
        pattern=shown.name,
        arrivals_s=shown.delays_s,
        exits_s=exits_s,
        evaluation=evaluation,
    )


def summary(timed: Timed) -> str:
    """One line about all ranks."""
    skew = format_time(float(timed.arrivals_s.max()))
    return (
        f"{timed.pattern} with a skew of {skew} on the platform {timed.platform}:"
        f" last delay {format_time(timed.last_delay_s)}, total delay {format_time(timed.total_delay_s)}"
    )


MOST_RANKS = 64
"""Ranks that get a line of their own."""


def bars(timed: Timed, *, width: int = 80, unicode: bool = True) -> list[str]:
    """A line a rank: when it arrives, when it leaves, and a bar between both on one scale.

    With many ranks only those that leave first and last are shown, and it says so.
    """
    end_s = float(timed.exits_s.max())
    heading = f"{'rank':>5}  {'arrives':>10}  {'leaves':>10}  "
    room = max(width - len(heading) - 1, 10)
    lines = [summary(timed), "", heading.rstrip()]
    ranks: Sequence[int] = range(len(timed.exits_s))
    if len(ranks) > MOST_RANKS:
        order = np.argsort(timed.exits_s, kind="stable").tolist()
        half = MOST_RANKS // 4
        lines[-1] += f"   (the {half} that leave first and the {half} that leave last)"
        ranks = order[:half] + order[-half:]
    for rank in ranks:
        arrives_s, leaves_s = float(timed.arrivals_s[rank]), float(timed.exits_s[rank])
        bar = _bar(arrives_s / end_s, leaves_s / end_s, room, unicode) if end_s > 0 else ""
        lines.append(f"{rank:>5}  {format_time(arrives_s):>10}  {format_time(leaves_s):>10}  {bar}".rstrip())
    return lines if unicode else [line.replace("µ", "u") for line in lines]


def _bar(start: float, end: float, room: int, unicode: bool) -> str:
    first, last = round(start * (room - 1)), round(end * (room - 1))
    filled, point = ("━", "╸") if unicode else ("=", "|")
    return " " * first + (filled * (last - first + 1) if last > first else point)
