"""Curves over many iterations or ranks: how fast they are, and how far ranks drift apart."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from offbeat.presentation.drawing.axes import legend_beside, time_axis, whole_numbers
from offbeat.presentation.drawing.palette import BLUE, GREEN, GREY, PALE_BLUE, VERMILION

COLUMNS = 400
"""Points of a curve at most: each is a group of neighbouring iterations or ranks."""


def draw_performance(
    axes: Axes,
    times_s: NDArray[np.float64],
    lockstep_s: float,
    least_s: float,
    p: int,
    *,
    label: str = "simulated",
    first: int = 0,
    least: str = "limit",
) -> None:
    """Rates of the rows of ``times_s`` (in groups), which are numbered from ``first``; horizontal lines for
    lockstep and for a shorter time, whose label is ``least``.

    The mean of rates would exceed the rate at which iterations are done; so times are averaged. Iterations
    that take no time are left out, and so are lines for a time of 0.
    """
    groups = np.array_split(np.arange(len(times_s)), min(COLUMNS, len(times_s)))
    place = [first + group.mean() for group in groups]
    mean = _rates(np.array([times_s[group].mean() for group in groups]), p)
    quartiles = np.array([np.quantile(times_s[group], (0.25, 0.75)) for group in groups])
    slow, fast = _rates(quartiles[:, 1], p), _rates(quartiles[:, 0], p)
    axes.fill_between(place, slow, fast, color=PALE_BLUE, linewidth=0)
    axes.plot(place, mean, "o" if len(place) == 1 else "-", color=BLUE, linewidth=1.2, label=label)
    draw_bounds(axes, lockstep_s * p, least_s * p, least)
    axes.set_ylabel("iterations/s\nper rank", fontsize=8)
    axes.margins(x=0)
    whole_numbers(axes.xaxis, 7)


def draw_bounds(axes: Axes, lockstep_s: float, least_s: float, least: str = "limit") -> None:
    """Horizontal lines at the rates of lockstep and of a shorter time, labelled ``least``; none for 0."""
    if lockstep_s:
        axes.axhline(1 / lockstep_s, color=VERMILION, linestyle="--", linewidth=1, label="in lockstep")
    if least_s:
        axes.axhline(1 / least_s, color=GREEN, linestyle=":", linewidth=1.4, label=least)


def _rates(times_s: NDArray[np.float64], p: int) -> NDArray[np.float64]:
    """Iterations per second and rank; NaN for times of 0."""
    return 1 / np.where(times_s > 0, times_s, np.nan) / p


def draw_skew(axes: Axes, inside_s: NDArray[np.float64], across_s: NDArray[np.float64]) -> None:
    """The skew of each iteration within memory domains and over all ranks."""
    place = grouped(np.arange(1, len(inside_s) + 1, dtype=float))
    axes.plot(place, grouped(across_s), color=GREY, linewidth=1.2, label="over all ranks")
    axes.plot(place, grouped(inside_s), color=BLUE, linewidth=1.2, label="within a\nmemory domain")
    axes.set_xlabel("iteration", fontsize=8)
    axes.set_ylabel("first to last rank", fontsize=8)
    axes.set_ylim(0, None)
    axes.margins(x=0)
    whole_numbers(axes.xaxis, 7)
    time_axis(axes, "y")
    legend_beside(axes)


def grouped(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means of groups of neighbouring values, at most COLUMNS of them."""
    each = -(-len(values) // COLUMNS)
    starts = np.arange(0, len(values), each)
    counts = np.diff(np.append(starts, len(values)))
    means: NDArray[np.float64] = np.add.reduceat(values, starts) / counts
    return means
