"""A traced program as a trial needs it: what is predicted to be the fastest, what to expect of choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.predict.cells import Source
from offbeat.predict.predict import covered_parts
from offbeat.predict.prediction import Part, Prediction, by_choice, chosen_for, common
from offbeat.predict.recorded import Calls, Recorded
from offbeat.select.choose import Choice
from offbeat.select.table import RECORDED
from offbeat.trace.read import Trace
from offbeat.trace.summary import Summary


class TracedProgram(Struct, kw_only=True, eq=False):
    """The calls of a program, and those that a prediction can be made of.

    Without ``run``, ``why_not`` says why nothing can be predicted.
    """

    summary: Summary
    source: Source
    run: Recorded | None = None
    parts: list[Part] = []
    notes: list[str] = []
    why_not: str = ""

    def predicted(self) -> dict[str, list[Choice]]:
        """What is predicted to be the fastest as the ranks arrive, by the name of that condition.

        Empty where the results hold neither a replay nor a scenario.
        """
        telling = common(self.parts)[-1] if self.parts else ""
        return {telling: chosen_for(self.source, self.parts, telling)} if telling in RECORDED else {}

    def expected(self, choices: Mapping[str, Callable[[Calls, int], str]]) -> Prediction | None:
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


def traced_program(trace: Trace, summary: Summary, source: Source) -> TracedProgram:
    """A trace as a trial needs it; calls that no measurement answers for are no error."""
    try:
        run, parts, notes = covered_parts(trace, summary, source)
        common(parts)
    except BadInput as reason:
        return TracedProgram(summary=summary, source=source, why_not=str(reason))
    return TracedProgram(summary=summary, source=source, run=run, parts=parts, notes=notes)
