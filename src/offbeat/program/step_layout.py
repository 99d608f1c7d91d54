"""The steps of an iteration: its phases, and places for delays before and after phases that are not work."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.program.load import Program
from offbeat.program.noise import delays


class Step(Struct, frozen=True, kw_only=True):
    """A step: a phase by its index, or a place for delays in the iterations that execute this phase."""

    phase: int
    is_delay: bool = False


class StepLayout(Struct, frozen=True, kw_only=True):
    """The steps in their order; ``step_of_noise`` is the step of each noise section."""

    steps: list[Step]
    step_of_noise: list[int]

    @property
    def step_of_phase(self) -> list[int]:
        """The step of each phase."""
        return [index for index, step in enumerate(self.steps) if not step.is_delay]

    def noise(self, program: Program, domain_of_rank: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """The delays in the order of ranks, iterations and steps: a column for each, and ``noise_s``.

        Iterations and steps are counted from 0.
        """
        drawn = delays(program.file, domain_of_rank)
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


def step_layout(program: Program) -> StepLayout:
    """The steps of a program. Delays before a phase of work are a part of it."""
    names = program.phase_names()
    noise = [(names.index(section.phase), section.when) for section in program.file.noise]
    steps: list[Step] = []
    step_of: dict[tuple[int, str], int] = {}
    for index, phase in enumerate(program.file.phase):
        if (index, "before") in noise:
            step_of[index, "before"] = len(steps)
            if phase.kind != "work":
                steps.append(Step(phase=index, is_delay=True))
        steps.append(Step(phase=index))
        if (index, "after") in noise:
            step_of[index, "after"] = len(steps)
            steps.append(Step(phase=index, is_delay=True))
    return StepLayout(steps=steps, step_of_noise=[step_of[place] for place in noise])


def _joined(parts: list[NDArray[Any]], kind: type) -> NDArray[Any]:
    return np.concatenate([np.zeros(0), *parts]).astype(kind)
