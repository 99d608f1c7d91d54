"""The algorithms that a collective of a program could have, and how many messages they send."""

from __future__ import annotations

from msgspec import structs

from offbeat.model.platform.machine import Platform
from offbeat.programs.description.neighbours import messages
from offbeat.programs.description.program_file import Program
from offbeat.programs.description.schema import PhaseSection, ProgramFile
from offbeat.programs.simulation.simulate import phase_times_s
from offbeat.programs.simulation.steps import simulated_call
from offbeat.simulation.calls.catalogue import SimulatedAlgorithm, algorithms, get_algorithm

MOST_MESSAGES = 3_000_000
"""Algorithms with more messages in a call are left out: a simulation would take minutes."""


def messages_of_call(
    phase: PhaseSection, algorithm: SimulatedAlgorithm, ranks: int, platform: Platform
) -> int | None:
    """The number of messages of a collective by an algorithm, over all ranks; None if it refuses the call.

    Raises :class:`BadInput` if the ranks cannot be divided into the phase's communicators.
    """
    refusal, sent = simulated_call(phase, algorithm, platform.node_of_rank(ranks)).preview()
    return None if refusal else int(sent)


def fastest_algorithms(phase: PhaseSection, ranks: int, platform: Platform) -> list[SimulatedAlgorithm]:
    """The algorithms of a collective and family, the fastest first if all ranks call it together.

    Empty if the simulator has none.
    """
    return [algorithm for _, algorithm in times_alone(phase, ranks, platform)]


def times_alone(
    phase: PhaseSection, ranks: int, platform: Platform, *, most_messages: int = MOST_MESSAGES
) -> list[tuple[float, SimulatedAlgorithm]]:
    """The algorithms of a collective and family, and their times in seconds if all ranks call it together.

    The fastest comes first; those with more than ``most_messages`` are left out.

    Empty if the simulator has none.
    """
    alone_s: list[tuple[float, SimulatedAlgorithm]] = []
    for algorithm in algorithms(phase.collective, phase.family):
        sent = messages_of_call(phase, algorithm, ranks, platform)
        if sent is None or sent > most_messages:
            continue
        call = structs.replace(phase, algorithm=algorithm.name, every=1)
        file = ProgramFile(ranks=ranks, iterations=1, phase=[call])
        (call_s,) = phase_times_s(Program(file=file, path="", text=""), platform)
        alone_s.append((call_s, algorithm))
    return sorted(alone_s, key=lambda item: item[0])


def messages_of_iteration(program: Program, platform: Platform) -> float:
    """The mean number of messages of an iteration, over all ranks."""
    p, total = program.file.ranks, 0.0
    for phase in program.file.phase:
        if phase.kind == "exchange":
            total += len(messages(phase, p).bytes) / phase.every
        elif phase.kind == "collective":
            algorithm = get_algorithm(phase.collective, phase.family, phase.algorithm)
            total += (messages_of_call(phase, algorithm, p, platform) or 0) / phase.every
    return total
