"""Pictures of iterations: performance and skew, timelines, the map of times in MPI, their distribution."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator
from numpy.typing import NDArray

from offbeat.base.units import amount
from offbeat.presentation.drawing.axes import (
    framed_axes,
    legend_beside,
    time_axis,
    titled_figure,
    whole_numbers,
)
from offbeat.presentation.drawing.iterations import draw_performance, draw_skew
from offbeat.presentation.drawing.palette import GREY, INK, LINES, MUTED, ORANGE, SKY
from offbeat.presentation.drawing.sheet import shortened
from offbeat.presentation.drawing.terminal_bars import time_unit
from offbeat.programs.iterations.iterations import NEVER
from offbeat.programs.iterations.report import Report
from offbeat.programs.iterations.timelines import COLLECTIVE, MESSAGE, WAITING, TimelineCalls

WIDTH, PANEL = 9.0, 2.1
SQUARES = 400, 256
"""Squares of a map at most: across for iterations, upwards for ranks."""

MOST_LINES, MOST_COLLECTIVES = len(LINES), 12

MOST_EDGES = 40
"""More borders between domains are not drawn."""

_KINDS = {
    MESSAGE: (SKY, "point-to-point call"),
    COLLECTIVE: (LINES[0], "collective, natural cost"),
    WAITING: (ORANGE, "collective, waiting"),
}
_COMPUTATION = "#e3e6ea"


def performance_figure(report: Report) -> Figure:
    """Iterations per second and rank by iteration and by rank, and the skew by iteration."""
    found, skews = report.performance, report.skews
    assert found is not None and skews is not None
    height = 0.75 + 3 * PANEL
    line = "lines: 1 / mean time of an iteration; areas: from the first to the third quartile"
    figure = titled_figure(WIDTH, height, "Performance and skew", f"{_size(report)}; {line}")
    by_iteration, by_rank, skew = (
        framed_axes(figure, 0.85, 0.45 + (2 - number) * PANEL, 1.75, 0.85 + number * PANEL)
        for number in range(3)
    )
    times_s = report.table.times_s() / report.table.iterations.each
    for axes, times, label, first in (
        (by_iteration, times_s, _of_rows(report), 1),
        (by_rank, times_s.T, "rank", 0),
    ):
        draw_performance(
            axes,
            times,
            found.lockstep_s,
            found.work_s,
            found.ranks,
            label="measured",
            first=first,
            least="work alone",
        )
        axes.set_xlabel(label, fontsize=8)
    legend_beside(by_iteration)
    draw_skew(skew, skews.inside_s, skews.across_s)
    skew.set_xlabel(_of_rows(report), fontsize=8)
    return figure


def timeline_figure(report: Report, timeline: TimelineCalls) -> Figure:
    """What some ranks do during a few iterations."""
    count = len(timeline.ranks)
    height = 1.35 + min(max(0.16 * count, 1.0), 5.0)
    each = report.table.iterations.each
    first = timeline.first_row * each + 1
    shown = f"iterations {first} to {first + timeline.rows * each - 1}"
    ranks = f"the first {count} of {report.table.p} ranks" if count < report.table.p else "all ranks"
    left_out = f"; {timeline.left_out} further calls are not drawn" if timeline.left_out else ""
    figure = titled_figure(
        WIDTH, height, f"Timeline: {shown}", f"{ranks}; dark lines: iterations begin{left_out}"
    )
    axes = framed_axes(figure, 0.6, 0.48, 0.25, 0.82)
    axes.set_facecolor(_COMPUTATION)
    scale_s, unit = time_unit((timeline.end_ns - timeline.begin_ns) / 1e9)
    _draw_bars(axes, timeline, scale_s * 1e9)
    axes.set_xlim(0, max((timeline.end_ns - timeline.begin_ns) / 1e9 / scale_s, 1e-9))
    axes.set_ylim(count - 0.5, -0.5)
    places = range(0, count, -(-count // 16))
    axes.set_yticks(places, [str(timeline.ranks[place]) for place in places])
    axes.set_xlabel(f"time [{unit}]", fontsize=9)
    axes.set_ylabel("rank", fontsize=9)
    patches = [Patch(color=_COMPUTATION, label="computation")]
    patches += [Patch(color=colour, label=name) for colour, name in _KINDS.values()]
    axes.legend(
        handles=patches, fontsize=7.5, frameon=False, ncols=4, loc="lower right", bbox_to_anchor=(1.0, 1.0)
    )
    return figure


def _draw_bars(axes: Axes, timeline: TimelineCalls, scale_ns: float) -> None:
    bars = timeline.bars()
    place, kind = bars[:, 0], bars[:, 3]
    begin, end = ((bars[:, one] - timeline.begin_ns) / scale_ns for one in (1, 2))
    for number, (colour, _) in _KINDS.items():
        of = kind == number
        left, right, middle = begin[of], end[of], place[of]
        corners = [(left, middle - 0.4), (right, middle - 0.4), (right, middle + 0.4), (left, middle + 0.4)]
        shapes = np.stack([np.stack(one, axis=1) for one in corners], axis=1)
        axes.add_collection(
            PolyCollection(list(shapes), facecolors=colour, linewidths=0, rasterized=len(shapes) > 5000)
        )
    begins = timeline.begins_ns
    for rank, row in enumerate(begins):
        at = (row[row != NEVER] - timeline.begin_ns) / scale_ns
        axes.vlines(at, rank - 0.48, rank + 0.48, color=INK, linewidth=0.8)


def map_figure(report: Report) -> Figure:
    """The compact timeline: the time in MPI of each rank in each iteration."""
    mpi_s = report.table.mpi_s().astype(np.float64) / report.table.iterations.each
    return _map(report, mpi_s, "Time in MPI", "the time in MPI of each rank in each iteration")


def waiting_figure(report: Report) -> Figure:
    """The same map of waiting for other processes, with the largest idle waves."""
    waiting_s = report.table.waiting_s().astype(np.float64) / report.table.iterations.each
    return _map(report, waiting_s, "Waiting", "waiting for other processes of each rank in each iteration")


def _map(report: Report, values_s: NDArray[np.float64], title: str, line: str) -> Figure:
    squares, steps = binned(values_s)
    shown = [
        f"{amount(step, noun)} in a square"
        for step, noun in zip(steps, ("iteration", "rank"), strict=True)
        if step > 1
    ]
    edges = np.flatnonzero(np.diff(report.domains.of_rank)) + 0.5
    shown += ["white lines: memory domains"] if 0 < len(edges) <= MOST_EDGES else []
    figure = titled_figure(WIDTH, 3.6, title, "; ".join([line, *shown]))
    axes = framed_axes(figure, 0.75, 0.48, 1.1, 0.6)
    most_s = float(np.quantile(squares, 0.99)) or float(squares.max()) or 1e-9
    scale_s, unit = time_unit(most_s)
    each, p = report.table.iterations.each, report.table.p
    image = axes.imshow(
        squares.T / scale_s,
        aspect="auto",
        interpolation="nearest",
        cmap=colormaps["cividis"],
        vmin=0,
        vmax=most_s / scale_s,
        extent=(0.5, len(values_s) * each + 0.5, p - 0.5, -0.5),
    )
    if len(edges) <= MOST_EDGES:
        for edge in edges:
            axes.axhline(edge, color="white", linewidth=0.7)
    bar = figure.colorbar(image, cax=figure.add_axes((1 - 0.95 / WIDTH, 0.14, 0.016, 0.66)), extend="max")
    bar.ax.tick_params(labelsize=8, colors=MUTED)
    bar.set_label(f"{title.lower().replace('mpi', 'MPI')} [{unit}]", fontsize=8)
    axes.set_xlabel("iteration", fontsize=9)
    axes.set_ylabel("rank", fontsize=9)
    whole_numbers(axes.xaxis, 9)
    whole_numbers(axes.yaxis, 8)
    return figure


def binned(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[int, int]]:
    """Means of squares of neighbouring iterations and ranks, and how many of each are in a square."""
    steps = tuple(-(-length // most) for length, most in zip(values.shape, SQUARES, strict=True))
    for axis, step in enumerate(steps):
        starts = np.arange(0, values.shape[axis], step)
        lengths = np.diff(np.append(starts, values.shape[axis]))
        lengths = lengths[:, None] if axis == 0 else lengths
        values = np.add.reduceat(values, starts, axis=axis) / lengths
    return values, (steps[0], steps[1])


def histogram_figure(report: Report) -> Figure:
    """The distribution of the times in MPI in each domain."""
    mpi_s = report.table.mpi_s() / np.float32(report.table.iterations.each)
    domains = np.unique(np.linspace(0, report.domains.count - 1, MOST_LINES).astype(int))
    line = "share of the iterations of all ranks in which the time in MPI is in a bin"
    if len(domains) < report.domains.count:
        line += f"; {len(domains)} of {report.domains.count} domains"
    figure = titled_figure(WIDTH, 3.0, "Distribution of the time in MPI", line)
    axes = framed_axes(figure, 0.75, 0.48, 1.75, 0.6)
    low, high = (max(float(one), 1e-9) for one in np.quantile(mpi_s, (0.001, 0.9999)))
    edges = np.geomspace(low / 1.1, high * 1.1, 101)
    for number, domain in enumerate(domains):
        values = mpi_s[:, report.domains.of_rank == domain]
        counts, _ = np.histogram(values, edges)
        axes.stairs(
            counts / values.size,
            edges,
            color=LINES[number],
            linestyle=("-", "--", ":", "-.")[number // 2 % 4],
            linewidth=1.4,
            label=f"domain {domain}" if len(domains) > 1 else "all ranks",
        )
    time_axis(axes, "x", is_log=True)
    subs = (1.0, 2.0, 5.0) if high < 1000 * low else (1.0,)
    axes.xaxis.set_major_locator(LogLocator(subs=subs, numticks=30))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.3g}" if value < 0.01 else f"{value:.0%}")
    axes.set_xlabel("time in MPI of a rank in an iteration", fontsize=9)
    axes.set_ylabel("share", fontsize=9)
    axes.set_ylim(0, None)
    axes.margins(x=0)
    axes.grid(alpha=0.25, color=GREY)
    legend_beside(axes)
    return figure


def collectives_figure(report: Report) -> Figure:
    """The natural cost and the waiting of the collectives with the most time, by call site."""
    rows = report.table.collectives[:MOST_COLLECTIVES]
    p = report.trace.size
    natural_s, waiting_s = (
        np.array([getattr(row, name) / p for row in rows]) for name in ("operation_s", "waited_s")
    )
    height = 1.35 + 0.26 * len(rows)
    figure = titled_figure(
        WIDTH,
        height,
        "Collectives: natural cost and waiting",
        "sums over the calls of the whole run, means over ranks",
    )
    axes = framed_axes(figure, 4.4, 0.48, 0.3, 0.82)
    scale_s, unit = time_unit(float((natural_s + waiting_s).max()) or 1e-9)
    places = np.arange(len(rows))
    axes.barh(places, natural_s / scale_s, color=LINES[0], height=0.7, label="natural cost")
    axes.barh(
        places, waiting_s / scale_s, left=natural_s / scale_s, color=ORANGE, height=0.7, label="waiting"
    )
    labels = [shortened(f"{row.function}, {_ends(row.site)}", 7.5, 4.1) for row in rows]
    axes.set_yticks(places, labels, fontsize=7.5)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel(f"time of a rank [{unit}]", fontsize=9)
    axes.legend(fontsize=7.5, frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    return figure


def _ends(site: str) -> str:
    """The label of a site without the callers in its middle."""
    call, *callers = site.split(" from ")
    return " … ".join([call, *callers[-1:]])


def _size(report: Report) -> str:
    return f"{amount(report.table.p, 'rank')}, {amount(report.table.iterations.count, 'iteration')}"


def _of_rows(report: Report) -> str:
    each = report.table.iterations.each
    return "iteration" if each == 1 else f"iteration / {each}"
