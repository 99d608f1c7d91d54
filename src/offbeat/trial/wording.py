"""A trial in words: what is tried, how long it took, what is certain of it, and what had been expected."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from offbeat.predict.prediction import Prediction
from offbeat.select.wording import NOTHING, cost
from offbeat.study.algorithm import DEFAULT
from offbeat.trial.choices import PlannedChoice
from offbeat.trial.comparison import Comparison, Verdict, mean_s
from offbeat.units import counted, format_time

MOST_RULES = 6


def tried_lines(choices: Sequence[PlannedChoice]) -> list[str]:
    """What each choice is, a line each."""
    lines = []
    for one in choices:
        if one.name == DEFAULT:
            lines.append(f"{one.name}: the library's own decisions")
        elif one.same_as:
            lines.append(f"{one.name}: says the same as {one.same_as}, which runs for both")
        else:
            more = len(one.rule_texts) - MOST_RULES
            shown = "; ".join(one.rule_texts[:MOST_RULES]) + (f"; and {more} more" if more > 0 else "")
            lines.append(f"{one.name}: {shown or 'all is left to the library'}")
    return lines


def notes(choices: Sequence[PlannedChoice]) -> list[str]:
    """What must be known of the choices, each sentence once."""
    return list(dict.fromkeys(note for one in choices for note in one.notes))


def rows(times_s: Mapping[str, Sequence[float]], same: Mapping[str, str]) -> list[list[str]]:
    """A row a choice: how often it ran, its mean, its range, and its mean ratio to the default."""
    made = []
    for name, own in times_s.items():
        also = "".join(f" = {other}" for other, stands in same.items() if stands == name)
        middle = format_time(mean_s(own), 4) if own else NOTHING
        span = f"{format_time(min(own), 4)} – {format_time(max(own), 4)}" if own else NOTHING
        made.append([f"{name}{also}", str(len(own)), middle, span, _against(own, times_s.get(DEFAULT, []))])
    return made


def verdict_sentences(
    verdict: Verdict | None, same: Mapping[str, str], without_effect: Collection[str] = ()
) -> list[str]:
    """Which choice was the fastest, and with what certainty.

    Choices ``without_effect`` change no call of the program: they ran what ``default`` runs, and none of
    them is called the fastest.
    """
    if verdict is None:
        if same:
            return ["All choices say the same to the library: there is nothing to compare."]
        return ["No round was finished: there is nothing to compare."]
    name = _with_same(verdict.fastest, same)
    each = "; ".join(_comparison(one, verdict.rounds) for one in verdict.comparisons)
    if verdict.rounds < 2:
        return [
            f"The choice {name} was the fastest in the one round: {each}. One round says nothing about"
            " chance; --rounds 5 goes on from here."
        ]
    if verdict.fastest in without_effect:
        return [
            f"{name} had the smallest mean, but its file covers none of the program's calls: it ran what"
            f" default runs, and the difference has another cause. {each}."
        ]
    if verdict.is_certain:
        return [f"The choice {name} was the fastest: {each}."]
    doubtful = [one.other for one in verdict.comparisons if not one.is_certain]
    return [
        f"Which choice is the fastest cannot be told: {name} had the smallest mean, but against"
        f" {' and '.join(doubtful)} chance may have made it so. {each}.",
        "More rounds tell more: give a larger --rounds, and the trial goes on.",
    ]


def expectation_rows(prediction: Prediction, times_s: Mapping[str, Sequence[float]]) -> list[list[str]]:
    """A row a choice: expected without delays, expected as the trace arrives, measured, and how far off."""
    main_condition = prediction.main_condition
    by_name = {one.name: one for one in prediction.expected}
    made = []
    for name, own in times_s.items():
        one = by_name.get(name)
        if one is None or not own:
            continue
        measured = mean_s(own)
        expected = one.run_s.get(main_condition)
        expected_change = prediction.change(one)
        made.append(
            [
                name,
                format_time(one.run_s["no_delay"].time_s, 4) if "no_delay" in one.run_s else NOTHING,
                format_time(expected.time_s, 4) if expected else NOTHING,
                format_time(measured, 4),
                cost(expected.time_s / measured - 1) if expected else NOTHING,
                _share(expected_change.time_s if expected_change and name != DEFAULT else None),
                _against(own, times_s.get(DEFAULT, [])),
            ]
        )
    return made


def expectation_headings(prediction: Prediction) -> list[str]:
    """The headings of :func:`expectation_rows`."""
    return [
        "choice",
        "expected,\nno_delay",
        f"expected,\n{prediction.main_condition}",
        "measured",
        "expected /\nmeasured",
        "expected\nchange",
        "measured\nchange",
    ]


def _share(change: float | None) -> str:
    return NOTHING if change is None else cost(change)


def _comparison(one: Comparison, rounds: int) -> str:
    """``default takes 5.2% longer (95% interval +3.1% to +7.4%; in 5 of 5 rounds; ...)``."""
    longer = f"{one.ratio - 1:.1%} longer" if one.ratio < 2 else f"{one.ratio:.2g} times as long"
    said = f"{one.other} takes {longer}"
    if rounds < 2:
        return said
    return (
        f"{said} (95% interval {_change(one.low)} to {_change(one.high)}; slower in {one.won} of"
        f" {counted(rounds, 'round')}; {chance_words(one.chance)})"
    )


def _change(ratio: float) -> str:
    return f"{ratio - 1:+.1%}" if ratio < 2 else f"×{ratio:.2g}"


def chance_words(chance: float) -> str:
    """A probability as people say it: ``by chance in 1 of 40 trials if both were equally fast``."""
    if math.isnan(chance):
        return "chance unknown"
    if chance >= 0.5:
        return "chance alone gives as much more often than not"
    if chance < 1e-6:
        return "by chance in fewer than 1 of a million trials if both were equally fast"
    often = 1 / chance
    digits = max(0, math.floor(math.log10(often)) - 1)
    rounded = round(often, -digits)
    number = f"{rounded:,.0f}" if often >= 10 else f"{often:.1f}".removesuffix(".0")
    return f"by chance in 1 of {number} trials if both were equally fast"


def _against(own: Sequence[float], default: Sequence[float]) -> str:
    if not own or not default or own is default:
        return NOTHING
    return cost(mean_s(own) / mean_s(default) - 1)


def _with_same(name: str, same: Mapping[str, str]) -> str:
    also = [other for other, stands in same.items() if stands == name]
    return f"{name} (and {' and '.join(also)}, which says the same)" if also else name
