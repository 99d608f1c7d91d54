"""Phase-space plots: the points (m_i, m_{i+1}) of a quantity m over iterations i.

A point on the diagonal is a value that persists, one near an axis a value that is gone in the next iteration
(A. Afzal et al., "Making Applications Faster by Asynchronous Execution", section 5).
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from numpy.typing import NDArray

from offbeat.drawing.palette import GREY

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
