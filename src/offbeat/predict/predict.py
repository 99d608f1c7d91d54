"""``offbeat predict`` as a whole: the calls, the cells that stand for them, and the expected run times."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, structs

from offbeat.errors import BadInput
from offbeat.predict.measured_configuration import Measurements, configuration_for
from offbeat.predict.prediction import (
    Part,
    Prediction,
    by_algorithm,
    by_choice,
    choices,
    chosen_for,
    common,
    part_of,
)
from offbeat.predict.recorded import RecordedRun, TracedCalls, calls_of, recorded_run
from offbeat.select.choose import Choice
from offbeat.select.table import RECORDED
from offbeat.trace.call_site_stats import CallSiteStats, description_of
from offbeat.trace.read import Trace
from offbeat.trace.recommendation import choose_row, tuning_order
from offbeat.trace.summary import Summary
from offbeat.units import counted

LEAST_WEIGHT = 0.001
"""Calls whose operation takes a smaller share of the run are not predicted among all calls together."""


class Request(Struct, frozen=True, kw_only=True):
    """Which calls are predicted, and what is known of the trace; empty where nothing was said."""

    collective: str = ""
    site: str = ""
    communicator: str = ""
    size: int | None = None
    scenario: str = ""
    ran: str = ""
    everything: bool = False

    @property
    def chooses(self) -> bool:
        """Whether calls were named."""
        return bool(self.collective or self.site or self.communicator or self.size is not None)


def predict(trace: Trace, summary: Summary, source: Measurements, wishes: Request) -> Prediction:
    """The prediction that is wished for. Raises :class:`BadInput` where it cannot be made, and says why."""
    if wishes.everything:
        if wishes.chooses:
            raise BadInput(
                "--all is about all calls that the results cover; leave it out, or the choice of calls"
                " (--collective, --site, --communicator, --size)"
            )
        run, parts, notes = covered_parts(trace, summary, source, wishes.scenario)
        chosen = choices(source, parts, common(parts))
        return by_choice(run, parts, chosen, ran=wishes.ran, notes=notes)
    row, said = _row(summary, source, wishes)
    run = recorded_run(trace, summary, [row])
    part, notes = part_of(run.calls[0], source, wishes.scenario)
    return by_algorithm(run, part, ran=wishes.ran, notes=[*source.notes, *said, *notes])


def covered_parts(
    trace: Trace, summary: Summary, source: Measurements, scenario: str = ""
) -> tuple[RecordedRun, list[Part], list[str]]:
    """All calls that results cover, as parts of one prediction, and what must be said of them.

    Calls that weigh less than :data:`LEAST_WEIGHT` stay as recorded, unless there are no others.
    """
    run = recorded_run(trace, summary, covered(summary, source))
    heavy = [calls for calls in run.calls if calls.total_s >= LEAST_WEIGHT * run.run_s]
    light = [calls for calls in run.calls if calls.total_s < LEAST_WEIGHT * run.run_s]
    parts, notes = [], list(source.notes)
    if heavy and light:
        share = sum(calls.total_s for calls in light) / run.run_s
        notes.append(
            f"{counted(len(light), 'row')} of calls whose operation takes less than {LEAST_WEIGHT:.1%} of the"
            f" run each ({share:.2%} together) are left out: they stay as recorded"
        )
        run = structs.replace(run, calls=heavy)
    for calls in run.calls:
        part, more = part_of(calls, source, scenario)
        parts.append(part)
        notes += more
    return run, parts, notes


def _row(summary: Summary, source: Measurements, wishes: Request) -> tuple[CallSiteStats, list[str]]:
    if not wishes.chooses:
        return first_covered(summary, source)
    row = choose_row(
        summary if wishes.communicator else structs.replace(summary, rows=summary.group_rows),
        collective=wishes.collective,
        site=wishes.site,
        communicator=wishes.communicator,
        size=wishes.size,
    )
    calls_of(row, summary)  # says what is wrong with it before a cell is looked for
    return row, []


# FROM: Which calls of a trace a prediction is about.


def covered(summary: Summary, source: Measurements) -> list[CallSiteStats]:
    """The rows that some measured cell stands for, those to tune first before others.

    Raises :class:`BadInput` where there is none, with what is missing for the first.
    """
    rows = _ranked(summary)
    found = [row for row in rows if not _why_not(row, summary, source)]
    if found:
        return found
    if not rows:
        raise BadInput(
            f"the trace {summary.directory} has no blocking collective of two processes or more whose"
            " algorithm can be chosen, so there is nothing to predict"
        )
    raise BadInput(_why_not(rows[0], summary, source))


def first_covered(summary: Summary, source: Measurements) -> tuple[CallSiteStats, list[str]]:
    """The row to tune first, as the summary names it, among those that some measured cell stands for; and a
    sentence if another one would be the first.

    Raises :class:`BadInput` as :func:`covered` does.
    """
    row, first = covered(summary, source)[0], _ranked(summary)[0]
    if row is first:
        return row, []
    why_not = _why_not(first, summary, source)
    return row, [f"this is about {description_of(row)}, and not about what is to be tuned first: {why_not}"]


def _ranked(summary: Summary) -> list[CallSiteStats]:
    """What is to be tuned first stands first; communicators that are alike are one row."""
    together = structs.replace(summary, rows=summary.group_rows)
    return [row for row in tuning_order(together) if row.processes > 1]


def _why_not(row: CallSiteStats, summary: Summary, source: Measurements) -> str:
    try:
        configuration_for(calls_of(row, summary), source)
    except BadInput as reason:
        return str(reason)
    return ""


# FROM: A traced program as a trial needs it: what is predicted to be the fastest, what to expect of choi


class TracedProgram(Struct, kw_only=True, eq=False):
    """The calls of a program, and those that a prediction can be made of.

    Without ``run``, ``why_not`` says why nothing can be predicted.
    """

    summary: Summary
    source: Measurements
    run: RecordedRun | None = None
    parts: list[Part] = []
    notes: list[str] = []
    why_not: str = ""

    def predicted(self) -> dict[str, list[Choice]]:
        """What is predicted to be the fastest as the ranks arrive, by the name of that condition.

        Empty where the results hold neither a replay nor a scenario.
        """
        main_condition = common(self.parts)[-1] if self.parts else ""
        return (
            {main_condition: chosen_for(self.source, self.parts, main_condition)}
            if main_condition in RECORDED
            else {}
        )

    def expected(self, choices: Mapping[str, Callable[[TracedCalls, int], str]]) -> Prediction | None:
        """The run time that is expected of each choice; None where nothing can be.

        A choice gives the algorithm of some calls in a launch of so many processes.
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
    """A trace as a trial needs it; calls that no measurement answers for are no error."""
    try:
        run, parts, notes = covered_parts(trace, summary, source)
        common(parts)
    except BadInput as reason:
        return TracedProgram(summary=summary, source=source, why_not=str(reason))
    return TracedProgram(summary=summary, source=source, run=run, parts=parts, notes=notes)
