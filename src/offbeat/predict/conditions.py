"""The conditions (sets of arrival patterns) of a prediction, and the d̂ of an algorithm under each.

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
from offbeat.predict.recorded import TracedCalls
from offbeat.select.table import NO_DELAY, DelayTable
from offbeat.units import counted

NAMES = ("no_delay", "average", "scenario", "replay")
"""The conditions in ascending order of their similarity to the arrivals of the program."""


_SAME_CALLS, _SAME_NAME, _UNKNOWN_SOURCE, _OTHER_CALLS = range(4)
"""Ranks of the match between a pattern's source and some calls; lower is better."""


class Estimate(Struct, frozen=True, kw_only=True):
    """A time in seconds, and the ends of its 95% confidence interval."""

    time_s: float
    low_s: float
    high_s: float

    @classmethod
    def exact(cls, time_s: float) -> Estimate:
        """A time without uncertainty."""
        return cls(time_s=time_s, low_s=time_s, high_s=time_s)

    def times(self, factor: float) -> Estimate:
        """The estimate multiplied by a factor; a negative factor swaps the ends of the interval."""
        ends = sorted((factor * self.low_s, factor * self.high_s))
        return Estimate(time_s=factor * self.time_s, low_s=ends[0], high_s=ends[1])

    def plus(self, time_s: float) -> Estimate:
        """The estimate plus a time without uncertainty."""
        return Estimate(time_s=self.time_s + time_s, low_s=self.low_s + time_s, high_s=self.high_s + time_s)


def total(parts: Sequence[Estimate]) -> Estimate:
    """The sum of independent estimates: the half-widths of their intervals add in quadrature."""
    time_s = math.fsum(one.time_s for one in parts)
    below = math.hypot(*(one.time_s - one.low_s for one in parts))
    above = math.hypot(*(one.high_s - one.time_s for one in parts))
    return Estimate(time_s=time_s, low_s=time_s - below, high_s=time_s + above)


class Condition(Struct, frozen=True, kw_only=True):
    """One of :data:`NAMES` in one table: the ``rows`` whose mean it is, and their ``pattern``."""

    name: str
    pattern: str
    rows: list[int]


def conditions(
    table: DelayTable, calls: TracedCalls, requested: str = ""
) -> tuple[list[Condition], list[str]]:
    """The conditions of a table in the order of :data:`NAMES`, and notes on them.

    ``requested`` names one of several scenarios or replays; by default the one with the best
    :func:`_match_rank` is used. Raises :class:`BadInput` for one that was not measured.
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
        chosen = _chosen(table, rows, calls, requested)
        if chosen is not None:
            found.append(Condition(name=kind, pattern=table.patterns[chosen], rows=[chosen]))
            if _match_rank(table, chosen, calls) == _OTHER_CALLS:
                notes.append(
                    f"the {kind} {table.patterns[chosen]} was recorded from {table.sources[chosen]}: the"
                    f" arrivals of {calls.description} are assumed to be the same"
                )
        if len(rows) > 1 and chosen is not None and not requested:
            others = ", ".join(table.patterns[row] for row in rows if row != chosen)
            notes.append(
                f"the {kind} is {table.patterns[chosen]}; select another one with --scenario: {others}"
            )
    known = [table.patterns[row] for row, kind in enumerate(table.kinds) if kind != "shape"]
    if requested and requested not in [*known, *(table.shapes[table.patterns.index(name)] for name in known)]:
        there = f"there are {', '.join(known)}" if known else "the results have none"
        raise BadInput(f"--scenario {requested} was not measured with {table.configuration}; {there}")
    if not found:
        raise BadInput(f"{table.configuration} was measured under no pattern that a prediction can use")
    return found, notes


def delay(table: DelayTable, algorithm: str, condition: Condition) -> Estimate | None:
    """The d̂ of an algorithm under a condition; None if one of its patterns was not measured."""
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


def _chosen(table: DelayTable, rows: Sequence[int], calls: TracedCalls, requested: str) -> int | None:
    """The row of a scenario or replay."""
    if requested:
        named = [row for row in rows if requested in (table.patterns[row], *table.shapes[row : row + 1])]
        return named[0] if named else None
    return min(rows, key=lambda row: (_match_rank(table, row, calls), row), default=None)


def _match_rank(table: DelayTable, row: int, calls: TracedCalls) -> int:
    """How well the source of a row's pattern matches these calls; lower is better."""
    source = table.sources[row] if table.sources else ""
    if source.startswith(f"{calls.description} in "):
        return _SAME_CALLS
    if table.patterns[row].startswith(f"{calls.short}-"):
        return _SAME_NAME
    return _OTHER_CALLS if source else _UNKNOWN_SOURCE
