"""Figures of a report as matplotlib figures.

Tables are laid out in inches from measured text: with more algorithms the figure grows and the type size
stays the same.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.pattern.draw import maxima_by_group
from offbeat.pattern.picture import DOTS
from offbeat.report import labels
from offbeat.report.grids import Grid, Heading, Key, Row, Square
from offbeat.report.palette import BLUE, GREY, INK, MUTED, ORANGE, PAPER, TONES
from offbeat.report.sheet import Sheet, width_of, wrapped
from offbeat.select import wording

_MARGIN, _LINE = 0.15, 0.2
_BAR, _PENALTY_ROW = 3.2, 0.28
_BARS = 128


class PatternPlot(Struct, frozen=True, kw_only=True):
    """A pattern to draw: its label, a remark, and the delay of each rank in any unit.

    For a replay ``delays`` is the mean over the calls, and ``band`` the range of most calls.
    """

    label: str
    remark: str
    delays: NDArray[np.float64]
    band: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None


class Penalty(Struct, frozen=True, kw_only=True):
    """The penalty of ignoring arrival patterns in one configuration; ``share`` is 0.1 for 10% slower."""

    configuration: str
    selected: str
    no_delay_winner: str
    share: float


class _Layout(Struct, frozen=True, kw_only=True):
    """The positions of the parts of a grid, in inches."""

    points: float
    vertical: bool
    label: float
    column: float
    row: float
    head: float
    top: float
    width: float
    height: float


def grid_figure(grid: Grid) -> Figure:
    """A table of patterns × algorithms as the paper's figures 5, 6 and 8 show it."""
    caption_width = max(
        4.6, _label_width(grid, _points(grid)) + len(grid.columns) * _column_width(grid, _points(grid))
    )
    caption = wrapped(grid.caption, 7.5, caption_width)
    legend = _legend_lines(grid.keys, caption_width)
    layout = _layout(grid, caption_width, len(caption), len(legend))
    sheet = Sheet(layout.width, layout.height)
    sheet.text(_MARGIN, _MARGIN + 0.08, grid.title, 11, weight="bold")
    sheet.text(_MARGIN, _MARGIN + 0.3, grid.subject, 9, color=MUTED)
    _draw_headings(sheet, grid.columns, layout)
    y = layout.top + layout.head
    for row in grid.rows:
        y += 0.08 if row.summary and row is _first_summary(grid) else 0
        _draw_row(sheet, row, y, layout)
        y += layout.row
    _draw_legend(sheet, legend, y + 0.22)
    for number, line in enumerate(caption):
        sheet.text(_MARGIN, y + 0.22 + (len(legend) + number) * _LINE, line, 7.5, color=MUTED)
    return sheet.finished()


def _points(grid: Grid) -> float:
    return 8.0 if grid.is_wide else 9.0


def _layout(grid: Grid, inner: float, caption_lines: int, legend_lines: int) -> _Layout:
    points = _points(grid)
    vertical = grid.is_wide
    row = 0.40 if any(square.small for row in grid.rows for square in row.squares) else 0.30
    if any(row_.heading.remark for row_ in grid.rows):
        row = max(row, 0.36)
    head = _head_height(grid.columns, points, vertical=vertical)
    titles = max(width_of(grid.title, 11, bold=True), width_of(grid.subject, 9))
    top = _MARGIN + 0.5
    body = len(grid.rows) * row + (0.08 if _first_summary(grid) else 0)
    return _Layout(
        points=points,
        vertical=vertical,
        label=_label_width(grid, points),
        column=_column_width(grid, points),
        row=row,
        head=head,
        top=top,
        width=max(inner, titles) + 2 * _MARGIN,
        height=top + head + body + 0.22 + (legend_lines + caption_lines) * _LINE + 0.05,
    )


def _label_width(grid: Grid, points: float) -> float:
    widths = [width_of(row.heading.name, points, bold=row.summary) for row in grid.rows]
    widths += [width_of(row.heading.remark, points - 2) for row in grid.rows]
    return max(widths, default=0.5) + 0.12


def _column_width(grid: Grid, points: float) -> float:
    """The width for every square, and for the headings unless they are vertical."""
    squares = [square for row in grid.rows for square in row.squares]
    widths = [width_of(_square_text(square), points) for square in squares]
    widths += [width_of(square.small, points - 1.5) for square in squares]
    if not grid.is_wide:
        widths += [width_of(line, points) for column in grid.columns for line in _name_lines(column.name)]
        widths += [width_of(line, points - 2) for column in grid.columns for line in _remark_lines(column)]
    return max([*widths, 0.42]) + 0.12


def _square_text(square: Square) -> str:
    return f"{square.text} {square.mark}".rstrip()


