"""What is true of a program out of step: long simulations with and without every synchronisation and change.

Independent of the room ``assessment``: changes, times and the answer are made here, from the ends of the
iterations of each rank alone. The definitions are those of docs/explanation/asynchronous.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct, structs

from offbeat.base.errors import BadInput
from offbeat.model.platform.machine import Platform
from offbeat.programs.description.program_file import Program
from offbeat.programs.description.schema import NoiseSection, PhaseSection
from offbeat.programs.simulation.simulate import prepare
from offbeat.simulation.calls.catalogue import algorithms

COUNTS = 0.005
"""The least gain that counts."""

SEEDS = 3

MOST_SLOWER = 2.0
"""Algorithms whose call takes longer than this many times the program's are not tried."""


class Answer(Struct, frozen=True, kw_only=True):
    """What is true; gains as fractions of the changed time, means over seeds.

    ``helps`` is the largest of the gains that count for a change: the least of its gains against the program,
    against lockstep, and out of step; ``change`` names it. ``already`` is the gain of the program as it is
    against its lockstep, ``quiet`` that against lockstep without its delays. ``delayed`` is the gain of the
    mildest frequent delays.
    """

    helps: float
    change: str
    already: float
    quiet: float
    delayed: float

    @property
    def verdict(self) -> str:
        """The verdict that is right."""
        if max(self.helps, min(self.already, self.quiet)) >= COUNTS:
            return "helps"
        if self.already >= COUNTS:
            return "absorbs delays"
        return "hurts" if min(self.already, self.delayed) <= -COUNTS else "does nothing"


def answer(program: Program, platform: Platform) -> Answer:
    """Simulate the program with all its iterations, with and without everything."""
    base_s, own_s = _times_s(program, platform), _times_s(program, platform, synchronised=True)
    quiet = structs.replace(program, file=structs.replace(program.file, noise=[]))
    quiet_s, spent_s = _times_s(quiet, platform, synchronised=True)[0], _communication_s(quiet, platform)
    helps, change, delayed = -1.0, "none", 0.0
    for what, changed in _changed(program, platform, spent_s):
        changed_s = _times_s(changed, platform)
        is_delay = len(changed.file.noise) > len(program.file.noise)
        in_step_s = own_s if is_delay else _times_s(changed, platform, synchronised=True)
        gains = (
            base_s / changed_s,
            np.minimum(own_s, in_step_s) / changed_s,
            base_s / changed_s * in_step_s / own_s,
        )
        least = min(float(gain.mean()) - 1 for gain in gains)
        if least > helps:
            helps, change = least, what
        if what.startswith("delay 1 every 4"):
            delayed = float(gains[0].mean()) - 1
    return Answer(
        helps=helps,
        change=change,
        already=float((own_s / base_s).mean()) - 1,
        quiet=float((quiet_s / base_s).mean()) - 1,
        delayed=delayed,
    )


def _times_s(program: Program, platform: Platform, *, synchronised: bool = False) -> np.ndarray:
    """The time of an iteration with each seed: iterations between the first half and the last eighth."""
    first, end = program.file.iterations // 2, program.file.iterations - program.file.iterations // 8
    times_s = []
    for seed in range(SEEDS if program.file.noise else 1):
        seeded = structs.replace(program, file=structs.replace(program.file, seed=10_000 + seed))
        ends_s = prepare(seeded, platform, synchronised=synchronised).simulate().iteration_end_s
        times_s.append((ends_s[end - 1].max() - ends_s[first - 1].max()) / (end - first))
    return np.resize(times_s, SEEDS)


def _communication_s(quiet: Program, platform: Platform) -> float:
    """Lockstep without its work: the time of the communication of an iteration."""
    phases = [phase for phase in quiet.file.phase if phase.kind != "work"]
    if not phases:
        return 0.0
    return float(
        _times_s(
            structs.replace(quiet, file=structs.replace(quiet.file, phase=phases)),
            platform,
            synchronised=True,
        )[0]
    )


def _changed(program: Program, platform: Platform, spent_s: float) -> Iterator[tuple[str, Program]]:
    file = program.file
    collectives = [phase for phase in file.phase if phase.kind == "collective"]
    if collectives:
        yield "rarer collectives", _with_phases(program, _rarer)
    for phase in collectives:
        yield from _other_algorithms(program, phase, platform)
    if not spent_s:
        return
    for work in (phase.name for phase in file.phase if phase.kind == "work"):
        for every in (4, 20, 100):
            for factor in (1, 4):
                noise = NoiseSection(phase=work, time=factor * spent_s, pick="each_domain", every=every)
                changed = structs.replace(file, noise=[*file.noise, noise])
                yield f"delay {factor} every {every} after {work}", structs.replace(program, file=changed)


def _rarer(phase: PhaseSection) -> PhaseSection:
    return structs.replace(phase, every=4 * phase.every) if phase.kind == "collective" else phase


def _with_phases(program: Program, change: object) -> Program:
    phases = [change(phase) for phase in program.file.phase]  # type: ignore[operator]
    return structs.replace(program, file=structs.replace(program.file, phase=phases))


def _other_algorithms(
    program: Program, phase: PhaseSection, platform: Platform
) -> Iterator[tuple[str, Program]]:
    def alone_s(algorithm: str) -> float:
        call = structs.replace(phase, algorithm=algorithm, every=1)
        file = structs.replace(program.file, phase=[call], noise=[], iterations=1)
        return float(prepare(structs.replace(program, file=file), platform).simulate().iteration_end_s.max())

    most_s = MOST_SLOWER * alone_s(phase.algorithm)
    for algorithm in algorithms(phase.collective, phase.family):
        if algorithm.name == phase.algorithm:
            continue
        try:
            if alone_s(algorithm.name) > most_s:
                continue
        except BadInput:  # the algorithm refuses this call
            continue
        yield (
            f"{phase.name} with {algorithm.name}",
            _with_phases(
                program,
                lambda one, name=algorithm.name: (
                    structs.replace(one, algorithm=name) if one.name == phase.name else one
                ),
            ),
        )
