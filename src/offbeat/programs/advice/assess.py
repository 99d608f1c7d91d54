"""Whether running out of step helps a program: the verdict, its reasons, and what to change first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct, structs

from offbeat.base.errors import BadInput
from offbeat.model.platform.machine import Platform
from offbeat.programs.advice.changes import (
    FEWEST_DELAYED,
    Change,
    changes,
    injected_delays,
    without_collectives,
    without_imbalance,
)
from offbeat.programs.advice.gains import MORE_SEEDS, Comparison, Gain, Interval, interval
from offbeat.programs.description.alternatives import messages_of_iteration
from offbeat.programs.description.program_file import Program
from offbeat.programs.simulation.lockstep import Lockstep, limit_s, lockstep
from offbeat.programs.simulation.simulate import phase_times_s
from offbeat.programs.simulation.steps import weights_of

Verdict = Literal["helps", "absorbs delays", "does nothing", "hurts", "cannot be told"]

LEAST_GAIN = 0.005
"""Smaller gains and losses are nothing: a tenth of the 5% by which repeated runs may differ in SPEC MPI2007
(run rules, section 1.2.1, and their FAQ). If 5% are two standard deviations of a run time, a gain of 0.5%
needs about 200 runs with and 200 without it to exceed its 95% interval."""

LEAST_SLOWDOWN = 1.05
"""Work is memory-bound if it takes this many times longer with all ranks at work than with one alone: more
than the 5% by which repeated runs may differ (see LEAST_GAIN)."""

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
    """Whether running out of step helps a program on a platform; times are those of
    :mod:`offbeat.programs.simulation.lockstep`.

    ``already`` is the gain of the program as it is: how much faster it is than in lockstep.
    ``without_delays`` compares it with lockstep without the program's own delays: what is faster than that
    does more than absorb delays. ``lockstep_s`` and ``iteration_s`` are means of the same iterations, those
    that count; ``limit_s`` is the limit. ``gains`` has all changes that were simulated, ``first`` the
    one that is recommended, None if none is. ``iterations`` were simulated with each of ``seeds`` seeds, and
    comparisons that these did not decide with more.
    """

    program: str
    platform: str
    ranks: int
    iterations: int
    seeds: int
    verdict: Verdict
    iteration_s: float
    lockstep_s: float
    limit_s: float
    already: Interval
    without_delays: Interval
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
    composite = lockstep(program.without_noise(), platform)
    first_seed = program.file.seed
    drawn = range(first_seed, first_seed + MORE_SEEDS * seeds)
    report = on_progress or _silent
    tried = changes(program, platform, composite)
    compared = Comparison(program, tried, platform, drawn, lambda done, total: report("changes", done, total))
    judged = _judged(compared, tried, seeds)
    counterfactual = _Counterfactual(platform, drawn, report)
    return Assessment(
        program=program.name,
        platform=platform.name,
        ranks=program.file.ranks,
        iterations=program.file.iterations,
        seeds=seeds,
        verdict=judged.verdict,
        iteration_s=float(compared.base_s().mean()),
        lockstep_s=float(compared.lockstep_s().mean()),
        limit_s=limit_s(program, platform),
        already=judged.already,
        without_delays=judged.without_delays,
        preconditions=_preconditions(program, platform, composite, counterfactual, judged.verdict),
        gains=judged.gains,
        first=_first(judged.gains),
    )


class _Judged(Struct, frozen=True, kw_only=True):
    verdict: Verdict
    already: Interval
    without_delays: Interval
    gains: list[Gain]


def _judged(compared: Comparison, tried: Sequence[Change], seeds: int) -> _Judged:
    """The verdict, with more seeds as long as it cannot be told."""
    undecided: list[Change] | None = None
    for count in (seeds << doubling for doubling in range(MORE_SEEDS.bit_length())):
        compared.extend(undecided, count)
        found = [compared.gain(number) for number in range(len(tried))]
        already = interval(compared.lockstep_s() / compared.base_s())
        without_delays = interval(compared.quiet_lockstep_s() / compared.base_s())
        verdict = _verdict(found, already, without_delays)
        if verdict != "cannot be told":
            break
        undecided = [gain.change for gain in found if helps(gain) is None or _costs(gain.total) is None]
    return _Judged(verdict=verdict, already=already, without_delays=without_delays, gains=found)


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
    certain = [gain for gain in found if gain.total.exceeds(LEAST_GAIN)]
    of_kind = [gain for gain in certain if gain.change.kind == certain[0].change.kind]
    return max(of_kind, key=lambda gain: gain.total.mean, default=None)


def _silent(_what: str, _done: int, _total: int) -> None:
    """Report nothing."""


def helps(gain: Gain) -> bool | None:
    """Whether a change gains, by letting the ranks run out of step, and beats lockstep; None if that cannot
    be told."""
    return _all(part.exceeds(LEAST_GAIN) for part in (gain.total, gain.over_lockstep, gain.out_of_step))


def restores(gain: Gain) -> bool:
    """Whether a change gains only because the program as it is runs slower than in lockstep."""
    return gain.total.exceeds(LEAST_GAIN) is True and gain.over_lockstep.exceeds(LEAST_GAIN) is False


def _all(parts: Iterable[bool | None]) -> bool | None:
    """Whether all are true; None if some are not known and none is false."""
    known = list(parts)
    if False in known:
        return False
    return None if None in known else True


def _costs(gain: Interval) -> bool | None:
    return gain.negated().exceeds(LEAST_GAIN)


def _verdict(found: Sequence[Gain], already: Interval, without_delays: Interval) -> Verdict:
    """The verdict on all changes that were simulated.

    Running out of step hurts if nothing helps, and if the program as it is loses against lockstep, or the
    mildest of the delays that are injected most often costs time.
    """
    wins = already.exceeds(LEAST_GAIN)
    helping = [_all([wins, without_delays.exceeds(LEAST_GAIN)]), *(helps(gain) for gain in found)]
    if True in helping:
        return "helps"
    if None in helping or wins is None:
        return "cannot be told"
    if wins:
        return "absorbs delays"
    delays = [gain.total for gain in found if gain.change.kind == "injected delays"]
    costs = [_costs(already), *(_costs(total) for total in delays[:1])]
    if True in costs:
        return "hurts"
    return "cannot be told" if None in costs else "does nothing"


class _Counterfactual:
    """Whether delays would gain in a program that differs from the given one."""

    def __init__(self, platform: Platform, seeds: range, report: Report) -> None:
        self._platform, self._seeds, self._report = platform, seeds, report

    def delays_help(self, what: str, changed: Program) -> bool:
        """Whether injected delays help the changed program."""
        composite = lockstep(changed.without_noise(), self._platform)
        delays = list(injected_delays(changed, self._platform, composite))[:2]
        compared = Comparison(
            changed,
            delays,
            self._platform,
            self._seeds,
            lambda done, total: self._report(what, done, total),
        )
        compared.extend(None, 2)
        found = [compared.gain(number) for number in range(len(delays))]
        return any(min(gain.total.mean, gain.over_lockstep.mean) > LEAST_GAIN for gain in found)


def _preconditions(
    program: Program,
    platform: Platform,
    composite: Lockstep,
    counterfactual: _Counterfactual,
    verdict: Verdict,
) -> list[Precondition]:
    """The preconditions; what stands in the way of a program that is not helped is found by removing it."""
    slowdown = _slowdown(program, platform)
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
        even_s = lockstep(even.without_noise(), platform).work_s
        says = (
            f"in lockstep, work takes {100 * (composite.work_s / even_s - 1):.0f}% longer than with equal"
            " work on all ranks; with equal work"
        )
        says += ", injected delays " + ("gain" if blocks else "do not gain either")
        found.append(Precondition(name="balance", holds=not blocks, says=says))
    return found


def _slowdown(program: Program, platform: Platform) -> float:
    """How much longer the work takes with all ranks at work than on the rank with most of it alone; 1 without
    work."""
    works = [phase for phase in program.file.phase if phase.kind == "work"]
    heaviest = [
        structs.replace(phase, weights=[float(weights_of(phase, program.file.ranks).max())])
        for phase in works
    ]
    if not works:
        return 1.0
    together_s, alone_s = (
        sum(seconds / phase.every for seconds, phase in zip(phase_times_s(one, platform), works, strict=True))
        for one in (program.with_phases(works), program.with_phases(heaviest).resized(ranks=1))
    )
    return together_s / alone_s if alone_s else 1.0
