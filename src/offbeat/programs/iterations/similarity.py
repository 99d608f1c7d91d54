"""Which ranks behave alike: correlation, principal components and clusters of their times in MPI."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace.patterns import k_means, nearest_centres

MOST_GROUPS = 256
"""Rows of the matrix of correlations at most: with more ranks, each is the mean of neighbouring ranks."""

MOST_TIMES = 2000
"""Times of each rank for principal components: with more iterations, each is the mean of neighbours."""

MOST_DISTANCES = 2**24
"""Distances in memory at the same time."""

Array = NDArray[np.float64]


def correlations(mpi_s: NDArray[np.float32]) -> tuple[Array, int]:
    """Correlation coefficients of the times in MPI, (rows, p), between groups of neighbouring ranks.

    Returns a matrix, NaN for ranks whose time never changes, and the number of ranks in a group.
    """
    each = -(-mpi_s.shape[1] // MOST_GROUPS)
    grouped = _means(mpi_s, each, axis=1)
    if len(grouped) < 2:
        return np.full((grouped.shape[1], grouped.shape[1]), np.nan), each
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.atleast_2d(np.corrcoef(grouped, rowvar=False)), each


class Components(Struct, frozen=True, kw_only=True, eq=False):
    """The first two principal components of the ranks: ``scores`` (p, 2), ``explained`` (2,) the share of the
    variance that each explains."""

    scores: Array
    explained: Array


def components(mpi_s: NDArray[np.float32]) -> Components | None:
    """Principal components of the ranks, whose features are the z-scores of their times in MPI in each
    iteration; None if there are fewer than 3 ranks, or nothing varies."""
    times = _means(mpi_s, -(-len(mpi_s) // MOST_TIMES), axis=0)
    spread = times.std(axis=1, keepdims=True)
    varies = spread[:, 0] > 0
    if mpi_s.shape[1] < 3 or np.count_nonzero(varies) < 2:
        return None
    scores = ((times - times.mean(axis=1, keepdims=True))[varies] / spread[varies]).T
    vectors, values = _largest(scores)
    return Components(scores=vectors * values, explained=values**2 / (scores**2).sum())


def _largest(scores: Array) -> tuple[Array, Array]:
    """The two largest singular values with their left vectors, whose largest entries are positive."""
    if min(scores.shape) <= 200:
        left, values, _ = np.linalg.svd(scores, full_matrices=False)
    else:
        from scipy.sparse.linalg import svds  # loads slowly

        left, values, _ = svds(scores, k=2, random_state=1)
    order = np.argsort(-values)[:2]
    left, values = left[:, order], values[order]
    signs = np.sign(left[np.abs(left).argmax(axis=0), np.arange(left.shape[1])])
    return left * np.where(signs == 0, 1, signs), values


class Clusters(Struct, frozen=True, kw_only=True, eq=False):
    """Clusters of the ranks by their principal components: ``of_rank`` (p,), numbered by their first ranks.

    ``silhouette`` is the mean over ranks, from −1 to 1 (well separated). ``agreement`` is the share of pairs
    of ranks that are in the same domain and the same cluster, or in different ones of both.
    """

    of_rank: NDArray[np.int64]
    count: int
    silhouette: float
    agreement: float


def clusters(found: Components, domain: NDArray[np.int32], *, seed: int = 1) -> Clusters | None:
    """k-means with as many clusters as domains; None if there is one domain, or one rank in each."""
    number, p = int(domain.max()) + 1, len(domain)
    if not 1 < number < p:
        return None
    centres, _ = k_means(found.scores, number, np.random.default_rng(seed))
    of = nearest_centres(found.scores, centres)
    _, first, of_rank = np.unique(of, return_index=True, return_inverse=True)
    of_rank = np.argsort(np.argsort(first))[of_rank.reshape(-1)]
    return Clusters(
        of_rank=of_rank,
        count=len(first),
        silhouette=silhouette(found.scores, of_rank),
        agreement=_agreement(of_rank, domain),
    )


def silhouette(points: Array, of: NDArray[np.int64]) -> float:
    """The mean over points (n, dimensions) of (b − a) / max(a, b): a is the mean distance to the other points
    of its cluster, b the least mean distance to those of another; 0 for a cluster of one point."""
    sizes = np.bincount(of)
    if len(sizes) < 2:
        return 0.0
    total = 0.0
    at_once = max(1, MOST_DISTANCES // len(points))
    for begin in range(0, len(points), at_once):
        chosen = slice(begin, begin + at_once)
        squares = ((points[chosen, None, :] - points[None, :, :]) ** 2).sum(axis=2)
        sums = np.sqrt(squares) @ np.eye(len(sizes))[of]
        own = of[chosen]
        rows = np.arange(len(own))
        inside = sums[rows, own] / np.maximum(sizes[own] - 1, 1)
        others = sums / sizes
        others[rows, own] = np.inf
        nearest_other = others.min(axis=1)
        larger = np.maximum(inside, nearest_other)
        values = np.divide(nearest_other - inside, larger, out=np.zeros(len(own)), where=larger > 0)
        total += float(values[sizes[own] > 1].sum())
    return total / len(points)


def _agreement(first: NDArray[np.int64], second: NDArray[np.int32]) -> float:
    """The Rand index: the share of pairs that two divisions treat alike."""
    table = np.zeros((int(first.max()) + 1, int(second.max()) + 1))
    np.add.at(table, (first, second), 1)

    def pairs(counts: Array) -> float:
        return float((counts * (counts - 1)).sum()) / 2

    total = len(first) * (len(first) - 1) / 2
    alike = total + 2 * pairs(table) - pairs(table.sum(axis=0)) - pairs(table.sum(axis=1))
    return alike / total if total else 1.0


def _means(values: NDArray[np.float32], each: int, axis: int) -> Array:
    """Means of groups of ``each`` neighbours along an axis; the last group may be smaller."""
    starts = np.arange(0, values.shape[axis], each)
    counts = np.diff(np.append(starts, values.shape[axis]))
    shape = [1, 1]
    shape[axis] = -1
    return np.asarray(np.add.reduceat(values, starts, axis=axis, dtype=np.float64) / counts.reshape(shape))
