"""Under which arrivals an algorithm's d̂ is expected, and how long it then is.

======================  ==========================================================================
condition               d̂ of an algorithm
======================  ==========================================================================
``no_delay``            all processes arrive together: the usual benchmark
``average``             the mean over no_delay and the shapes (the paper's figure 9)
``scenario``            the mean arrivals of a program, as one pattern
``replay``              the recorded arrivals, call by call: the mean over the calls
======================  ==========================================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.predict.recorded import Calls
from offbeat.select.table import NO_DELAY, DelayTable
from offbeat.units import counted

NAMES = ("no_delay", "average", "scenario", "replay")
"""The conditions; the later, the more is known of how the program's ranks arrive."""


_SAME, _SAME_NAME, _UNKNOWN, _OTHERS = range(4)


class Estimate(Struct, frozen=True, kw_only=True):
    """A time in seconds, and the ends of its 95% confidence interval."""

    time_s: float
    low_s: float
    high_s: float

    def times(self, factor: float) -> Estimate:
        """So many times as long; a negative factor turns the interval round."""
        ends = sorted((factor * self.low_s, factor * self.high_s))
        return Estimate(time_s=factor * self.time_s, low_s=ends[0], high_s=ends[1])

    def after(self, time_s: float) -> Estimate:
        """Longer by a time that is known exactly."""
        return Estimate(time_s=self.time_s + time_s, low_s=self.low_s + time_s, high_s=self.high_s + time_s)


def total(parts: Sequence[Estimate]) -> Estimate:
    """The sum of independent estimates: their distances to the interval's ends add in quadrature."""
    time_s = math.fsum(one.time_s for one in parts)
    below = math.hypot(*(one.time_s - one.low_s for one in parts))
    above = math.hypot(*(one.high_s - one.time_s for one in parts))
    return Estimate(time_s=time_s, low_s=time_s - below, high_s=time_s + above)


class Condition(Struct, frozen=True, kw_only=True):
    """One of :data:`NAMES` in one table: the ``rows`` whose mean it is, and what these are called."""

    name: str
    pattern: str
    rows: list[int]


def conditions(table: DelayTable, calls: Calls, wanted: str = "") -> tuple[list[Condition], list[str]]:
    """The conditions that a table has, in the order of :data:`NAMES`, and what must be said of them.

    Of several scenarios (or replays), ``wanted`` names one; else those that were recorded from these calls
    come first, then those whose name says so. Raises :class:`BadInput` for one that was not measured.
    """
    shapes = [row for row, kind in enumerate(table.kinds) if kind == "shape"]
    found = [
        Condition(name=NO_DELAY, pattern=NO_DELAY, rows=[row])
        for row in shapes
        if table.patterns[row] == NO_DELAY
    ]
    if len(shapes) > len(found):
        found.append(Condition(name="average", pattern=counted(len(shapes), "pattern"), rows=shapes))
    notes: list[str] = []
    for kind in ("scenario", "replay"):
        rows = [row for row, own in enumerate(table.kinds) if own == kind]
        chosen = _chosen(table, rows, calls, wanted)
        if chosen is not None:
            found.append(Condition(name=kind, pattern=table.patterns[chosen], rows=[chosen]))
            if _kinship(table, chosen, calls) == _OTHERS:
                notes.append(
                    f"the {kind} {table.patterns[chosen]} was recorded from {table.sources[chosen]}: that"
                    f" {calls.words} arrives alike is taken for granted"
                )
        if len(rows) > 1 and chosen is not None and not wanted:
            others = ", ".join(table.patterns[row] for row in rows if row != chosen)
            notes.append(f"the {kind} is {table.patterns[chosen]}; --scenario names another: {others}")
    known = [table.patterns[row] for row, kind in enumerate(table.kinds) if kind != "shape"]
    if wanted and wanted not in [*known, *(table.shapes[table.patterns.index(name)] for name in known)]:
        there = f"there are {', '.join(known)}" if known else "the results hold none"
        raise BadInput(f"--scenario {wanted} was not measured with {table.configuration}; {there}")
    if not found:
        raise BadInput(f"{table.configuration} was measured under no pattern that a prediction can use")
    return found, notes


def delay(table: DelayTable, algorithm: str, condition: Condition) -> Estimate | None:
    """The d̂ of an algorithm under a condition; None where a pattern of it was not measured."""
    if algorithm not in table.algorithms:
        return None
    column = table.algorithms.index(algorithm)
    parts = []
    for row in condition.rows:
        middle = float(table.last_delay_s[row, column])
        if math.isnan(middle):
            return None
        low, high = float(table.low_s[row, column]), float(table.high_s[row, column])
        parts.append(
            Estimate(
                time_s=middle,
                low_s=middle if math.isnan(low) else min(low, middle),
                high_s=middle if math.isnan(high) else max(high, middle),
            )
        )
    return total(parts).times(1 / len(parts))


def _chosen(table: DelayTable, rows: Sequence[int], calls: Calls, wanted: str) -> int | None:
    """The row that a scenario or replay is taken from."""
    if wanted:
        named = [row for row in rows if wanted in (table.patterns[row], *table.shapes[row : row + 1])]
        return named[0] if named else None
    return min(rows, key=lambda row: (_kinship(table, row, calls), row), default=None)


def _kinship(table: DelayTable, row: int, calls: Calls) -> int:
    """How sure it is that a row was recorded from these calls: the smaller, the surer."""
    source = table.sources[row] if table.sources else ""
    if source.startswith(f"{calls.words} in "):
        return _SAME
    if table.patterns[row].startswith(f"{calls.short}-"):
        return _SAME_NAME
    return _OTHERS if source else _UNKNOWN
