"""The difference between two independent measurements of the same quantity, and its significance.

Differences are those of logarithms, that is, ratios. With many of them, some are large by chance: p-values
are adjusted so that of those called significant, at most 5% are expected to be chance (Benjamini and
Hochberg, "Controlling the False Discovery Rate", J. R. Statist. Soc. B 57, 1995).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct, structs

SIGNIFICANCE_LEVEL = 0.05
"""The largest adjusted p-value of a significant difference."""


class Measured(Struct, frozen=True, kw_only=True):
    """A time in seconds, the standard error of its logarithm, and the degrees of freedom of that error.

    The error is 0 for an exact time, and NaN where it is unknown.
    """

    time_s: float
    error: float
    freedom: float


class Difference(Struct, frozen=True, kw_only=True):
    """The difference of a time between two measurements.

    ``ratio`` is after / before, ``low`` and ``high`` its 95% interval; ``chance`` is the adjusted p-value,
    NaN where the errors are unknown.
    """

    before_s: float
    after_s: float
    ratio: float
    low: float
    high: float
    chance: float

    @property
    def is_significant(self) -> bool:
        """Whether the difference is not chance."""
        return self.chance <= SIGNIFICANCE_LEVEL


def measured_times(times_s: Sequence[float]) -> Measured:
    """The geometric mean of independent times."""
    logs = np.log(np.asarray(times_s, dtype=np.float64))
    count = len(logs)
    error = float(logs.std(ddof=1)) / math.sqrt(count) if count > 1 else math.nan
    return Measured(time_s=float(np.exp(logs.mean())), error=error, freedom=max(count - 1, 1))


def differences(pairs: Sequence[tuple[Measured, Measured]]) -> list[Difference]:
    """The difference of each pair (before, after), by Welch's t-test, with adjusted p-values."""
    from scipy import stats  # loads slowly

    single = [_difference(before, after) for before, after in pairs]
    known = [place for place, one in enumerate(single) if not math.isnan(one.chance)]
    if not known:
        return single
    adjusted = stats.false_discovery_control([single[place].chance for place in known])
    chances = dict(zip(known, adjusted.tolist(), strict=True))
    return [structs.replace(one, chance=chances.get(place, math.nan)) for place, one in enumerate(single)]


def _difference(before: Measured, after: Measured) -> Difference:
    from scipy import stats

    log_ratio = math.log(after.time_s / before.time_s)
    error = math.hypot(before.error, after.error)
    if math.isnan(error):
        low, high, chance = math.nan, math.nan, math.nan
    elif error == 0:
        low = high = log_ratio
        chance = 1.0 if abs(log_ratio) < 1e-9 else 0.0
    else:
        freedom = error**4 / (before.error**4 / before.freedom + after.error**4 / after.freedom)
        wide = float(stats.t.ppf(0.975, freedom)) * error
        low, high = log_ratio - wide, log_ratio + wide
        chance = float(2 * stats.t.sf(abs(log_ratio) / error, freedom))
    return Difference(
        before_s=before.time_s,
        after_s=after.time_s,
        ratio=math.exp(log_ratio),
        low=math.exp(low),
        high=math.exp(high),
        chance=chance,
    )
