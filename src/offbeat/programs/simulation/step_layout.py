"""The steps of an iteration: its phases, and places for delays and for synchronisations around them."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.programs.description.noise import delays
from offbeat.programs.description.program_file import Program


class Step(Struct, frozen=True, kw_only=True):
    """A step: a phase by its index, or a place for delays or a synchronisation of all ranks in the iterations
    that execute this phase."""

    phase: int
    is_delay: bool = False
    is_synchronisation: bool = False


class StepLayout(Struct, frozen=True, kw_only=True):
    """The steps in their order; ``step_of_noise`` is the step of each noise section."""

    steps: list[Step]
    step_of_noise: list[int]

    @property
    def step_of_phase(self) -> list[int]:
        """The step of each phase."""
        return [
            index
            for index, step in enumerate(self.steps)
            if not step.is_delay and not step.is_synchronisation
        ]

    def noise(self, program: Program, domain_of_rank: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """The delays in the order of ranks, iterations and steps: a column for each, and ``noise_s``.

        Iterations and steps are counted from 0.
        """
        drawn = delays(program, domain_of_rank)
        both = zip(self.step_of_noise, drawn, strict=True)
        columns = {
            "noise_rank": [one.rank for one in drawn],
            "noise_iteration": [one.iteration for one in drawn],
            "noise_step": [np.full(len(one.rank), step) for step, one in both],
        }
        joined = {name: _joined(parts, np.uint32) for name, parts in columns.items()}
        order = np.lexsort((joined["noise_step"], joined["noise_iteration"], joined["noise_rank"]))
        time_s = _joined([one.time_s for one in drawn], np.float64)
        return {name: column[order] for name, column in joined.items()} | {"noise_s": time_s[order]}


def step_layout(program: Program, *, synchronised: bool = False) -> StepLayout:
    """The steps of a program. Delays before a phase of work are a part of it.

    If ``synchronised``, all ranks wait for each other before and after each phase of communication.
    """
    names = program.phase_names()
    noise = [(names.index(section.phase), section.when) for section in program.file.noise]
    steps: list[Step] = []
    step_of: dict[tuple[int, str], int] = {}
    for index, phase in enumerate(program.file.phase):
        if (index, "before") in noise:
            step_of[index, "before"] = len(steps)
            if phase.kind != "work":
                steps.append(Step(phase=index, is_delay=True))
        around = [Step(phase=index, is_synchronisation=True)] if synchronised and phase.kind != "work" else []
        steps += [*around, Step(phase=index), *around]
        if (index, "after") in noise:
            step_of[index, "after"] = len(steps)
            steps.append(Step(phase=index, is_delay=True))
    return StepLayout(steps=steps, step_of_noise=[step_of[place] for place in noise])


def _joined(parts: list[NDArray[Any]], kind: type) -> NDArray[Any]:
    return np.concatenate([np.zeros(0), *parts]).astype(kind)
