"""A program as the simulator executes it: schedules, steps, work of every rank, and delays."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import psutil
from msgspec import Struct, structs
from numpy.typing import NDArray

from offbeat import _simulator
from offbeat.errors import BadInput
from offbeat.platform.machine import Platform
from offbeat.program.load import Program
from offbeat.program.neighbours import messages
from offbeat.program.noise import delays
from offbeat.program.schema import PhaseSection
from offbeat.simulation.catalogue import named
from offbeat.simulation.exits import call_refusal, has_local_work
from offbeat.study.collectives import ROOTED

DOUBLE_BYTES = 8

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
    program: Program, platform: Platform, node_of_rank: NDArray[np.int32], domain_of_rank: NDArray[np.int32]
) -> Steps:
    """The steps of a program on a platform; the node and the memory domain of each rank are (p,).

    Raises :class:`BadInput` for what the platform cannot execute.
    A delay before or after a phase that is not work becomes a step of its own, without other work.
    """
    built = Steps()
    before, after = _noisy_phases(program)
    noise_steps: dict[tuple[int, str], int] = {}
    p = len(node_of_rank)
    for index, phase in enumerate(program.file.phase):
        is_work = phase.kind == "work"
        if index in before:
            noise_steps[index, "before"] = len(built.steps)
            if not is_work:
                _add_work(built, _no_work(p), phase.every)
        built.step_of_phase.append(len(built.steps))
        if is_work:
            _add_work(built, _work(built, program, index, platform, p), phase.every)
        else:
            _add_messages(built, program, index, platform, node_of_rank)
        if index in after:
            noise_steps[index, "after"] = len(built.steps)
            _add_work(built, _no_work(p), phase.every)
    built.noise = _noise(program, domain_of_rank, noise_steps)
    return built


def _noisy_phases(program: Program) -> tuple[set[int], set[int]]:
    """The phases with delays before and after them."""
    names = program.phase_names()
    noise = program.file.noise
    return (
        {names.index(section.phase) for section in noise if section.when == "before"},
        {names.index(section.phase) for section in noise if section.when == "after"},
    )


def _noise(
    program: Program, domain_of_rank: NDArray[np.int32], noise_steps: dict[tuple[int, str], int]
) -> dict[str, Any]:
    """The delays in the order of ranks, iterations and steps."""
    names = program.phase_names()
    sections = list(zip(program.file.noise, delays(program.file, domain_of_rank), strict=True))
    step = [
        np.full(len(drawn.rank), noise_steps[names.index(section.phase), section.when])
        for section, drawn in sections
    ]
    columns = {
        "noise_rank": [drawn.rank for _, drawn in sections],
        "noise_iteration": [drawn.iteration for _, drawn in sections],
        "noise_step": step,
    }
    joined = {name: _joined(parts, np.uint32) for name, parts in columns.items()}
    order = np.lexsort((joined["noise_step"], joined["noise_iteration"], joined["noise_rank"]))
    time_s = _joined([drawn.time_s for _, drawn in sections], np.float64)
    return {name: column[order] for name, column in joined.items()} | {"noise_s": time_s[order]}


def _joined(parts: list[NDArray[Any]], kind: type) -> NDArray[Any]:
    return np.concatenate([np.zeros(0), *parts]).astype(kind)


def _add_work(built: Steps, work: Work, every: int) -> None:
    built.steps.append((-1, len(built.works), every, False))
    built.works.append(work)


def _no_work(p: int) -> Work:
    return np.zeros(p), np.zeros(p), np.zeros(p, np.uint32)


def _work(built: Steps, program: Program, index: int, platform: Platform, p: int) -> Work:
    """The work of a phase. With memory traffic, operations limit the rate at which a rank draws it."""
    phase, machine = program.file.phase[index], platform.file
    compute_s = _compute_s(program, index, platform)
    weights = np.resize(phase.weights or [1.0], p)
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


def _compute_s(program: Program, index: int, platform: Platform) -> float:
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
    content = msgspec.json.encode(structs.replace(phase, name="", every=1))
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
    schedule = _simulator.exchange(
        p, sent.source, sent.target, sent.bytes, phase.sends, has_local_work(platform.file)
    )
    return schedule, 1


def call_elements(phase: PhaseSection) -> tuple[int, int]:
    """The elements of a collective's message and the bytes of each: of doubles if the size is a multiple of
    theirs, else of bytes."""
    size = phase.bytes[0] if phase.bytes else 0
    element_bytes = DOUBLE_BYTES if size % DOUBLE_BYTES == 0 else 1
    return size // element_bytes, element_bytes


def _collective(
    phase: PhaseSection, platform: Platform, node_of_rank: NDArray[np.int32]
) -> tuple[_simulator.Schedule, int]:
    """The schedule of a collective, and the bytes of its elements."""
    p = len(node_of_rank)
    elements, element_bytes = call_elements(phase)
    if phase.collective in ROOTED and phase.root >= p:
        raise BadInput(f"the root is rank {phase.root} of {p}; write one from 0 to {p - 1}")
    algorithm = named(phase.collective, phase.family, phase.algorithm)
    nodes = node_of_rank.tolist()
    memory_bytes = psutil.virtual_memory().total / 2
    if reason := call_refusal(algorithm, phase.root, elements, element_bytes, nodes, memory_bytes):
        raise BadInput(reason)
    schedule = _simulator.Schedule(
        *algorithm.identity,
        p,
        phase.root,
        elements,
        element_bytes,
        nodes,
        local_work=has_local_work(platform.file),
    )
    return schedule, element_bytes
