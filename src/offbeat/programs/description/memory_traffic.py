"""Memory traffic for a program whose work is known by its time."""

from __future__ import annotations

import numpy as np
from msgspec import structs

from offbeat.base.errors import BadInput
from offbeat.model.platform.machine import Platform
from offbeat.programs.description.program_file import Program
from offbeat.programs.description.schema import PhaseSection

MEMORY_BOUND, MOST_TRAFFIC = 0.9, 1.2
"""Work is bound by memory if its traffic takes this share of its time; more than the second one cannot be."""


def with_memory_traffic(program: Program, platform: Platform, traffic_bytes: int | None = None) -> Program:
    """The program with memory traffic of its work.

    ``traffic_bytes`` is that of a rank in an iteration; it is divided among the phases of work in proportion
    to their times. If drawing it takes less than MEMORY_BOUND of these times with all ranks of a domain at
    work, the cores limit the work, and how fast a rank can draw the traffic. Otherwise, and without
    ``traffic_bytes``, the memory limits the work: then its traffic is what all ranks of a domain draw in its
    time. Raises :class:`BadInput` for a platform without memory bandwidth, and for more traffic than that.
    """
    rate = _saturated_rate(platform, program.file.ranks)
    work_s = sum(phase.time / phase.every for phase in program.file.phase)
    share = traffic_bytes / work_s / rate if traffic_bytes is not None and work_s else 1.0
    _check_traffic(program, platform, share)
    is_bound_by_memory = share >= MEMORY_BOUND

    def changed(phase: PhaseSection) -> PhaseSection:
        if phase.kind != "work":
            return phase
        drawn = phase.time * rate
        if is_bound_by_memory:
            return structs.replace(phase, memory=round(drawn), time=0.0)
        flops = phase.time * platform.file.flop_rate
        return structs.replace(phase, memory=round(share * drawn), time=0.0, flops=flops)

    phases = [changed(phase) for phase in program.file.phase]
    return structs.replace(program, file=structs.replace(program.file, phase=phases))


def _saturated_rate(platform: Platform, ranks: int) -> float:
    """Bytes per second that a rank draws if all ranks of its domain do."""
    memory = platform.file.memory
    if not memory.bandwidth:
        raise BadInput(
            f"the platform {platform.name} has no memory bandwidth; add a section [memory] to its file"
            " ('offbeat platform calibrate' measures it), or take another platform"
        )
    domains = platform.domain_of_rank(platform.node_of_rank(ranks))
    return min(memory.core_bandwidth, memory.bandwidth / int(np.bincount(domains).max()))


def _check_traffic(program: Program, platform: Platform, share: float) -> None:
    if share < MEMORY_BOUND and not platform.file.flop_rate:
        raise BadInput(
            f"the platform {platform.name} has no flop_rate; add this key to its file ('offbeat platform"
            " calibrate' measures it), or take another platform"
        )
    if share > MOST_TRAFFIC:
        raise BadInput(
            f"--memory: this traffic in an iteration takes {share:.2g} times as long as the work in the trace"
            f" of {program.name}, at the memory bandwidth of the platform {platform.name}; give the traffic"
            " of one rank, and the platform of the trace"
        )
