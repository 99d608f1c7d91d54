"""What all axes have in common."""

from __future__ import annotations

import numpy as np
import pytest
from program_texts import RING, WORK, program, simulated

from offbeat.presentation.drawing.axes import framed_axes, titled_figure, whole_numbers
from offbeat.presentation.drawing.iterations import draw_performance
from offbeat.presentation.pictures.program import figure
from offbeat.programs.simulation.lockstep import lockstep


@pytest.mark.parametrize(("low", "high"), [(-0.5, 0.5), (-0.05, 0.05), (0, 1), (0, 359)])
def test_ranks_and_iterations_have_whole_numbers_even_if_there_is_only_one(low: float, high: float) -> None:
    axes = framed_axes(titled_figure(5, 3, "title"), 1, 1, 1, 1)
    axes.set_xlim(low, high)
    whole_numbers(axes.xaxis, 7)
    shown = [tick for tick in axes.get_xticks() if low <= tick <= high]
    assert shown and all(tick == round(tick) for tick in shown)


def test_the_speed_of_a_single_rank_is_a_visible_point() -> None:
    axes = framed_axes(titled_figure(5, 3, "title"), 1, 1, 1, 1)
    draw_performance(axes, np.full((1, 20), 0.5), 0.5, 0.4, 1)
    measured, in_lockstep, work_alone = axes.get_lines()
    assert measured.get_marker() == "o" and measured.get_ydata() == pytest.approx([2.0])
    assert in_lockstep.get_linestyle() != work_alone.get_linestyle()


def test_the_picture_of_a_program_counts_iterations_from_1_and_ranks_from_0() -> None:
    run = simulated(program(WORK, RING, ranks=4, iterations=12))
    by_iteration, by_rank, skew = figure(run, lockstep(run.program, run.platform).iteration_s, 0.1).axes
    assert by_iteration.get_xlim() == skew.get_xlim() == (1, 12)
    assert by_rank.get_xlim() == (0, 3)
