"""The gain of a partitioned message over its size and the delay of its partitions, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from offbeat.base.errors import BadInput
from offbeat.base.units import format_size
from offbeat.partitioned.gain_model import Times, mean_delay_s
from offbeat.partitioned.predictions import MessageTimes, ReadySource
from offbeat.presentation.drawing.axes import POINTS, style_axes, time_axis
from offbeat.presentation.drawing.palette import BLUE, INK, ORANGE
from offbeat.presentation.drawing.picture_files import check_picture_path, write_picture

SIZES = np.unique(np.round(2 ** np.arange(10, 26.01, 0.5)).astype(int))
DELAYS_S = np.logspace(-7, -1, 61)
LEVELS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 4.0, 8.0, 16.0)
"""Gains that have a line."""

MAX_TRIALS, MAX_VALUES = 20, 2**14
"""Trials of which a point is the mean: the picture needs less precision than the table. Fewer where they have
more partitions in all, so that memory and time stay bounded."""

_COLOURS = LinearSegmentedColormap.from_list("gain", [ORANGE, "#ffffff", BLUE])


def picture(
    between: MessageTimes, source: ReadySource, threads: int, per_thread: Sequence[int], file: Path
) -> None:
    """Write the picture, with a panel for each number of partitions per thread: PNG, SVG or PDF by suffix.

    Raises BadInput for another suffix, and where no partition is later than another.
    """
    check_picture_path(file)
    figure = Figure(figsize=(4.4 * len(per_thread) + 0.6, 4.0), layout="constrained")
    figure.suptitle(
        f"{between.label}: gain of one message a partition; above 1, a single message is slower",
        fontsize=10,
        parse_math=False,
    )
    all_axes = figure.subplots(1, len(per_thread), squeeze=False)[0]
    for axes, number in zip(all_axes, per_thread, strict=True):
        _panel(axes, between, source, threads, number)
    all_axes[0].set_ylabel("from the first to the last ready partition", fontsize=9)
    write_picture(figure, file)


def _panel(axes: Axes, between: MessageTimes, source: ReadySource, threads: int, per_thread: int) -> None:
    partitions = threads * per_thread
    trials = max(1, min(MAX_TRIALS, MAX_VALUES // partitions))
    delays_s, log_gains = np.empty(len(SIZES)), np.empty((len(DELAYS_S), len(SIZES)))
    for index, size in enumerate(SIZES):
        ready_s = source.ready_s(threads, per_thread, size / partitions)[:trials]
        delays_s[index] = delay_s = mean_delay_s(ready_s)
        if delay_s == 0:
            raise BadInput("--picture: no partition is later than another, so that there is no delay to draw")
        log_gains[:, index] = _log_gains(between, ready_s / delay_s, size, threads)
    limit = np.log2(max(2.0, partitions))
    norm = TwoSlopeNorm(0.0, -limit, limit)
    axes.pcolormesh(SIZES, DELAYS_S, log_gains, cmap=_COLOURS, norm=norm, shading="nearest", rasterized=True)
    lines = axes.contour(
        SIZES, DELAYS_S, log_gains, np.log2(LEVELS), colors=INK, linewidths=0.6, linestyles="-"
    )
    axes.clabel(lines, fmt=lambda value: f"{2**value:g}", fontsize=POINTS)
    axes.plot(SIZES, delays_s, color=INK, linewidth=2, linestyle="--")
    axes.set_title(f"{threads} × {per_thread} partitions; dashed: the delays of the table", fontsize=9)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_size(round(value))))
    time_axis(axes, "y", is_log=True)
    axes.set(xlim=(SIZES[0], SIZES[-1]), ylim=(DELAYS_S[0], DELAYS_S[-1]))
    axes.set_xlabel("message size", fontsize=9)
    style_axes(axes)


def _log_gains(between: MessageTimes, shape: Times, total_bytes: int, threads: int) -> Times:
    """log2 of the gain at each of DELAYS_S; ``shape`` (trials, partitions) are ready times with delay 1."""
    messages = between.counts(shape.shape[-1])[-1]
    gains = [
        between.single_s(shape * delay_s, total_bytes, threads).mean()
        / between.times_s(shape * delay_s, total_bytes, threads, messages).mean()
        for delay_s in DELAYS_S
    ]
    return np.log2(gains)
