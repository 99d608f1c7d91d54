"""What ``offbeat async advise`` writes as JSON, for a program and for a trace."""

from __future__ import annotations

from msgspec import Struct

from offbeat.programs.advice.assess import Assessment
from offbeat.programs.advice.assess_trace import TraceAssessment
from offbeat.programs.advice.gains import Gain, Interval


class PreconditionFound(Struct, frozen=True, kw_only=True):
    """What must be true so that running out of step can help.

    ``holds`` says whether it is true, ``reason`` why, in a sentence.
    """

    name: str
    holds: bool
    reason: str


class ChangeGain(Struct, frozen=True, kw_only=True):
    """What a change of the program gains, as a fraction of the time of an iteration with the change.

    ``kind`` and ``change`` describe the change. ``iteration_s`` is the mean time of an iteration with it, and
    ``lockstep_s`` the time to beat: that of the program in lockstep, with or without the change. ``total``
    compares with the program as it is, ``over_lockstep`` with lockstep. ``out_of_step`` is the part of the
    total gain that lockstep does not explain.
    """

    kind: str
    change: str
    iteration_s: float
    lockstep_s: float
    total: Interval
    over_lockstep: Interval
    out_of_step: Interval


class AssessmentDocument(Struct, frozen=True, kw_only=True):
    """Whether running out of step helps a program on a platform.

    ``iterations`` were simulated with each of ``seeds`` seeds or more. ``limit_s`` is a time of an iteration
    that no execution can beat. ``gain`` is how much faster the program is than in lockstep, as it is;
    ``gain_without_delays`` the same against lockstep without the program's own delays. ``gains`` has all
    changes that were simulated, and ``recommendation`` the best of those that help, null if none does.
    """

    program: str
    platform: str
    ranks: int
    iterations: int
    seeds: int
    verdict: str
    iteration_s: float
    lockstep_s: float
    limit_s: float
    gain: Interval
    gain_without_delays: Interval
    preconditions: list[PreconditionFound]
    gains: list[ChangeGain]
    recommendation: ChangeGain | None


class AssumptionDocument(Struct, frozen=True, kw_only=True):
    """An assumption on the memory traffic of the work, and the assessment under it."""

    assumption: str
    assessment: AssessmentDocument


class TraceAssessmentDocument(Struct, frozen=True, kw_only=True):
    """Whether running out of step helps a traced program.

    ``measured_s`` is the time of an iteration in the trace. ``iterations_read`` of ``iterations`` were read.
    ``cases`` has one assumption if the memory traffic is known, else two extreme ones.
    """

    program: str
    ranks: int
    verdict: str
    measured_s: float
    iterations_read: int
    iterations: int
    cases: list[AssumptionDocument]
    notes: list[str]


def assessment_document(assessment: Assessment) -> AssessmentDocument:
    """The document of a program."""
    return AssessmentDocument(
        program=assessment.program,
        platform=assessment.platform,
        ranks=assessment.ranks,
        iterations=assessment.iterations,
        seeds=assessment.seeds,
        verdict=assessment.verdict,
        iteration_s=assessment.iteration_s,
        lockstep_s=assessment.lockstep_s,
        limit_s=assessment.limit_s,
        gain=assessment.already,
        gain_without_delays=assessment.without_delays,
        preconditions=[
            PreconditionFound(name=one.name, holds=one.holds, reason=one.says)
            for one in assessment.preconditions
        ],
        gains=[_gain(one) for one in assessment.gains],
        recommendation=None if assessment.first is None else _gain(assessment.first),
    )


def trace_document(assessment: TraceAssessment) -> TraceAssessmentDocument:
    """The document of a trace."""
    return TraceAssessmentDocument(
        program=assessment.program,
        ranks=assessment.ranks,
        verdict=assessment.verdict,
        measured_s=assessment.measured_s,
        iterations_read=assessment.read,
        iterations=assessment.total,
        cases=[
            AssumptionDocument(assumption=case.assumption, assessment=assessment_document(case.assessment))
            for case in assessment.cases
        ],
        notes=assessment.notes,
    )


def _gain(gain: Gain) -> ChangeGain:
    return ChangeGain(
        kind=gain.change.kind,
        change=gain.change.what,
        iteration_s=gain.iteration_s,
        lockstep_s=gain.lockstep_s,
        total=gain.total,
        over_lockstep=gain.over_lockstep,
        out_of_step=gain.out_of_step,
    )
