"""Piecewise linear fit of times by size, with as few pieces as the measurements justify.

Each piece is time = start + bytes × slope, fitted by non-negative least squares of the relative errors. The
boundaries of pieces result from dynamic programming over all partitions (Bellman, On the Approximation of
Curves by Line Segments Using Dynamic Programming, 1961); the fit may be discontinuous. Each piece must reduce
the squared errors by more than the penalty of the Bayesian information criterion for its three parameters.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.optimize import nnls

Array = NDArray[np.float64]

LEAST_POINTS = 3
"""The least number of sizes in a piece."""

LEAST_LAST_POINTS = 4
"""The least number of sizes in the last piece: its slope is the bandwidth of all larger messages."""

FASTEST = 10.0
"""The largest bandwidth of a piece relative to the fastest message, so that it is finite."""


class Piece(Struct, frozen=True, kw_only=True):
    """From ``from_bytes`` on, a message takes ``start_s`` and ``per_byte_s`` for each byte.

    ``after_bytes`` is the largest measured size before the piece: the true boundary lies between both.
    """

    from_bytes: int
    after_bytes: int
    start_s: float
    per_byte_s: float


def fit_pieces(sizes: Array, times_s: Array, *, floor_s: float = 0.0, error: float = 0.02) -> list[Piece]:
    """The pieces through times (n,) at ascending sizes (n,).

    No piece has a start below ``floor_s``. ``error`` is the accepted relative error of measurements and
    model. The first piece begins at 0.
    """
    costs, lines = _all_lines(sizes, times_s, floor_s)
    penalty = 3 * np.log(max(len(sizes), 2)) * error**2
    ends = _best_partition(costs + penalty)
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
    """Start and slope of one piece, each above its lower limit, and the squared relative errors."""
    weights = 1 / times_s
    rest = 1 - (floor_s + flattest * sizes) * weights
    scale = float(sizes.max()) or 1.0  # keeps the two columns comparable
    solution, residual = nnls(np.column_stack([weights, sizes / scale * weights]) * times_s.mean(), rest)
    solution = solution * times_s.mean()
    return (floor_s + float(solution[0]), flattest + float(solution[1]) / scale), float(residual) ** 2


def _best_partition(costs: Array) -> list[int]:
    """The ends of the runs with the smallest total cost."""
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
