"""What ``offbeat select`` writes as JSON: the choices, and the delays that they are based on.

Unknown numbers (not measured, confidence unknown) are null.
"""

from __future__ import annotations

import math

from msgspec import Struct

from offbeat.selection.choices.choose import Choice, LeftOut, Selection
from offbeat.selection.choices.delay_table import DelayTable


class Delay(Struct, frozen=True, kw_only=True):
    """One algorithm under one pattern.

    ``last_delay_s`` is the median d̂ (of a replay, the mean over its calls), between the ends of its 95%
    confidence interval. ``normalised`` is relative to the pattern's fastest candidate, ``robustness`` is d̂ /
    d̂ under no_delay − 1 with its class ``faster``, ``same`` or ``slower`` (±25%; empty when unknown).
    ``candidate`` is false for references, which are never selected.
    """

    algorithm: str
    candidate: bool
    last_delay_s: float | None
    low_s: float | None
    high_s: float | None
    normalised: float | None
    robustness: float | None
    robustness_class: str
    good: bool


class PatternDelays(Struct, frozen=True, kw_only=True):
    """The measured delays of a configuration under one pattern; ``kind`` is shape, scenario or replay,
    ``winner`` the fastest candidate (empty: none)."""

    pattern: str
    kind: str
    winner: str
    delays: list[Delay]


class ConfigurationSelection(Struct, frozen=True, kw_only=True):
    """One configuration: its choice (see :class:`offbeat.selection.choices.choose.Choice`) and its measured
    delays.
    """

    choice: Choice
    patterns: list[PatternDelays]


class SelectionDocument(Struct, frozen=True, kw_only=True):
    """The whole document. ``within`` is a share; ``bootstrap`` the number of resamples behind each
    confidence; ``notes`` report the progress of an unfinished study and records omitted when reading."""

    rule: str
    include_scenarios: bool
    within: float
    bootstrap: int
    seed: int
    configurations: list[ConfigurationSelection]
    left_out: list[LeftOut]
    notes: list[str] = []


def selection_document(selection: Selection) -> SelectionDocument:
    """The document of a selection."""
    terms = selection.terms
    return SelectionDocument(
        rule=str(terms.rule),
        include_scenarios=terms.rule.include_scenarios,
        within=terms.within,
        bootstrap=terms.bootstrap,
        seed=terms.seed,
        configurations=[
            ConfigurationSelection(
                choice=choice, patterns=_rows(selection.tables[choice.configuration], choice, terms.within)
            )
            for choice in selection.choices
        ],
        left_out=selection.left_out,
        notes=selection.notes,
    )


def _rows(table: DelayTable, choice: Choice, within: float) -> list[PatternDelays]:
    normalised_delays, good = table.normalised_delays(), table.good(within)
    robustness, classes = table.robustness(), table.robustness_class()
    return [
        PatternDelays(
            pattern=pattern,
            kind=table.kinds[i],
            winner=choice.winners.get(pattern, ""),
            delays=[
                Delay(
                    algorithm=algorithm,
                    candidate=bool(table.candidates[j]),
                    last_delay_s=_number(table.last_delay_s[i, j]),
                    low_s=_number(table.low_s[i, j]),
                    high_s=_number(table.high_s[i, j]),
                    normalised=_number(normalised_delays[i, j]),
                    robustness=_number(robustness[i, j]),
                    robustness_class=str(classes[i, j]),
                    good=bool(good[i, j]),
                )
                for j, algorithm in enumerate(table.algorithms)
            ],
        )
        for i, pattern in enumerate(table.patterns)
    ]


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
