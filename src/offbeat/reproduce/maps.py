"""The maps of figure 4: the best algorithm for each arrival pattern and message size, and its gain.

The number of a square is the last delay d̂ of the best algorithm over that of the no-delay winner, the
fastest algorithm at this size without delays, which a decision without arrival patterns would take. Both are
compared under the square's own pattern, so that 1 means no gain. Delays below the resolution count as the
resolution (an eager d̂ can be 0), so that no ratio divides by zero.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from msgspec import Struct

from offbeat.drawing.palette import INK, MUTED, PAPER
from offbeat.drawing.sheet import Sheet, width_of
from offbeat.results.read import Results
from offbeat.select.table import NO_DELAY, DelayTable, delay_tables
from offbeat.units import format_size

TIE = 1e-9
"""Relative difference below which two delays count as equal; the first algorithm by name wins a tie."""


class Square(Struct, frozen=True, kw_only=True):
    """One pattern and size: the best algorithm, its d̂ in seconds, and that over the no-delay winner's."""

    algorithm: str
    last_delay_s: float
    ratio: float


class Map(Struct, frozen=True, kw_only=True):
    """The map of one collective and skew factor.

    ``squares`` maps (shape, size in bytes) to the best algorithm; ``winners`` each size to its no-delay
    winner. Shapes and sizes are in the order in which they are drawn, no_delay last.
    """

    collective: str
    factor: float
    p: int
    shapes: list[str]
    sizes: list[int]
    squares: dict[tuple[str, int], Square]
    winners: dict[int, str]

    @property
    def name(self) -> str:
        """The name for files: ``reduce-1.5``."""
        return f"{self.collective}-{float(self.factor)!r}"

    def changed(self) -> float:
        """The share of squares with delays whose best algorithm is not the no-delay winner."""
        others = [
            square.algorithm != self.winners[size]
            for (shape, size), square in self.squares.items()
            if shape != NO_DELAY
        ]
        return sum(others) / len(others) if others else 0.0


def maps(results: Results, only: Mapping[str, Collection[str]] | None = None) -> list[Map]:
    """All maps of the results of a study of figure 4, by collective and factor.

    ``only`` maps collectives to the algorithms to compare; the others are omitted. Sizes without no_delay
    have no squares.
    """
    cases = results.cases
    if only is not None:
        selected = [(collective, name) for collective, names in only.items() for name in names]
        named = pl.DataFrame(selected, schema=["collective", "algorithm"], orient="row")
        cases = cases.join(named, on=["collective", "algorithm"], how="semi", maintain_order="left")
    tables = delay_tables(cases, results.algorithms, results.verdicts)
    factors = sorted(set(results.cases.filter(results.cases["skew_policy"] != "none")["skew_factor"]))
    collectives = list(dict.fromkeys(table.configuration.collective for table in tables))
    several = len(factors) > 1
    return [
        _map(
            collective,
            factor,
            [table for table in tables if table.configuration.collective == collective],
            several,
        )
        for collective in collectives
        for factor in factors
    ]


def _map(collective: str, factor: float, tables: Iterable[DelayTable], several: bool) -> Map:
    squares: dict[tuple[str, int], Square] = {}
    winners: dict[int, str] = {}
    shapes: dict[str, None] = {}
    sizes: list[int] = []
    p = 0
    for table in tables:
        p = table.configuration.p
        if NO_DELAY not in table.patterns:
            continue
        size = table.configuration.bytes
        sizes.append(size)
        winner = _best(table, table.patterns.index(NO_DELAY))
        winners[size] = table.algorithms[winner]
        for row, pattern in enumerate(table.patterns):
            if pattern != NO_DELAY and several and not pattern.endswith(f"×{_label(factor)}"):
                continue
            shapes[table.shapes[row]] = None
            squares[table.shapes[row], size] = _square(table, row, winner)
    ordered = [shape for shape in shapes if shape != NO_DELAY] + [NO_DELAY]
    return Map(
        collective=collective,
        factor=factor,
        p=p,
        shapes=ordered,
        sizes=sorted(sizes),
        squares=squares,
        winners=winners,
    )


def _square(table: DelayTable, row: int, winner: int) -> Square:
    best = _best(table, row)
    delays = table.delays_s()[row]
    return Square(
        algorithm=table.algorithms[best],
        last_delay_s=float(table.last_delay_s[row, best]),
        ratio=float(delays[best] / delays[winner]),
    )


def _best(table: DelayTable, row: int) -> int:
    """The algorithm with the smallest delay; of ties the no-delay winner, if it is among them."""
    delays = table.delays_s()[row]
    least = np.nanmin(delays)
    tied = np.flatnonzero(delays <= least * (1 + TIE))
    if table.patterns[row] != NO_DELAY:
        winner = _best(table, table.patterns.index(NO_DELAY))
        if winner in tied:
            return winner
    return int(tied[0])


def _label(factor: float) -> str:
    """A factor as in pattern labels: ``1.5``, ``1``."""
    return repr(float(factor)).removesuffix(".0")


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
"""Background colours for black text, in the order in which algorithms get them."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_MARGIN, _ROW, _COLUMN, _LINE = 0.18, 0.36, 0.52, 0.22
_POINTS = 8.5


def algorithms_of(maps: Sequence[Map], collective: str) -> list[str]:
    """The algorithms that are best somewhere in a collective's maps, those with most squares first.

    The order is the same for all factors, so that all pictures use the same colours and letters.
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
    present = [name for name in algorithms if any(s.algorithm == name for s in one.squares.values())]
    legend = _legend_lines(present, algorithms, inner + label)
    caption = textwrap.wrap(_caption(one), int((inner + label) / width_of("n", _POINTS)))
    top = _MARGIN + 0.62
    bottom = top + _ROW * len(one.shapes) + 0.32
    height = bottom + _LINE * (len(legend) + len(caption)) + 0.3
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
    for text in caption:
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
    """A ratio with two decimals; a gain is never rounded to 1 or to 0."""
    if ratio >= 0.995:
        return "1"
    return f"{ratio:.2f}".lstrip("0") if ratio >= 0.005 else "<.01"
