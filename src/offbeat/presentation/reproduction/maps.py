"""The maps of figure 4: the best algorithm for each arrival pattern and message size, and its gain.

The number of a square is the last delay d̂ of the best algorithm over that of the no-delay winner, the
fastest algorithm at this size without delays, which a decision without arrival patterns would take. Both are
compared under the square's own pattern, so that 1 means no gain. Delays below the resolution count as the
resolution (an eager d̂ can be 0), so that no ratio divides by zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from msgspec import Struct

from offbeat.base.document import grid
from offbeat.base.units import format_size
from offbeat.measurement.results.read import Results
from offbeat.model.study.skew_policy import ZERO_SKEW
from offbeat.presentation.drawing.grid_figure import grid_figure
from offbeat.presentation.drawing.palette import KINDS
from offbeat.selection.choices.delay_table import NO_DELAY, DelayTable, delay_tables

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
    factors = sorted(set(results.cases.filter(results.cases["skew_policy"] != ZERO_SKEW.key)["skew_factor"]))
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
    suffix = f"×{float(factor)!r}".removesuffix(".0")  # of pattern labels
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
            if pattern != NO_DELAY and several and not pattern.endswith(suffix):
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


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def algorithms_of(maps: Sequence[Map], collective: str) -> list[str]:
    """The algorithms that are best somewhere in a collective's maps, those with most squares first.

    The order is the same for all factors, so that all pictures use the same colours and letters.
    """
    maps_of_collective = [one for one in maps if one.collective == collective]
    counts = Counter(square.algorithm for one in maps_of_collective for square in one.squares.values())
    return sorted(counts, key=lambda name: (-counts[name], name))


def map_figure(one: Map, algorithms: Sequence[str], subject: str) -> Figure:
    """A map as a picture of shapes × sizes; ``subject`` is its second line.

    ``algorithms`` get colours and letters in their order.
    """
    present = {square.algorithm for square in one.squares.values()}

    def square(shape: str, size: int) -> grid.Square:
        best = one.squares.get((shape, size))
        if best is None:
            return grid.Square(text="", tone="missing")
        tone, letter = _look(algorithms.index(best.algorithm))
        return grid.Square(text=_number(best.ratio), small=letter, tone=tone)

    caption = (
        f"Colour and letter: the algorithm with the smallest last delay on {one.p} processes. Number: its"
        " last delay over that of the algorithm that is best without delays, under the same pattern."
    )
    map_grid = grid.Grid(
        kind="map",
        title=f"{one.collective}, skew factor {one.factor:g}",
        subject=subject,
        caption=caption,
        columns=[grid.Heading(name=format_size(size)) for size in one.sizes],
        rows=[
            grid.Row(heading=grid.Heading(name=shape), squares=[square(shape, size) for size in one.sizes])
            for shape in one.shapes
        ],
        keys=[
            grid.Key(tone=tone, mark=letter, meaning=name)
            for name, (tone, letter) in ((name, _look(at)) for at, name in enumerate(algorithms))
            if name in present
        ],
    )
    return grid_figure(map_grid)


def _look(place: int) -> tuple[str, str]:
    """The tone and the letter of an algorithm by its place."""
    return f"kind{place % KINDS}", LETTERS[place % len(LETTERS)]


def _number(ratio: float) -> str:
    """A ratio with two decimals; a gain is never rounded to 1 or to 0."""
    if ratio >= 0.995:
        return "1"
    return f"{ratio:.2f}".lstrip("0") if ratio >= 0.005 else "<.01"
