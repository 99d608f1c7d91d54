"""The assessment in words and tables."""

from __future__ import annotations

from offbeat.base.units import amount, format_time
from offbeat.programs.advice.assess import LEAST_GAIN, Assessment, helps, restores
from offbeat.programs.advice.assess_trace import TraceAssessment
from offbeat.programs.advice.gains import Gain, Interval

HEADINGS = ["change", "iteration", "gain", "95% interval", "over lockstep"]


def verdict(assessment: Assessment) -> str:
    """The verdict as sentences, with the expected gain."""
    if assessment.verdict == "helps":
        return _help(assessment)
    if assessment.verdict == "absorbs delays":
        return (
            f"Running out of step absorbs delays: the program is {percent(assessment.already)} faster than in"
            " lockstep with the same delays, but not faster than in lockstep without them. No change gains"
            " more by it."
        )
    if assessment.verdict == "hurts":
        if assessment.already.negated().exceeds(LEAST_GAIN):
            return (
                f"Running out of step hurts: the program is {percent(assessment.already.negated())} slower"
                " than in lockstep, and no change is faster than lockstep."
            )
        return "Running out of step hurts: no change gains by it, and delays cost more time than they save."
    if assessment.verdict == "does nothing":
        is_delayed = any(gain.change.kind == "injected delays" for gain in assessment.gains)
        cost = ", and delays cost less than 0.5%" if is_delayed else ""
        return f"Running out of step does nothing: no change gains by it{cost}."
    return (
        "Whether running out of step helps cannot be told: gains differ too much between seeds. Simulate"
        " more iterations (--iterations) or more seeds (--seeds)."
    )


def _help(assessment: Assessment) -> str:
    helping = [gain for gain in assessment.gains if helps(gain) is True]
    if not helping:
        return (
            f"Running out of step helps already: the program is {percent(assessment.already)} faster than in"
            " lockstep, and no change gains more by it."
        )
    best = max(helping, key=lambda gain: gain.total.mean)
    return f"Running out of step helps: {percent(best.total)} faster with this change: {best.change.what}."


def first(assessment: Assessment) -> str:
    """What to change first, as a sentence."""
    if assessment.first is None:
        return "Change nothing."
    sentence = f"Change first: {assessment.first.change.what} ({percent(assessment.first.total)} faster)."
    if restores(assessment.first):
        sentence += " This brings the program back to lockstep, and no further."
    return sentence


def of_trace(assessment: TraceAssessment) -> list[str]:
    """What was derived from a trace, and the verdict of all cases, as sentences."""
    simulated = [
        f"{format_time(case.assessment.iteration_s)} if {case.assumption}" for case in assessment.cases
    ]
    found = [
        f"{assessment.read} of {amount(assessment.total, 'iteration')} were read: one takes"
        f" {format_time(assessment.measured_s)}; simulated, {', '.join(simulated)}."
    ]
    if any(not case.fits(assessment.measured_s) for case in assessment.cases):
        found.append(
            "Whether running out of step helps cannot be told: simulated iterations differ too much from"
            " traced ones. Take the platform of the trace, calibrated by 'offbeat platform calibrate'."
        )
    elif assessment.verdict != "cannot be told":
        found.append(_HEADS[assessment.verdict] + ("" if len(assessment.cases) == 1 else " in both cases."))
    elif len(assessment.cases) > 1:
        found.append(
            "Whether running out of step helps cannot be told: a trace does not say how much memory traffic"
            " the work has. Measure it, for example with LIKWID, and give the bytes of a rank in an iteration"
            " with --memory."
        )
    return found


_HEADS = {
    "helps": "Running out of step helps",
    "absorbs delays": "Running out of step absorbs delays, and gains nothing else",
    "does nothing": "Running out of step does nothing",
    "hurts": "Running out of step hurts",
}


def percent(gain: Interval) -> str:
    """A gain with its interval, such as ``11.5% (11.4 to 11.6)``."""
    return f"{100 * gain.mean:z.1f}% ({_range(gain)})"


def _range(gain: Interval) -> str:
    return f"{100 * gain.low:z.1f} to {100 * gain.high:z.1f}"


def precondition_rows(assessment: Assessment) -> list[list[str]]:
    """Each precondition, whether it holds, and why."""
    return [
        [precondition.name, "yes" if precondition.holds else "no", precondition.says]
        for precondition in assessment.preconditions
    ]


def gain_rows(assessment: Assessment) -> list[list[str]]:
    """The program as it is, and each change with its gain."""
    return [
        ["none", format_time(assessment.iteration_s), "", "", ""],
        *(_gain_row(gain) for gain in assessment.gains),
    ]


def _gain_row(gain: Gain) -> list[str]:
    return [
        gain.change.what,
        format_time(gain.iteration_s),
        f"{100 * gain.total.mean:+z.1f}%",
        _range(gain.total),
        f"{100 * gain.over_lockstep.mean:+z.1f}%",
    ]


def basis(assessment: Assessment) -> str:
    """What the assessment rests on, as a sentence."""
    return (
        f"In lockstep an iteration takes {format_time(assessment.lockstep_s)}, and no execution takes less"
        f" than {format_time(assessment.limit_s)}. Simulated on the platform {assessment.platform}:"
        f" {assessment.iterations} iterations, of which the first half and the last eighth do not count, with"
        f" {assessment.seeds} seeds or more. The intervals have the variation between seeds, not the error of"
        " the platform file."
    )
