"""Whether running out of step helps a traced program, whose memory traffic is given or not known."""

from __future__ import annotations

from msgspec import Struct

from offbeat.base.units import rounded_size
from offbeat.model.platform.machine import Platform
from offbeat.programs.advice.assess import Assessment, Report, Verdict, assess
from offbeat.programs.description.memory_traffic import with_memory_traffic
from offbeat.programs.iterations.derived_program import DerivedProgram

WIDEST = 1.25
"""If a simulated iteration takes this many times longer or shorter than a traced one, the simulation does not
describe the program."""


class Case(Struct, frozen=True, kw_only=True):
    """An assumption on the memory traffic of the work, and the assessment under it."""

    assumption: str
    assessment: Assessment

    def fits(self, measured_s: float) -> bool:
        """Whether simulated iterations take about as long as traced ones."""
        return measured_s / WIDEST <= self.assessment.iteration_s <= measured_s * WIDEST


class TraceAssessment(Struct, frozen=True, kw_only=True):
    """The assessment of a trace: one case if the memory traffic is known, otherwise two extreme ones.

    ``measured_s`` is the time of an iteration in the trace, of which ``read`` of ``total`` were read.
    """

    verdict: Verdict
    program: str
    ranks: int
    measured_s: float
    read: int
    total: int
    cases: list[Case]
    notes: list[str]


def assess_trace(
    derived: DerivedProgram,
    platform: Platform,
    *,
    traffic_bytes: int | None = None,
    iterations: int = 0,
    seeds: int,
    on_progress: Report | None = None,
) -> TraceAssessment:
    """Assess the program of a trace with its memory traffic, or without any and with the most.

    ``traffic_bytes`` is the traffic of a rank in an iteration, None if it is not known. For the other options
    and for what is raised see :func:`assess` and :func:`with_memory_traffic`.
    """
    program = derived.program
    if traffic_bytes is None:
        programs = {
            "the work is bound by memory": with_memory_traffic(program, platform),
            "the work is bound by the cores": program,
        }
    else:
        size = rounded_size(traffic_bytes)
        programs = {
            f"a rank has {size} of memory traffic in an iteration": with_memory_traffic(
                program, platform, traffic_bytes
            )
        }
    cases = [
        Case(
            assumption=assumption,
            assessment=assess(one, platform, iterations=iterations, seeds=seeds, on_progress=on_progress),
        )
        for assumption, one in programs.items()
    ]
    verdicts = {case.assessment.verdict for case in cases}
    fits = all(case.fits(derived.measured_s) for case in cases)
    return TraceAssessment(
        verdict=verdicts.pop() if len(verdicts) == 1 and fits else "cannot be told",
        program=program.name,
        ranks=program.file.ranks,
        measured_s=derived.measured_s,
        read=derived.read,
        total=derived.total,
        cases=cases,
        notes=derived.notes,
    )
