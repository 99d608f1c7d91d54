"""A prediction as lines and a table of text."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from offbeat.predict.conditions import Estimate
from offbeat.predict.prediction import Expected, Prediction
from offbeat.predict.reach import reach_of_choice
from offbeat.select.table import NO_DELAY
from offbeat.select.wording import NOTHING, common_unit, cost
from offbeat.study.algorithm import DEFAULT
from offbeat.trace.tables import library_words
from offbeat.units import counted, format_time

WORDS = {
    "no_delay": "without delays",
    "average": "on average over the patterns",
    "scenario": "in the scenario",
    "replay": "in the replay",
}
"""A condition in a sentence."""


DOUBTFUL = 0.1
"""Where the expectation for what ran is off by a larger share, the likely reasons are named."""


class Shown(Struct, frozen=True, kw_only=True):
    """A table: headings, rows of texts, and sentences below."""

    title: str
    headings: list[str]
    rows: list[list[str]]
    notes: list[str]


def head(prediction: Prediction) -> list[str]:
    """The recorded run, and what of it is predicted anew."""
    run = prediction.recorded
    number = sum(part.calls.number for part in prediction.parts)
    spent = sum(part.calls.spent_s for part in prediction.parts)
    lines = [
        f"{run.program.rsplit('/', 1)[-1] or 'a program'} on {run.processes} processes with"
        f" {library_words(run.library)}",
        f"recorded: {format_time(run.run_s, 4)}, of these {format_time(run.computing_s, 4)} without the"
        f" operation of {number} of {counted(run.all_calls, 'collective call')}"
        f" ({spent / run.spent_s if run.spent_s > 0 else 0.0:.1%} of the time in collectives):",
    ]
    for part in prediction.parts:
        calls, cell = part.calls, part.table.configuration
        lines.append(
            f"  {calls.words}: {counted(calls.number, 'call')}, d̂ {format_time(calls.last_delay_s)}"
            f" ({calls.total_s / run.run_s:.1%}); measured as {cell} ({cell.library})"
        )
    return lines


def table(prediction: Prediction) -> Shown:
    """A row an algorithm (or choice), a column a condition."""
    unit, factor = common_unit(np.array([prediction.recorded.run_s]))
    decimals = _decimals(prediction, factor)
    headings = ["choice" if prediction.of_choices else "algorithm"]
    headings += prediction.conditions
    headings.append(f"change\n({prediction.telling})")
    rows = []
    for one in prediction.expected:
        change = prediction.change(one)
        cells = [_number(one.run_s.get(name), factor, decimals) for name in prediction.conditions]
        rows.append([_name(prediction, one), *cells, cost(change.time_s) if change else NOTHING])
    return Shown(
        title=f"Expected run time in {unit}",
        headings=headings,
        rows=rows,
        notes=_legend(prediction),
    )


def sentence(prediction: Prediction) -> str:
    """What is expected to be fastest, what it gains against what ran, and how sure that is."""
    telling = prediction.telling
    ranked = prediction.order(telling)
    if not ranked:
        return "Nothing that could be selected was measured under the conditions of this prediction."
    best = ranked[0]
    time, change = best.run_s[telling], prediction.change(best)
    others = [one for one in ranked[1:] if one.algorithms != best.algorithms]
    alike = [one.name for one in others if one.run_s[telling].low_s <= time.high_s]
    also = f"; within the measurements' intervals, {_listed(alike)} may be as fast" if alike else ""
    if change is None:
        return (
            f"Expected fastest {WORDS[telling]}: {best.name} with {format_time(time.time_s, 4)}{also}."
            " What it gains is not known: the results do not tell what to expect of what the traced run used."
            f" --ran names what ran.{_usual(prediction, best)}"
        )
    ran = f"{prediction.ran}, {_as_ran(prediction)}"
    if best.name == prediction.ran:
        return f"Expected fastest {WORDS[telling]}: {ran}{also}.{_usual(prediction, best)}"
    if change.time_s >= 0:
        return (
            f"Nothing that was measured is expected to be faster {WORDS[telling]} than {ran}: the nearest is"
            f" {best.name}, {change.time_s:+.1%}.{_usual(prediction, best)}"
        )
    run_s = prediction.recorded.run_s
    said = (
        f"Expected fastest {WORDS[telling]}: {best.name}, {-change.time_s:.1%} less than {ran}: about"
        f" {format_time((1 + change.time_s) * run_s, 4)} instead of the recorded"
        f" {format_time(run_s, 4)}{also}"
    )
    if change.high_s >= 0:
        said += (
            f". The measurements' intervals ({change.low_s:+.1%} to {change.high_s:+.1%}) leave open whether"
            " there is a gain"
        )
    return f"{said}.{_usual(prediction, best)}"


def _usual(prediction: Prediction, best: Expected) -> str:
    """What the usual benchmark would choose, where that is clearly slower as the program arrives."""
    telling = prediction.telling
    usual = [] if prediction.of_choices else prediction.order(NO_DELAY)
    if telling == NO_DELAY or not usual or usual[0].name == best.name or telling not in usual[0].run_s:
        return ""
    other, change = usual[0].run_s[telling], prediction.change(usual[0])
    if other.low_s <= best.run_s[telling].high_s:
        return ""
    against = f"{change.time_s:+.1%}" if change is not None else format_time(other.time_s, 4)
    return f" The usual benchmark, without delays, would choose {usual[0].name}: {against} {WORDS[telling]}."


def _as_ran(prediction: Prediction) -> str:
    return "taken for what ran" if prediction.ran_is_assumed else "which ran"


def ran_sentence(prediction: Prediction) -> str:
    """How near the expectations for what ran come to the recorded time; empty if that is not known."""
    bias = prediction.bias
    if not bias:
        return ""
    words = ", ".join(f"{off:+.1%} {WORDS[name]}" for name, off in bias.items())
    said = (
        f"How far to trust it: the prediction for {prediction.ran}, {_as_ran(prediction)}, is off the"
        f" recorded time by {words}; this is no gain, and changes are differences between predictions."
    )
    if prediction.ran_is_assumed:
        said += " --ran names what ran."
    if abs(bias[list(bias)[-1]]) >= DOUBTFUL:
        said += (
            " So much means that the calls took other times than when they were measured, because the machine"
            " was busy, say, or the data no longer in the caches."
        )
    return said


def _decimals(prediction: Prediction, factor: float) -> int:
    """Four significant digits; with intervals as many as these bear."""
    times = [time for one in prediction.expected for time in one.run_s.values()]
    largest = max((time.time_s * factor for time in times), default=0.0)
    whole = math.floor(math.log10(largest)) + 1 if largest > 0 else 1
    widths = [factor * (time.high_s - time.low_s) / 2 for time in times if time.high_s > time.low_s]
    borne = math.ceil(-math.log10(np.median(widths))) if widths else 0
    return int(max(0, 4 - whole, min(borne, 6 - whole)))


def _number(estimate: Estimate | None, factor: float, decimals: int) -> str:
    if estimate is None:
        return NOTHING
    text = f"{estimate.time_s * factor:.{decimals}f}"
    wide = max(estimate.high_s - estimate.time_s, estimate.time_s - estimate.low_s) * factor
    return text if wide <= 0 else f"{text} ±{wide:.{decimals}f}"


def _name(prediction: Prediction, one: Expected) -> str:
    mark = "▸" if one.name == prediction.ran else ""
    return f"{mark}{one.name}{'†' if one.barred else ''}"


def _legend(prediction: Prediction) -> list[str]:
    notes = []
    if any(one.barred for one in prediction.expected):
        notes.append("† for reference, never selected")
    if prediction.ran:
        notes.append(f"▸ {_as_ran(prediction)}; change: against its prediction, of the recorded time")
    legend = [line for line in (_patterns(prediction), "; ".join(notes)) if line]
    if not prediction.of_choices:
        return legend
    for one in prediction.expected:
        words = [
            f"{part.table.configuration} {name if name != DEFAULT else 'left to the library'}"
            for part, name in zip(prediction.parts, one.algorithms, strict=True)
        ]
        legend.append(f"{one.name}: {'; '.join(dict.fromkeys(words))}")
    return [*legend, *_reaches(prediction)]


def _reaches(prediction: Prediction) -> list[str]:
    """Which calls each choice acts on."""
    return [
        f"{one.name} {reach_of_choice(prediction, one.algorithms).words}"
        for one in prediction.expected
        if one.name != DEFAULT
    ]


def _patterns(prediction: Prediction) -> str:
    """What each condition is, here: ``average: 8 patterns; scenario: alltoall-32KiB-mean``."""
    words = []
    for name in prediction.conditions:
        patterns = list(dict.fromkeys(part.conditions[name].pattern for part in prediction.parts))
        if patterns != [name]:
            words.append(f"{name}: {', '.join(patterns)}")
    has_ends = any(time.high_s > time.low_s for one in prediction.expected for time in one.run_s.values())
    return "; ".join([*(["±: 95% interval of the measurements"] if has_ends else []), *words])


def _listed(names: list[str], most: int = 4) -> str:
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