def _name_lines(name: str) -> list[str]:
    """An algorithm's name in lines: broken before its parameters, then where words allow."""
    base, bracket, rest = name.partition("(")
    lines = textwrap.wrap(base, 18, break_on_hyphens=False) or [name]
    return lines + (textwrap.wrap(bracket + rest, 18, break_on_hyphens=False) if bracket else [])


def _remark_lines(heading: Heading) -> list[str]:
    return [part for part in heading.remark.split(", ") if part]


def _head_height(columns: Sequence[Heading], points: float, *, vertical: bool) -> float:
    if vertical:
        return (
            max(width_of(line, points, bold=True) for column in columns for line in _vertical_lines(column))
            + 0.12
        )
    names = max((len(_name_lines(column.name)) for column in columns), default=1)
    remarks = max((len(_remark_lines(column)) for column in columns), default=0)
    return names * 0.16 + remarks * 0.13 + 0.1


def _vertical_lines(column: Heading) -> list[str]:
    """The lines of a vertical heading: the name, its parameters, the remark."""
    base, bracket, rest = column.name.partition("(")
    return [line for line in (base, bracket + rest, column.remark) if line]


def _draw_headings(sheet: Sheet, columns: Sequence[Heading], layout: _Layout) -> None:
    """Column headings, ending just above the first row."""
    bottom = layout.top + layout.head - 0.06
    for j, column in enumerate(columns):
        x = _MARGIN + layout.label + (j + 0.5) * layout.column
        weight = "bold" if column.strong else "normal"
        if layout.vertical:
            _draw_vertical(sheet, _vertical_lines(column), x, bottom, layout.points, weight)
            continue
        lines = [(line, layout.points, 0.16, INK) for line in _name_lines(column.name)]
        lines += [(line, layout.points - 2, 0.13, MUTED) for line in _remark_lines(column)]
        y = bottom
        for line, points, height, colour in reversed(lines):
            sheet.text(x, y - height / 2, line, points, ha="center", color=colour, weight=weight)
            y -= height


def _draw_vertical(
    sheet: Sheet, lines: Sequence[str], x: float, bottom: float, points: float, weight: str
) -> None:
    """Vertical lines of text, side by side around ``x``."""
    for place, line in enumerate(lines):
        across = x + (place - (len(lines) - 1) / 2) * 0.14
        sheet.text(across, bottom, line, points, rotation=90, va="bottom", ha="center", weight=weight)


def _draw_row(sheet: Sheet, row: Row, y: float, layout: _Layout) -> None:
    middle = y + layout.row / 2
    right = _MARGIN + layout.label - 0.08
    weight = "bold" if row.summary else "normal"
    lift = 0.07 if row.heading.remark else 0
    sheet.text(right, middle - lift, row.heading.name, layout.points, ha="right", weight=weight)
    if row.heading.remark:
        sheet.text(right, middle + 0.09, row.heading.remark, layout.points - 2, ha="right", color=MUTED)
    for j, square in enumerate(row.squares):
        x = _MARGIN + layout.label + j * layout.column
        colour = TONES[square.tone].light_text
        sheet.square(x, y, layout.column, layout.row, square.tone)
        lift = 0.07 if square.small else 0
        centre = x + layout.column / 2
        sheet.text(
            centre,
            middle - lift,
            _square_text(square),
            layout.points,
            ha="center",
            color=colour,
            weight=weight,
        )
        if square.small:
            sheet.text(centre, middle + 0.1, square.small, layout.points - 1.5, ha="center", color=colour)


def _first_summary(grid: Grid) -> Row | None:
    return next((row for row in grid.rows if row.summary), None)


def _swatch(key: Key) -> float:
    return max(0.28, width_of(key.mark, 8) + 0.12)


def _key_width(key: Key) -> float:
    return _swatch(key) + (width_of(key.meaning, 8) + 0.28 if key.meaning else 0.04)


def _legend_lines(keys: Sequence[Key], width: float) -> list[list[Key]]:
    """The legend's entries in lines that fit the width."""
    lines: list[list[Key]] = [[]]
    for key in keys:
        used = sum(_key_width(placed) for placed in lines[-1])
        if lines[-1] and used + _key_width(key) > width:
            lines.append([])
        lines[-1].append(key)
    return lines


def _draw_legend(sheet: Sheet, lines: Sequence[Sequence[Key]], y: float) -> None:
    for line in lines:
        x = _MARGIN
        for key in line:
            swatch = _swatch(key)
            sheet.square(x, y - 0.085, swatch, 0.17, key.tone)
            sheet.text(x + swatch / 2, y, key.mark, 8, ha="center", color=TONES[key.tone].light_text)
            sheet.text(x + swatch + 0.06, y, key.meaning, 8)
            x += _key_width(key)
        y += _LINE


