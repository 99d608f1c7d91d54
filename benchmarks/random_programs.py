"""Random programs of one to four collectives, with work before each of them, on a grid of nodes and ranks."""

from __future__ import annotations

import numpy as np
from msgspec import structs
from recorded_programs import random_weights
from simulated_library import FAMILY, KIB, with_algorithm

from offbeat.model.platform import machine
from offbeat.model.platform.machine import Platform
from offbeat.model.study.algorithm import DEFAULT
from offbeat.programs.description.program_file import Program
from offbeat.programs.description.schema import NoiseSection, PhaseSection, ProgramFile
from offbeat.programs.simulation.simulate import phase_times_s

PLATFORM = "paper"


def platform_of(side: int) -> Platform:
    """``side`` nodes with ``side`` cores each."""
    platform = machine.load(PLATFORM)
    return structs.replace(platform, file=structs.replace(platform.file, nodes=side, cores=side))


def random_program(generator: np.random.Generator, number: int, platform: Platform, side: int) -> Program:
    """A program with collectives and work before each of them."""
    calls = [_call(generator, side) for _ in range(generator.integers(1, 5))]
    calls += [_turned(calls[-1], side)] if calls[-1].communicators > 1 and generator.random() < 0.5 else []
    calls = [structs.replace(call, name=f"call {place}") for place, call in enumerate(calls[:4], 1)]
    file = ProgramFile(
        name=f"random {number}",
        ranks=side * side,
        iterations=int(10 ** generator.uniform(1, 1.6)),
        seed=int(generator.integers(1, 10**6)),
        phase=calls,
    )
    alone_s = phase_times_s(Program(file=file, path=file.name, text=""), platform)
    phases: list[PhaseSection] = []
    noise: list[NoiseSection] = []
    for call, call_s in zip(calls, alone_s, strict=True):
        work = PhaseSection(
            kind="work",
            name=f"work before {call.name}",
            time=call_s * 10 ** generator.uniform(-1, 0.5),
            weights=_weights(generator, file.ranks),
        )
        phases += [work, call]
        noise += _noise(generator, work)
    return Program(file=structs.replace(file, phase=phases, noise=noise), path=file.name, text="")


def _call(generator: np.random.Generator, side: int) -> PhaseSection:
    """A collective with the default algorithm, on all ranks, on rows or on columns."""
    collective = str(generator.choice(["allreduce", "reduce", "bcast", "allgather", "alltoall", "barrier"]))
    on_all = collective != "alltoall" and generator.random() < 0.5
    stride = 1 if on_all else int(generator.choice([1, side]))
    most = KIB * KIB
    if on_all and collective in ("allgather", "bcast"):  # the default of larger ones is a ring of all ranks
        most = 256 if collective == "allgather" else 256 * KIB
    size = 8 * round(10 ** generator.uniform(0, np.log10(most / 8)))
    return with_algorithm(
        PhaseSection(
            kind="collective",
            collective=collective,
            family=FAMILY,
            bytes=[] if collective == "barrier" else [size],
            communicators=1 if on_all else side,
            stride=stride,
        ),
        side * side,
        DEFAULT,
    )


def _turned(call: PhaseSection, side: int) -> PhaseSection:
    """The call on columns instead of rows, or the other way round."""
    return structs.replace(call, stride=side if call.stride == 1 else 1)


def _weights(generator: np.random.Generator, ranks: int) -> list[float]:
    """Work that is equal, differs at random, grows with the rank, or is more on a few ranks."""
    kind = generator.choice(["equal", "random", "ascending", "few"])
    if kind == "equal":
        return []
    if kind == "random":
        return random_weights(generator, ranks)
    if kind == "ascending":
        return list(np.linspace(1, 1 + generator.uniform(0, 0.6), ranks))
    weights = np.ones(ranks)
    late = generator.choice(ranks, size=int(generator.integers(1, 9)), replace=False)
    weights[late] += generator.uniform(0.2, 2, size=len(late))
    return [float(weight) for weight in weights]


def _noise(generator: np.random.Generator, work: PhaseSection) -> list[NoiseSection]:
    """No noise; of all ranks, or longer delays of some random ones."""
    kind = generator.choice(["none", "all", "random"])
    if kind == "none":
        return []
    share = 10 ** generator.uniform(-2, -0.5) if kind == "all" else generator.uniform(0.2, 2)
    return [
        NoiseSection(
            phase=work.name,
            time=work.time * share,
            distribution="exponential",
            pick="all" if kind == "all" else "random",
            count=int(generator.integers(1, 9)),
        )
    ]
