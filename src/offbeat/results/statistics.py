"""The statistics of repeated measurements of one case: a median, or, of a replay, the mean over its calls.

A replay's calls are what an application really did, so the mean over them is what it pays; of each call, the
median of its repetitions counts, as of any other case, so that a process that loses its core for once does
not pass for the algorithm. How uncertain the mean is, is found by resampling. Where every call was measured
several times, each call's repetitions are drawn anew: the calls are given, and what varies is the
measurement. With calls that were measured once, nothing tells the two apart, and whole calls are drawn: the
interval then holds the difference between calls as well, and is the wider one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 1000
"""So many resamples are behind the interval of a mean over calls."""

_VALUES_AT_ONCE = 2**22


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


def mean_over_calls(values: ArrayLike, calls: NDArray[np.int64]) -> float:
    """The mean over calls of the median of each call's values; NaN without values."""
    medians = _Calls(values, calls).medians
    if not len(medians):
        return float("nan")
    return float(medians[0] + (medians - medians[0]).mean())  # of equal medians exactly this one


class MeasuredCalls(NamedTuple):
    """The calls of a replay, (calls,) each: their numbers, the median and the least of each one's values, and
    how many there are."""

    numbers: NDArray[np.int64]
    medians: NDArray[np.float64]
    least: NDArray[np.float64]
    counts: NDArray[np.int64]


def by_call(values: ArrayLike, calls: NDArray[np.int64]) -> MeasuredCalls:
    """The values of a replay's calls, in the order of their numbers."""
    found = _Calls(values, calls)
    return MeasuredCalls(np.unique(calls), found.medians, found.ordered[found.first], found.counts)


def mean_interval(
    values: ArrayLike, calls: NDArray[np.int64], confidence: float = 0.95
) -> tuple[float, float]:
    """The confidence interval of the mean over calls: quantiles of its resamples, and never without the mean.

    One value x gives (x, x), no value (NaN, NaN).
    """
    if np.size(values) == 0:
        return float("nan"), float("nan")
    drawn = resampled_means(values, calls, RESAMPLES, np.random.default_rng(1))
    low, high = np.quantile(drawn, ((1 - confidence) / 2, (1 + confidence) / 2))
    mean = mean_over_calls(values, calls)
    return min(float(low), mean), max(float(high), mean)


def resampled_means(
    values: ArrayLike, calls: NDArray[np.int64], resamples: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """The mean over calls in so many resamples of one value or more, (resamples,).

    Where calls are drawn, generators of the same seed draw the same calls for every case that has as many: so
    algorithms are compared call by call.
    """
    found = _Calls(values, calls)
    count = len(found.medians)
    if not every_call_is_repeated(calls):
        parts = [
            found.medians[generator.integers(0, count, (rows, count))].mean(axis=1)
            for rows in _rows_at_once(resamples, count)
        ]
        return np.concatenate(parts)
    off = np.zeros(resamples)
    for size in np.unique(found.counts):
        of = np.flatnonzero(found.counts == size)
        own = found.ordered[found.first[of, np.newaxis] + np.arange(size)]
        # few repetitions scatter less around their own middle than around the true one, by (n - 1) / n
        off += np.sqrt(size / (size - 1)) * _sums_of_drawn_medians(
            own - found.medians[of, np.newaxis], resamples, generator
        )
    return np.asarray(found.medians.mean() + off / count)


def every_call_is_repeated(calls: NDArray[np.int64]) -> bool:
    """Whether every call has two values at least: then repetitions are drawn, else whole calls."""
    return int(np.unique(calls, return_counts=True)[1].min(initial=2)) >= 2


class _Calls:
    """Values by call: ``ordered`` has them one call after the other, each in rising order; ``first``,
    ``counts`` and ``medians`` have an entry a call."""

    def __init__(self, values: ArrayLike, calls: NDArray[np.int64]) -> None:
        given = np.asarray(values, dtype=np.float64)
        self.ordered = given[np.lexsort((given, calls))]
        _, self.counts = np.unique(calls, return_counts=True)
        self.first = np.cumsum(self.counts) - self.counts
        self.medians = np.zeros(len(self.counts))
        if len(self.counts):
            low, high = self.first + (self.counts - 1) // 2, self.first + self.counts // 2
            below = self.ordered[low]
            self.medians = below + (self.ordered[high] - below) / 2


def _sums_of_drawn_medians(
    own: NDArray[np.float64], resamples: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """The sum over calls of the median of each one's values drawn anew, (resamples,); they are (calls, n)."""
    count, size = own.shape
    each = np.arange(count)[:, np.newaxis]
    sums = []
    for rows in _rows_at_once(resamples, own.size):
        drawn = np.sort(own[each, generator.integers(0, size, (rows, count, size))], axis=-1)
        sums.append((drawn[..., (size - 1) // 2] + drawn[..., size // 2]).sum(axis=-1) / 2)
    return np.concatenate(sums)


def _rows_at_once(rows: int, width: int) -> list[int]:
    """How many rows of so many values are drawn at once, so that memory stays bounded."""
    most = max(_VALUES_AT_ONCE // max(width, 1), 1)
    return [min(most, rows - done) for done in range(0, rows, most)]
