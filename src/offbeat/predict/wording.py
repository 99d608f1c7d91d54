"""A prediction as lines and a table of text."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from offbeat.predict.conditions import Estimate
from offbeat.predict.prediction import Expected, Prediction
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
"""An expectation for what ran that is off by a larger share is said, also where what ran is a guess."""


class Shown(Struct, frozen=True, kw_only=True):
    """A table: headings, rows of texts, and sentences below."""

    title: str
    headings: list[str]
    rows: list[list[str]]
    notes: list[str]


def head(prediction: Prediction) -> list[str]:
    """The recorded run, and what of it is predicted anew."""
    run = prediction.recorded
    lines = [
        f"{run.program.rsplit('/', 1)[-1] or 'a program'} on {run.processes} processes with"
        f" {library_words(run.library)}",
        f"recorded: {format_time(run.run_s, 4)}, of these {format_time(run.computing_s, 4)} without the"
        f" operation of",
    ]
    for part in prediction.parts:
        calls, cell = part.calls, part.table.cell
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
    recorded = prediction.recorded.run_s
    rows = []
    for one in prediction.expected:
        last = one.run_s.get(prediction.telling)
        cells = [_number(one.run_s.get(name), factor, decimals) for name in prediction.conditions]
        rows.append([_name(prediction, one), *cells, cost(last.time_s / recorded - 1) if last else NOTHING])
    return Shown(
        title=f"Expected run time in {unit}",
        headings=headings,
        rows=rows,
        notes=_legend(prediction),
    )


def sentence(prediction: Prediction) -> str:
    """What is expected to be fastest, by how much, and how sure that is."""
    telling = prediction.telling
    ranked = prediction.order(telling)
    if not ranked:
        return "Nothing that could be selected was measured under the conditions of this prediction."
    best, recorded = ranked[0], prediction.recorded.run_s
    time = best.run_s[telling]
    change = time.time_s / recorded - 1
    than = f"{abs(change):.1%} {'less' if change < 0 else 'more'} than recorded"
    said = f"Expected fastest {WORDS[telling]}: {best.name} with {format_time(time.time_s, 4)}, {than}"
    others = [one for one in ranked[1:] if one.algorithms != best.algorithms]
    alike = [one.name for one in others if one.run_s[telling].low_s <= time.high_s]
    if alike:
        said += f"; within the measurements' intervals, {_listed(alike)} may be as fast"
    usual = [] if prediction.of_choices else prediction.order(NO_DELAY)
    if telling != NO_DELAY and usual and usual[0].name != best.name and telling in usual[0].run_s:
        other = usual[0].run_s[telling]
        if other.low_s > time.high_s:
            said += (
                f". The usual benchmark, without delays, would choose {usual[0].name}:"
                f" {format_time(other.time_s, 4)} {WORDS[telling]}"
            )
    return said + "."


def ran_sentence(prediction: Prediction) -> str:
    """How near the expectations for what the trace ran with come to the recorded time; empty if not known."""
    supposed = prediction.ran or DEFAULT
    found = next((one for one in prediction.expected if one.name == supposed), None)
    if found is None or not found.run_s:
        return ""
    recorded = prediction.recorded.run_s
    offs = {name: time.time_s / recorded - 1 for name, time in found.run_s.items()}
    words = ", ".join(f"{off:+.1%} {WORDS[name]}" for name, off in offs.items())
    if prediction.ran:
        return f"It was recorded with {prediction.ran}; what would be expected of that is off by {words}."
    if abs(offs[list(offs)[-1]]) < DOUBTFUL:
        return ""
    return (
        f"If it was recorded with the library's own decisions (default), what would be expected of them is"
        f" off by {words}: then the calls took other times than they took when measured, because the machine"
        " was busy, say, or the data no longer in the caches, and only differences between algorithms can be"
        " relied on."
    )


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
        notes.append("▸ what the trace ran with")
    legend = [line for line in (_patterns(prediction), "; ".join(notes)) if line]
    if not prediction.of_choices:
        return legend
    for one in prediction.expected:
        words = [
            f"{part.table.cell} {name if name != DEFAULT else 'left to the library'}"
            for part, name in zip(prediction.parts, one.algorithms, strict=True)
        ]
        legend.append(f"{one.name}: {'; '.join(dict.fromkeys(words))}")
    return legend


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
