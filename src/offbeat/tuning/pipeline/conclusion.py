"""The verdict on a tuned program: how much faster it is with which files, or why nothing is faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from offbeat.base.units import amount, format_time
from offbeat.measurement.results.statistics import geometric_mean
from offbeat.model.study.algorithm import DEFAULT
from offbeat.tuning.pipeline.program_choices import ExpectedGain, expected_share
from offbeat.tuning.pipeline.traced_calls import LEAST_GAIN, Selected, SelectedCalls
from offbeat.tuning.trial.comparison import SIGNIFICANCE_LEVEL, Comparison, compare
from offbeat.tuning.trial.wording import chance_words

AS_STARTED = "as_started"
"""The program with the user's own settings that choose algorithms; tried only if there are any."""

MOST_SPREAD = 1.5
"""Slowest / fastest run with the same algorithms, beyond which a warning is printed."""


_REFERENCES = {DEFAULT: "the library's own decisions", AS_STARTED: "the program as you start it"}


class Conclusion(Struct, frozen=True, kw_only=True):
    """The verdict on the choices that were tried.

    ``choice`` is the recommended one, empty if none is proved to be faster; ``sentence`` says why. ``gain``,
    ``low`` and ``high`` are the share of the run time that it saves, with its 95% interval.
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

    A choice is recommended if it is significantly faster than the program as the user starts it: with the
    user's own settings, if there are any, else with the library's default. With several choices, p-values are
    multiplied by their number. Of several such choices, the one with the largest gain.
    """
    reference = AS_STARTED if AS_STARTED in times_s else DEFAULT
    compared = {
        name: against(reference, times_s, name, len(times_s) - 1) for name in times_s if name != reference
    }
    faster = {name: one for name, one in compared.items() if one is not None and one.is_certain}
    rounds = len(times_s[reference])
    if not faster:
        each = "; ".join(_not_faster(name, one) for name, one in compared.items())
        return nothing(
            f"in {amount(rounds, 'round')} of the trial, no choice is significantly faster than"
            f" {_REFERENCES[reference]} ({each}).",
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
            f"{gain:.1%} faster{' without your settings' if best == DEFAULT else ''}:"
            f" {format_time(geometric_mean(times_s[best]), 4)} instead of"
            f" {format_time(geometric_mean(times_s[reference]), 4)} (95% interval {low:.1%} to {high:.1%};"
            f" {one.won} of {amount(rounds, 'round')}; {chance_words(one.chance)})."
        ),
    )


def against(
    reference: str, times_s: Mapping[str, Sequence[float]], name: str, choices: int
) -> Comparison | None:
    """A choice against the reference: ``ratio`` is reference / choice; None if the choice is not faster."""
    verdict = compare({reference: times_s[reference], name: times_s[name]})
    if verdict is None or verdict.fastest != name:
        return None
    (one,) = verdict.comparisons
    return structs.replace(one, chance=min(1.0, choices * one.chance))


def _not_faster(name: str, one: Comparison | None) -> str:
    if one is None:
        return f"{name}: not faster"
    return f"{name}: {1 / one.ratio - 1:+.1%}, {chance_words(one.chance)}, needs p ≤ {SIGNIFICANCE_LEVEL:g}"


def unmeasured_note(left: Sequence[SelectedCalls], total: int) -> str:
    """What the verdict does not rest on yet; empty if all kinds of calls are measured."""
    if not left:
        return ""
    return (
        f"The budget did not suffice for {len(left)} of {amount(total, 'kind')} of calls,"
        f" {sum(one.share for one in left):.1%} of the run time: the same command continues with them."
    )


def uncertainty_note(blocks: int) -> str:
    """What a verdict rests on if the budget did not suffice for all blocks; empty for 0."""
    if not blocks:
        return ""
    return (
        f"The budget sufficed for {blocks} blocks of each measurement, so that their intervals are wider and"
        " small gains are not seen: the same command measures more blocks."
    )


def disturbance_note(times_s: Mapping[str, Sequence[float]]) -> str:
    """A warning if runs with the same algorithms differ so much that only a large gain can be shown."""
    slowest = max(times_s.values(), key=lambda each: max(each) / min(each), default=[1.0])
    if max(slowest) <= MOST_SPREAD * min(slowest):
        return ""
    return (
        f"Runs with the same algorithms took {format_time(min(slowest), 3)} to"
        f" {format_time(max(slowest), 3)}: other work disturbs this machine, so that only a large gain can be"
        " shown. Repeat this on a quiet one, in another folder (--output)."
    )


def selected_sentence(selected: Selected) -> str:
    """What can be changed and what cannot, and how much of it is measured."""
    changeable = (
        f"another algorithm can change {selected.tunable_share:.1%} of the run time (after the last arrival"
        f" in blocking collectives); waiting for late ranks, {selected.waiting_share:.1%}, cannot be changed"
    )
    if not selected.calls:
        return changeable
    return f"{changeable}; {amount(len(selected.calls), 'kind')} of calls cover {selected.covered:.0%} of it"


def selected_lines(selected: Selected) -> list[str]:
    """The calls that are measured with their shares, and those that are left out."""
    return [*(f"{one.name}: {one.share:.1%}" for one in selected.calls), *selected.notes]


def why_no_calls(selected: Selected) -> str:
    """Why there is nothing to measure."""
    if selected.notes:
        return f"{'; '.join(selected.notes)}."
    return (
        f"another algorithm can change {selected.tunable_share:.2%} of the run time only: the time after the"
        " last arrival in blocking collectives on two processes or more."
    )


def why_no_choice(
    why_not_predicted: str, gains: Sequence[ExpectedGain], *, knows_arrivals: bool, is_disobeyed: bool
) -> str:
    """Why there was nothing to try; ``is_disobeyed``: there were choices that the library did not obey."""
    if why_not_predicted:
        return f"{why_not_predicted}."
    if not knows_arrivals:
        return (
            "it is unknown when the processes arrive at some of these calls, because not all of them were"
            " traced."
        )
    if not gains:
        return "no algorithm of these calls could be measured; 'offbeat status' of the results says why."
    if is_disobeyed:
        return "the library does not obey the files of any choice; log.txt says which rules."
    better = [one for one in gains if one.is_used]
    if better and expected_share(gains) < LEAST_GAIN:
        return (
            f"the better algorithms together are expected to save {expected_share(gains):.2%} of the time"
            " after MPI_Init, which is too little to be shown."
        )
    if better:
        return (
            "tuning files of this library cannot express the better algorithms:"
            f" {'; '.join(one.sentence for one in better)}."
        )
    return (
        f"for {amount(len(gains), 'kind')} of calls, no algorithm of the library is significantly faster"
        " than its own decisions under the program's own arrivals."
    )
