"""The verdict on a tuned program: how much faster it is with which files, or why nothing is faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from offbeat.results.statistics import geometric_mean
from offbeat.study.algorithm import DEFAULT
from offbeat.trial.comparison import SIGNIFICANCE_LEVEL, Comparison, compare
from offbeat.trial.wording import chance_words
from offbeat.tune.traced_calls import Selected
from offbeat.units import counted, format_time


class Conclusion(Struct, frozen=True, kw_only=True):
    """``choice`` is the recommended one, empty if none is proved to be faster; ``sentence`` says why.

    ``gain``, ``low`` and ``high`` are the share of the run time that it saves, with its 95% interval.
    """

    sentence: str
    choice: str = ""
    gain: float = 0.0
    low: float = 0.0
    high: float = 0.0


def nothing(reason: str, selected: Selected) -> Conclusion:
    """The verdict that nothing is faster; names waiting for late ranks where that takes more time."""
    more = ""
    if selected.waiting_share > max(selected.tunable_share, 0.01):
        more = (
            f" Waiting for late ranks takes {selected.waiting_share:.1%} of the run time, which no algorithm"
            " changes: balance the work of the processes; 'offbeat trace summary' names the late ranks."
        )
    return Conclusion(sentence=f"Nothing here is faster: {reason}{more}")


def conclude(times_s: Mapping[str, Sequence[float]], selected: Selected) -> Conclusion:
    """The verdict of a trial from its run times in seconds by choice, one per round.

    A choice is recommended if it is significantly faster than the library's default; with several choices,
    p-values are multiplied by their number. Of several such choices, the one with the largest gain.
    """
    compared = {name: against_default(times_s, name, len(times_s) - 1) for name in times_s if name != DEFAULT}
    faster = {name: one for name, one in compared.items() if one is not None and one.is_certain}
    rounds = len(times_s[DEFAULT])
    if not faster:
        each = "; ".join(_not_faster(name, one) for name, one in compared.items())
        return nothing(
            f"in {counted(rounds, 'round')} of the trial, no choice is significantly faster than the"
            f" library's own decisions ({each}).",
            selected,
        )
    best = max(faster, key=lambda name: faster[name].ratio)
    one = faster[best]
    gain, low, high = (1 - 1 / ratio for ratio in (one.ratio, one.low, one.high))
    return Conclusion(
        choice=best,
        gain=gain,
        low=low,
        high=high,
        sentence=(
            f"{gain:.1%} faster: {format_time(geometric_mean(times_s[best]), 4)} instead of"
            f" {format_time(geometric_mean(times_s[DEFAULT]), 4)} (95% interval {low:.1%} to {high:.1%};"
            f" {one.won} of {counted(rounds, 'round')}; {chance_words(one.chance)})."
        ),
    )


def against_default(times_s: Mapping[str, Sequence[float]], name: str, choices: int) -> Comparison | None:
    """A choice against the default: ``ratio`` is default / choice; None if the choice is not faster."""
    verdict = compare({DEFAULT: times_s[DEFAULT], name: times_s[name]})
    if verdict is None or verdict.fastest != name:
        return None
    (one,) = verdict.comparisons
    return structs.replace(one, chance=min(1.0, choices * one.chance))


def _not_faster(name: str, one: Comparison | None) -> str:
    if one is None:
        return f"{name}: not faster"
    return f"{name}: {one.ratio - 1:+.1%}, {chance_words(one.chance)}, needs p ≤ {SIGNIFICANCE_LEVEL:g}"
