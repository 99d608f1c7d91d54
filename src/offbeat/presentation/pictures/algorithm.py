"""A picture of a call's messages, and of its exits beside them: PNG, SVG or PDF."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from offbeat.base.errors import BadInput
from offbeat.base.units import format_size
from offbeat.presentation.drawing.axes import style_axes
from offbeat.presentation.drawing.palette import BLUE, INK, ORANGE
from offbeat.presentation.drawing.picture_files import check_picture_path, write_picture
from offbeat.presentation.drawing.terminal_bars import time_unit
from offbeat.simulation.algorithms.exits import SimulatedExits, summary
from offbeat.simulation.algorithms.message_drawing import heading
from offbeat.simulation.algorithms.messages import CallMessages, Message

MAX_MESSAGES = 20_000
"""More arrows would cover the whole picture and take minutes to draw."""

MAX_LABELS = 32
"""Up to this number, each rank and each round is labelled."""

_GRID = "#d0d7de"


def picture(call: CallMessages, exits: SimulatedExits | None, path: Path) -> None:
    """Write a picture with a row for each rank and a column for each round.

    With ``exits``, a second panel with a time axis shows arrivals and exits.

    Raises :class:`BadInput` for another suffix, too many messages, or where the file cannot be written.
    """
    check_picture_path(path)
    if len(call.messages) > MAX_MESSAGES:
        raise BadInput(
            f"{len(call.messages)} messages are too many for a picture, which can hold {MAX_MESSAGES};"
            " take a smaller p"
        )
    figure = Figure(figsize=_size(call, exits), layout="constrained")
    axes = figure.subplots(
        1, 2 if exits else 1, sharey=True, squeeze=False, width_ratios=_widths(call, exits)
    )
    _draw_messages(axes[0, 0], call, figure)
    if exits:
        _draw_times(axes[0, 1], exits)
    write_picture(figure, path)


def _rounds_width(call: CallMessages) -> float:
    return min(max(call.rounds * 0.8, 4.5), 13.0)


def _size(call: CallMessages, exits: SimulatedExits | None) -> tuple[float, float]:
    height = min(max(call.p * 0.32, 2.6), 12.0) + 1.2
    return _rounds_width(call) + 1.6 + (5.5 if exits else 0), height


def _widths(call: CallMessages, exits: SimulatedExits | None) -> list[float]:
    return [_rounds_width(call), 5.0] if exits else [1.0]


def _draw_messages(axes: Axes, call: CallMessages, figure: Figure) -> None:
    """Arrows from the left edge of their round at the source to its right edge at the target."""
    axes.hlines(range(call.p), 0.5, call.rounds + 0.5, color=_GRID, linewidth=0.8, zorder=1)
    sizes = sorted({message.bytes for message in call.messages})
    norm = LogNorm(max(sizes[0], 1), sizes[-1]) if len(sizes) > 1 and sizes[-1] > 1 else None
    dense = len(call.messages) > 4 * call.p * call.rounds
    for start in range(0, len(call.messages), 1000):
        _draw_arrows(axes, call.messages[start : start + 1000], norm, dense)
    if norm:
        mappable = LineCollection([], cmap=_sizes_map(), norm=norm)
        bar = figure.colorbar(mappable, ax=axes, pad=0.02, fraction=0.05)
        labelled = sizes if len(sizes) <= 6 else sizes[:: -(-len(sizes) // 6)]
        bar.set_ticks([max(size, 1) for size in labelled], labels=[format_size(size) for size in labelled])
        bar.minorticks_off()
        bar.set_label("message size", fontsize=9)
        bar.ax.tick_params(labelsize=8)
    axes.set_title(_wrapped(heading(call)), fontsize=10, loc="left")
    axes.set_xlabel("round", fontsize=9)
    axes.set_xlim(0.5, call.rounds + 0.5 if call.rounds else 1.5)
    if call.rounds <= MAX_LABELS:
        axes.set_xticks(range(1, call.rounds + 1))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=20, integer=True))
    axes.set_ylabel("rank", fontsize=9)
    axes.set_ylim(call.p - 0.5, -0.5)
    if call.p <= MAX_LABELS:
        axes.set_yticks(range(call.p))
    else:
        axes.yaxis.set_major_locator(MaxNLocator(nbins=16, integer=True))
    for edge in np.arange(1.5, call.rounds + 0.5):
        if call.rounds <= 60:
            axes.axvline(edge, color=_GRID, linewidth=0.6, linestyle=(0, (2, 3)), zorder=0)
    style_axes(axes)
    axes.spines["left"].set_visible(False)


def _sizes_map() -> ListedColormap:
    """Larger is darker, without the palest end; readable with every kind of colour vision."""
    return ListedColormap(colormaps["cividis_r"](np.linspace(0.18, 1, 256)))


def _wrapped(text: str) -> str:
    first, _, rest = text.partition(": ")
    return f"{first}:\n{rest}"


def _draw_arrows(axes: Axes, messages: list[Message], norm: LogNorm | None, dense: bool) -> None:
    tails = np.array([(message.round - 0.4, message.source) for message in messages], dtype=float)
    heads = np.array([(message.round + 0.4, message.target) for message in messages], dtype=float)
    heads[:, 0] -= 0.1 * np.array([message.source > message.target for message in messages])  # heads apart
    sizes = np.array([max(message.bytes, 1) for message in messages], dtype=float)
    colours = _sizes_map()(norm(sizes)) if norm else BLUE
    axes.quiver(
        tails[:, 0],
        tails[:, 1],
        heads[:, 0] - tails[:, 0],
        heads[:, 1] - tails[:, 1],
        color=colours,
        angles="xy",
        scale_units="xy",
        scale=1,
        units="inches",
        width=0.006 if dense else 0.018,
        headwidth=6,
        headlength=8,
        headaxislength=7,
        zorder=3,
    )
    axes.plot(tails[:, 0], tails[:, 1], "o", color=INK, markersize=2.2, zorder=4)


def _draw_times(axes: Axes, exits: SimulatedExits) -> None:
    """For each rank a bar from its arrival to its exit, after a thin bar up to its arrival."""
    scale_s, unit = time_unit(float(exits.exits_s.max()))
    ranks = np.arange(len(exits.exits_s))
    arrivals: NDArray[np.float64] = exits.arrivals_s / scale_s
    left: NDArray[np.float64] = exits.exits_s / scale_s
    axes.barh(ranks, arrivals, height=0.18, color=ORANGE, label="not yet there")
    axes.barh(ranks, left - arrivals, left=arrivals, height=0.6, color=BLUE, label="in the call")
    axes.plot(left, ranks, "o", color=INK, markersize=2.6, zorder=3, label="leaves")
    axes.axvline(float(arrivals.max()), color=INK, linewidth=1, linestyle=(0, (4, 3)))
    axes.set_title(_wrapped(summary(exits)), fontsize=10, loc="left")
    axes.set_xlabel(f"time [{unit}]   (dashed: the last arrival)", fontsize=9)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlim(0, float(left.max()) * 1.03 or 1.0)
    axes.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3)
    style_axes(axes)
    axes.tick_params(left=False)
