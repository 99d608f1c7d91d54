"""Phase-space plots: the points (m_i, m_{i+1}) of a quantity m over iterations i.

A point on the diagonal is a value that persists, one near an axis a value that is gone in the next iteration
(A. Afzal et al., "Making Applications Faster by Asynchronous Execution", section 5).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from offbeat.presentation.drawing.axes import framed_axes, titled_figure
from offbeat.presentation.drawing.palette import GREY

COLOURS = "viridis"
"""A colour map with monotone lightness, which readers with colour vision deficiencies can order."""


def draw_phase_space(
    axes: Axes, values: NDArray[np.float64], limits: tuple[float, float], *, first: int = 1
) -> PathCollection:
    """Draw the points of ``values`` (iterations,), coloured by iteration from the number ``first`` on.

    ``limits`` are those of both axes; plots that are compared should share them.
    """
    axes.plot(limits, limits, color=GREY, linewidth=0.7, zorder=1)
    iterations = np.arange(first, first + len(values) - 1)
    points = axes.scatter(
        values[:-1], values[1:], c=iterations, s=5, cmap=COLOURS, linewidths=0, zorder=2, rasterized=True
    )
    axes.set_xlim(limits)
    axes.set_ylim(limits)
    axes.set_aspect("equal")
    return points


def shared_limits(values: NDArray[np.float64]) -> tuple[float, float]:
    """Limits that hold all but the largest thousandth of the values, so that one outlier hides nothing."""
    low, high = float(values.min()), float(np.quantile(values, 0.999))
    margin = 0.04 * (high - low) or 0.04 * abs(high) or 1.0
    return low - margin, high + margin


SIDE = 1.75
"""Inches from one plot of a grid to the next."""

LEAST_WIDTH = 6.5
"""Inches that the lines of text above a grid need."""


def phase_space_grid(
    title: str,
    line: str,
    rows: Sequence[tuple[str, NDArray[np.float64]]],
    snippets: Sequence[tuple[int, int]],
    *,
    share_limits: bool = False,
) -> Figure:
    """A grid of plots: a row for each quantity, a column for each snippet of its iterations.

    ``rows`` have a label and values (iterations,); a snippet is its first iteration, counted from 0, and the
    one after its last. The plots of a row have the same limits, with ``share_limits`` all plots.
    """
    columns = len(snippets)
    width, height = max(columns * SIDE + 1.1, LEAST_WIDTH), len(rows) * SIDE + 1.05
    drawn = titled_figure(width, height, title, line)
    of_all = shared_limits(np.concatenate([values for _, values in rows])) if share_limits else None
    for row, (label, values) in enumerate(rows):
        limits = of_all or shared_limits(values)
        for column, (first, end) in enumerate(snippets):
            axes = framed_axes(
                drawn,
                0.85 + column * SIDE,
                0.35 + (len(rows) - 1 - row) * SIDE,
                width - 0.85 - (column + 1) * SIDE + 0.4,
                0.8 + row * SIDE,
            )
            draw_phase_space(axes, values[first:end], limits, first=first + 1)
            axes.tick_params(labelsize=6.5)
            if row == 0:
                is_whole = (first, end) == (0, len(values))
                axes.set_title("whole run" if is_whole else f"{first + 1} to {end}", fontsize=8, loc="left")
            if column == 0:
                axes.set_ylabel(label, fontsize=8)
            else:
                axes.set_yticklabels([])
    return drawn
