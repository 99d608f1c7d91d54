"""A prediction as sentences, and as a table of texts."""

from __future__ import annotations

import math

import numpy as np

from offbeat.base.document.tables import Table
from offbeat.base.units import amount, format_time
from offbeat.model.study.algorithm import DEFAULT
from offbeat.selection.choices.delay_table import NO_DELAY
from offbeat.selection.choices.wording import DASH, common_unit, cost
from offbeat.trace.summary_tables import library_name
from offbeat.tuning.prediction.affected_calls import calls_affected_by_choice
from offbeat.tuning.prediction.measured_configuration import Estimate
from offbeat.tuning.prediction.prediction import ExpectedRun, Prediction

WORDS = {
    "no_delay": "without delays",
    "average": "on average over the patterns",
    "scenario": "in the scenario",
    "replay": "in the replay",
}
"""A condition in a sentence."""

DOUBTFUL = 0.1
"""Bias above which the likely reasons are named."""


def head(prediction: Prediction) -> list[str]:
    """The recorded run, and the calls whose times are predicted."""
    run = prediction.recorded
    number = sum(part.calls.number for part in prediction.parts)
    spent = sum(part.calls.spent_s for part in prediction.parts)
    lines = [
        f"{run.program.rsplit('/', 1)[-1] or 'a program'} on {run.processes} processes with"
        f" {library_name(run.library)}",
        f"recorded: {format_time(run.run_s, 4)}, of these {format_time(run.computing_s, 4)} without the"
        f" operation of {number} of {amount(run.all_calls, 'collective call')}"
        f" ({spent / run.spent_s if run.spent_s > 0 else 0.0:.1%} of the time in collectives):",
    ]
    for part in prediction.parts:
        calls, cell = part.calls, part.table.configuration
        lines.append(
            f"  {calls.description}: {amount(calls.number, 'call')}, d̂ {format_time(calls.last_delay_s)}"
            f" ({calls.total_s / run.run_s:.1%}); measured as {cell} ({cell.library})"
        )
    return lines


def table(prediction: Prediction) -> Table:
    """A row per algorithm (or choice), a column per condition."""
    unit, factor = common_unit(np.array([prediction.recorded.run_s]))
    decimals = _decimals(prediction, factor)
    headings = ["choice" if prediction.of_choices else "algorithm"]
    headings += prediction.conditions
    headings.append(f"change\n({prediction.main_condition})")
    rows = []
    for one in prediction.expected:
        change = prediction.change(one)
        cells = [_number(one.run_s.get(name), factor, decimals) for name in prediction.conditions]
        rows.append([_name(prediction, one), *cells, cost(change.time_s) if change else DASH])
    return Table(
        title=f"Expected run time in {unit}",
        headings=headings,
        rows=rows,
        notes=_legend(prediction),
    )


def sentence(prediction: Prediction) -> str:
    """The expected fastest, its gain against the algorithm that ran, and its uncertainty."""
    main_condition = prediction.main_condition
    ranked = prediction.order(main_condition)
    if not ranked:
        return "No selectable algorithm was measured under the conditions of this prediction."
    best = ranked[0]
    time, change = best.run_s[main_condition], prediction.change(best)
    others = [one for one in ranked[1:] if one.algorithms != best.algorithms]
    as_fast = [one.name for one in others if one.run_s[main_condition].low_s <= time.high_s]
    also = f"; within the measurements' intervals, {_listed(as_fast)} may be as fast" if as_fast else ""
    if change is None:
        return (
            f"Expected fastest {WORDS[main_condition]}: {best.name} with {format_time(time.time_s, 4)}{also}."
            " Its gain is unknown: there is no prediction for the algorithm that the traced run used; give it"
            f" with --ran.{_no_delay_choice(prediction, best)}"
        )
    ran = f"{prediction.ran}, {_as_ran(prediction)}"
    if best.name == prediction.ran:
        return f"Expected fastest {WORDS[main_condition]}: {ran}{also}.{_no_delay_choice(prediction, best)}"
    if change.time_s >= 0:
        return (
            f"No measured algorithm is expected to be faster {WORDS[main_condition]} than {ran}:"
            f" the nearest is {best.name}, {change.time_s:+.1%}.{_no_delay_choice(prediction, best)}"
        )
    run_s = prediction.recorded.run_s
    text = (
        f"Expected fastest {WORDS[main_condition]}: {best.name}, {-change.time_s:.1%} less than {ran}: about"
        f" {format_time((1 + change.time_s) * run_s, 4)} instead of the recorded"
        f" {format_time(run_s, 4)}{also}"
    )
    if change.high_s >= 0:
        text += (
            f". By the measurements' intervals ({change.low_s:+.1%} to {change.high_s:+.1%}), the gain is not"
            " significant"
        )
    return f"{text}.{_no_delay_choice(prediction, best)}"


