"""The maps of figure 4: for each arrival pattern and message size the best algorithm, and what it gains.

The number of a square is the last delay d̂ of the best algorithm over that of the no-delay winner: of the
algorithm that is fastest at this size when nobody is late, and that a decision without arrival patterns would
take. Both are compared under the square's own pattern, so that 1 means that nothing is gained. Delays below
the resolution count as that long (an eager d̂ can be 0), so that no ratio divides by nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np
import polars as pl
from msgspec import Struct

from offbeat.results.read import Results
from offbeat.select.table import NO_DELAY, DelayTable, delay_tables

TIE = 1e-9
"""Algorithms whose delays differ by a smaller share are equally good; the first in the list of names wins."""


class Square(Struct, frozen=True, kw_only=True):
    """One pattern and size: the best algorithm, its d̂ in seconds, and that over the no-delay winner's."""

    algorithm: str
    last_delay_s: float
    ratio: float


class Map(Struct, frozen=True, kw_only=True):
    """The map of one collective and skew factor.

    ``squares`` maps (shape, size in bytes) to what is best there; ``winners`` each size to its no-delay
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
        """A word for files: ``reduce-1.5``."""
        return f"{self.collective}-{float(self.factor)!r}"

    def changed(self) -> float:
        """The share of squares, of those with delays, whose best algorithm is not the no-delay winner."""
        others = [
            square.algorithm != self.winners[size]
            for (shape, size), square in self.squares.items()
            if shape != NO_DELAY
        ]
        return sum(others) / len(others) if others else 0.0


def maps(results: Results, only: Mapping[str, Collection[str]] | None = None) -> list[Map]:
    """Every map that the results of a study of figure 4 give, by collective and factor.

    ``only`` maps collectives to the algorithms to look at; the others are left out. Sizes at which no_delay
    is missing have no squares.
    """
    cases = results.cases
    if only is not None:
        wanted = [(collective, name) for collective, names in only.items() for name in names]
        named = pl.DataFrame(wanted, schema=["collective", "algorithm"], orient="row")
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
    """The algorithm with the smallest delay; of those that tie, the no-delay winner if it is one of them."""
    delays = table.delays_s()[row]
    least = np.nanmin(delays)
    tied = np.flatnonzero(delays <= least * (1 + TIE))
    if table.patterns[row] != NO_DELAY:
        winner = _best(table, table.patterns.index(NO_DELAY))
        if winner in tied:
            return winner
    return int(tied[0])


def _label(factor: float) -> str:
    """A factor as labels of patterns end with it: ``1.5``, ``1``."""
    return repr(float(factor)).removesuffix(".0")
