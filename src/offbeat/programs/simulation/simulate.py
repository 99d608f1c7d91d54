"""The simulation of a program: when every rank ends each of its iterations."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError
from threading import Event
from typing import ClassVar

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from offbeat import _simulator
from offbeat.base.errors import BadInput
from offbeat.base.units import amount
from offbeat.model.platform.description import shared_messages_text
from offbeat.model.platform.machine import Platform
from offbeat.programs.description.program_file import Program
from offbeat.programs.description.schema import PhaseSection
from offbeat.programs.simulation.iterations import Iterations
from offbeat.programs.simulation.steps import Steps, steps_of
from offbeat.trace.calls.lane_windows import Columns

EVENTS_AT_ONCE = 200_000
"""Between two reports of progress: some tenths of a second."""

MAX_RECORDED = 2 * 10**9
"""Iterations of ranks that a run records at most: their times take 12 bytes each."""

Progress = Callable[[int, int], None]
"""Called with the completed iterations of all ranks, and their total."""


def until(stop: Event) -> Progress:
    """A progress function that ends its simulation with CancelledError once ``stop`` is set."""

    def check(_done: int, _total: int) -> None:
        if stop.is_set():
            raise CancelledError

    return check


class Log(Columns, eq=False):
    """What ranks did, in the order of time, (n,) each: at ``time_s``, ``rank`` in its ``iteration`` (from 0).

    ``step`` is the step of :class:`Steps` that begins; the number of steps stands for the begin of the
    iteration, also of the one after the last logged one, and one more for the end of a logged send.
    """

    time_s: NDArray[np.float64]
    rank: NDArray[np.uint32]
    iteration: NDArray[np.uint32]
    step: NDArray[np.uint32]


OnLog = Callable[[Log], None]
"""Called with the parts of the log, one after the other."""


class Simulated(Iterations, kw_only=True, eq=False):
    """A simulated run of a program.

    ``phase_begin_s`` (detailed iterations, p, phases) says when each phase began, from iteration
    ``first_detailed`` on, counted from 0; NaN where it was not executed. ``synchronised_s`` says when all
    ranks continued after each synchronisation (see :func:`prepare`).
    """

    platform: Platform
    phase_begin_s: NDArray[np.float64]
    first_detailed: int
    synchronised_s: NDArray[np.float64]
    events: int

    origin: ClassVar[str] = "simulated"

    @property
    def where(self) -> str:
        """The platform's name."""
        return self.platform.name

    def basis(self) -> list[str]:
        """The assumptions of the model on memory."""
        if not self.platform.file.memory.bandwidth:
            return ["Model: no memory domains; messages inside a node do not contend."]
        domains = amount(int(self.domain.max()) + 1, "memory domain")
        return [f"Model: {domains}; {shared_messages_text(self.platform.file)}."]


class Run(Struct, kw_only=True, eq=False):
    """A run that has not begun: what is simulated, and on which ranks."""

    program: Program
    platform: Platform
    node_of_rank: NDArray[np.int32]
    domain_of_rank: NDArray[np.int32]
    steps: Steps
    detailed: tuple[int, int] = (0, 0)

    def simulate(self, on_progress: Progress | None = None, on_log: OnLog | None = None) -> Simulated:
        """Simulate all iterations. Raises :class:`BadInput` if the ranks wait for each other forever.

        ``on_log`` gets the log of the detailed iterations; the begins of their phases are then not kept.
        """
        file, p = self.program.file, len(self.node_of_rank)
        first, end = (min(bound, file.iterations) for bound in self.detailed)
        begins = np.full((0 if on_log else end - first, p, len(self.steps.steps)), np.nan)

        def keep(log: Log) -> None:
            is_begin = log.step < len(self.steps.steps)
            place = (log.iteration[is_begin] - first, log.rank[is_begin], log.step[is_begin])
            begins[place] = log.time_s[is_begin]

        take = on_log or keep
        run = _simulator.ProgramRun(
            self.platform.network(p, node_of_rank=self.node_of_rank),
            self.steps.segments,
            iterations=file.iterations,
            steps=self.steps.steps,
            works=self.steps.works,
            memory=self._memory(),
            logged=(first, end),
            **self.steps.noise,
        )
        is_running = True
        while is_running:
            is_running = self._proceed(run)
            if first < end:
                take(_log(*run.take_log()))
            if on_progress is not None:
                on_progress(run.completed, file.iterations * p)
        return Simulated(
            program=self.program,
            platform=self.platform,
            domain=self.domain_of_rank,
            iteration_end_s=run.iteration_end_s.reshape(file.iterations, p),
            communication_s=run.communication_s.reshape(file.iterations, p),
            phase_begin_s=begins[:, :, self.steps.step_of_phase],
            first_detailed=first,
            synchronised_s=run.synchronised_s,
            events=run.events,
        )

    def _proceed(self, run: _simulator.ProgramRun) -> bool:
        try:
            return run.proceed(EVENTS_AT_ONCE)
        except RuntimeError as error:
            raise BadInput(f"{self.program.path}: {error}") from None

    def _memory(self) -> _simulator.Memory | None:
        memory = self.platform.file.memory
        if not memory.bandwidth:
            return None
        return _simulator.Memory(
            self.domain_of_rank.astype(np.uint32),
            bandwidth=memory.bandwidth,
            message_bandwidth=memory.message_bandwidth,
            message_traffic=memory.message_traffic,
            work_rates=self.steps.work_rates,
        )


def _log(
    time_s: NDArray[np.float64],
    rank: NDArray[np.uint32],
    iteration: NDArray[np.uint32],
    step: NDArray[np.uint32],
) -> Log:
    return Log(time_s=time_s, rank=rank, iteration=iteration, step=step)


def check_size(program: Program) -> None:
    """Raise :class:`BadInput` if the times of all iterations of all ranks cannot be recorded."""
    file = program.file
    if file.ranks * file.iterations > MAX_RECORDED:
        raise BadInput(
            f"{program.where(('iterations',))} {file.ranks} ranks × {file.iterations} iterations are more"
            f" than {MAX_RECORDED}; take fewer of either"
        )


def prepare(
    program: Program,
    platform: Platform,
    *,
    detailed: tuple[int, int] = (0, 0),
    synchronised: bool = False,
    has_messages: bool = True,
) -> Run:
    """Check a program against a platform, and build what is simulated.

    ``detailed`` are the first iteration whose phases are recorded, from 0, and the one after the last. If
    ``synchronised``, all ranks wait for each other before and after each exchange and each collective, at no
    cost: the program in lockstep (:mod:`offbeat.programs.simulation.lockstep`); without ``has_messages``, its
    work and delays only. Raises :class:`BadInput` for what the platform cannot execute.
    """
    check_size(program)
    node_of_rank = platform.node_of_rank(program.file.ranks)
    domain_of_rank = platform.domain_of_rank(node_of_rank)
    return Run(
        program=program,
        platform=platform,
        node_of_rank=node_of_rank,
        domain_of_rank=domain_of_rank,
        steps=steps_of(
            program,
            platform,
            node_of_rank,
            domain_of_rank,
            synchronised=synchronised,
            has_messages=has_messages,
        ),
        detailed=detailed,
    )


def phase_times_s(program: Program, platform: Platform) -> list[float]:
    """The time of each phase in seconds if all ranks begin it together, without delays."""
    return [_alone_s(program, platform, phase) for phase in program.file.phase]


def _alone_s(program: Program, platform: Platform, phase: PhaseSection) -> float:
    alone = program.with_phases([structs.replace(phase, every=1)]).resized(iterations=1)
    return float(prepare(alone, platform).simulate().iteration_end_s.max())