def _no_delay_choice(prediction: Prediction, best: ExpectedRun) -> str:
    """The choice of a benchmark without delays, if it is clearly slower under the main condition."""
    main_condition = prediction.main_condition
    ranked = [] if prediction.of_choices else prediction.order(NO_DELAY)
    if (
        main_condition == NO_DELAY
        or not ranked
        or ranked[0].name == best.name
        or main_condition not in ranked[0].run_s
    ):
        return ""
    other, change = ranked[0].run_s[main_condition], prediction.change(ranked[0])
    if other.low_s <= best.run_s[main_condition].high_s:
        return ""
    against = f"{change.time_s:+.1%}" if change is not None else format_time(other.time_s, 4)
    return f" A benchmark without delays would choose {ranked[0].name}: {against} {WORDS[main_condition]}."


def _as_ran(prediction: Prediction) -> str:
    return "assumed to have run" if prediction.ran_is_assumed else "which ran"


def ran_sentence(prediction: Prediction) -> str:
    """The error of the prediction for the algorithm that ran; empty if unknown."""
    bias = prediction.bias
    if not bias:
        return ""
    errors = ", ".join(f"{off:+.1%} {WORDS[name]}" for name, off in bias.items())
    text = (
        f"Accuracy: the prediction for {prediction.ran}, {_as_ran(prediction)}, differs from the recorded"
        f" time by {errors}; this is not a gain: changes are differences between predictions."
    )
    if prediction.ran_is_assumed:
        text += " Give the algorithm that ran with --ran."
    if abs(bias[list(bias)[-1]]) >= DOUBTFUL:
        text += (
            " The calls took other times than in the measurements, for example because the machine was busy"
            " or the data were not in the caches."
        )
    return text


def _decimals(prediction: Prediction, factor: float) -> int:
    """Four significant digits, or as many as the intervals justify."""
    times = [time for one in prediction.expected for time in one.run_s.values()]
    largest = max((time.time_s * factor for time in times), default=0.0)
    integer_digits = math.floor(math.log10(largest)) + 1 if largest > 0 else 1
    widths = [factor * (time.high_s - time.low_s) / 2 for time in times if time.high_s > time.low_s]
    decimals = math.ceil(-math.log10(np.median(widths))) if widths else 0
    return int(max(0, 4 - integer_digits, min(decimals, 6 - integer_digits)))


def _number(estimate: Estimate | None, factor: float, decimals: int) -> str:
    if estimate is None:
        return DASH
    text = f"{estimate.time_s * factor:.{decimals}f}"
    wide = max(estimate.high_s - estimate.time_s, estimate.time_s - estimate.low_s) * factor
    return text if wide <= 0 else f"{text} ±{wide:.{decimals}f}"


def _name(prediction: Prediction, one: ExpectedRun) -> str:
    mark = "▸" if one.name == prediction.ran else ""
    return f"{mark}{one.name}{'†' if one.barred else ''}"


def _legend(prediction: Prediction) -> list[str]:
    notes = []
    if any(one.barred for one in prediction.expected):
        notes.append("† for reference, never selected")
    if prediction.ran:
        notes.append(
            f"▸ {_as_ran(prediction)}; change: expected time minus that of ▸, as a share of the recorded time"
            " (negative: a gain)"
        )
    legend = [line for line in (_patterns(prediction), "; ".join(notes)) if line]
    if not prediction.of_choices:
        return legend
    for one in prediction.expected:
        choices = [
            f"{part.table.configuration} {name if name != DEFAULT else 'left to the library'}"
            for part, name in zip(prediction.parts, one.algorithms, strict=True)
        ]
        legend.append(f"{one.name}: {'; '.join(dict.fromkeys(choices))}")
    return legend + [
        f"{one.name} {calls_affected_by_choice(prediction, one.algorithms).sentence}"
        for one in prediction.expected
        if one.name != DEFAULT
    ]


def _patterns(prediction: Prediction) -> str:
    """The patterns of each condition: ``average: 8 patterns; scenario: alltoall-32KiB-mean``."""
    texts = []
    for name in prediction.conditions:
        patterns = list(dict.fromkeys(part.conditions[name].pattern for part in prediction.parts))
        if patterns != [name]:
            texts.append(f"{name}: {', '.join(patterns)}")
    has_ends = any(time.high_s > time.low_s for one in prediction.expected for time in one.run_s.values())
    return "; ".join([*(["±: 95% interval of the measurements"] if has_ends else []), *texts])


def _listed(names: list[str], most: int = 4) -> str:
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
