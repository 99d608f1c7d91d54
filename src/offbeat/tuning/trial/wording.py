"""A trial as sentences and rows: choices, run times, verdict, and the comparison with the prediction."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from offbeat.base.document.tables import Table
from offbeat.base.units import amount, enumeration, format_time
from offbeat.measurement.results.statistics import geometric_mean
from offbeat.model.study.algorithm import DEFAULT
from offbeat.selection.choices.wording import DASH, cost
from offbeat.tuning.prediction.prediction import Prediction
from offbeat.tuning.trial.choices import TrialChoice
from offbeat.tuning.trial.comparison import Comparison, Verdict

MOST_RULES = 6
"""The most rules of a choice that are printed."""


def tried_lines(choices: Sequence[TrialChoice]) -> list[str]:
    """One line per choice."""
    lines = []
    for one in choices:
        if one.name == DEFAULT:
            lines.append(f"{one.name}: the library's own decisions")
        elif one.same_as:
            lines.append(f"{one.name}: has the same rules as {one.same_as}, which runs for both")
        else:
            more = len(one.rule_texts) - MOST_RULES
            shown = "; ".join(one.rule_texts[:MOST_RULES]) + (f"; and {more} more" if more > 0 else "")
            lines.append(f"{one.name}: {shown or 'all decisions are left to the library'}")
    return lines


def notes(choices: Sequence[TrialChoice]) -> list[str]:
    """The notes on the choices, each once."""
    return list(dict.fromkeys(note for one in choices for note in one.notes))


def time_table(
    times_s: Mapping[str, Sequence[float]],
    same_rules: Mapping[str, str],
    *,
    noun: str = "choice",
    reference: str = DEFAULT,
) -> Table:
    """A row per choice or other variant: number of runs, mean, range, and mean ratio to the reference."""
    lines = []
    for name, run_times_s in times_s.items():
        also = "".join(
            f" = {other}" for other, representative in same_rules.items() if representative == name
        )
        middle = format_time(geometric_mean(run_times_s), 4) if run_times_s else DASH
        span = (
            f"{format_time(min(run_times_s), 4)} – {format_time(max(run_times_s), 4)}"
            if run_times_s
            else DASH
        )
        lines.append(
            [
                f"{name}{also}",
                str(len(run_times_s)),
                middle,
                span,
                _against(run_times_s, times_s.get(reference, [])),
            ]
        )
    headings = [noun, "runs", "geometric\nmean", "fastest – slowest", f"against\n{reference}"]
    return Table(title="", headings=headings, rows=lines)


def verdict_sentences(
    verdict: Verdict | None,
    same_rules: Mapping[str, str],
    without_effect: Collection[str] = (),
    *,
    noun: str = "choice",
    experiment: str = "trial",
) -> list[str]:
    """Which choice, or other variant, was the fastest, and whether that is significant.

    Choices ``without_effect`` affect no call of the program: they ran the same algorithms as ``default``, and
    are not reported as the fastest.
    """
    if verdict is None:
        if same_rules:
            return ["All choices have the same rules: there is nothing to compare."]
        return ["No round was completed: there is nothing to compare."]
    also = [other for other, representative in same_rules.items() if representative == verdict.fastest]
    name = verdict.fastest + (f" (with the same rules: {', '.join(also)})" if also else "")
    each = "; ".join(_comparison(one, verdict.rounds) for one in verdict.comparisons)
    if verdict.rounds < 2:
        return [
            f"The {noun} {name} was the fastest in the only round: {each}. Significance needs several rounds;"
            f" --rounds 5 resumes the {experiment}."
        ]
    if verdict.fastest in without_effect:
        return [
            f"{name} had the smallest mean, but its file affects none of the program's calls: it ran the same"
            f" algorithms as default, and the difference has another cause. {each}."
        ]
    if verdict.is_certain:
        return [f"The {noun} {name} was the fastest: {each}."]
    doubtful = [one.other for one in verdict.comparisons if not one.is_certain]
    return [
        f"No {noun} is significantly the fastest: {name} had the smallest mean, but the difference from"
        f" {enumeration(doubtful)} is not significant. {each}.",
        f"To measure more rounds, give a larger --rounds: the {experiment} resumes.",
    ]


def expectation_table(prediction: Prediction, times_s: Mapping[str, Sequence[float]]) -> Table:
    """A row per choice: expected without delays, expected with the traced arrivals, measured, and ratios."""
    main_condition = prediction.main_condition
    by_name = {one.name: one for one in prediction.expected}
    rows = []
    for name, run_times_s in times_s.items():
        one = by_name.get(name)
        if one is None or not run_times_s:
            continue
        measured = geometric_mean(run_times_s)
        expected = one.run_s.get(main_condition)
        change = prediction.change(one) if name != DEFAULT else None
        rows.append(
            [
                name,
                format_time(one.run_s["no_delay"].time_s, 4) if "no_delay" in one.run_s else DASH,
                format_time(expected.time_s, 4) if expected else DASH,
                format_time(measured, 4),
                cost(expected.time_s / measured - 1) if expected else DASH,
                cost(change.time_s) if change else DASH,
                _against(run_times_s, times_s.get(DEFAULT, [])),
            ]
        )
    headings = ["choice", "expected,\nno_delay", f"expected,\n{main_condition}", "measured"]
    headings += ["expected /\nmeasured", "expected\nchange", "measured\nchange"]
    return Table(title="", headings=headings, rows=rows)


def _comparison(one: Comparison, rounds: int) -> str:
    """``default takes 5.2% longer (95% interval +3.1% to +7.4%; in 5 of 5 rounds; ...)``."""
    longer = f"{one.ratio - 1:.1%} longer" if one.ratio < 2 else f"{one.ratio:.2g} times as long"
    said = f"{one.other} takes {longer}"
    if rounds < 2:
        return said
    return (
        f"{said} (95% interval {_change(one.low)} to {_change(one.high)}; slower in {one.won} of"
        f" {amount(rounds, 'round')}; {chance_words(one.chance)})"
    )


def _change(ratio: float) -> str:
    return f"{ratio - 1:+.1%}" if ratio < 2 else f"×{ratio:.2g}"


def chance_words(chance: float) -> str:
    """A p-value as text: ``by chance in 2.5% of trials if both were equally fast``."""
    if math.isnan(chance):
        return "significance unknown"
    if chance >= 0.5:
        return "not significant: p ≥ 0.5"
    share = "less than 0.0001%" if chance < 1e-6 else f"{100 * chance:.2g}%"
    return f"by chance in {share} of trials if both were equally fast"


def _against(run_times_s: Sequence[float], default: Sequence[float]) -> str:
    if not run_times_s or not default or run_times_s is default:
        return DASH
    return cost(geometric_mean(run_times_s) / geometric_mean(default) - 1)
