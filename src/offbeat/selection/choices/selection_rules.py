"""Selection rules: how one algorithm is chosen for a configuration.

A rule reads some rows of a delay table and reduces each algorithm's row-normalised last delays (d̂ divided by
the row's smallest among the compared algorithms) to one score. The smallest score wins; 1 means that no other
compared algorithm is faster in any of the rows.

====================  ====================================  ==========================================
rule                  rows                                  score
====================  ====================================  ==========================================
``average``           no_delay and the shapes               the mean (the paper's section V.C)
``worst``             no_delay and the shapes               the largest
``scenario:NAME``     the scenario or replay NAME, at all   the mean; with one skew, smallest d̂ wins
                      its skews
``no_delay``          no_delay                              smallest d̂ wins: the usual benchmark
``recorded``          the scenarios and replays; without    the mean
                      any, no_delay and the shapes
====================  ====================================  ==========================================

``average`` and ``worst`` include the scenarios and replays on request (``include_scenarios``). Scenarios and
replays that were recorded from the same calls of the same trace then count once if there is a replay among
them: the first replay counts, because it reproduces the calls one by one. Every row has the same weight, also
if a shape has several skews. Algorithms are compared only if they were measured in all of the rule's rows.

Scores are equal if their relative difference is below 1e-9. Of algorithms with equal scores the first in
dictionary order is chosen. Only letters and digits count, without case, so that the outcome depends neither
on the order of measurement nor on hyphens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offbeat.base.errors import BadInput
from offbeat.selection.choices.delay_table import NO_DELAY, RESOLUTION_S, TOLERANCE, DelayTable

RULES = ("average", "worst", "scenario:NAME", "no_delay", "recorded")
"""The rules as a user writes them."""


@dataclass(frozen=True)
class Rule:
    """A rule: its ``kind``, and for the kind ``scenario`` the NAME of one."""

    kind: str
    scenario: str = ""
    include_scenarios: bool = False

    def __str__(self) -> str:
        """The rule as a user writes it."""
        return f"scenario:{self.scenario}" if self.kind == "scenario" else self.kind

    def rows(self, table: DelayTable) -> list[int]:
        """The rows of ``table`` that this rule uses; empty if the configuration has none of them."""
        if self.kind == "no_delay":
            return [i for i, pattern in enumerate(table.patterns) if pattern == NO_DELAY]
        if self.kind == "scenario":
            return [i for i in range(len(table.patterns)) if self.scenario in _scenario_names(table, i)]
        if self.kind == "recorded" and table.recorded_rows:
            return [i for i in table.recorded_rows if i not in superseded_rows(table)]
        omitted_rows = superseded_rows(table) if self.include_scenarios else table.recorded_rows
        return [i for i in range(len(table.patterns)) if i not in omitted_rows]

    def reduce(self, normalised_delays: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores ``(..., algorithms)`` from normalised delays ``(..., rows, algorithms)``."""
        return normalised_delays.max(axis=-2) if self.kind == "worst" else normalised_delays.mean(axis=-2)

    def scores(self, table: DelayTable) -> dict[str, float]:
        """The score of every candidate that was measured in all of the rule's rows; the smallest is best."""
        columns = comparable_columns(table, self.rows(table))
        values = scores_of(self, table.last_delay_s[self.rows(table)], columns)
        return {table.algorithms[j]: float(values[j]) for j in columns}

    def reference_scores(self, table: DelayTable) -> dict[str, float]:
        """The scores of the library's default and of excluded algorithms; they can be below 1."""
        rows = self.rows(table)
        values = scores_of(self, table.last_delay_s[rows], comparable_columns(table, rows))
        references = np.flatnonzero(~table.candidates & ~np.isnan(values))
        return {table.algorithms[j]: float(values[j]) for j in references}


def parse(text: str, include_scenarios: bool = False) -> Rule:
    """Parse a rule as a user writes it. Raises :class:`BadInput`, which lists the rules."""
    kind, colon, scenario = text.partition(":")
    if kind == "scenario" and scenario:
        return Rule("scenario", scenario)
    if kind in ("average", "worst") and not colon:
        return Rule(kind, include_scenarios=include_scenarios)
    if text in ("no_delay", "recorded"):
        return Rule(text)
    raise BadInput(
        f"rule '{text}' is unknown; the rules are {', '.join(RULES)} (NAME is a scenario's or replay's name)."
    )


def average_rules(table: DelayTable) -> dict[str, Rule]:
    """The rule ``average`` by label: without scenarios and, if the table has any, with them."""
    plain_average = Rule("average")
    if not table.recorded_rows:
        return {"average": plain_average}
    return {
        "average without scenarios": plain_average,
        "average with scenarios": Rule("average", include_scenarios=True),
    }


def comparable_columns(table: DelayTable, rows: list[int]) -> list[int]:
    """The columns of the candidates measured in all of ``rows``, in dictionary order; none without rows."""
    if not rows:
        return []
    complete = table.candidates & ~np.isnan(table.last_delay_s[rows]).any(axis=0)
    return sorted(np.flatnonzero(complete).tolist(), key=lambda j: dictionary_order(table.algorithms[j]))


def scores_of(rule: Rule, last_delay_s: NDArray[np.float64], columns: list[int]) -> NDArray[np.float64]:
    """Scores ``(..., algorithms)`` from delays ``(..., rows, algorithms)`` in seconds.

    Rows are normalised by the smallest delay among the compared ``columns``. Leading axes are independent
    (bootstrap resamples). Columns with a missing delay score NaN; without rows or columns to compare, all do.
    """
    if not columns or last_delay_s.shape[-2] == 0:
        return np.full(last_delay_s.shape[:-2] + last_delay_s.shape[-1:], np.nan)
    delays = np.maximum(last_delay_s, RESOLUTION_S)
    return rule.reduce(delays / delays[..., columns].min(axis=-1, keepdims=True))


def winners_of(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """For scores ``(..., algorithms)`` in dictionary order: the index of the first with the best."""
    best = scores.min(axis=-1, keepdims=True)
    return np.argmax(scores <= best * (1 + TOLERANCE), axis=-1)


def within_share(scores: dict[str, float], share: float) -> list[str]:
    """The algorithms scoring at most ``share`` above the best, in dictionary order; 0: equal scores."""
    limit = min(scores.values(), default=np.nan) * (1 + share) * (1 + TOLERANCE)
    return sorted((name for name, score in scores.items() if score <= limit), key=dictionary_order)


def dictionary_order(name: str) -> tuple[str, str]:
    """Sort key: letters and digits alone, without case; the whole name where those are equal."""
    return re.sub(r"[\W_]", "", name).casefold(), name


def superseded_rows(table: DelayTable) -> dict[int, int]:
    """Rows that are not averaged because a replay of the same calls is → the row of that replay."""
    sources = dict(enumerate(table.sources))
    first = {sources[i]: i for i in reversed(table.replays) if sources.get(i)}
    return {i: first[sources[i]] for i in table.recorded_rows if first.get(sources.get(i, ""), i) != i}


def scenarios(table: DelayTable) -> list[str]:
    """The names of the table's scenarios and replays."""
    return list(dict.fromkeys(_scenario_names(table, i)[-1] for i in table.recorded_rows))


def _scenario_names(table: DelayTable, row: int) -> list[str]:
    """The names of a row's scenario or replay in rules: its label, and its name without a skew factor."""
    if row not in table.recorded_rows:
        return []
    return [table.patterns[row], *table.shapes[row : row + 1]]
