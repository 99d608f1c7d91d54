"""The statistics of repeated measurements of one case."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike


def median_interval(values: ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """The confidence interval of the median of independent values: two of the values, whatever their
    distribution.

    The interval runs from the k-th smallest to the k-th largest value, with the largest k for which the
    binomial distribution promises the confidence. With five values or fewer no interval reaches 95%; the
    answer is then the range of the values. One value x gives (x, x), no value (NaN, NaN).
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if len(ordered) == 0:
        return float("nan"), float("nan")
    if len(ordered) == 1:
        return float(ordered[0]), float(ordered[0])
    k = _order(len(ordered), confidence)
    return float(ordered[k - 1]), float(ordered[-k])


@lru_cache(maxsize=4096)
def _order(count: int, confidence: float) -> int:
    """The largest k with P(fewer than k values below the median) ≤ (1 − confidence) / 2; 1 at least."""
    from scipy.special import bdtr  # takes long to load, and single values do without

    below = bdtr(np.arange(count + 1), count, 0.5)  # P(at most so many of the values are below the median)
    return max(int(np.searchsorted(below, (1.0 - confidence) / 2.0)), 1)
