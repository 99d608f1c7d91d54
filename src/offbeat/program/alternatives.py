"""The algorithms that a collective of a program could have."""

from __future__ import annotations

from msgspec import structs

from offbeat import _simulator
from offbeat.platform.machine import Platform
from offbeat.program.load import Program
from offbeat.program.schema import PhaseSection, ProgramFile
from offbeat.program.simulate import lockstep
from offbeat.program.steps import collective_size
from offbeat.simulation.catalogue import SimulatedAlgorithm, algorithms

MOST_MESSAGES = 3_000_000
"""Algorithms with more messages in a call are left out: a simulation would take minutes."""


def fastest_algorithms(phase: PhaseSection, ranks: int, platform: Platform) -> list[SimulatedAlgorithm]:
    """The algorithms of a collective and family, the fastest first if all ranks call it together.

    Empty if the simulator has none.
    """
    nodes = platform.node_of_rank(ranks).tolist()
    size, element_bytes = collective_size(phase)
    alone_s: list[tuple[float, SimulatedAlgorithm]] = []
    for algorithm in algorithms(phase.collective, phase.family):
        refusal, messages = _simulator.preview(
            *algorithm.identity, ranks, phase.root, size // element_bytes, element_bytes, nodes
        )
        if refusal or messages > MOST_MESSAGES:
            continue
        call = structs.replace(phase, algorithm=algorithm.name, every=1)
        file = ProgramFile(ranks=ranks, iterations=1, phase=[call])
        alone = lockstep(Program(file=file, path="", text=""), platform)
        alone_s.append((alone.iteration_s, algorithm))
    alone_s.sort(key=lambda item: item[0])
    return [algorithm for _, algorithm in alone_s]
