"""Measured against lockstep performance, and how far ranks drift apart.

All of it comes from one trace, so that lockstep (:mod:`offbeat.programs.simulation.lockstep`) can only be
estimated. If all ranks waited for each other at each communication, an iteration would take the longest work
of any rank between communications, and the longest natural communication of any rank (the paper's composite
performance; A. Afzal et al., "Making Applications Faster by Asynchronous Execution", section 3). *Balanced*
takes means over ranks in place of the longest: no rank waits for another. *Work alone* is the mean
computation.

Work and communication that are measured out of step are shorter than in lockstep if they share a bandwidth:
the true lockstep is then slower than the estimate, and the gain larger.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.programs.iterations.iteration_table import IterationTable
from offbeat.programs.iterations.memory_domains import Domains
from offbeat.programs.iterations.phases import TracedPhases
from offbeat.programs.iterations.step_effect import Estimate, against_lockstep, computation_out_of_step
from offbeat.programs.simulation.lockstep import gain
from offbeat.programs.simulation.summary import skews


class Part(Struct, frozen=True, kw_only=True):
    """Means over ranks and iterations of some iterations; times in seconds."""

    iterations: int
    iteration_s: float
    computed_s: float
    natural_s: float
    waiting_s: float
    skew_in_domains_s: float
    skew_s: float


class Performance(Struct, frozen=True, kw_only=True):
    """The performance of a table without missing values; means over its iterations, times in seconds.

    ``whole`` divides the mean iteration. ``faster`` is how much faster the measured iterations are than in
    lockstep; ``computation_faster`` how much faster ranks compute out of step than in step, None if the rows
    do not tell.
    """

    ranks: int
    iterations: int
    measured_s: float
    lockstep_s: float
    balanced_s: float
    work_s: float
    whole: Part
    faster: Estimate
    computation_faster: Estimate | None

    @property
    def headroom(self) -> float:
        """How much faster an iteration would be if all communication and waiting were hidden."""
        return gain(self.measured_s, self.work_s)

    @property
    def communication_ratio(self) -> float:
        """Natural communication divided by computation: the communication-to-execution ratio (CER)."""
        return self.whole.natural_s / self.work_s if self.work_s else np.inf

    def per_second_and_rank(self, iteration_s: float) -> float:
        """Iterations per second, divided by the number of ranks."""
        return 1 / iteration_s / self.ranks if iteration_s else np.inf


class Skews(Struct, frozen=True, kw_only=True, eq=False):
    """The skew of the ends of each row, within domains and over all ranks, (rows,) in seconds."""

    inside_s: NDArray[np.float64]
    across_s: NDArray[np.float64]


def skews_of(table: IterationTable, domains: Domains) -> Skews:
    """The skews of a table without missing values."""
    inside_s, across_s = skews(table.ends_s(), domains.of_rank)
    return Skews(inside_s=inside_s, across_s=across_s)


def performance(
    table: IterationTable, parting: Skews, uneven_s: NDArray[np.float64] | None = None
) -> Performance:
    """The performance of a table without missing values, which has at least one row.

    ``uneven_s`` is by how much the longest work between communications, added up, exceeds the longest work of
    any rank in an iteration: for some iterations, of which the mean counts.
    """
    each = table.iterations.each
    times_s, computed_s, natural_s = table.times_s(), table.computed_s(), table.natural_s()
    more_s = 0.0 if uneven_s is None or not len(uneven_s) else float(uneven_s.mean())
    lockstep_s = computed_s.max(axis=1) + natural_s.max(axis=1) + more_s * each
    whole = Part(
        iterations=table.rows * each,
        iteration_s=float(times_s.mean()) / each,
        computed_s=float(computed_s.mean()) / each,
        natural_s=float(natural_s.mean(dtype=np.float64)) / each,
        waiting_s=float(table.waiting_s().mean(dtype=np.float64)) / each,
        skew_in_domains_s=float(parting.inside_s.mean()),
        skew_s=float(parting.across_s.mean()),
    )
    measured_s = float(table.ends_s()[-1].max() - table.begins_s()[0].max()) / table.rows / each
    return Performance(
        ranks=table.p,
        iterations=table.rows * each,
        measured_s=measured_s,
        lockstep_s=float(lockstep_s.mean()) / each,
        balanced_s=whole.computed_s + whole.natural_s,
        work_s=whole.computed_s,
        whole=whole,
        faster=against_lockstep(table, lockstep_s),
        computation_faster=computation_out_of_step(table, parting.inside_s),
    )


def uneven_work_s(phases: TracedPhases) -> NDArray[np.float64]:
    """For ``uneven_s`` of :func:`performance`: (iterations,), those in which all ranks are regular."""
    work_s = phases.work_s[:, phases.is_regular.all(axis=1)]
    return np.asarray(work_s.max(axis=2).sum(axis=0) - work_s.sum(axis=0).max(axis=1))
