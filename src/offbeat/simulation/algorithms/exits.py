"""The exit times of a call under an arrival pattern, on a simulated platform."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat import _simulator
from offbeat.base.errors import BadInput
from offbeat.base.units import format_time
from offbeat.model.pattern import replay_file
from offbeat.model.platform.machine import Platform
from offbeat.simulation.algorithms.inspected import Call, InspectedAlgorithm
from offbeat.simulation.calls.call_exits import has_local_work


class SimulatedExits(Struct, frozen=True, kw_only=True):
    """Arrivals and exits of one call (p,) in seconds; ``evaluation`` is ``longest_path`` or ``fluid``."""

    platform: str
    pattern: str
    arrivals_s: NDArray[np.float64]
    exits_s: NDArray[np.float64]
    evaluation: str

    @property
    def last_delay_s(self) -> float:
        """The time from the last arrival to the last exit."""
        return float(self.exits_s.max() - self.arrivals_s.max())

    @property
    def total_delay_s(self) -> float:
        """The time from the first arrival to the last exit."""
        return float(self.exits_s.max() - self.arrivals_s.min())


def simulate_exits(
    algorithm: InspectedAlgorithm,
    call: Call,
    platform: Platform,
    pattern: str,
    skew_s: float | None,
    *,
    seed: int = 1,
    ppn: int = 0,
) -> SimulatedExits:
    """Simulate a call under a pattern: a shape, or a pattern file.

    Without a skew, the skew of a shape is the run time of the call when all ranks arrive together. ``ppn`` is
    for the shape ``node_delayed``. Raises :class:`BadInput` for invalid arguments and refused calls.
    """
    network = platform.network(call.p, node_of_rank=list(call.node_of_rank))
    try:
        schedule = algorithm.schedule(call, local_work=has_local_work(platform.file))

        def exits(arrivals_s: NDArray[np.float64]) -> tuple[NDArray[np.float64], str]:
            result = _simulator.evaluate(schedule, network, arrivals_s[np.newaxis], float(call.element_bytes))
            return result[0][0], result[1][0]

        if skew_s is None:
            skew_s = float(exits(np.zeros(call.p))[0].max())
        arrival_pattern = replay_file.file_or_shape(pattern, call.p, skew_s, seed=seed, ppn=ppn)
        if arrival_pattern.p != call.p:
            raise BadInput(f"{pattern} is a pattern for {arrival_pattern.p} ranks, not for p = {call.p}")
        exits_s, evaluation = exits(arrival_pattern.delays_s)
    except (ValueError, RuntimeError) as error:
        raise BadInput(f"{algorithm.title} at p = {call.p}: {error}") from None
    return SimulatedExits(
        platform=platform.name,
        pattern=arrival_pattern.name,
        arrivals_s=arrival_pattern.delays_s,
        exits_s=exits_s,
        evaluation=evaluation,
    )


def summary(result: SimulatedExits) -> str:
    """One line with pattern, skew, platform, last and total delay."""
    skew = format_time(float(result.arrivals_s.max()))
    return (
        f"{result.pattern} with a skew of {skew} on the platform {result.platform}: last delay"
        f" {format_time(result.last_delay_s)}, total delay {format_time(result.total_delay_s)}"
    )


MAX_RANKS = 64
"""The most ranks that are shown."""


def bars(result: SimulatedExits, *, width: int = 80, unicode: bool = True) -> list[str]:
    """A line for each rank: its arrival, its exit, and a bar between both on a common scale.

    With more than MAX_RANKS ranks only those that leave first and last are shown; the heading says so.
    """
    end_s = float(result.exits_s.max())
    heading = f"{'rank':>5}  {'arrives':>10}  {'leaves':>10}  "
    available = max(width - len(heading) - 1, 10)
    lines = [summary(result), "", heading.rstrip()]
    ranks: Sequence[int] = range(len(result.exits_s))
    if len(ranks) > MAX_RANKS:
        order = np.argsort(result.exits_s, kind="stable").tolist()
        half = MAX_RANKS // 4
        lines[-1] += f"   (the {half} that leave first and the {half} that leave last)"
        ranks = order[:half] + order[-half:]
    for rank in ranks:
        arrives_s, leaves_s = float(result.arrivals_s[rank]), float(result.exits_s[rank])
        bar = _draw_bar(arrives_s / end_s, leaves_s / end_s, available, unicode) if end_s > 0 else ""
        lines.append(f"{rank:>5}  {format_time(arrives_s):>10}  {format_time(leaves_s):>10}  {bar}".rstrip())
    return lines if unicode else [line.replace("µ", "u") for line in lines]


def _draw_bar(start: float, end: float, width: int, unicode: bool) -> str:
    first, last = round(start * (width - 1)), round(end * (width - 1))
    dash, point = ("━", "╸") if unicode else ("=", "|")
    return " " * first + (dash * (last - first + 1) if last > first else point)
