"""A program as the simulator executes it: schedules, steps, work of every rank, and delays."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import psutil
from msgspec import Struct, structs
from numpy.typing import NDArray

from offbeat import _simulator
from offbeat.base.errors import BadInput
from offbeat.model.platform.machine import Platform
from offbeat.model.study.collectives import ROOTED
from offbeat.model.study.communicators import CommunicatorLayout
from offbeat.programs.description.neighbours import messages
from offbeat.programs.description.program_file import Program
from offbeat.programs.description.schema import PhaseSection
from offbeat.programs.simulation.step_layout import step_layout
from offbeat.simulation.calls.call_exits import SimulatedCall, has_local_work
from offbeat.simulation.calls.catalogue import SimulatedAlgorithm, get_algorithm

DOUBLE_BYTES = 8

WORK, SYNCHRONISATION = -1, -2
"""In the place of the segment of a step that has no messages."""

Work = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.uint32]]
"""Seconds, bytes of memory traffic, and class of every rank."""


class Steps(Struct, kw_only=True, eq=False):
    """The arguments of the simulator's ProgramRun. ``step_of_phase`` is the step of each phase.

    The sends of exchanges with blocking sends are logged: only the simulation knows when each of them ends.
    """

    segments: list[tuple[_simulator.Schedule, int]] = []
    steps: list[tuple[int, int, int, bool]] = []
    works: list[Work] = []
    work_rates: list[float] = []
    step_of_phase: list[int] = []
    segment_of_content: dict[bytes, int] = {}
    noise: dict[str, Any] = {}


def steps_of(
    program: Program,
    platform: Platform,
    node_of_rank: NDArray[np.int32],
    domain_of_rank: NDArray[np.int32],
    *,
    synchronised: bool = False,
    has_messages: bool = True,
) -> Steps:
    """The steps of a program on a platform; the node and the memory domain of each rank are (p,).

    If ``synchronised``, all ranks wait for each other at each communication; without ``has_messages``, they
    only wait there.
    Raises :class:`BadInput` for what the platform cannot execute.
    """
    layout = step_layout(program, synchronised=synchronised)
    built = Steps(step_of_phase=layout.step_of_phase)
    p = len(node_of_rank)
    for step in layout.steps:
        phase = program.file.phase[step.phase]
        if step.is_delay:
            _add_work(built, _no_work(p), phase.every)
        elif step.is_synchronisation or (phase.kind != "work" and not has_messages):
            built.steps.append((SYNCHRONISATION, 0, phase.every, False))
        elif phase.kind == "work":
            _add_work(built, _work(built, program, step.phase, platform, p), phase.every)
        else:
            _add_messages(built, program, step.phase, platform, node_of_rank)
    built.noise = layout.noise(program, domain_of_rank)
    return built


def _add_work(built: Steps, work: Work, every: int) -> None:
    built.steps.append((WORK, len(built.works), every, False))
    built.works.append(work)


def _no_work(p: int) -> Work:
    return np.zeros(p), np.zeros(p), np.zeros(p, np.uint32)


def _work(built: Steps, program: Program, index: int, platform: Platform, p: int) -> Work:
    """The work of a phase. With memory traffic, operations limit the rate at which a rank draws it."""
    phase, machine = program.file.phase[index], platform.file
    compute_s = compute_time_s(program, index, platform)
    weights = weights_of(phase, p)
    if not phase.memory:
        return weights * (phase.time + compute_s), np.zeros(p), np.zeros(p, np.uint32)
    if not machine.memory.bandwidth:
        raise BadInput(
            f"{program.where(('phase', index, 'memory'))} the platform {platform.name} has no memory"
            " bandwidth; add a section [memory] to its file, or take another platform"
        )
    alone_s = max(compute_s, phase.memory / machine.memory.core_bandwidth)
    built.work_rates.append(phase.memory / alone_s)
    flow_class = np.full(p, len(built.work_rates) - 1, np.uint32)
    return weights * phase.time, weights * phase.memory, flow_class


def compute_time_s(program: Program, index: int, platform: Platform) -> float:
    """The time of the floating-point operations of a phase, in seconds.

    Raises :class:`BadInput` if the platform does not state how fast they are.
    """
    phase = program.file.phase[index]
    if not phase.flops:
        return 0.0
    if not platform.file.flop_rate:
        raise BadInput(
            f"{program.where(('phase', index, 'flops'))} the platform {platform.name} has no flop_rate; add"
            " this key to its file, or take another platform"
        )
    return phase.flops / platform.file.flop_rate


def _add_messages(
    built: Steps, program: Program, index: int, platform: Platform, node_of_rank: NDArray[np.int32]
) -> None:
    """Add an exchange or a collective; equal ones share a segment of the graph."""
    phase = program.file.phase[index]
    content = msgspec.json.encode(call_of(phase))
    if content not in built.segment_of_content:
        try:
            if phase.kind == "exchange":
                segment = _exchange(phase, platform, len(node_of_rank))
            else:
                segment = _collective(phase, platform, node_of_rank)
        except BadInput as error:
            raise BadInput(f"{program.where(('phase', index))} {error}") from None
        built.segment_of_content[content] = len(built.segments)
        built.segments.append(segment)
    logs_sends = phase.kind == "exchange" and phase.sends == "blocking"
    built.steps.append((built.segment_of_content[content], 0, phase.every, logs_sends))


def _exchange(phase: PhaseSection, platform: Platform, p: int) -> tuple[_simulator.Schedule, int]:
    sent = messages(phase, p)
    built = _simulator.exchange(
        p, sent.source, sent.target, sent.bytes, phase.sends, has_local_work(platform.file)
    )
    return built, 1


def call_of(phase: PhaseSection) -> PhaseSection:
    """What a phase executes, whatever its name is and in which iterations: equal phases execute the same."""
    return structs.replace(phase, name="", every=1)


def weights_of(phase: PhaseSection, p: int) -> NDArray[np.float64]:
    """The weight of the work of each rank, (p,)."""
    return np.resize(np.array(phase.weights or [1.0]), p)


def communicators_of(phase: PhaseSection, p: int) -> CommunicatorLayout:
    """The communicators of p ranks that call a collective at the same time.

    Raises :class:`BadInput` if p cannot be divided into them, or if the root is no rank of a communicator.
    """
    number = phase.communicators
    if p % number or (p == number and number > 1):
        raise BadInput(
            f"{p} ranks cannot be divided into {number} communicators of two or more; write a divisor of {p}"
            " below it"
        )
    layout = CommunicatorLayout(p=p // number, communicators=number, stride=phase.stride)
    if phase.collective in ROOTED and phase.root >= layout.p:
        raise BadInput(f"the root is rank {phase.root} of {layout.p}; write one from 0 to {layout.p - 1}")
    return layout


def collective_size(phase: PhaseSection) -> tuple[int, int]:
    """The message size of a collective, and the bytes of its elements: doubles where they fit, else bytes."""
    size = phase.bytes[0] if phase.bytes else 0
    return size, DOUBLE_BYTES if size % DOUBLE_BYTES == 0 else 1


def _collective(
    phase: PhaseSection, platform: Platform, node_of_rank: NDArray[np.int32]
) -> tuple[_simulator.Schedule, int]:
    """The schedule of a collective, and the bytes of its elements."""
    call = simulated_call(phase, get_algorithm(phase.collective, phase.family, phase.algorithm), node_of_rank)
    if reason := call.refusal(psutil.virtual_memory().total / 2):
        raise BadInput(reason)
    return call.schedule(local_work=has_local_work(platform.file)), call.element_bytes


def simulated_call(
    phase: PhaseSection, algorithm: SimulatedAlgorithm, node_of_rank: NDArray[np.int32]
) -> SimulatedCall:
    """The call of a collective phase by an algorithm. Raises :class:`BadInput` if the ranks cannot be divided
    into the phase's communicators."""
    size, element_bytes = collective_size(phase)
    return SimulatedCall(
        algorithm=algorithm,
        layout=communicators_of(phase, len(node_of_rank)),
        root=phase.root,
        elements=size // element_bytes,
        element_bytes=element_bytes,
        node_of_rank=node_of_rank.tolist(),
    )
