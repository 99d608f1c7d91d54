"""Typical patterns among many calls: k-means on centred delays.

The number of clusters is increased while a further one explains at least five percentage points more of the
variance, and leaves less than half of the variance that as many clusters leave of normally distributed points
with the same covariance (as splitting any set of points explains some variance).
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

LEAST_GAIN = 0.05
LEAST_AGAINST_CLOUD = 0.5
_SAMPLE, _STARTS, _ROUNDS = 2000, 4, 50
_FAR, _FEW = 10.0, 0.01
"""A call is an outlier, and ignored by k-means, if its norm exceeds the median norm by the first factor, and
outliers are at most the second share of the calls."""

Array = NDArray[np.float64]


class Cluster(Struct, kw_only=True, eq=False):
    """Similar calls: ``delays_s`` is their mean delay by rank, (p,).

    ``share`` is their share of the calls, ``skew_share`` their share of the total skew, ``explained`` the
    share of the variance of their delays that the mean explains. ``calls`` has the indices of the calls.
    """

    delays_s: Array
    share: float
    skew_share: float
    explained: float
    calls: NDArray[np.int64]


def clusters(delays_s: Array, *, most: int = 6, seed: int = 1) -> list[Cluster]:
    """The typical patterns among calls, (calls, p), the most frequent first; at least one."""
    random = np.random.default_rng(seed)
    centred = delays_s - delays_s.mean(axis=1, keepdims=True)
    typical = centred[~_far_off(centred)]
    if len(typical) > _SAMPLE:
        typical = typical[random.choice(len(typical), _SAMPLE, replace=False)]
    centres = _best_number(typical, most, random)
    of = _nearest(centred, centres)
    found = [_cluster(delays_s, centred, np.flatnonzero(of == place)) for place in np.unique(of)]
    return sorted(found, key=lambda one: -one.share)


def explained(delays_s: Array, found: list[Cluster]) -> float:
    """The share of the variance of delays within calls that all clusters together explain."""
    centred = delays_s - delays_s.mean(axis=1, keepdims=True)
    left = sum(_square(centred[one.calls] - centred[one.calls].mean(axis=0)) for one in found)
    total = _square(centred)
    return 1.0 - left / total if total > 0 else 1.0


def _far_off(centred: Array) -> NDArray[np.bool_]:
    norms = np.sqrt((centred * centred).sum(axis=1))
    far = norms > _FAR * np.median(norms)
    return far if far.sum() <= _FEW * len(norms) else np.zeros(len(norms), np.bool_)


def _best_number(points: Array, most: int, random: np.random.Generator) -> Array:
    """The centres, (k, p), for the best number of clusters."""
    best = points.mean(axis=0, keepdims=True)
    total, left = _square(points), _square(points - best)
    if total == 0 or left <= LEAST_GAIN * total:
        return best
    cloud = _cloud(points, random)
    for number in range(2, min(most, len(points)) + 1):
        centres, remaining = _k_means(points, number, random)
        _, of_cloud = _k_means(cloud, number, random)
        worth = left - remaining >= LEAST_GAIN * total
        if worth and remaining < LEAST_AGAINST_CLOUD * of_cloud:
            best, left = centres, remaining
        elif not worth:
            break
    return best


def _cloud(points: Array, random: np.random.Generator) -> Array:
    """As many normally distributed points of the same mean and covariance."""
    middle = points.mean(axis=0)
    _, scales, axes = np.linalg.svd(points - middle, full_matrices=False)
    drawn = random.standard_normal((len(points), len(scales)))
    return middle + drawn * (scales / np.sqrt(len(points))) @ axes


def _k_means(points: Array, number: int, random: np.random.Generator) -> tuple[Array, float]:
    """Centres and the remaining sum of squares: the best of several starts by k-means++."""
    best, least = points[:number], np.inf
    for _ in range(_STARTS):
        centres = _spread_out(points, number, random)
        for _ in range(_ROUNDS):
            of = _nearest(points, centres)
            moved = np.array(
                [
                    points[of == one].mean(axis=0) if (of == one).any() else centres[one]
                    for one in range(number)
                ]
            )
            if np.array_equal(moved, centres):
                break
            centres = moved
        left = _square(points - centres[_nearest(points, centres)])
        if left < least:
            best, least = centres, left
    return best, float(least)


def _spread_out(points: Array, number: int, random: np.random.Generator) -> Array:
    """Starting centres that are far from each other (k-means++)."""
    centres = [points[random.integers(len(points))]]
    for _ in range(number - 1):
        away = np.min([((points - one) ** 2).sum(axis=1) for one in centres], axis=0)
        total = away.sum()
        place = random.choice(len(points), p=away / total) if total > 0 else random.integers(len(points))
        centres.append(points[place])
    return np.array(centres)


def _nearest(points: Array, centres: Array) -> NDArray[np.int64]:
    """The nearest centre of each point, (n,)."""
    squares = (centres * centres).sum(axis=1) - 2 * points @ centres.T
    return np.argmin(squares, axis=1)


def _cluster(delays_s: Array, centred: Array, calls: NDArray[np.int64]) -> Cluster:
    own = centred[calls]
    total, skew = _square(own), delays_s.max(axis=1)
    left = _square(own - own.mean(axis=0))
    return Cluster(
        delays_s=delays_s[calls].mean(axis=0),
        share=len(calls) / len(delays_s),
        skew_share=float(skew[calls].sum() / skew.sum()) if skew.sum() > 0 else len(calls) / len(delays_s),
        explained=1.0 - left / total if total > 0 else 1.0,
        calls=calls,
    )


def _square(values: Array) -> float:
    return float((values * values).sum())
