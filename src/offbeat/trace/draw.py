"""Pictures of a trace: the mean delay of each rank over all calls of a site (the paper's figure 1)."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from offbeat.pattern.draw import binned, time_unit
from offbeat.report.palette import BLUE, GREY, INK, MUTED, ORANGE, PAPER
from offbeat.trace.arrivals import described
from offbeat.trace.summary import Row, Summary
from offbeat.units import counted, format_time

_WIDTH, _HEIGHT = 7.2, 3.4
_BARS = 1024


def delay_figure(summary: Summary, row: Row) -> Figure:
    """Average delay of each rank behind the first to arrive, across all calls (figure 1).

    Of more ranks than the picture has room for, a point is the latest of neighbours, and the axis says so.
    """
    delays = np.nan_to_num(row.delays_s, nan=0.0)
    scale_s, unit = time_unit(float(delays.max(initial=0.0)))
    figure = Figure(figsize=(_WIDTH, _HEIGHT), facecolor=PAPER)
    figure.text(0.02, 0.95, "Average process delay (skew)", fontsize=11, weight="bold", color=INK)
    about = f"{counted(row.whole, 'call')}: {described(row)}, {row.processes} processes"
    figure.text(0.02, 0.885, about, fontsize=8, color=MUTED, parse_math=False)
    figure.text(0.02, 0.835, _remarks(summary, row), fontsize=8, color=MUTED, parse_math=False)
    axes = figure.add_axes((0.1, 0.14, 0.87, 0.64))
    latest, each = binned(delays, _BARS)
    places = np.arange(len(latest)) * each + (each - 1) / 2
    if len(delays) <= 128:
        axes.bar(places, latest / scale_s, width=0.8 * each, color=BLUE)
    else:
        axes.plot(places, latest / scale_s, color=BLUE, linewidth=0.9)
    missing = np.flatnonzero(np.isnan(row.delays_s))
    if len(missing):
        axes.plot(missing, np.zeros(len(missing)), "x", color=ORANGE, markersize=4, label="not traced")
        axes.legend(fontsize=8, frameon=False)
    axes.set_xlabel("rank" if each == 1 else f"rank (the latest of {each})", fontsize=9)
    axes.set_ylabel(f"mean delay [{unit}]", fontsize=9)
    axes.set_ylim(0, float(delays.max(initial=0.0)) / scale_s * 1.06 or 1.0)
    axes.set_xlim(-1, len(delays))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
    axes.tick_params(labelsize=8, colors=MUTED)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GREY)
    return figure


def _remarks(summary: Summary, row: Row) -> str:
    bound = "one clock" if row.bound_s == 0 else f"clocks right to {format_time(row.bound_s)}"
    stable = "" if math.isnan(row.stability) else f", stability {row.stability:.2f}"
    return f"mean skew {format_time(row.skew.mean_s)}{stable}; {bound}; {summary.library[:60]}"
