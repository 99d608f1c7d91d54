"""``offbeat predict`` as a whole: the calls, the cells that stand for them, and the expected run times."""

from __future__ import annotations

from msgspec import Struct, structs

from offbeat.errors import BadInput
from offbeat.predict.cells import Source
from offbeat.predict.prediction import (
    Part,
    Prediction,
    by_algorithm,
    by_choice,
    choices,
    common,
    part_of,
)
from offbeat.predict.recorded import Recorded, calls_of, recorded
from offbeat.predict.rows import covered, first_covered
from offbeat.trace.choice import choose_row
from offbeat.trace.read import Trace
from offbeat.trace.rows import Row
from offbeat.trace.summary import Summary
from offbeat.units import counted

LEAST_WEIGHT = 0.001
"""Calls whose operation takes a smaller share of the run are not predicted among all calls together."""


class Wishes(Struct, frozen=True, kw_only=True):
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


def predict(trace: Trace, summary: Summary, source: Source, wishes: Wishes) -> Prediction:
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
    run = recorded(trace, summary, [row])
    part, notes = part_of(run.calls[0], source, wishes.scenario)
    return by_algorithm(run, part, ran=wishes.ran, notes=[*source.notes, *said, *notes])


def covered_parts(
    trace: Trace, summary: Summary, source: Source, scenario: str = ""
) -> tuple[Recorded, list[Part], list[str]]:
    """All calls that results cover, as parts of one prediction, and what must be said of them.

    Calls that weigh less than :data:`LEAST_WEIGHT` stay as recorded, unless there are no others.
    """
    run = recorded(trace, summary, covered(summary, source))
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


def _row(summary: Summary, source: Source, wishes: Wishes) -> tuple[Row, list[str]]:
    if not wishes.chooses:
        return first_covered(summary, source)
    row = choose_row(
        summary if wishes.communicator else structs.replace(summary, rows=summary.families),
        collective=wishes.collective,
        site=wishes.site,
        communicator=wishes.communicator,
        size=wishes.size,
    )
    calls_of(row, summary)  # says what is wrong with it before a cell is looked for
    return row, []
