"""Times by size as a few straight pieces, as few as the measurements need.

Each piece is time = start + bytes × slope, fitted by non-negative least squares of the relative errors. Where
pieces begin is found by dynamic programming over all partitions (Bellman, On the Approximation of Curves by
Line Segments Using Dynamic Programming, 1961); pieces need not meet. A further piece must lower the squared
errors by more than its price, that of the Bayesian information criterion for its three numbers.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.optimize import nnls

Array = NDArray[np.float64]

LEAST_POINTS = 3
"""Sizes of a piece at least."""

LEAST_LAST_POINTS = 4
"""Sizes of the last piece at least: its slope is the bandwidth of everything larger."""

FASTEST = 10.0
"""A piece is at most so many times as fast as the fastest message: it must have a bandwidth."""


class Piece(Struct, frozen=True, kw_only=True):
    """From ``from_bytes`` on, a message takes ``start_s`` and ``per_byte_s`` for each byte.

    ``after_bytes`` is the largest measured size that does not belong to it: it begins somewhere between.
    """

    from_bytes: int
    after_bytes: int
    start_s: float
    per_byte_s: float


def fit_pieces(sizes: Array, times_s: Array, *, floor_s: float = 0.0, error: float = 0.02) -> list[Piece]:
    """The pieces through times (n,) at ascending sizes (n,).

    No piece starts below ``floor_s``. ``error`` is the relative error that is allowed to measurements and
    model. The first piece begins at 0.
    """
    costs, lines = _all_lines(sizes, times_s, floor_s)
    price = 3 * np.log(max(len(sizes), 2)) * error**2
    ends = _best_partition(costs + price)
    starts = [0, *ends[:-1]]
    return [
        Piece(
            from_bytes=int(sizes[start]) if start else 0,
            after_bytes=int(sizes[start - 1]) if start else 0,
            start_s=lines[start][end][0],
            per_byte_s=lines[start][end][1],
        )
        for start, end in zip(starts, ends, strict=True)
    ]


def _all_lines(
    sizes: Array, times_s: Array, floor_s: float
) -> tuple[Array, list[dict[int, tuple[float, float]]]]:
    """For every run of sizes [start, end) its squared relative errors (n, n + 1) and its line."""
    count = len(sizes)
    costs = np.full((count, count + 1), np.inf)
    lines: list[dict[int, tuple[float, float]]] = [{} for _ in range(count)]
    flattest = 1 / (FASTEST * float((sizes / times_s).max()))
    for start in range(count):
        least = min(start + LEAST_POINTS, count)
        ends = [*range(least, count), *([count] if start == 0 or start + LEAST_LAST_POINTS <= count else [])]
        for end in ends:
            run = slice(start, end)
            line, cost = _line(sizes[run], times_s[run], floor_s, flattest)
            costs[start, end], lines[start][end] = cost, line
    return costs, lines


def _line(sizes: Array, times_s: Array, floor_s: float, flattest: float) -> tuple[tuple[float, float], float]:
    """Start and slope of one piece, neither below its least value, and the squared relative errors."""
    weights = 1 / times_s
    rest = 1 - (floor_s + flattest * sizes) * weights
    scale = float(sizes.max()) or 1.0  # keeps the two columns comparable
    found, residual = nnls(np.column_stack([weights, sizes / scale * weights]) * times_s.mean(), rest)
    found = found * times_s.mean()
    return (floor_s + float(found[0]), flattest + float(found[1]) / scale), float(residual) ** 2


def _best_partition(costs: Array) -> list[int]:
    """The ends of the runs whose costs are least together."""
    count = costs.shape[0]
    best = np.full(count + 1, np.inf)
    best[0] = 0.0
    begins = np.zeros(count + 1, dtype=int)
    for end in range(1, count + 1):
        totals = best[:end] + costs[:end, end]
        begins[end] = int(totals.argmin())
        best[end] = totals[begins[end]]
    ends = [count]
    while begins[ends[0]]:
        ends.insert(0, int(begins[ends[0]]))
    return ends
