"""Caveats of a choice: what weakens the numbers behind it, one sentence each.

The mean over a replay's calls includes every call. Where a call was measured only once or twice, or took long
in some repetitions only, a process that lost its core for a moment cannot be distinguished from an algorithm
that takes long; the caveat then says how much of the mean is due to that call.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from offbeat.base.units import enumeration, format_list, format_time
from offbeat.measurement.results.statistics import CallValues
from offbeat.selection.choices.certainty import CaseRepetitions, Certainty
from offbeat.selection.choices.delay_table import NO_DELAY, RESOLUTION_S, DelayTable
from offbeat.selection.choices.reliability import is_wide
from offbeat.selection.choices.selection_rules import Rule, superseded_rows
from offbeat.selection.choices.wording import share_label


def comparison_caveats(
    table: DelayTable, rule: Rule, best_names: list[str], compared_count: int
) -> list[str]:
    """The algorithms that were not compared, and those with equal scores: ``best_names``, first the
    choice."""
    sentences = _not_compared(table, rule.rows(table)) + _superseded_scenarios(table, rule)
    if table.exclusions:
        reasons = ", ".join(f"{name} ({why})" for name, why in table.exclusions.items())
        sentences.append(f"shown but never selected: {reasons}.")
    if compared_count == 1:
        sentences.append(f"{best_names[0]} is the only algorithm that could be compared.")
    if len(best_names) > 1:
        sentences.append(
            f"{enumeration(best_names)} have equal scores by {rule}; the first by name is chosen."
        )
    return sentences


def no_delay_caveats(table: DelayTable, rule: Rule, no_delay: list[str], best_names: list[str]) -> list[str]:
    """Gaps and equal delays of the no_delay row; ``no_delay`` holds its winner and those that are as fast."""
    if not no_delay:
        return ["no_delay was not measured: there is neither a no-delay winner nor a robustness class."]
    sentences = []
    if len(no_delay) > 1 and not (rule.kind == "no_delay" and no_delay == best_names):
        sentences.append(
            f"{enumeration(no_delay)} are equally fast under no_delay; the winner is the first by name."
        )
    if rule.kind in ("average", "worst") and [table.patterns[i] for i in rule.rows(table)] == [NO_DELAY]:
        sentences.append(
            "only no_delay was measured: the choice is its winner, and its robustness is unknown."
        )
    return sentences


def number_caveats(table: DelayTable, rule: Rule, algorithm: str, unknown: bool) -> list[str]:
    """Caveats on the numbers behind the choice; ``unknown`` if the confidence could not be computed."""
    sentences = []
    rows = rule.rows(table)
    column = table.algorithms.index(algorithm)
    rough = [table.patterns[i] for i in rows if table.incomplete[i, column] and i not in table.replays]
    if rough:
        sentences.append(
            f"too few repetitions or blocks of {algorithm} under {', '.join(rough)}: its delay is a rough"
            " estimate."
        )
    is_below_resolution = (table.last_delay_s[rows] < RESOLUTION_S).any(axis=1)
    if is_below_resolution.any():
        patterns = ", ".join(table.patterns[rows[i]] for i in np.flatnonzero(is_below_resolution))
        sentences.append(
            f"last delays under {patterns} are below the clock's 1 ns and count as 1 ns in ratios."
        )
    if unknown:
        sentences.append(
            "the confidence in the choice is unknown: a compared case was measured in only one block"
            " (repetitions.blocks), and one block does not show differences between launches."
        )
    return sentences


def tie_caveats(algorithm: str, certainty: Certainty | None) -> list[str]:
    """The algorithms that tie with the choice."""
    if certainty is None or not certainty.ties:
        return []
    return [
        f"{algorithm} ties with {format_list(certainty.ties)}: its lead is below the noise floor of"
        f" {certainty.noise_floor:.1%}."
    ]


def _superseded_scenarios(table: DelayTable, rule: Rule) -> list[str]:
    """A sentence for every row that is superseded by a replay in an average with scenarios."""
    if not rule.include_scenarios:
        return []
    return [
        f"{table.patterns[i]} is not averaged: {table.patterns[replay]} is a replay of the same calls."
        for i, replay in superseded_rows(table).items()
    ]


def _not_compared(table: DelayTable, rows: list[int]) -> list[str]:
    """A sentence for every candidate that was not measured in some of ``rows``."""
    is_missing = np.isnan(table.last_delay_s[rows]) & table.candidates
    sentences = []
    for j in np.flatnonzero(is_missing.any(axis=0)):
        name = table.algorithms[j]
        patterns = [table.patterns[rows[i]] for i in np.flatnonzero(is_missing[:, j])]
        reasons = dict.fromkeys(
            table.gap_reasons[p, name].rstrip(".") for p in patterns if (p, name) in table.gap_reasons
        )
        why = f" ({'; '.join(reasons)})" if reasons else ""
        sentences.append(f"{name} is not compared: it was not measured under {', '.join(patterns)}{why}.")
    return sentences


OUTLIER_FACTOR = 10.0
"""A call is an outlier if it takes this many times as long as the algorithm's median call, as the same call
with the other algorithms, and as its fastest repetition."""

OUTLIER_SHARE = 0.05
"""An outlier is reported if its excess over the median call is a larger share of all calls together."""

FEW_REPETITIONS = 2
"""The median of this many repetitions or fewer is not robust against a single outlier."""


def replay_caveats(
    table: DelayTable,
    rule: Rule,
    samples: Mapping[str, CaseRepetitions] | None,
    requested_width: float | None,
) -> list[str]:
    """Caveats on the replays that a rule uses; without ``samples``, numbers are exact."""
    sentences = []
    for row in (row for row in rule.rows(table) if row in table.replays):
        sentences += _partial(table, row)
        if samples is not None:
            sentences += _wide(table, row, requested_width) if requested_width is not None else []
            sentences += _outliers(table, row, samples)
    return sentences


def _partial(table: DelayTable, row: int) -> list[str]:
    names = [table.algorithms[j] for j in np.flatnonzero(table.incomplete[row] & table.candidates)]
    if not names:
        return []
    return [
        f"{', '.join(names)} could not be measured in every call of {table.patterns[row]}: the means"
        " are not over the same calls. Fix: raise repetitions.time_cap, or replay fewer calls."
    ]


def _wide(table: DelayTable, row: int, requested_width: float) -> list[str]:
    wide = is_wide(table.low_s[row], table.high_s[row], table.last_delay_s[row], requested_width)
    columns = np.flatnonzero(wide & table.candidates)
    if not len(columns):
        return []
    half = (table.high_s[row] - table.low_s[row]) / 2 / table.delays_s()[row]
    widest = columns[np.argsort(-half[columns], kind="stable")]
    descriptions = [f"{table.algorithms[j]} ±{half[j]:.0%}" for j in widest]
    return [
        f"the confidence interval of the mean over the calls of {table.patterns[row]} is wider than the"
        f" requested ±{share_label(requested_width)} for {format_list(descriptions)}; smaller differences"
        " are not significant. Fix: raise repetitions.blocks and maximum, or measure on a quieter machine."
    ]


def _outliers(table: DelayTable, row: int, samples: Mapping[str, CaseRepetitions]) -> list[str]:
    calls = _by_call(table, row, samples)
    outliers = [outlier for name in calls if (outlier := _largest_outlier(name, calls))]
    if not outliers:
        return []
    descriptions = [
        f"{name} ({share:.0%} of all: call {call}, {format_time(time_s)})"
        for share, name, call, time_s in sorted(outliers, reverse=True)
    ]
    return [
        f"single calls of {table.patterns[row]} dominate the mean of {format_list(descriptions)}: they"
        " take ten times as long as others, and the repetitions do not show that they always do: other work"
        " on the machine may be the cause. All calls are included in the mean. Fix: raise"
        " repetitions.time_cap, or measure on a quieter machine."
    ]


def _by_call(table: DelayTable, row: int, samples: Mapping[str, CaseRepetitions]) -> dict[str, CallValues]:
    calls = {}
    for column in np.flatnonzero(table.candidates):
        case_samples = samples.get(table.cases[row][column])
        if case_samples is not None and case_samples.calls is not None:
            calls[table.algorithms[column]] = CallValues(case_samples.last_delay_s, case_samples.calls)
    return calls


def _largest_outlier(
    name: str, calls_of_algorithm: Mapping[str, CallValues]
) -> tuple[float, str, int, float] | None:
    """The largest outlier among an algorithm's calls: its share of the total, the name, number and time."""
    calls = calls_of_algorithm[name]
    times, least = calls.medians, calls.ordered[calls.first]
    median = float(np.median(times))
    excess = times - median
    for position in np.argsort(-times, kind="stable"):
        share = float(excess[position] / times.sum()) if times.sum() > 0 else 0.0
        if share < OUTLIER_SHARE or times[position] < OUTLIER_FACTOR * median:
            return None
        other_times = _other_times(int(calls.numbers[position]), name, calls_of_algorithm)
        is_specific = not other_times or times[position] >= OUTLIER_FACTOR * np.median(other_times)
        if is_specific and (
            calls.counts[position] <= FEW_REPETITIONS or times[position] >= OUTLIER_FACTOR * least[position]
        ):
            return share, name, int(calls.numbers[position]), float(times[position])
    return None


def _other_times(number: int, name: str, calls_of_algorithm: Mapping[str, CallValues]) -> list[float]:
    return [
        float(calls.medians[place])
        for other, calls in calls_of_algorithm.items()
        if other != name
        for place in np.flatnonzero(calls.numbers == number)
    ]
