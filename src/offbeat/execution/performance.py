"""Measured against lockstep performance, and how far ranks drift apart.

All of it comes from one trace. *In lockstep*, all ranks of an iteration would compute together, and then
communicate together without waiting for each other: the iteration takes the longest computation of any rank
plus the longest natural communication of any rank (the paper's composite performance; A. Afzal et al.,
"Making Applications Faster by Asynchronous Execution", section 3). *Balanced* takes their means over ranks
in place of the longest: no rank waits for another. *Work alone* is the mean computation.

Measured iterations that are faster than in lockstep show that ranks out of step hide computation or
communication of others behind their own. The computation that is measured out of step is already faster if
it is limited by memory: the difference of ``in_step`` and ``out_of_step`` shows it.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.execution.domains import Domains
from offbeat.execution.iteration_table import IterationTable
from offbeat.program.lockstep import gain
from offbeat.program.summary import skews

FEWEST_COMPARED = 8
"""Fewer iterations are not divided by their skew."""


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

    ``whole`` divides the mean iteration; ``in_step`` and ``out_of_step`` are the quarters of the rows that
    begin with the least and the largest skew within domains, None if there are few rows.
    """

    ranks: int
    iterations: int
    measured_s: float
    lockstep_s: float
    balanced_s: float
    work_s: float
    whole: Part
    in_step: Part | None
    out_of_step: Part | None

    @property
    def faster(self) -> float:
        """How much faster the measured iterations are than those in lockstep, as a fraction."""
        return gain(self.lockstep_s, self.measured_s)

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


def performance(table: IterationTable, parting: Skews) -> Performance:
    """The performance of a table without missing values, which has at least one row."""
    each = table.iterations.each
    times_s, computed_s, natural_s = table.times_s(), table.computed_s(), table.natural_s()
    waiting_s = table.waiting_s()
    # By row: the means over ranks, so that parts of the rows need no further tables.
    by_row = {
        "iteration_s": times_s.mean(axis=1) / each,
        "computed_s": computed_s.mean(axis=1) / each,
        "natural_s": natural_s.mean(axis=1, dtype=np.float64) / each,
        "waiting_s": waiting_s.mean(axis=1, dtype=np.float64) / each,
        "skew_in_domains_s": parting.inside_s,
        "skew_s": parting.across_s,
    }

    def part(rows: NDArray[np.int64]) -> Part:
        means = {name: float(values[rows].mean()) for name, values in by_row.items()}
        return Part(iterations=len(rows) * each, **means)

    whole = part(np.arange(table.rows))
    in_step, out_of_step = _quarters(parting.inside_s)
    return Performance(
        ranks=table.p,
        iterations=table.rows * each,
        measured_s=whole.iteration_s,
        lockstep_s=float((computed_s.max(axis=1) + natural_s.max(axis=1)).mean()) / each,
        balanced_s=whole.computed_s + whole.natural_s,
        work_s=whole.computed_s,
        whole=whole,
        in_step=part(in_step) if len(in_step) else None,
        out_of_step=part(out_of_step) if len(out_of_step) else None,
    )


def _quarters(inside_s: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows that begin with the least and the largest skew; the first row begins with an unknown one."""
    none = np.empty(0, np.int64)
    if len(inside_s) < FEWEST_COMPARED or not np.ptp(inside_s):
        return none, none
    order = np.argsort(inside_s[:-1], kind="stable") + 1
    quarter = len(order) // 4
    return order[:quarter], order[-quarter:]
