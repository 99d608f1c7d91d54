"""Unfinished studies: which cells have cases that are still to be measured.

Quarantined cases are something else: they were tried and given up, and are reported as such.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from msgspec import Struct

from offbeat.results.layout import UNFINISHED_CASE
from offbeat.results.plan import CONFIGURATION, ConfigurationKey
from offbeat.select.table import Cell
from offbeat.units import counted

if TYPE_CHECKING:
    from offbeat.results.read import Results

_NAMED = 3


class Unfinished(Struct, frozen=True, kw_only=True):
    """How far a study is that is not finished.

    ``not_measured`` has the (algorithm, pattern) pairs of each cell that are still to be measured;
    ``not_begun`` is how many of these cells have no case yet, ``quarantined`` how many cases were given up.
    """

    done: int
    total: int
    quarantined: int
    not_measured: dict[ConfigurationKey, list[tuple[str, str]]]
    not_begun: list[ConfigurationKey]

    @property
    def sentence(self) -> str:
        """How far it is: for whoever is about to rely on it."""
        partial = len(self.not_measured) - len(self.not_begun)
        cells = [f"{counted(partial, 'cell')} {'is' if partial == 1 else 'are'} partial"] if partial else []
        if self.not_begun:
            begun = "is not begun" if len(self.not_begun) == 1 else "are not begun"
            cells.append(f"{counted(len(self.not_begun), 'cell')} {begun}")
        given_up = f" ({self.quarantined} of them quarantined)" if self.quarantined else ""
        return (
            f"{self.done} of {self.total} cases are done{given_up}, the study is not finished:"
            f" {' and '.join(cells)}. 'offbeat run' with the study measures the rest."
        )


def unfinished(results: Results) -> Unfinished | None:
    """How far a study is; None if nothing is left to be measured, or nothing says what is (imports)."""
    if results.plan is None:
        return None
    missing = results.plan.not_measured(results.cases.filter(pl.col("status") != UNFINISHED_CASE))
    if not missing:
        return None
    begun = set(results.cases.select(CONFIGURATION).unique().iter_rows())
    return Unfinished(
        done=results.plan.total - sum(map(len, missing.values())),
        total=results.plan.total,
        quarantined=results.cases.filter(pl.col("status") == "quarantined").height,
        not_measured=missing,
        not_begun=[cell for cell in missing if cell not in begun],
    )


def key_of(cell: Cell) -> ConfigurationKey:
    """How the plan of a study calls a cell."""
    return tuple(getattr(cell, name) for name in CONFIGURATION)


def partial_caution(lacking: list[tuple[str, str]]) -> list[str]:
    """What a reader of a choice in a partial cell must know; nothing for a complete one."""
    if not lacking:
        return []
    named = ", ".join(f"{algorithm} under {pattern}" for algorithm, pattern in lacking[:_NAMED])
    more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
    return [
        f"partial: {counted(len(lacking), 'case')} {'is' if len(lacking) == 1 else 'are'} not wholly measured"
        f" yet ({named}{more}); the choice may change."
    ]
