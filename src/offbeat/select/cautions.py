"""What a reader of a choice should know beside its numbers: one sentence a fact."""

from __future__ import annotations

import numpy as np

from offbeat.select.certainty import Certainty
from offbeat.select.rules import Rule, stood_for
from offbeat.select.table import NO_DELAY, RESOLUTION_S, DelayTable


def comparison_cautions(table: DelayTable, rule: Rule, tied: list[str], compared: int) -> list[str]:
    """Who was not compared and why, and whether the choice ties; ``tied`` starts with the choice."""
    sentences = _gaps(table, rule.rows(table)) + _counted_once(table, rule)
    if table.barred:
        reasons = ", ".join(f"{name} ({why})" for name, why in table.barred.items())
        sentences.append(f"shown but never selected: {reasons}.")
    if compared == 1:
        sentences.append(f"{tied[0]} is the only algorithm that could be compared.")
    if len(tied) > 1:
        sentences.append(f"{tied[0]} ties with {', '.join(tied[1:])} by {rule}; the first by name is taken.")
    return sentences


def no_delay_cautions(table: DelayTable, rule: Rule, no_delay: list[str], tied: list[str]) -> list[str]:
    """What the no_delay row lacks or leaves open; ``no_delay`` holds its winner and who ties with it."""
    if not no_delay:
        return ["without no_delay there is neither a no-delay winner nor a robustness class."]
    sentences = []
    if len(no_delay) > 1 and not (rule.kind == "no_delay" and no_delay == tied):
        others = ", ".join(no_delay[1:])
        sentences.append(f"{no_delay[0]} ties with {others} under no_delay; the first by name is taken.")
    if rule.kind in ("average", "worst") and [table.patterns[i] for i in rule.rows(table)] == [NO_DELAY]:
        sentences.append(
            "only no_delay was measured: the choice is its winner and says nothing about robustness."
        )
    return sentences


def number_cautions(table: DelayTable, rule: Rule, algorithm: str, unsure: bool) -> list[str]:
    """What weakens the numbers behind the choice ``algorithm``; ``unsure`` when its certainty is unknown."""
    sentences = []
    rows = rule.rows(table)
    column = table.algorithms.index(algorithm)
    if table.incomplete is not None:
        rough = [i for i in rows if table.incomplete[i, column]]
        sentences += _roughness(table, algorithm, [i for i in rough if i not in table.replays])
    floored = (table.last_delay_s[rows] < RESOLUTION_S).any(axis=1)
    if floored.any():
        patterns = ", ".join(table.patterns[rows[i]] for i in np.flatnonzero(floored))
        sentences.append(
            f"last delays under {patterns} are below the clock's 1 ns and count as 1 ns in ratios."
        )
    if unsure:
        sentences.append(
            "how certain the choice is cannot be told: a compared case was measured in one block only"
            " (repetitions.blocks), and one block does not show what differs between launches."
        )
    return sentences


def tie_cautions(algorithm: str, certainty: Certainty | None) -> list[str]:
    """Which algorithms the study cannot tell from the choice."""
    if certainty is None or not certainty.ties:
        return []
    names = ", ".join(certainty.ties[:3])
    more = f" and {len(certainty.ties) - 3} more" if len(certainty.ties) > 3 else ""
    return [
        f"{algorithm} ties with {names}{more}: its lead is below the noise floor of"
        f" {certainty.noise_floor:.1%}."
    ]


def _roughness(table: DelayTable, algorithm: str, rough: list[int]) -> list[str]:
    if not rough:
        return []
    patterns = ", ".join(table.patterns[i] for i in rough)
    return [f"too few repetitions or blocks of {algorithm} under {patterns}: its delay is a rough estimate."]


def _counted_once(table: DelayTable, rule: Rule) -> list[str]:
    """A sentence for every row that a replay stands for in an average that takes in the scenarios."""
    if not rule.include_scenarios:
        return []
    return [
        f"{table.patterns[i]} does not count beside {table.patterns[replay]}, a replay of the same calls."
        for i, replay in stood_for(table).items()
    ]


def _gaps(table: DelayTable, rows: list[int]) -> list[str]:
    """A sentence for every candidate that was not measured in some of ``rows``."""
    missing = np.isnan(table.last_delay_s[rows]) & table.candidates
    sentences = []
    for j in np.flatnonzero(missing.any(axis=0)):
        name = table.algorithms[j]
        patterns = [table.patterns[rows[i]] for i in np.flatnonzero(missing[:, j])]
        reasons = dict.fromkeys(
            table.missing[p, name].rstrip(".") for p in patterns if (p, name) in table.missing
        )
        why = f" ({'; '.join(reasons)})" if reasons else ""
        sentences.append(f"{name} is not compared: nothing was measured under {', '.join(patterns)}{why}.")
    return sentences
