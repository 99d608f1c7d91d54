"""Delays by rank, readable for 4 and for 4,000 ranks: groups of neighbouring ranks share a step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from offbeat.presentation.drawing.palette import BLUE, INK, ORANGE, PALE_BLUE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW = 64
"""Up to this number of ranks, each rank has a bar."""


def maxima_by_group(delays_s: NDArray[np.float64], columns: int) -> tuple[NDArray[np.float64], int]:
    """The largest delay of each group of neighbouring ranks, for at most ``columns`` groups.

    Returns the maxima in seconds and the number of ranks in a group; the last group may be smaller.
    """
    ranks_each = math.ceil(len(delays_s) / columns)
    starts = np.arange(0, len(delays_s), ranks_each)
    return np.maximum.reduceat(delays_s, starts), ranks_each


def draw_delays(
    axes: Axes,
    delays: NDArray[np.float64],
    band: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    *,
    most: int = 200,
    labels: tuple[str, str] = ("", ""),
) -> int:
    """Draw the delay of each rank, and the range in which it varies; returns the number of ranks of a step.

    ``delays`` and both ends of ``band`` have a value for each rank. Few ranks are bars, and a dot marks one
    without delay; more are at most ``most`` steps with the largest delay of their ranks, and without a band
    the mean in a darker tone. ``labels`` name delays and band in a legend.
    """
    if len(delays) <= FEW:
        _draw_bars(axes, delays, band, labels)
        return 1
    latest, each = maxima_by_group(delays, most)
    ends = np.append(np.arange(0, len(delays), each), len(delays))
    edges, starts = ends - 0.5, ends[:-1]
    if band is None:
        means = np.add.reduceat(delays, starts) / np.diff(ends)
        axes.stairs(latest, edges, fill=True, color=PALE_BLUE)
        axes.stairs(means, edges, fill=True, color=BLUE, label=labels[0])
    else:
        low, high = np.minimum.reduceat(band[0], starts), np.maximum.reduceat(band[1], starts)
        axes.stairs(high, edges, baseline=low, fill=True, color=ORANGE, alpha=0.45, lw=0, label=labels[1])
        axes.stairs(latest, edges, baseline=None, color=BLUE, linewidth=1, zorder=3, label=labels[0])
    return each


def _draw_bars(
    axes: Axes,
    delays: NDArray[np.float64],
    band: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
    labels: tuple[str, str],
) -> None:
    ranks = np.arange(len(delays))
    axes.bar(ranks, delays, width=0.8, color=BLUE, label=labels[0])
    if band is not None:
        axes.vlines(ranks, *band, color=INK, linewidth=1.6, label=labels[1])
        return
    on_time = np.flatnonzero(delays == 0)
    axes.plot(on_time, np.zeros(len(on_time)), "o", color=BLUE, markersize=3, clip_on=False, zorder=3)
