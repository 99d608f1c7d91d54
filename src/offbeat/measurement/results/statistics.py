"""The statistics of repeated measurements of one case: a median, or, for a replay, the mean over its calls.

The mean over the calls of an application is its cost. Each call contributes the median of its repetitions, so
that a single preemption does not distort the result. The confidence interval of the mean is computed by
bootstrap. If every call was measured several times, the repetitions of each call are resampled: only the
measurement varies. Otherwise the variation of calls and of measurements cannot be separated, and whole calls
are resampled: the interval then includes the difference between calls and is wider.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 1000
"""Number of bootstrap resamples for the interval of a mean over calls."""

_CHUNK_VALUES = 2**22


def median_interval(values: ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """The distribution-free confidence interval of the median of independent values.

    The interval runs from the k-th smallest to the k-th largest value, with the largest k that the binomial
    distribution allows for the confidence. With five values or fewer no interval reaches 95%; the
    result is then the range of the values. One value x gives (x, x), no value (NaN, NaN).
    """
    sorted_values = np.sort(np.asarray(values, dtype=np.float64))
    if len(sorted_values) == 0:
        return float("nan"), float("nan")
    if len(sorted_values) == 1:
        return float(sorted_values[0]), float(sorted_values[0])
    k = _order(len(sorted_values), confidence)
    return float(sorted_values[k - 1]), float(sorted_values[-k])


@lru_cache(maxsize=4096)
def _order(count: int, confidence: float) -> int:
    """The largest k with P(fewer than k values below the median) ≤ (1 − confidence) / 2; 1 at least."""
    from scipy.special import bdtr  # loads slowly, and single values do not need it

    probabilities = bdtr(np.arange(count + 1), count, 0.5)  # P(at most k values are below the median)
    return max(int(np.searchsorted(probabilities, (1.0 - confidence) / 2.0)), 1)


def mean_over_calls(values: ArrayLike, calls: NDArray[np.int64]) -> float:
    """The mean over calls of the median of each call's values; NaN without values."""
    medians = CallValues(values, calls).medians
    if not len(medians):
        return float("nan")
    return float(medians[0] + (medians - medians[0]).mean())  # exact if all medians are equal


def mean_interval(
    values: ArrayLike, calls: NDArray[np.int64], confidence: float = 0.95
) -> tuple[float, float]:
    """The confidence interval of the mean over calls: quantiles of its resamples, extended to the mean.

    One value x gives (x, x), no value (NaN, NaN).
    """
    if np.size(values) == 0:
        return float("nan"), float("nan")
    means = resampled_means(values, calls, RESAMPLES, np.random.default_rng(1))
    low, high = np.quantile(means, ((1 - confidence) / 2, (1 + confidence) / 2))
    mean = mean_over_calls(values, calls)
    return min(float(low), mean), max(float(high), mean)


def resampled_means(
    values: ArrayLike, calls: NDArray[np.int64], resamples: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """The mean over calls in each bootstrap resample, (resamples,); there must be values.

    If whole calls are resampled, generators with the same seed draw the same calls for cases with the same
    number of calls: algorithms are then compared call by call.
    """
    by_number = CallValues(values, calls)
    count = len(by_number.medians)
    if by_number.counts.min(initial=2) < 2:
        parts = [
            by_number.medians[generator.integers(0, count, (rows, count))].mean(axis=1)
            for rows in _chunk_rows(resamples, count)
        ]
        return np.concatenate(parts)
    deviations = np.zeros(resamples)
    for size in np.unique(by_number.counts):
        group = np.flatnonzero(by_number.counts == size)
        samples = by_number.ordered[by_number.first[group, np.newaxis] + np.arange(size)]
        # n repetitions scatter less around their own median than around the true one, by (n - 1) / n
        deviations += np.sqrt(size / (size - 1)) * _resampled_median_sums(
            samples - by_number.medians[group, np.newaxis], resamples, generator
        )
    return np.asarray(by_number.medians.mean() + deviations / count)


class CallValues:
    """The values of a replay by call.

    ``ordered`` holds the values of each call in ascending order, one call after the other; ``numbers``,
    ``first`` (the index of its smallest value in ``ordered``), ``counts`` and ``medians`` have an entry for
    each call.
    """

    def __init__(self, values: ArrayLike, calls: NDArray[np.int64]) -> None:
        array = np.asarray(values, dtype=np.float64)
        self.ordered = array[np.lexsort((array, calls))]
        self.numbers, self.counts = np.unique(calls, return_counts=True)
        self.first = np.cumsum(self.counts) - self.counts
        self.medians = np.zeros(len(self.counts))
        if len(self.counts):
            low, high = self.first + (self.counts - 1) // 2, self.first + self.counts // 2
            lower_middle = self.ordered[low]
            self.medians = lower_middle + (self.ordered[high] - lower_middle) / 2


def _resampled_median_sums(
    values: NDArray[np.float64], resamples: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """The sum over calls of the median of the resampled values (calls, n) of each call, (resamples,)."""
    count, size = values.shape
    call_numbers = np.arange(count)[:, np.newaxis]
    sums = []
    for rows in _chunk_rows(resamples, values.size):
        resamples_of_calls = np.sort(
            values[call_numbers, generator.integers(0, size, (rows, count, size))], axis=-1
        )
        sums.append(
            (resamples_of_calls[..., (size - 1) // 2] + resamples_of_calls[..., size // 2]).sum(axis=-1) / 2
        )
    return np.concatenate(sums)


def _chunk_rows(rows: int, width: int) -> list[int]:
    """The sizes of chunks of rows with ``width`` values each, so that memory stays bounded."""
    chunk_rows = max(_CHUNK_VALUES // max(width, 1), 1)
    return [min(chunk_rows, rows - done) for done in range(0, rows, chunk_rows)]


def geometric_mean(values: ArrayLike) -> float:
    """The geometric mean of positive values."""
    return float(np.exp(np.mean(np.log(values))))


def geometric_interval(values: ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """The confidence interval of the geometric mean: Student's t of logarithms.

    Both ends are the mean if there is one value or all values are equal.
    """
    from scipy import stats  # loads slowly, and few callers need it

    logs, mean = np.log(np.asarray(values, dtype=np.float64)), geometric_mean(values)
    if len(logs) < 2 or not np.ptp(logs) > 0:
        return mean, mean
    wide = float(stats.t.ppf((1 + confidence) / 2, len(logs) - 1) * stats.sem(logs))
    return mean * math.exp(-wide), mean * math.exp(wide)
