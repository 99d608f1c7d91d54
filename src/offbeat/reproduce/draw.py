"""A map of figure 4 as a picture: colour and letter say which algorithm is best, the number what it gains."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from offbeat.report.palette import INK, MUTED, PAPER
from offbeat.report.sheet import Sheet, width_of
from offbeat.reproduce.maps import Map
from offbeat.units import format_size

COLOURS = (
    "#8ecae6",
    "#f4a259",
    "#a7c957",
    "#f2cc8f",
    "#cdb4db",
    "#e5989b",
    "#90a8c3",
    "#d4d700",
    "#80ced7",
    "#c9ada7",
    "#ffafcc",
    "#b5e48c",
    "#dda15e",
    "#adb5bd",
    "#ffd60a",
    "#9d8df1",
)
"""Backgrounds on which black text reads well, in the order in which algorithms get them."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_MARGIN, _ROW, _COLUMN, _LINE = 0.18, 0.36, 0.52, 0.22
_POINTS = 8.5


def algorithms_of(maps: Sequence[Map], collective: str) -> list[str]:
    """The algorithms that are best somewhere in a collective's maps, those with most squares first.

    The order is the same for all factors, so that colours and letters are.
    """
    counts: dict[str, int] = {}
    for one in maps:
        if one.collective == collective:
            for square in one.squares.values():
                counts[square.algorithm] = counts.get(square.algorithm, 0) + 1
    return sorted(counts, key=lambda name: (-counts[name], name))


def map_figure(one: Map, algorithms: Sequence[str], subject: str) -> Figure:
    """Draw a map; ``algorithms`` get colours and letters in their order, ``subject`` is the second line."""
    label = max(width_of(shape, _POINTS) for shape in one.shapes) + 0.15
    inner = max(_COLUMN * len(one.sizes), 4.5)
    here = [name for name in algorithms if any(s.algorithm == name for s in one.squares.values())]
    legend = _legend_lines(here, algorithms, inner + label)
    words = textwrap.wrap(_caption(one), int((inner + label) / width_of("n", _POINTS)))
    top = _MARGIN + 0.62
    bottom = top + _ROW * len(one.shapes) + 0.32
    height = bottom + _LINE * (len(legend) + len(words)) + 0.3
    sheet = Sheet(2 * _MARGIN + label + inner, height)
    sheet.text(_MARGIN, _MARGIN + 0.1, f"{one.collective}, skew factor {one.factor:g}", 12, weight="bold")
    sheet.text(_MARGIN, _MARGIN + 0.38, subject, _POINTS, color=MUTED)
    for number, shape in enumerate(one.shapes):
        _draw_row(sheet, one, shape, algorithms, _MARGIN + label, top + _ROW * number)
    for number, size in enumerate(one.sizes):
        x = _MARGIN + label + _COLUMN * (number + 0.5)
        sheet.text(x, bottom - 0.18, format_size(size).replace(" ", "\n"), 7, ha="center", va="center")
    y = bottom + 0.2
    for line in legend:
        _draw_legend(sheet, line, algorithms, y)
        y += _LINE
    for text in words:
        sheet.text(_MARGIN, y + 0.05, text, _POINTS, color=MUTED)
        y += _LINE
    return sheet.finished()


def _draw_row(sheet: Sheet, one: Map, shape: str, algorithms: Sequence[str], left: float, y: float) -> None:
    sheet.text(left - 0.1, y + _ROW / 2, shape, _POINTS, ha="right")
    for number, size in enumerate(one.sizes):
        square = one.squares.get((shape, size))
        if square is None:
            continue
        x = left + _COLUMN * number
        place = algorithms.index(square.algorithm)
        _fill(sheet, x, y, _COLUMN, _ROW, place)
        sheet.text(x + _COLUMN / 2, y + 0.13, _number(square.ratio), 8, ha="center")
        sheet.text(x + _COLUMN / 2, y + 0.265, LETTERS[place % len(LETTERS)], 6, ha="center", color=INK)


def _fill(sheet: Sheet, x: float, y: float, width: float, height: float, place: int) -> None:
    colour = COLOURS[place % len(COLOURS)]
    sheet.axes.add_patch(
        Rectangle((x, y), width, height, facecolor=colour, edgecolor=PAPER, linewidth=1.2, zorder=0.5)
    )


def _legend_lines(names: Sequence[str], algorithms: Sequence[str], width: float) -> list[list[str]]:
    lines: list[list[str]] = [[]]
    used = 0.0
    for name in names:
        needed = 0.5 + width_of(name, _POINTS)
        if lines[-1] and used + needed > width:
            lines.append([])
            used = 0.0
        lines[-1].append(name)
        used += needed
    return lines


def _draw_legend(sheet: Sheet, names: Sequence[str], algorithms: Sequence[str], y: float) -> None:
    x = _MARGIN
    for name in names:
        place = algorithms.index(name)
        _fill(sheet, x, y - 0.085, 0.22, 0.17, place)
        sheet.text(x + 0.11, y, LETTERS[place % len(LETTERS)], 7, ha="center")
        sheet.text(x + 0.28, y, name, _POINTS)
        x += 0.5 + width_of(name, _POINTS)


def _caption(one: Map) -> str:
    return (
        f"Colour and letter: the algorithm with the smallest last delay on {one.p} processes. Number: its"
        " last delay over that of the algorithm that is best without delays, under the same pattern."
    )


def _number(ratio: float) -> str:
    """Two digits behind the point, and never a gain that is hidden by rounding."""
    if ratio >= 0.995:
        return "1"
    return f"{ratio:.2f}".lstrip("0") if ratio >= 0.005 else "<.01"
