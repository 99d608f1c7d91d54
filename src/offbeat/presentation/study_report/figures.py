"""The figures of a report beside its grids: arrival patterns, and the penalties of ignoring them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.presentation.drawing.axes import MARGIN, style_axes, titled_figure
from offbeat.presentation.drawing.palette import GREY, INK, MUTED, ORANGE
from offbeat.presentation.drawing.rank_delays import draw_delays
from offbeat.presentation.drawing.sheet import Sheet, width_of
from offbeat.selection.choices import wording

_BAR, _PENALTY_ROW = 3.2, 0.28


class PatternPlot(Struct, frozen=True, kw_only=True):
    """A pattern to draw: its label, a remark, and the delay of each rank in any unit.

    ``noun`` is "rank", or "partition" for the delays of the sender's partitions. For a replay ``delays`` is
    the mean over the calls, and ``band`` the range of most calls.
    """

    label: str
    remark: str
    delays: NDArray[np.float64]
    band: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    noun: str = "rank"


class Penalty(Struct, frozen=True, kw_only=True):
    """The penalty of ignoring arrival patterns in one configuration; ``share`` is 0.1 for 10% slower."""

    configuration: str
    selected: str
    no_delay_winner: str
    share: float


def pattern_figure(patterns: Sequence[PatternPlot], subject: str) -> Figure:
    """Small multiples of the arrival patterns: each rank's delay as a share of the largest (figure 3)."""
    columns = min(4, max(1, len(patterns)))
    rows = max(1, -(-len(patterns) // columns))
    width, height = max(4.0, 2.3 * columns + 0.5), 1.45 * rows + 0.75
    figure = titled_figure(width, height, "Arrival patterns", subject)
    axes = figure.subplots(rows, columns, squeeze=False)
    figure.subplots_adjust(
        left=0.55 / width,
        right=1 - 0.15 / width,
        bottom=0.42 / height,
        top=1 - 0.85 / height,
        wspace=0.22,
        hspace=0.75,
    )
    for place, axis in enumerate(axes.ravel()):
        if place >= len(patterns):
            axis.axis("off")
            continue
        _draw_pattern(
            axis, patterns[place], first=place % columns == 0, last=place + columns >= len(patterns)
        )
    return figure


def _draw_pattern(axes: Axes, pattern: PatternPlot, *, first: bool, last: bool) -> None:
    """One small multiple; ``first`` in its row and ``last`` in its column carry the axes' names."""
    delays, band = np.asarray(pattern.delays, dtype=float), pattern.band
    largest = delays.max(initial=0.0) if band is None else band[1].max(initial=delays.max())
    scale = largest if largest > 0 else 1.0
    each = draw_delays(axes, delays / scale, None if band is None else (band[0] / scale, band[1] / scale))
    ranks = pattern.noun if each == 1 else f"{pattern.noun} (the latest of {each})"
    axes.set_ylim(-0.06, 1.08)
    axes.set_xlim(-0.6, max(len(delays) - 0.4, 0.6))
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"] if first else ["", "", ""])
    axes.set_xticks(sorted({0, (len(delays) - 1) // 2, len(delays) - 1}))
    style_axes(axes)
    axes.set_title(
        pattern.label, fontsize=9, loc="left", color=INK, pad=15 if pattern.remark else 4, parse_math=False
    )
    axes.text(0, 1.07, pattern.remark, transform=axes.transAxes, fontsize=7, color=MUTED, parse_math=False)
    if first:
        axes.set_ylabel("delay, share of s", fontsize=8, color=INK)
    if last:
        axes.set_xlabel(ranks, fontsize=8, color=INK)


def penalty_figure(penalties: Sequence[Penalty], subject: str, full_bar: float) -> Figure:
    """The slowdown of the no-delay winner against the selected algorithm, one bar per configuration.

    ``full_bar`` is the share that the longest bar represents, the same in all figures of a report.
    """
    label = max((width_of(penalty.configuration, 9) for penalty in penalties), default=1.0) + 0.2
    texts = [_penalty_text(penalty) for penalty in penalties]
    lengths = [_BAR * max(penalty.share, 0) / full_bar for penalty in penalties]
    end = max((length + width_of(text, 8) for length, text in zip(lengths, texts, strict=True)), default=1.0)
    width = max(label + end + 0.2, width_of(subject, 8.5), 4.0) + 2 * MARGIN
    sheet = Sheet(width, 0.8 + len(penalties) * _PENALTY_ROW)
    sheet.text(MARGIN, 0.22, "Penalty of ignoring arrival patterns", 11, weight="bold")
    sheet.text(MARGIN, 0.45, subject, 8.5, color=MUTED)
    left = MARGIN + label
    for place, (penalty, length, text) in enumerate(zip(penalties, lengths, texts, strict=True)):
        y = 0.8 + place * _PENALTY_ROW
        sheet.text(left - 0.1, y, penalty.configuration, 9, ha="right")
        sheet.axes.add_patch(Rectangle((left, y - 0.09), length, 0.18, facecolor=ORANGE, edgecolor="none"))
        sheet.text(left + length + 0.08, y, text, 8)
    sheet.axes.plot([left, left], [0.65, 0.65 + len(penalties) * _PENALTY_ROW], color=GREY, linewidth=1)
    return sheet.finished()


def _penalty_text(penalty: Penalty) -> str:
    if penalty.selected == penalty.no_delay_winner:
        return f"same choice: {penalty.selected}"
    slowdown = wording.typeset(wording.cost(penalty.share))
    return f"{slowdown}: {penalty.no_delay_winner} instead of {penalty.selected}"