def pattern_figure(patterns: Sequence[PatternPlot], subject: str) -> Figure:
    """Small multiples of the arrival patterns: each rank's delay as a share of the largest (figure 3)."""
    columns = min(4, max(1, len(patterns)))
    rows = max(1, -(-len(patterns) // columns))
    width, height = max(4.0, 2.3 * columns + 0.5), 1.45 * rows + 0.75
    figure = Figure(figsize=(width, height), facecolor=PAPER)
    figure.text(_MARGIN / width, 1 - 0.2 / height, "Arrival patterns", fontsize=11, weight="bold", color=INK)
    figure.text(_MARGIN / width, 1 - 0.42 / height, subject, fontsize=8.5, color=MUTED, parse_math=False)
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


def _draw_pattern(axis: Axes, pattern: PatternPlot, *, first: bool, last: bool) -> None:
    """One small multiple; ``first`` in its row and ``last`` in its column carry the axes' names."""
    delays = np.asarray(pattern.delays, dtype=float)
    largest = delays.max(initial=0.0) if pattern.band is None else pattern.band[1].max(initial=delays.max())
    ranks = "rank"
    shares = delays / largest if largest > 0 else delays
    if len(shares) <= DOTS:
        axis.bar(np.arange(len(shares)), shares, width=0.8, color=BLUE)
        axis.plot(np.arange(len(shares)), shares, linestyle="none", marker=".", markersize=3, color=INK)
    else:
        latest, each = maxima_by_group(shares, _BARS)
        ranks = f"rank (bars: maximum of {each})"
        if pattern.band is None:
            axis.bar(np.arange(len(latest)) * each + (each - 1) / 2, latest, width=each, color=BLUE)
        else:
            axis.stairs(latest, _edges(len(shares), each), baseline=None, color=BLUE, zorder=3)
    if pattern.band is not None and largest > 0:
        _draw_band(axis, pattern.band[0] / largest, pattern.band[1] / largest)
    axis.set_ylim(-0.06, 1.08)
    axis.set_xlim(-0.6, max(len(shares) - 0.4, 0.6))
    axis.set_yticks([0, 0.5, 1], ["0", "0.5", "1"] if first else ["", "", ""])
    axis.set_xticks(sorted({0, (len(shares) - 1) // 2, len(shares) - 1}))
    axis.tick_params(labelsize=7.5, colors=MUTED, length=2.5)
    axis.spines[["top", "right"]].set_visible(False)
    axis.spines[["left", "bottom"]].set_color(GREY)
    axis.set_title(
        pattern.label, fontsize=9, loc="left", color=INK, pad=15 if pattern.remark else 4, parse_math=False
    )
    axis.text(0, 1.07, pattern.remark, transform=axis.transAxes, fontsize=7, color=MUTED, parse_math=False)
    if first:
        axis.set_ylabel("delay, share of s", fontsize=8, color=INK)
    if last:
        axis.set_xlabel(ranks, fontsize=8, color=INK)


def _draw_band(axis: Axes, low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
    """The range of delays: a vertical line per rank, or a band if there are many ranks."""
    if len(high) <= DOTS:
        axis.vlines(np.arange(len(high)), low, high, color=ORANGE, linewidth=2 if len(high) <= 16 else 1)
        return
    highest, each = maxima_by_group(high, _BARS)
    lowest = np.minimum.reduceat(low, np.arange(0, len(low), each))
    axis.stairs(highest, _edges(len(high), each), baseline=lowest, fill=True, color=ORANGE, alpha=0.45)


def _edges(ranks: int, each: int) -> NDArray[np.float64]:
    """The edges of bars of ``each`` ranks."""
    return np.append(np.arange(0, ranks, each), ranks) - 0.5


def penalty_figure(penalties: Sequence[Penalty], subject: str, full_bar: float) -> Figure:
    """The slowdown of the no-delay winner against the selected algorithm, one bar per configuration.

    ``full_bar`` is the share that the longest bar represents, the same in all figures of a report.
    """
    label = max((width_of(penalty.configuration, 9) for penalty in penalties), default=1.0) + 0.2
    texts = [_penalty_text(penalty) for penalty in penalties]
    lengths = [_BAR * max(penalty.share, 0) / full_bar for penalty in penalties]
    end = max((length + width_of(text, 8) for length, text in zip(lengths, texts, strict=True)), default=1.0)
    width = max(label + end + 0.2, width_of(subject, 8.5), 4.0) + 2 * _MARGIN
    sheet = Sheet(width, 0.8 + len(penalties) * _PENALTY_ROW)
    sheet.text(_MARGIN, 0.22, "Penalty of ignoring arrival patterns", 11, weight="bold")
    sheet.text(_MARGIN, 0.45, subject, 8.5, color=MUTED)
    left = _MARGIN + label
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
    slowdown = labels.typeset(wording.cost(penalty.share))
    return f"{slowdown}: {penalty.no_delay_winner} instead of {penalty.selected}"
