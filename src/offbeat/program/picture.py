"""The iterations of a program as a picture: the performance by iteration and by rank, and the skew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from offbeat.drawing.axes import framed_axes, legend_beside, time_axis, titled_figure
from offbeat.drawing.palette import BLUE, GREEN, GREY, PALE_BLUE, VERMILION
from offbeat.drawing.pictures import write_picture
from offbeat.program.iterations import Iterations, Lockstep
from offbeat.program.summary import skews
from offbeat.units import counted

COLUMNS = 400
"""Points of a curve at most: each is a group of neighbouring iterations or ranks."""

PANEL = 2.1
WIDTH = 9.0


def picture(run: Iterations, composite: Lockstep, path: Path) -> None:
    """Write the picture: PNG, SVG or PDF by the path's suffix. Raises :class:`BadInput`."""
    write_picture(figure(run, composite), path)


def figure(run: Iterations, composite: Lockstep) -> Figure:
    """Three panels: iterations per second and rank by iteration and by rank, and the skew by iteration."""
    title = f"{run.program.name} on {run.where}"
    size = f"{counted(run.p, 'rank')}, {counted(run.iterations, 'iteration')}"
    height = 0.75 + 3 * PANEL
    explained = "lines: 1 / mean time of an iteration; areas: from the first to the third quartile"
    drawn = titled_figure(WIDTH, height, title, f"{size}; {explained}")
    by_iteration, by_rank, skew = (
        framed_axes(drawn, 0.75, 0.45 + (2 - number) * PANEL, 1.75, 0.75 + number * PANEL + 0.1)
        for number in range(3)
    )
    iteration_s = run.iteration_s()
    draw_performance(by_iteration, iteration_s, composite, run.p, run.origin)
    draw_performance(by_rank, iteration_s.T, composite, run.p, run.origin)
    by_iteration.set_xlabel("iteration", fontsize=8)
    by_rank.set_xlabel("rank", fontsize=8)
    legend_beside(by_iteration)
    _draw_skew(skew, run)
    return drawn


def draw_performance(
    axes: Axes, times_s: NDArray[np.float64], composite: Lockstep, p: int, label: str = "simulated"
) -> None:
    """Rates of the rows of ``times_s`` (in groups); horizontal lines for lockstep and for work alone.

    The mean of rates would exceed the rate at which iterations are done; so times are averaged.
    """
    groups = np.array_split(np.arange(len(times_s)), min(COLUMNS, len(times_s)))
    place = [group.mean() for group in groups]
    mean = np.array([1 / times_s[group].mean() for group in groups]) / p
    quartiles = np.array([np.quantile(times_s[group], (0.25, 0.75)) for group in groups])
    slow, fast = 1 / quartiles[:, 1] / p, 1 / quartiles[:, 0] / p
    axes.fill_between(place, slow, fast, color=PALE_BLUE, linewidth=0)
    axes.plot(place, mean, color=BLUE, linewidth=1.2, label=label)
    axes.axhline(
        1 / composite.iteration_s / p, color=VERMILION, linestyle="--", linewidth=1, label="in lockstep"
    )
    if composite.work_s:
        axes.axhline(1 / composite.work_s / p, color=GREEN, linestyle=":", linewidth=1.4, label="work alone")
    axes.set_ylabel("iterations/s\nper rank", fontsize=8)
    axes.margins(x=0)


def _draw_skew(axes: Axes, run: Iterations) -> None:
    inside_s, across_s = skews(run)
    place = grouped(np.arange(1, run.iterations + 1, dtype=float))
    axes.plot(place, grouped(across_s), color=GREY, linewidth=1.2, label="over all ranks")
    axes.plot(place, grouped(inside_s), color=BLUE, linewidth=1.2, label="within a\nmemory domain")
    axes.set_xlabel("iteration", fontsize=8)
    axes.set_ylabel("first to last rank", fontsize=8)
    axes.set_ylim(0, None)
    axes.margins(x=0)
    time_axis(axes, "y")
    legend_beside(axes)


def grouped(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means of groups of neighbouring values, at most COLUMNS of them."""
    each = -(-len(values) // COLUMNS)
    starts = np.arange(0, len(values), each)
    counts = np.diff(np.append(starts, len(values)))
    means: NDArray[np.float64] = np.add.reduceat(values, starts) / counts
    return means
