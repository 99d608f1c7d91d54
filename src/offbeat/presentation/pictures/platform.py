"""A picture of a platform: its switches, and time and bandwidth of a message by size."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from offbeat.model.platform.description import topology_text
from offbeat.model.platform.machine import Platform
from offbeat.model.platform.message_times import message_paths, message_s
from offbeat.model.platform.schema import PlatformFile
from offbeat.model.platform.topologies import topology_of
from offbeat.model.platform.topology import Groups, Levels
from offbeat.presentation.drawing.axes import style_axes
from offbeat.presentation.drawing.palette import LINES
from offbeat.presentation.drawing.picture_files import write_picture

MAX_DRAWN = 16
"""The most switches of a level, or groups, that are drawn; the label states their number."""

SIZES = np.unique(np.round(2 ** np.arange(0, 24.01, 0.125)).astype(int))


def picture(platform: Platform, path: Path) -> None:
    """Write the picture: PNG, SVG or PDF by the path's suffix. Raises :class:`BadInput`."""
    figure = Figure(figsize=(12, 3.8), layout="constrained")
    figure.suptitle(f"{platform.name}: {topology_text(platform.file)}", fontsize=10)
    shape, time, speed = figure.subplots(1, 3)
    _draw_shape(shape, platform.file)
    _draw_figures(time, speed, platform.file)
    write_picture(figure, path)


def _draw_figures(time: Axes, speed: Axes, file: PlatformFile) -> None:
    """Time and bandwidth of one message alone against its size, a line for each distance."""
    for path, colour in zip(message_paths(file), LINES * 4, strict=False):
        taken_s = message_s(file, path, SIZES)
        time.loglog(SIZES, taken_s * 1e6, color=colour, label=path.name)
        speed.loglog(SIZES, SIZES / taken_s / 1e9, color=colour)
    time.set(xlabel="message size [B]", ylabel="one message [µs]")
    speed.set(xlabel="message size [B]", ylabel="bandwidth [GB/s]")
    time.legend(fontsize=8, frameon=False)
    for axes in (time, speed):
        axes.grid(alpha=0.25)
        style_axes(axes)


def _draw_shape(axes: Axes, file: PlatformFile) -> None:
    axes.set_axis_off()
    axes.margins(0.08, 0.15)
    picture = topology_of(file).picture(file) if file.nodes > 1 else Levels([("node", 1)])
    if isinstance(picture, Groups):
        _draw_groups(axes, picture)
    else:
        _draw_levels(axes, picture.rows)


def _draw_levels(axes: Axes, rows: list[tuple[str, int]]) -> None:
    places = [np.linspace(0, 1, min(count, MAX_DRAWN) + 2)[1:-1] for _, count in rows]
    for height, (lower, upper) in enumerate(pairwise(places)):
        for x in lower:
            above = upper if height else upper[[np.abs(upper - x).argmin()]]
            for top in above:
                axes.plot([x, top], [height, height + 1], color="0.75", linewidth=0.7, zorder=1)
    for height, (name, count) in enumerate(rows):
        axes.scatter(places[height], np.full(len(places[height]), height), s=40, marker="s", zorder=2)
        limit = "" if count <= MAX_DRAWN else f" ({MAX_DRAWN} drawn)"
        axes.text(
            0.5,
            height - 0.22,
            f"{count} {name}{limit}",
            ha="center",
            fontsize=8,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )


def _draw_groups(axes: Axes, groups: Groups) -> None:
    drawn = min(groups.number, MAX_DRAWN)
    angles = 2 * np.pi * np.arange(drawn) / drawn
    x, y = np.cos(angles), np.sin(angles)
    for one in range(drawn):
        for other in range(one):
            axes.plot([x[one], x[other]], [y[one], y[other]], color="0.75", linewidth=0.7, zorder=1)
    axes.scatter(x, y, s=120, marker="o", zorder=2)
    limit = "" if groups.number <= MAX_DRAWN else f" ({MAX_DRAWN} drawn)"
    label = f"{groups.number} groups{limit} of {groups.members}"
    axes.text(0, -1.3, label, ha="center", fontsize=8)
    axes.set_aspect("equal")
