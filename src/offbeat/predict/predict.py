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
        if wishes.chooses or wishes.ran:
            raise BadInput(
                "--all is about all calls that the results cover; leave it out, or the choice of calls"
                " (--collective, --site, --communicator, --size) and --ran"
            )
        run, parts, notes = covered_parts(trace, summary, source, wishes.scenario)
        return by_choice(run, parts, choices(source, parts, common(parts)), notes=notes)
    row, said = _row(summary, source, wishes)
    run = recorded(trace, summary, [row])
    part, notes = part_of(run.calls[0], source, wishes.scenario)
    return by_algorithm(run, part, ran=wishes.ran, notes=[*source.notes, *said, *notes])


def covered_parts(
    trace: Trace, summary: Summary, source: Source, scenario: str = ""
) -> tuple[Recorded, list[Part], list[str]]:
    """All calls that results cover, as parts of one prediction, and what must be said of them."""
    run = recorded(trace, summary, covered(summary, source))
    parts, notes = [], list(source.notes)
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
    calls_of(row, summary.processes)  # says what is wrong with it before a cell is looked for
    return row, []
