"""What can be changed in a program so that its ranks run out of step, or are held together less."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from msgspec import Struct, structs

from offbeat.base.units import enumeration, format_time, ordinal
from offbeat.model.platform.machine import Platform
from offbeat.programs.description.alternatives import fastest_algorithms
from offbeat.programs.description.program_file import Program
from offbeat.programs.description.schema import NoiseSection, PhaseSection
from offbeat.programs.simulation.lockstep import Lockstep
from offbeat.programs.simulation.simulate import phase_times_s
from offbeat.programs.simulation.steps import call_of, weights_of
from offbeat.simulation.calls.catalogue import SimulatedAlgorithm

Kind = Literal["none", "rarer collectives", "another algorithm", "injected delays"]

DELAYED_EVERY = (4, 20, 100)
"""The intervals of delays, in iterations with work, as in the paper on asynchronous execution."""

DELAY_FACTORS = (1, 4)
"""Delays in multiples of the communication time of an iteration in lockstep."""

RARER = 4
"""Collectives are executed in this many times fewer iterations."""

LEAST_TIMES = 4
"""A collective or a delay must happen at least this often in the iterations that are simulated."""

FEWEST_DELAYED = min(DELAYED_EVERY) * LEAST_TIMES
"""In fewer iterations no delays are simulated."""

MOST_ALGORITHMS = 5
"""Alternatives for each collective: those that are the fastest if all ranks call them together."""


class Change(Struct, frozen=True, kw_only=True):
    """A changed program. ``kind`` is "none" for the program as it is; ``what`` describes the change."""

    kind: Kind
    what: str
    program: Program


def changes(program: Program, platform: Platform, composite: Lockstep) -> list[Change]:
    """All changes that are tried, in the order in which they are recommended.

    ``composite`` is the program in lockstep without noise.
    """
    return [
        *rarer_collectives(program),
        *other_algorithms(program, platform),
        *injected_delays(program, platform, composite),
    ]


def rarer_collectives(program: Program) -> Iterator[Change]:
    """All collectives in fewer iterations, if enough iterations remain that have them."""
    collectives = [phase for phase in program.file.phase if phase.kind == "collective"]
    rarest = max((phase.every for phase in collectives), default=program.file.iterations)
    if rarest * RARER * LEAST_TIMES > program.file.iterations:
        return
    rarer = _changed(
        program,
        lambda phase: (
            structs.replace(phase, every=phase.every * RARER) if phase.kind == "collective" else phase
        ),
    )
    yield Change(kind="rarer collectives", what=f"collectives {RARER} times as rare", program=rarer)


def other_algorithms(program: Program, platform: Platform) -> Iterator[Change]:
    """Each collective with other algorithms of its family; equal calls are changed together."""
    calls: list[PhaseSection] = []
    for phase in program.file.phase:
        call = call_of(phase)
        if phase.kind == "collective" and call not in calls:
            calls.append(call)
            for algorithm in _alternatives(program, platform, call):
                yield _with_algorithm(program, call, algorithm.name)


def _with_algorithm(program: Program, call: PhaseSection, algorithm: str) -> Change:
    names = dict(zip(program.phase_names(), program.file.phase, strict=True))
    same = [name for name, phase in names.items() if call_of(phase) == call]
    return Change(
        kind="another algorithm",
        what=f"{enumeration(same)} with {algorithm}",
        program=_changed(
            program,
            lambda phase: structs.replace(phase, algorithm=algorithm) if call_of(phase) == call else phase,
        ),
    )


def _alternatives(program: Program, platform: Platform, phase: PhaseSection) -> list[SimulatedAlgorithm]:
    """The other algorithms for a phase that are the fastest if all ranks call them together."""
    fastest = fastest_algorithms(phase, program.file.ranks, platform)
    return [one for one in fastest if one.name != phase.algorithm][:MOST_ALGORITHMS]


def injected_delays(program: Program, platform: Platform, composite: Lockstep) -> Iterator[Change]:
    """Delays of a random rank of each memory domain after the longest work: often or rarely, short or long.

    There are none without work, or without communication to hide. If the work is in every k-th iteration, so
    are the delays: in every 4k-th, for example.
    """
    work = longest_work(program, platform)
    if work is None or not composite.communication_s > 0:
        return
    phase, step = work
    for every in (step * times for times in DELAYED_EVERY):
        if every * LEAST_TIMES > program.file.iterations:
            continue
        for factor in DELAY_FACTORS:
            time_s = factor * composite.communication_s
            noise = NoiseSection(phase=phase, time=time_s, pick="each_domain", every=every)
            yield Change(
                kind="injected delays",
                what=f"a rank of each domain delayed by {format_time(time_s)} in every {ordinal(every)}"
                " iteration",
                program=structs.replace(
                    program, file=structs.replace(program.file, noise=[*program.file.noise, noise])
                ),
            )


def longest_work(program: Program, platform: Platform) -> tuple[str, int] | None:
    """The name and the interval (``every``) of the phase of work that takes longest for all ranks together.

    Work that is too rare to be delayed several times does not count. None if there is none.
    """
    rarest = program.file.iterations // (DELAYED_EVERY[0] * LEAST_TIMES)
    times_s = {
        (name, phase.every): seconds / phase.every
        for name, phase, seconds in zip(
            program.phase_names(), program.file.phase, phase_times_s(program, platform), strict=True
        )
        if phase.kind == "work" and seconds > 0 and phase.every <= rarest
    }
    return max(times_s, key=times_s.__getitem__, default=None)


def without_collectives(program: Program) -> Program | None:
    """The program without its collectives; None if it has none, or nothing else, or noise at one of them."""
    phases = [phase for phase in program.file.phase if phase.kind != "collective"]
    if len(phases) in (0, len(program.file.phase)):
        return None
    names = dict(zip(program.phase_names(), program.file.phase, strict=True))
    if any(names[noise.phase].kind == "collective" for noise in program.file.noise):
        return None
    # phases without a name are numbered: they keep the names that noise refers to
    named = [structs.replace(phase, name=name) for name, phase in names.items() if phase.kind != "collective"]
    return structs.replace(program, file=structs.replace(program.file, phase=named))


def without_imbalance(program: Program) -> Program | None:
    """The program with the mean work on every rank; None if all ranks have the same work."""
    ranks = program.file.ranks
    if all(np.ptp(weights_of(phase, ranks)) == 0 for phase in program.file.phase):
        return None
    return _changed(
        program, lambda phase: structs.replace(phase, weights=[float(weights_of(phase, ranks).mean())])
    )


def _changed(program: Program, change: Callable[[PhaseSection], PhaseSection]) -> Program:
    """The program with each phase changed."""
    phases = [change(phase) for phase in program.file.phase]
    return structs.replace(program, file=structs.replace(program.file, phase=phases))
