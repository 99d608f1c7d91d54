"""Figures with a title and axes in one style: thin grey axes on two sides, times with their units."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from offbeat.base.units import format_time
from offbeat.presentation.drawing.palette import GREY, INK, MUTED, PAPER
from offbeat.presentation.drawing.sheet import shortened

MARGIN = 0.15
"""Inches from the left edge to the title."""

POINTS = 8.0
"""Type size of the lines below the title, of tick labels and of legends."""


def titled_figure(width: float, height: float, title: str, *lines: str) -> Figure:
    """A figure of a size in inches with a title, and lines below it, each cut to the width."""
    figure = Figure(figsize=(width, height), facecolor=PAPER)
    place = MARGIN / width
    figure.text(place, 1 - 0.2 / height, title, fontsize=11, weight="bold", color=INK, va="center")
    for number, line in enumerate(lines):
        figure.text(
            place,
            1 - (0.42 + 0.18 * number) / height,
            shortened(line, POINTS, width - 2 * MARGIN),
            fontsize=POINTS,
            color=MUTED,
            va="center",
            parse_math=False,
        )
    return figure


def framed_axes(figure: Figure, left: float, bottom: float, right: float, top: float) -> Axes:
    """Axes that leave these inches free at the edges of a figure, in the style of all pictures."""
    width, height = figure.get_size_inches()
    axes = figure.add_axes(
        (left / width, bottom / height, 1 - (left + right) / width, 1 - (top + bottom) / height)
    )
    style_axes(axes)
    return axes


def style_axes(axes: Axes) -> None:
    """Two thin axes, small tick labels, and the grid, if there is one, behind everything."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GREY)
    axes.tick_params(labelsize=POINTS, colors=MUTED, length=2.5)
    axes.set_axisbelow(True)


def time_axis(axes: Axes, which: str, *, is_log: bool = False, per_second: float = 1.0) -> None:
    """Write the times on the axis ``which`` ("x" or "y") with their units; the data are ``per_second``."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    if is_log:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda value, _: format_time(float(value) / per_second)))


def whole_numbers(axis: Axis, most: int) -> None:
    """Ticks at whole numbers only, even if the axis shows only one: about ``most``, and one at least."""
    axis.set_major_locator(MaxNLocator(nbins=most, integer=True, min_n_ticks=1))


def legend_beside(axes: Axes) -> None:
    """A legend to the right of the axes."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), fontsize=8.5, frameon=False)


def legend_beside_title(axes: Axes) -> None:
    """A legend in the line of the title, at the right edge of the figure."""
    place = axes.figure.transSubfigure
    axes.legend(
        fontsize=7.5, frameon=False, loc="upper right", bbox_to_anchor=(1, 1), bbox_transform=place, ncols=3
    )
