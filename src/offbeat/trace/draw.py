"""Figures of a trace: mean delay of each rank, distribution of skews, and delays over the run."""

from __future__ import annotations

import math

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from offbeat.pattern.draw import maxima_by_group, time_unit
from offbeat.report.palette import BLUE, GREY, INK, MUTED, ORANGE, PAPER
from offbeat.trace.arrivals import Sample
from offbeat.trace.call_aggregates import upper_ns
from offbeat.trace.call_site_stats import CallSiteStats, description_of
from offbeat.trace.summary import Summary
from offbeat.trace.tables import library_name
from offbeat.units import counted, format_time

_WIDTH, _HEIGHT, _LOW = 7.2, 3.4, 2.9
_BARS, _SQUARES, _LINES = 1024, 256, 200
_FEW = 128
"""Limit of ranks that are drawn as bars; more are a line."""

SPREAD = (0.05, 0.95)
"""The quantiles at the ends of the band around mean delays."""


def delay_figure(summary: Summary, row: CallSiteStats, sample: Sample | None = None) -> Figure:
    """Mean delay of each rank relative to the first arrival, over all calls (figure 1).

    A sample of the calls adds a band with most of their delays. With more ranks than points, a point is the
    maximum over neighbouring ranks, and the axis label says so.
    """
    figure, axes = _sheet(
        _HEIGHT,
        "Average process delay (skew)",
        f"{counted(row.whole, 'call')}: {description_of(row)}, {row.processes} processes",
        _remarks(summary, row),
    )
    delays = np.nan_to_num(row.delays_s, nan=0.0)
    low, high = _spread(sample, row)
    scale_s, unit = time_unit(max(float(delays.max(initial=0.0)), float(high.max(initial=0.0))))
    latest, each = maxima_by_group(delays, _BARS)
    places = np.arange(len(latest)) * each + (each - 1) / 2
    upper, lower = maxima_by_group(high, _BARS)[0] / scale_s, -maxima_by_group(-low, _BARS)[0] / scale_s
    if len(delays) <= _FEW:
        axes.bar(places, latest / scale_s, width=0.8, color=BLUE, alpha=0.75, label="mean")
        if sample is not None:
            axes.vlines(places, lower, upper, color=INK, linewidth=1.6, label=_band_words())
    else:
        if sample is not None:
            axes.fill_between(
                places, lower, upper, color=ORANGE, alpha=0.45, linewidth=0, label=_band_words()
            )
        axes.plot(places, latest / scale_s, color=BLUE, linewidth=0.9, label="mean")
    missing = np.flatnonzero(np.isnan(row.delays_s))
    if len(missing):
        axes.plot(missing, np.zeros(len(missing)), "x", color=ORANGE, markersize=4, label="not traced")
    if sample is not None or len(missing):
        _legend(axes)
    axes.set_xlabel("rank" if each == 1 else f"rank (the latest of {each})", fontsize=9)
    axes.set_ylabel(f"delay [{unit}]", fontsize=9)
    largest = max(float(latest.max(initial=0.0)) / scale_s, float(upper.max(initial=0.0)))
    axes.set_ylim(0, largest * 1.06 or 1.0)
    axes.set_xlim(-0.7, len(delays) - 0.3)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
    return figure


def distribution_figure(summary: Summary, row: CallSiteStats) -> Figure:
    """The cumulative distribution of skew and last delay over the calls."""
    figure, axes = _sheet(
        _LOW, "Skew and d̂ of the calls", description_of(row), "share of the calls that are below a time"
    )
    lines = ((0, BLUE, "-", "skew", row.skew), (2, "#b35900", "--", "d̂", row.last_delay))
    ends_ns: list[float] = []
    for place, colour, dashes, name, times in lines:
        edges_ns, shares = _cumulated(row.histograms[place])
        if len(edges_ns):
            label = f"{name}: mean {format_time(times.mean_s)}, median {format_time(times.median_s, 2)}"
            axes.plot(edges_ns, shares, color=colour, linestyle=dashes, linewidth=1.8, label=label)
            ends_ns += [float(edges_ns[0]), float(edges_ns[-1])]
    axes.set_xscale("log")
    if ends_ns:
        axes.set_xlim(min(ends_ns) / 1.3, max(ends_ns) * 1.3)
        _legend(axes)
        subs = (1.0, 2.0, 5.0) if max(ends_ns) < 1000 * min(ends_ns) else (1.0,)
        axes.xaxis.set_major_locator(LogLocator(subs=subs, numticks=30))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_time(value / 1e9)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(np.linspace(0, 1, 5), ["0%", "25%", "50%", "75%", "100%"])
    axes.set_ylim(0, 1.02)
    axes.set_ylabel("share of calls", fontsize=9)
    axes.grid(alpha=0.25)
    return figure


