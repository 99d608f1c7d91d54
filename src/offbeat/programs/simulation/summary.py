"""What a program's iterations show: their speed against lockstep, communication, skew."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.base.units import format_time
from offbeat.programs.simulation.iterations import Iterations, last_ends_s, mean_iteration_s
from offbeat.programs.simulation.lockstep import Lockstep, gain

ROWS_AT_ONCE = 1024
"""Iterations whose skews are computed together."""

LEAST_PERCENT = 0.05
"""Smaller differences from lockstep are not stated: they would be printed as 0.0%."""


class Speed(Struct, frozen=True, kw_only=True):
    """The mean time of an iteration, and how many iterations there are in a second, in all and per rank.

    The rate per rank divides by the number of ranks, as the paper on asynchronous execution does.
    """

    what: str
    iteration_s: float
    per_second: float
    per_second_and_rank: float


class Summary(Struct, frozen=True, kw_only=True):
    """A program in numbers; times in seconds.

    ``run`` is the speed of its iterations, simulated or measured on the machine ``where``; ``basis`` are
    sentences on what its times rest on. ``lockstep``, ``limit`` and the gain ``faster`` are defined in
    :mod:`offbeat.programs.simulation.lockstep`; ``most_faster`` is the gain at the limit. The limit of a real
    machine is not known: then both are None. Skews are the time from the first to the last rank that ends an
    iteration, within a memory domain and over all ranks: means over the second half of the iterations.
    """

    program: str
    where: str
    ranks: int
    iterations: int
    run: Speed
    lockstep: Speed
    limit: Speed | None
    faster: float
    most_faster: float | None
    communication_ratio: float
    communication_share: float
    lockstep_communication_share: float
    skew_in_domains_s: float
    skew_s: float
    basis: list[str]


def summarise(run: Iterations, composite: Lockstep, limit_s: float | None) -> Summary:
    """The summary of a run; ``composite`` is the run in lockstep, ``limit_s`` None if it is not known."""
    iteration_s = mean_iteration_s(last_ends_s(run))
    inside_s, across_s = skews(run.iteration_end_s, run.domain)
    half = run.iterations // 2
    return Summary(
        program=run.program.name,
        where=run.where,
        ranks=run.p,
        iterations=run.iterations,
        run=speed(run.origin, iteration_s, run.p),
        lockstep=speed("in lockstep", composite.iteration_s, run.p),
        limit=None if limit_s is None else speed("limit", limit_s, run.p),
        faster=gain(composite.iteration_s, iteration_s),
        most_faster=None if limit_s is None else gain(composite.iteration_s, limit_s),
        communication_ratio=composite.communication_ratio,
        communication_share=float(run.communication_s.mean(dtype=np.float64)) / iteration_s
        if iteration_s
        else 0.0,
        lockstep_communication_share=composite.communication_share,
        skew_in_domains_s=float(inside_s[half:].mean()),
        skew_s=float(across_s[half:].mean()),
        basis=run.basis(),
    )


def speed(what: str, iteration_s: float, ranks: int) -> Speed:
    """The rates that belong to a time of an iteration; infinite if it is 0."""
    per_second = 1 / iteration_s if iteration_s else np.inf
    return Speed(
        what=what,
        iteration_s=iteration_s,
        per_second=per_second,
        per_second_and_rank=per_second / ranks,
    )


def skews(
    ends_s: NDArray[np.float64], domain: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The skew of each iteration within memory domains (mean over domains) and over all ranks, in seconds.

    ``ends_s`` (iterations, p) is when each rank ends each iteration, ``domain`` (p,) the domain of each rank.
    """
    order = np.argsort(domain, kind="stable")
    starts = np.flatnonzero(np.diff(domain[order], prepend=-1))
    inside, across = np.empty(len(ends_s)), np.empty(len(ends_s))
    for first in range(0, len(ends_s), ROWS_AT_ONCE):
        rows = slice(first, first + ROWS_AT_ONCE)
        ordered = ends_s[rows][:, order]
        latest, earliest = (one.reduceat(ordered, starts, axis=1) for one in (np.maximum, np.minimum))
        inside[rows] = (latest - earliest).mean(axis=1)
        across[rows] = latest.max(axis=1) - earliest.min(axis=1)
    return inside, across


def sentences(summary: Summary) -> list[str]:
    """What the numbers mean, and which assumptions they rest on."""
    return [
        _comparison(summary),
        f"Ranks spend {100 * summary.communication_share:.1f}% of their time in communication (waiting"
        f" included), in lockstep {100 * summary.lockstep_communication_share:.1f}%.",
        f"From the first to the last rank that ends an iteration: {format_time(summary.skew_in_domains_s)}"
        f" within a memory domain, {format_time(summary.skew_s)} over all ranks (means over the second"
        " half).",
        *summary.basis,
    ]


def _comparison(summary: Summary) -> str:
    """The speed against lockstep, and that at the limit."""
    if not summary.run.iteration_s:
        return "The iterations take no time: no phase was executed that has work or messages."
    if not np.isfinite(summary.communication_ratio):
        return "The program has no work, so that there is nothing to hide communication behind."
    percent = 100 * summary.faster
    against = f"{abs(percent):.1f}% {'faster' if percent > 0 else 'slower'} than"
    if abs(percent) < LEAST_PERCENT:
        against = "as fast as"
    if summary.most_faster is None:
        return f"An iteration is {against} in lockstep."
    return (
        f"An iteration is {against} in lockstep; no execution on this platform can be more than"
        f" {100 * max(summary.most_faster, 0.0):.1f}% faster."
    )
