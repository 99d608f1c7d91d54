"""Whether running out of step helps a program: the verdict, its reasons, and what to change first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct, structs

from offbeat.assessment.changes import (
    FEWEST_DELAYED,
    changes,
    imbalance,
    injected_delays,
    without_collectives,
    without_imbalance,
)
from offbeat.assessment.gains import Gain, Interval, gains, interval, settled
from offbeat.errors import BadInput
from offbeat.platform.machine import Platform
from offbeat.program.alternatives import messages_of_iteration
from offbeat.program.iterations import Lockstep
from offbeat.program.load import Program
from offbeat.program.simulate import lockstep
from offbeat.program.steps import weights_of

Verdict = Literal["helps", "does nothing", "hurts", "cannot be told"]

LEAST_GAIN = 0.005
"""Gains and losses below half a percent are nothing: machines vary by more from day to day."""

LEAST_SLOWDOWN = 1.05
"""Work is memory-bound if it takes this many times longer with all ranks at work than with one alone."""

MOST_EVENTS = 2_000_000
"""Work of ranks and messages in each simulation, unless these are fewer than FEWEST_ITERATIONS iterations."""
FEWEST_ITERATIONS = 40
MOST_ITERATIONS = 500

SEEDS = 5

Report = Callable[[str, int, int], None]
"""Called with what is simulated, how many simulations are done, and their total."""


class Precondition(Struct, frozen=True, kw_only=True):
    """What must be true so that running out of step can help, and whether it is; ``says`` is a sentence."""

    name: Literal["memory-bound", "communication", "rare collectives", "balance"]
    holds: bool
    says: str


class Assessment(Struct, frozen=True, kw_only=True):
    """Whether running out of step helps a program on a platform.

    ``already`` is how much faster the program as it is runs than in lockstep. ``lockstep_s`` and
    ``iteration_s`` are means of the same iterations, those of the second half. ``gains`` has all changes that
    were simulated, ``first`` the one that is recommended, None if none is. ``iterations`` were simulated
    with each of ``seeds`` seeds.
    """

    program: str
    platform: str
    ranks: int
    iterations: int
    seeds: int
    verdict: Verdict
    iteration_s: float
    lockstep_s: float
    already: Interval
    preconditions: list[Precondition]
    gains: list[Gain]
    first: Gain | None


def iterations_for(program: Program, platform: Platform) -> int:
    """How many iterations are simulated if the user does not say."""
    events = program.file.ranks + messages_of_iteration(program, platform)
    most = max(FEWEST_ITERATIONS, int(MOST_EVENTS / events))
    return min(program.file.iterations, most, MOST_ITERATIONS)


def assess(
    program: Program,
    platform: Platform,
    *,
    iterations: int = 0,
    seeds: int = SEEDS,
    on_progress: Report | None = None,
) -> Assessment:
    """Simulate a program as it is and with each change, and say what helps.

    ``iterations`` of 0 takes :func:`iterations_for`. Raises :class:`BadInput` for a program that the
    platform cannot execute, for fewer than 2 seeds, and for too few iterations to try delays.
    """
    program = program.resized(iterations=iterations or iterations_for(program, platform))
    _check(program, seeds)
    composite = lockstep(program, platform)
    drawn = range(program.file.seed, program.file.seed + seeds)
    report = on_progress or _silent
    tried = changes(program, platform, composite)
    times_s, found = gains(
        program, composite, tried, platform, drawn, lambda done, total: report("changes", done, total)
    )
    in_step_s = settled(composite, program).iteration_s
    already = interval(in_step_s / times_s)
    verdict = _verdict(found, already)
    counterfactual = _Counterfactual(program, platform, drawn, report)
    return Assessment(
        program=program.name,
        platform=platform.name,
        ranks=program.file.ranks,
        iterations=program.file.iterations,
        seeds=seeds,
        verdict=verdict,
        iteration_s=float(times_s.mean()),
        lockstep_s=in_step_s,
        already=already,
        preconditions=_preconditions(program, platform, composite, counterfactual, verdict),
        gains=found,
        first=_first(found),
    )


def _check(program: Program, seeds: int) -> None:
    """Raise :class:`BadInput` if there would be no interval, or no delays."""
    if seeds < 2:
        raise BadInput(f"{seeds} seeds have no interval; take 2 or more")
    if program.file.iterations < FEWEST_DELAYED:
        raise BadInput(
            f"{program.path}: too few iterations to try delays: {program.file.iterations}; simulate"
            f" {FEWEST_DELAYED} or more (--iterations)"
        )


def _first(found: Sequence[Gain]) -> Gain | None:
    """The best of the changes that certainly gain, among those of the kind that is recommended first."""
    certain = [gain for gain in found if gain.total.low > LEAST_GAIN]
    of_kind = [gain for gain in certain if gain.change.kind == certain[0].change.kind]
    return max(of_kind, key=lambda gain: gain.total.mean, default=None)


def _silent(_what: str, _done: int, _total: int) -> None:
    """Report nothing."""


def helps(gain: Gain) -> bool:
    """Whether a change certainly gains, and does so by letting the ranks run out of step."""
    return gain.total.low > LEAST_GAIN and gain.out_of_step.low > LEAST_GAIN


def _verdict(found: Sequence[Gain], already: Interval) -> Verdict:
    """The verdict on all changes that were simulated.

    Delays hurt if none helps and the mildest of those that are injected most often costs more than
    LEAST_GAIN.
    """
    if already.low > LEAST_GAIN or any(helps(gain) for gain in found):
        return "helps"
    if already.high > LEAST_GAIN or any(_may_help(gain) for gain in found):
        return "cannot be told"
    delayed = [gain.total for gain in found if gain.change.kind == "injected delays"]
    if not delayed or delayed[0].low >= -LEAST_GAIN:
        return "does nothing"
    return "hurts" if delayed[0].high < -LEAST_GAIN else "cannot be told"


def _may_help(gain: Gain) -> bool:
    return gain.total.high > LEAST_GAIN and gain.out_of_step.high > LEAST_GAIN


class _Counterfactual:
    """Whether delays would gain in a program that differs from the given one."""

    def __init__(self, program: Program, platform: Platform, seeds: range, report: Report) -> None:
        self._program, self._platform, self._seeds, self._report = program, platform, seeds, report

    def delays_help(self, what: str, changed: Program | None) -> bool:
        """Whether injected delays help the changed program; False if there is no such program."""
        if changed is None:
            return False
        composite = lockstep(changed, self._platform)
        delays = list(injected_delays(changed, composite))
        _, found = gains(
            changed,
            composite,
            delays[:2],
            self._platform,
            self._seeds[:2],
            lambda done, total: self._report(what, done, total),
        )
        return any(gain.total.mean > LEAST_GAIN for gain in found)


def _preconditions(
    program: Program,
    platform: Platform,
    composite: Lockstep,
    counterfactual: _Counterfactual,
    verdict: Verdict,
) -> list[Precondition]:
    """The preconditions; what stands in the way of a program that is not helped is found by removing it."""
    slowdown = _slowdown(program, platform, composite)
    ratio = composite.communication_ratio
    found = [
        Precondition(
            name="memory-bound",
            holds=slowdown >= LEAST_SLOWDOWN,
            says=f"work takes {slowdown:.2f} times as long with all ranks at work as with one alone",
        ),
        Precondition(
            name="communication",
            holds=ratio > LEAST_GAIN,
            says=f"communication takes {100 * ratio:.2g}% of the time of work in lockstep",
        ),
    ]
    if verdict == "helps" or not all(precondition.holds for precondition in found):
        return found
    if without := without_collectives(program):
        blocks = counterfactual.delays_help("without collectives", without)
        says = "without the collectives, injected delays " + ("gain" if blocks else "do not gain either")
        found.append(Precondition(name="rare collectives", holds=not blocks, says=says))
    if even := without_imbalance(program):
        blocks = counterfactual.delays_help("without imbalance", even)
        says = (
            f"in lockstep, work takes {100 * imbalance(program, composite):.0f}% longer than with equal work"
            " on all ranks; with equal work"
        )
        says += ", injected delays " + ("gain" if blocks else "do not gain either")
        found.append(Precondition(name="balance", holds=not blocks, says=says))
    return found


def _slowdown(program: Program, platform: Platform, composite: Lockstep) -> float:
    """How much longer the work takes with all ranks at work than on one rank alone; 1 without work."""
    heaviest = [
        structs.replace(phase, weights=[float(weights_of(phase, program.file.ranks).max())])
        for phase in program.file.phase
        if phase.kind == "work"
    ]
    if not heaviest or not composite.work_s:
        return 1.0
    return composite.work_s / lockstep(program.with_phases(heaviest).resized(ranks=1), platform).work_s