def _cumulated(histogram: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Upper ends of the bins from the first to the last used one, in ns, and the share below each end."""
    met = np.flatnonzero(histogram)
    if not len(met):
        return np.empty(0), np.empty(0)
    places = np.arange(met[0] - 1, met[-1] + 1)
    shares = np.concatenate([[0.0], np.cumsum(histogram[met[0] : met[-1] + 1])]) / histogram.sum()
    return upper_ns(places), shares


def course_figure(row: CallSiteStats, sample: Sample) -> Figure:
    """Delays of single calls over the run as a map of calls and ranks: are always the same ranks late?

    With more ranks than squares, a square is the maximum over neighbouring ranks.
    """
    chosen = np.unique(np.linspace(0, len(sample.delays_s) - 1, _LINES).astype(int))
    calls = sample.delays_s[chosen]
    p = calls.shape[1]
    each = math.ceil(p / _SQUARES)
    filled = np.where(np.isnan(calls), -1.0, calls)
    squares = np.maximum.reduceat(filled, np.arange(0, p, each), axis=1)
    squares = np.where(squares < 0, np.nan, squares)
    most_s = float(np.nanquantile(squares, 0.99)) or float(np.nanmax(squares))
    scale_s, unit = time_unit(most_s)
    shown = f"{len(calls)} of {counted(row.whole, 'call')}" if len(calls) < row.whole else "every call"
    figure, axes = _sheet(
        _HEIGHT, "Delays over the run, call by call", f"{shown}: {description_of(row)}", "", right=0.8
    )
    colours = colormaps["Blues"].with_extremes(bad=GREY)
    last = max(row.whole - 1, 1) if len(calls) > 1 else 1
    image = axes.imshow(
        squares / scale_s,
        aspect="auto",
        interpolation="nearest",
        cmap=colours,
        vmin=0,
        vmax=max(most_s / scale_s, 1e-12),
        extent=(-0.5, p - 0.5, last + 0.5, -0.5),
    )
    bar = figure.colorbar(image, cax=figure.add_axes((0.89, 0.14, 0.018, 0.64)), extend="max")
    bar.ax.tick_params(labelsize=8, colors=MUTED)
    bar.set_label(f"delay [{unit}]", fontsize=8)
    axes.set_xlabel("rank" if each == 1 else f"rank (the latest of {each})", fontsize=9)
    axes.set_ylabel("call", fontsize=9)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    return figure


def _sheet(
    height: float, title: str, about: str, remarks: str, *, right: float = 0.17
) -> tuple[Figure, Axes]:
    """A figure with a title, lines below it, and axes that end ``right`` inches from the right edge."""
    figure = Figure(figsize=(_WIDTH, height), facecolor=PAPER)
    figure.text(0.02, 1 - 0.17 / height, title, fontsize=11, weight="bold", color=INK, va="center")
    for place, line in enumerate((about, remarks)):
        y = 1 - (0.39 + 0.18 * place) / height
        figure.text(0.02, y, _fitting(line), fontsize=8, color=MUTED, va="center", parse_math=False)
    top = 0.74 if remarks else 0.58
    axes = figure.add_axes((0.1, 0.48 / height, 0.9 - right / _WIDTH, 1 - (top + 0.48) / height))
    axes.tick_params(labelsize=8, colors=MUTED)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GREY)
    axes.set_axisbelow(True)
    return figure, axes


def _spread(sample: Sample | None, row: CallSiteStats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ends of the band of each rank, (p,) each; zeros without a sample."""
    if sample is None or not len(sample.delays_s):
        return np.zeros(len(row.delays_s)), np.zeros(len(row.delays_s))
    low, high = np.quantile(np.nan_to_num(sample.delays_s, nan=0.0), SPREAD, axis=0)
    return np.asarray(low), np.asarray(high)


def _band_words() -> str:
    return f"{SPREAD[0]:.0%} to {SPREAD[1]:.0%} of the calls"


def _legend(axes: Axes) -> None:
    """Place the legend in one line with the title."""
    place = axes.figure.transSubfigure
    axes.legend(
        fontsize=7.5, frameon=False, loc="upper right", bbox_to_anchor=(1, 1), bbox_transform=place, ncols=3
    )


def _fitting(line: str, most: int = 118) -> str:
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _remarks(summary: Summary, row: CallSiteStats) -> str:
    bound = "one clock" if row.bound_s == 0 else f"clock error at most {format_time(row.bound_s)}"
    stable = "" if math.isnan(row.stability) else f", stability {row.stability:.2f}"
    return f"mean skew {format_time(row.skew.mean_s)}{stable}; {bound}; {library_name(summary.library)}"
