"""Drawing arrival patterns as a picture: PNG, SVG or PDF.

With more ranks than bars, a bar stands for several ranks and shows their largest and their mean delay, so
that a single late rank among thousands stays visible; the label of the axis says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator

from offbeat.base.units import amount
from offbeat.model.pattern.pattern_file import Pattern
from offbeat.model.pattern.replay_file import Replay, mean_pattern
from offbeat.presentation.drawing.axes import style_axes
from offbeat.presentation.drawing.picture_files import check_picture_path, write_picture
from offbeat.presentation.drawing.rank_delays import FEW, draw_delays
from offbeat.presentation.drawing.terminal_bars import BAND, time_unit


def picture(patterns: Iterable[Pattern | Replay], path: Path) -> None:
    """Write patterns and replays side by side: PNG, SVG or PDF by the path's suffix. Raises BadInput."""
    path = Path(path)
    check_picture_path(path)
    patterns = list(patterns)
    columns = min(len(patterns), 3)
    rows = math.ceil(len(patterns) / columns)
    figure = Figure(figsize=(4.2 * columns, 2.7 * rows), layout="constrained")
    for index, pattern in enumerate(patterns, 1):
        axes = figure.add_subplot(rows, columns, index)
        if isinstance(pattern, Replay):
            _replay_panel(axes, pattern)
        else:
            _panel(axes, pattern)
    write_picture(figure, path)


def _panel(axes: Axes, pattern: Pattern) -> None:
    scale_s, unit = time_unit(pattern.skew_s)
    each = draw_delays(axes, pattern.delays_s / scale_s)
    legend = "" if each == 1 else f" ({each} a bar; light: the latest, dark: their mean)"
    axes.set_xlabel(f"rank{legend}", fontsize=9)
    _format_axes(axes, pattern, scale_s, unit)


def _replay_panel(axes: Axes, replay: Replay) -> None:
    """The mean delay of each rank, and the interval that holds nine of ten calls."""
    average = mean_pattern(replay)
    low_s, high_s = np.quantile(replay.delays_s, BAND, axis=0)
    top_s = float(high_s.max(initial=average.skew_s))
    scale_s, unit = time_unit(top_s)
    draw_delays(axes, average.delays_s / scale_s, (low_s / scale_s, high_s / scale_s))
    marks = ("bar", "line") if replay.p <= FEW else ("line", "band")
    legend = f"{marks[0]}: mean of {amount(replay.calls, 'call')}, {marks[1]}: 5% to 95%"
    axes.set_xlabel(f"rank ({legend})", fontsize=9)
    _format_axes(axes, average, scale_s, unit, top_s)


def _format_axes(axes: Axes, pattern: Pattern, scale_s: float, unit: str, top_s: float | None = None) -> None:
    """Title, limits and ticks; without any delay, a text replaces the empty scale."""
    top_s = pattern.skew_s if top_s is None else top_s
    axes.set_title(f"{pattern.name}, p = {pattern.p}", fontsize=10)
    axes.set_ylabel(f"delay [{unit}]", fontsize=9)
    axes.set_xlim(-0.5 - pattern.p / 100, pattern.p - 0.5 + pattern.p / 100)
    axes.set_ylim(0, top_s / scale_s * 1.05 or 1.0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True) if pattern.p > 1 else FixedLocator([0]))
    if top_s == 0:
        axes.set_yticks([0])
        axes.text(
            0.5, 0.5, "no rank is late", transform=axes.transAxes, ha="center", fontsize=9, color="0.35"
        )
    style_axes(axes)
