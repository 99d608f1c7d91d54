"""Advice in words and tables."""

from __future__ import annotations

from offbeat.advice.advise import Advice, helps
from offbeat.advice.gains import Gain, Interval
from offbeat.units import format_time

HEADINGS = ["change", "iteration", "gain", "95% interval", "of it out of step"]


def verdict(advice: Advice) -> str:
    """The verdict as sentences, with the expected gain."""
    if advice.verdict == "helps":
        return _help(advice)
    if advice.verdict == "hurts":
        return "Running out of step hurts: no change gains by it, and delays cost time that nothing regains."
    if advice.verdict == "does nothing":
        return "Running out of step does nothing: no change gains by it, and delays cost less than 0.5%."
    return (
        "Whether running out of step helps cannot be told: gains differ too much between seeds. Simulate more"
        " iterations (--iterations) or more seeds (--seeds)."
    )


def _help(advice: Advice) -> str:
    helping = [gain for gain in advice.gains if helps(gain)]
    if not helping:
        return (
            f"Running out of step helps already: the program is {percent(advice.already)} faster than in"
            " lockstep, and no change gains more by it."
        )
    best = max(helping, key=lambda gain: gain.total.mean)
    return f"Running out of step helps: {percent(best.total)} faster with this change: {best.change.what}."


def first(advice: Advice) -> str:
    """What to change first, as a sentence."""
    if advice.first is None:
        return "Change nothing."
    return f"Change first: {advice.first.change.what} ({percent(advice.first.total)} faster)."


def percent(gain: Interval) -> str:
    """A gain with its interval, such as ``11.5% (11.4 to 11.6)``."""
    return f"{100 * gain.mean:.1f}% ({_range(gain)})"


def _range(gain: Interval) -> str:
    return f"{100 * gain.low:.1f} to {100 * gain.high:.1f}"


def precondition_rows(advice: Advice) -> list[list[str]]:
    """Each precondition, whether it holds, and why."""
    return [
        [precondition.name, "yes" if precondition.holds else "no", precondition.says]
        for precondition in advice.preconditions
    ]


def gain_rows(advice: Advice) -> list[list[str]]:
    """The program as it is, and each change with its gain."""
    return [
        ["none", format_time(advice.iteration_s), "", "", ""],
        *(_gain_row(gain) for gain in advice.gains),
    ]


def _gain_row(gain: Gain) -> list[str]:
    return [
        gain.change.what,
        format_time(gain.iteration_s),
        f"{100 * gain.total.mean:+.1f}%",
        _range(gain.total),
        f"{100 * gain.out_of_step.mean:+.1f}%",
    ]


def basis(advice: Advice) -> str:
    """What the advice rests on, as a sentence."""
    return (
        f"Simulated on the platform {advice.platform}: {advice.iterations} iterations, of which the second"
        f" half counts, with {advice.seeds} seeds. The intervals have the variation between seeds, not the"
        " error of the platform file."
    )
