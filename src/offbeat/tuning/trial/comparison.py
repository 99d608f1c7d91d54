"""Compares the run times of choices: which is the fastest, and is the difference significant?

Run times are compared within rounds, because slow phases of a machine affect all choices of a round. A paired
t-test of their logarithms gives the p-value and the confidence interval of the ratio. With k choices beside
the fastest, the p-value is multiplied by k (Bonferroni).

The run time of a choice is the geometric mean over rounds in all tables, so that ratios of run times equal
the mean ratios within rounds.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy import stats

SIGNIFICANCE_LEVEL = 0.05
"""A difference is significant if its p-value is not above this level."""


def difference_interval(times_s: Sequence[float], reference_s: Sequence[float]) -> tuple[float, float, float]:
    """The mean difference of run times of the same rounds in s, with its 95% interval; NaN for one round."""
    differences = np.asarray(times_s, dtype=np.float64) - np.asarray(reference_s, dtype=np.float64)
    mean = float(differences.mean())
    if len(differences) < 2:
        return mean, math.nan, math.nan
    wide = float(stats.t.ppf(0.975, len(differences) - 1) * stats.sem(differences))
    return mean, mean - wide, mean + wide


class Comparison(Struct, frozen=True, kw_only=True):
    """The fastest against another choice.

    ``ratio`` is other / fastest, ``low`` and ``high`` its 95% confidence interval; ``chance`` is the
    two-sided p-value; NaN for a single round. ``won`` counts the rounds in which the fastest was faster.
    """

    other: str
    ratio: float
    low: float
    high: float
    chance: float
    won: int

    @property
    def is_certain(self) -> bool:
        """Whether the difference is significant."""
        return self.chance <= SIGNIFICANCE_LEVEL


class Verdict(Struct, frozen=True, kw_only=True):
    """The fastest choice by its mean run time, compared with each of the others, the nearest first."""

    fastest: str
    rounds: int
    comparisons: list[Comparison]

    @property
    def is_certain(self) -> bool:
        """Whether it is significantly faster than every other choice."""
        return all(one.is_certain for one in self.comparisons)


def compare(times_s: Mapping[str, Sequence[float]]) -> Verdict | None:
    """Compare run times, one per round and choice; None without two choices and a round."""
    if len(times_s) < 2 or not all(len(times) for times in times_s.values()):
        return None
    logs = {name: np.log(np.asarray(times, dtype=np.float64)) for name, times in times_s.items()}
    fastest = min(logs, key=lambda name: (float(logs[name].mean()), name))
    others = [name for name in logs if name != fastest]
    comparisons = [_compared(name, logs[name] - logs[fastest], len(others)) for name in others]
    comparisons.sort(key=lambda one: (one.ratio, one.other))
    return Verdict(fastest=fastest, rounds=len(logs[fastest]), comparisons=comparisons)


def _compared(other: str, differences: NDArray[np.float64], comparisons: int) -> Comparison:
    mean, won = float(differences.mean()), int(np.count_nonzero(differences > 0))
    low = high = chance = math.nan
    if len(differences) > 1 and not np.ptp(differences) > 0:
        low = high = mean
        chance = 0.0 if mean > 0 else 1.0
    elif len(differences) > 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # loss of precision for nearly equal differences
            test = stats.ttest_1samp(differences, 0.0)
            interval = test.confidence_interval(0.95)
        low, high = float(interval.low), float(interval.high)
        chance = min(1.0, comparisons * float(test.pvalue))
    return Comparison(
        other=other,
        ratio=math.exp(mean),
        low=math.exp(low),
        high=math.exp(high),
        chance=chance,
        won=won,
    )
