"""What running out of step changes, with intervals: the computation, and the speed against lockstep.

Consecutive iterations depend on each other, so that the intervals are those of a block bootstrap: contiguous
blocks of rows are drawn with replacement (H. Künsch, "The Jackknife and the Bootstrap for General Stationary
Observations", 1989), of about the square root of the number of rows each.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.programs.iterations.idle_waves import excess_s
from offbeat.programs.iterations.iteration_table import IterationTable

FEWEST_COMPARED = 16
"""Fewer rows are not divided by their skew: a quarter of them would be single iterations."""

FASTEST = 0.1
"""Exponential delays of all ranks prolong this quantile by 0.1 of their mean, and the median by 0.7 of it."""

RESAMPLES = 1000

CONFIDENCE = 0.95


class Estimate(Struct, frozen=True, kw_only=True):
    """A relative difference, such as 0.1 for 10% faster, and its 95% interval."""

    mean: float
    low: float
    high: float


def estimate(values: NDArray[np.float64], ratio: Callable[[NDArray[np.float64]], float]) -> Estimate:
    """A ratio of ``values`` (rows, columns) less 1, with its interval; NaN where a resample has none."""
    rows = len(values)
    length = max(1, round(rows**0.5))
    generator = np.random.default_rng(1)
    starts = generator.integers(max(rows - length, 0) + 1, size=(RESAMPLES, -(-rows // length)))
    drawn = [ratio(values[(row[:, None] + np.arange(length)).ravel()[:rows]]) for row in starts]
    mean = ratio(values)
    edges = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
    low, high = np.nanquantile(drawn, edges) if np.isfinite(drawn).any() else (mean, mean)
    return Estimate(mean=mean - 1, low=min(float(low), mean) - 1, high=max(float(high), mean) - 1)


def computation_out_of_step(table: IterationTable, skew_s: NDArray[np.float64]) -> Estimate | None:
    """How much faster ranks compute in the iterations that begin most out of step than in those in step.

    ``skew_s`` (rows,) is the skew at the end of each row. Delays are not computation: they would make the
    iterations slower in which they happen, which begin in step if delays separate the ranks, and out of step
    if the ranks do not get together before the next one. Therefore long computations are left out. Shorter
    delays of all ranks still change the median over ranks, but hardly the tenth of the ranks that are the
    fastest; more bandwidth changes both. So a row is compared by both, and the smaller effect counts. None
    for few rows, without skew, and without computation.
    """
    computed_s = table.computed_s()
    usual_s = np.median(computed_s, axis=0)
    if table.rows < FEWEST_COMPARED or not np.ptp(skew_s) > 0 or not (usual_s > 0).all():
        return None
    is_delay = excess_s(computed_s, float(np.median(table.times_s()))) > 0
    relative = np.where(is_delay, np.nan, computed_s / usual_s)[1:]
    begin_skew_s = skew_s[:-1]
    is_known = np.isfinite(relative).any(axis=1)
    in_step_s, out_of_step_s = np.quantile(begin_skew_s[is_known], (0.25, 0.75))
    if not in_step_s < out_of_step_s:
        return None

    def ratio(drawn: NDArray[np.float64]) -> float:
        within, out = drawn[drawn[:, 1] <= in_step_s, 0], drawn[drawn[:, 1] >= out_of_step_s, 0]
        return float(within.mean() / out.mean()) if len(within) and len(out) else float("nan")

    fastest, middle = (
        estimate(np.stack([value, begin_skew_s[is_known]], axis=1), ratio)
        for value in np.nanquantile(relative[is_known], (FASTEST, 0.5), axis=1)
    )
    smaller = min(fastest, middle, key=lambda one: abs(one.mean))
    if fastest.mean * middle.mean >= 0:
        return smaller
    return Estimate(mean=smaller.mean, low=min(fastest.low, middle.low), high=max(fastest.high, middle.high))


def against_lockstep(table: IterationTable, lockstep_s: NDArray[np.float64]) -> Estimate:
    """How much faster the iterations are than in lockstep, whose time is (rows,) in seconds."""
    ends_s = table.ends_s().max(axis=1)
    begin_s = float(table.begins_s()[0].max())
    measured_s = np.diff(ends_s, prepend=begin_s)

    def ratio(drawn: NDArray[np.float64]) -> float:
        return float(drawn[:, 0].sum() / drawn[:, 1].sum()) if drawn[:, 1].sum() > 0 else float("nan")

    return estimate(np.stack([lockstep_s, measured_s], axis=1), ratio)
