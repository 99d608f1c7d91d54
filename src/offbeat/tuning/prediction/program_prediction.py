"""Predicts the run time of a traced program: selects its calls and the measurements that cover them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import compress

from msgspec import Struct, structs

from offbeat.base.errors import BadInput
from offbeat.base.units import amount
from offbeat.selection.choices.choose import Choice
from offbeat.selection.choices.delay_table import RECORDED_KINDS
from offbeat.selection.tuning_files.export import measured_library
from offbeat.selection.tuning_files.safe_choices import rule_key
from offbeat.trace.calls.call_site_stats import CallSiteStats, description_of
from offbeat.trace.files.trace_folder import Trace
from offbeat.trace.recommendation import choose_row, tuning_order
from offbeat.trace.summary import Summary
from offbeat.tuning.prediction.measured_configuration import Measurements, configuration_for
from offbeat.tuning.prediction.prediction import (
    Part,
    Prediction,
    by_algorithm,
    by_choice,
    choices,
    chosen_for,
    common,
    part_of,
)
from offbeat.tuning.prediction.recorded_calls import RecordedRun, TracedCalls, calls_of, recorded_run

LEAST_WEIGHT = 0.001
"""Calls whose operation takes a smaller share of the run are excluded from a prediction of all calls."""


class Request(Struct, frozen=True, kw_only=True):
    """The selected calls, the scenario and the algorithm that ran; empty for the defaults."""

    collective: str = ""
    site: str = ""
    communicator: str = ""
    size: int | None = None
    scenario: str = ""
    ran: str = ""
    everything: bool = False

    @property
    def selects_calls(self) -> bool:
        """Whether calls were selected."""
        return bool(self.collective or self.site or self.communicator or self.size is not None)


def predict(trace: Trace, summary: Summary, source: Measurements, request: Request) -> Prediction:
    """The requested prediction. Raises :class:`BadInput` if it is impossible, with the reason."""
    if request.everything:
        if request.selects_calls:
            raise BadInput(
                "--all selects all calls that the results cover; omit it, or the selection of calls"
                " (--collective, --site, --communicator, --size)"
            )
        run, parts, notes = covered_parts(trace, summary, source, request.scenario)
        chosen = choices(source, parts, common(parts))
        return by_choice(run, parts, chosen, ran=request.ran, notes=notes)
    row, row_notes = _row(summary, source, request)
    run = recorded_run(trace, summary, [row])
    part, notes = part_of(run.calls[0], source, request.scenario)
    return by_algorithm(run, part, ran=request.ran, notes=[*source.notes, *row_notes, *notes])


def covered_parts(
    trace: Trace, summary: Summary, source: Measurements, scenario: str = ""
) -> tuple[RecordedRun, list[Part], list[str]]:
    """All calls that results cover, as parts of one prediction, and notes; without those of little weight."""
    rows, _ = covered(summary, source)
    run = recorded_run(trace, summary, rows)
    heavy = _heavy(run, source)
    light = [calls for calls in run.calls if calls not in heavy]
    parts, notes = [], list(source.notes)
    if heavy and light:
        share = sum(calls.total_s for calls in light) / run.run_s
        notes.append(
            f"{amount(len(light), 'row')} of calls whose operation takes less than {LEAST_WEIGHT:.1%} of the"
            f" run each ({share:.2%} together) excluded: their recorded times are used"
        )
        run = structs.replace(run, calls=heavy)
    for calls in run.calls:
        part, more = part_of(calls, source, scenario)
        parts.append(part)
        notes += more
    return run, parts, notes


def _heavy(run: RecordedRun, source: Measurements) -> list[TracedCalls]:
    """The calls that take LEAST_WEIGHT of the run; and others that share a rule of a tuning file with them,
    but were measured on other communicators: an algorithm that is good for the former may be bad for them."""
    cells = [configuration_for(calls, source)[0].configuration for calls in run.calls]
    is_heavy = [calls.total_s >= LEAST_WEIGHT * run.run_s for calls in run.calls]
    heavy = set(compress(cells, is_heavy))
    family = str(measured_library(source.results.provenance).get("family", ""))
    rules = {rule_key(cell, family) for cell in heavy}
    shares_rule = [rule_key(cell, family) in rules and cell not in heavy for cell in cells]
    return [calls for calls, own, other in zip(run.calls, is_heavy, shares_rule, strict=True) if own or other]


def _row(summary: Summary, source: Measurements, request: Request) -> tuple[CallSiteStats, list[str]]:
    if not request.selects_calls:
        rows, notes = covered(summary, source)
        return rows[0], notes
    row = choose_row(
        summary if request.communicator else structs.replace(summary, rows=summary.group_rows),
        collective=request.collective,
        site=request.site,
        communicator=request.communicator,
        size=request.size,
    )
    calls_of(row, summary)  # raises BadInput for calls that cannot be predicted
    return row, []


def covered(summary: Summary, source: Measurements) -> tuple[list[CallSiteStats], list[str]]:
    """The rows that a measured configuration covers, one per group of communicators, in the order of
    :func:`tuning_order`, and a note if the recommended one is not among them.

    Raises :class:`BadInput` without any, with the reason for the first row.
    """
    grouped = structs.replace(summary, rows=summary.group_rows)
    ranked = [(row, _why_not(row, summary, source)) for row in tuning_order(grouped) if row.processes > 1]
    if not ranked:
        raise BadInput(
            f"the trace {summary.directory} has no blocking collective on two processes or more whose"
            " algorithm can be chosen, so there is nothing to predict"
        )
    rows, first_why_not = [row for row, why_not in ranked if not why_not], ranked[0][1]
    if not rows:
        raise BadInput(first_why_not)
    note = f"predicted for {description_of(rows[0])} instead of the recommended calls: {first_why_not}"
    return rows, [note] if first_why_not else []


def _why_not(row: CallSiteStats, summary: Summary, source: Measurements) -> str:
    try:
        configuration_for(calls_of(row, summary), source)
    except BadInput as reason:
        return str(reason)
    return ""


class TracedProgram(Struct, kw_only=True, eq=False):
    """A traced program for a trial; without ``run``, ``why_not`` says why nothing can be predicted."""

    summary: Summary
    source: Measurements
    run: RecordedRun | None = None
    parts: list[Part] = []
    notes: list[str] = []
    why_not: str = ""

    def predicted(self) -> dict[str, list[Choice]]:
        """The predicted fastest choice by its condition, replay or scenario; empty without both."""
        condition = common(self.parts)[-1] if self.parts else ""
        if condition not in RECORDED_KINDS:
            return {}
        return {condition: chosen_for(self.source, self.parts, condition)}

    def expected(self, choices: Mapping[str, Callable[[TracedCalls, int], str]]) -> Prediction | None:
        """The expected run time with each choice; None if nothing can be predicted.

        A choice maps calls and the number of launched processes to an algorithm.
        """
        if self.run is None:
            return None
        launched = self.summary.processes
        chosen = {
            name: [algorithm(part.calls, launched) for part in self.parts]
            for name, algorithm in choices.items()
        }
        return by_choice(self.run, self.parts, chosen, notes=self.notes)


def traced_program(trace: Trace, summary: Summary, source: Measurements) -> TracedProgram:
    """The traced program; calls without matching measurements are no error."""
    try:
        run, parts, notes = covered_parts(trace, summary, source)
        common(parts)
    except BadInput as reason:
        return TracedProgram(summary=summary, source=source, why_not=str(reason))
    return TracedProgram(summary=summary, source=source, run=run, parts=parts, notes=notes)
