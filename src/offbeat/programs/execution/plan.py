"""A program as the executor reads it: a plan with one line per step, and a file of delays.

The lines are described in ``native/protocol/protocol.c``, the file of delays in ``native/programs/delays.h``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from offbeat.base.errors import BadInput
from offbeat.libraries.launch.driver_protocol import Command
from offbeat.model.study.collectives import REDUCING, ROOTED
from offbeat.programs.description.neighbours import messages
from offbeat.programs.description.program_file import Program
from offbeat.programs.description.schema import INT32_MAX, PhaseSection
from offbeat.programs.execution.plan_lines import (
    ProgramCollective,
    ProgramDelay,
    ProgramExchange,
    ProgramMessage,
    ProgramRun,
    ProgramWork,
)
from offbeat.programs.simulation.step_layout import step_layout
from offbeat.programs.simulation.steps import collective_size, communicators_of, weights_of

LARGEST = {"memory": 2**62, "flops": 2**62, "time": 2**59 // 10**9}
"""The most work of a rank in a phase: more takes longer than a century."""


def plan_text(program: Program, *, iterations: int, alone: int = 0, buffer_bytes: int = 0) -> str:
    """The plan. Raises :class:`BadInput` with a line of the program file for what MPI cannot execute.

    ``alone`` is how often each phase is timed alone, ``buffer_bytes`` the size of the arrays of work (0: by
    the caches of the machine).
    """
    p = program.file.ranks
    first = ProgramRun(ranks=p, iterations=iterations, alone=alone, buffer_bytes=buffer_bytes)
    lines: list[Command[Any]] = [first]
    for step in step_layout(program).steps:
        phase = program.file.phase[step.phase]
        try:
            lines += [ProgramDelay(every=phase.every)] if step.is_delay else _LINES[phase.kind](phase, p)
        except BadInput as error:
            raise BadInput(f"{program.where(('phase', step.phase))} {error}") from None
    return "".join(f"{line.line()}\n" for line in lines)


def delay_bytes(program: Program, domain_of_rank: NDArray[np.int32]) -> bytes:
    """The file of delays: for each rank where its records begin; then iteration, step and nanoseconds."""
    drawn = step_layout(program).noise(program, domain_of_rank)
    records = np.stack(
        [drawn["noise_iteration"], drawn["noise_step"], np.rint(drawn["noise_s"] * 1e9)], axis=1
    ).astype(np.int64)
    p = len(domain_of_rank)
    begins = np.searchsorted(drawn["noise_rank"], np.arange(p + 1))
    positions = (p + 1) * 8 + begins.astype(np.int64) * records.itemsize * records.shape[1]
    return positions.tobytes() + records.tobytes()


def _work(phase: PhaseSection, p: int) -> Iterator[ProgramWork]:
    weights = weights_of(phase, p if phase.weights else 1)  # fewer numbers are repeated
    for name, amount in (("memory", phase.memory), ("flops", phase.flops), ("time", phase.time)):
        if amount * weights.max() > LARGEST[name]:
            raise BadInput(f"{name}: {amount * weights.max():g} is more than a rank can do in a century")

    def shares(amount: float) -> list[int]:
        return [round(weight * amount) for weight in weights.tolist()]

    yield ProgramWork(
        memory=shares(phase.memory),
        flops=shares(phase.flops),
        time_ns=shares(phase.time * 1e9),
        every=phase.every,
    )


def _exchange(phase: PhaseSection, p: int) -> Iterator[ProgramExchange | ProgramMessage]:
    sent = messages(phase, p)
    if len(sent.bytes) and sent.bytes.max() > INT32_MAX:
        raise BadInput(
            f"a message has {sent.bytes.max()} bytes, and MPI counts at most {INT32_MAX} in a call"
        )
    yield ProgramExchange(sends=phase.sends, every=phase.every)
    rows = zip(sent.source.tolist(), sent.target.tolist(), sent.bytes.tolist(), strict=True)
    for source, target, size in rows:
        yield ProgramMessage(sender=source, receiver=target, bytes=size)


def _collective(phase: PhaseSection, p: int) -> Iterator[ProgramCollective]:
    communicators_of(phase, p)
    yield collective_line(phase)


def collective_line(phase: PhaseSection) -> ProgramCollective:
    """The call of a collective; reductions are sums of doubles if the size allows it, else ors of bytes."""
    size, element_bytes = collective_size(phase)
    is_double = element_bytes > 1
    return ProgramCollective(
        collective=phase.collective,
        bytes=0 if phase.collective == "barrier" else size,
        datatype="double" if is_double else "byte",
        op=("sum" if is_double else "bor") if phase.collective in REDUCING else UNSET,
        root=phase.root if phase.collective in ROOTED else UNSET,
        communicators=phase.communicators if phase.communicators > 1 else UNSET,
        stride=phase.stride if phase.communicators > 1 else UNSET,
        every=phase.every,
    )


_LINES: dict[str, Any] = {"work": _work, "exchange": _exchange, "collective": _collective}
