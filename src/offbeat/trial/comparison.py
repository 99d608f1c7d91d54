"""Which choice was the fastest, and how likely it is that chance made it so.

Run times are compared within rounds: a machine that is slow for a while is slow for all choices of a round.
Logarithms are taken, so that what is compared are ratios; their means over rounds are compared by a paired
t-test, which gives the interval of the ratio as well. With k choices beside the fastest, the probability is
multiplied by k (Bonferroni): the fastest of several was picked with hindsight.

The run time of a choice is everywhere the geometric mean over rounds: ratios of these are the means of the
ratios within rounds, so that no two tables say different things.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy import stats

CERTAIN = 0.05
"""A difference counts as one if chance gives it less often."""


def mean_s(times_s: Sequence[float]) -> float:
    """The geometric mean of some run times."""
    return float(np.exp(np.mean(np.log(times_s))))


def mean_interval(times_s: Sequence[float]) -> tuple[float, float]:
    """The 95% interval of the geometric mean of run times; of one alone, the run time itself."""
    logs = np.log(np.asarray(times_s, dtype=np.float64))
    if len(logs) < 2 or not np.ptp(logs) > 0:
        return mean_s(times_s), mean_s(times_s)
    wide = float(stats.t.ppf(0.975, len(logs) - 1) * stats.sem(logs))
    return mean_s(times_s) * math.exp(-wide), mean_s(times_s) * math.exp(wide)


class Comparison(Struct, frozen=True, kw_only=True):
    """The fastest against another choice.

    ``ratio`` is other / fastest, between ``low`` and ``high`` with 95% confidence; ``chance`` the probability
    of a difference as large, either way, if both were equally fast. NaN where one round says nothing of it.
    ``won`` counts the rounds in which the fastest was faster.
    """

    other: str
    ratio: float
    low: float
    high: float
    chance: float
    won: int

    @property
    def is_certain(self) -> bool:
        """Whether chance hardly explains it."""
        return self.chance <= CERTAIN


class Verdict(Struct, frozen=True, kw_only=True):
    """The fastest choice by its mean run time, against each of the others, the nearest first."""

    fastest: str
    rounds: int
    comparisons: list[Comparison]

    @property
    def is_certain(self) -> bool:
        """Whether it is faster than every other, and chance hardly explains that."""
        return all(one.is_certain for one in self.comparisons)


def compare(times_s: Mapping[str, Sequence[float]]) -> Verdict | None:
    """The verdict on run times, one a round for each choice; None without two choices and a round."""
    if len(times_s) < 2 or not all(len(times) for times in times_s.values()):
        return None
    logs = {name: np.log(np.asarray(times, dtype=np.float64)) for name, times in times_s.items()}
    fastest = min(logs, key=lambda name: (float(logs[name].mean()), name))
    others = [name for name in logs if name != fastest]
    found = [_compared(name, logs[name] - logs[fastest], len(others)) for name in others]
    found.sort(key=lambda one: (one.ratio, one.other))
    return Verdict(fastest=fastest, rounds=len(logs[fastest]), comparisons=found)


def _compared(other: str, differences: NDArray[np.float64], comparisons: int) -> Comparison:
    mean, won = float(differences.mean()), int(np.count_nonzero(differences > 0))
    low = high = chance = math.nan
    if len(differences) > 1 and not np.ptp(differences) > 0:
        low = high = mean
        chance = 0.0 if mean > 0 else 1.0
    elif len(differences) > 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # nearly equal differences: the test says so
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
