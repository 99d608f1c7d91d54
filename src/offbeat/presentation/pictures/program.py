"""The iterations of a program as a picture: the performance by iteration and by rank, and the skew."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from offbeat.base.units import amount
from offbeat.presentation.drawing.axes import framed_axes, legend_beside, titled_figure
from offbeat.presentation.drawing.iterations import draw_performance, draw_skew
from offbeat.presentation.drawing.picture_files import write_picture
from offbeat.programs.simulation.iterations import Iterations
from offbeat.programs.simulation.summary import skews

PANEL = 2.1
WIDTH = 9.0


def picture(run: Iterations, lockstep_s: float, limit_s: float | None, path: Path) -> None:
    """Write the picture: PNG, SVG or PDF by the path's suffix. Raises :class:`BadInput`."""
    write_picture(figure(run, lockstep_s, limit_s), path)


def figure(run: Iterations, lockstep_s: float, limit_s: float | None) -> Figure:
    """Three panels: iterations per second and rank by iteration and by rank, and the skew by iteration.

    Lines show the rates in lockstep and at the limit, if that is known, from the times of an iteration.
    """
    title = f"{run.program.name} on {run.where}"
    size = f"{amount(run.p, 'rank')}, {amount(run.iterations, 'iteration')}"
    height = 0.75 + 3 * PANEL
    explained = "lines: 1 / mean time of an iteration; areas: from the first to the third quartile"
    drawn = titled_figure(WIDTH, height, title, f"{size}; {explained}")
    by_iteration, by_rank, skew = (
        framed_axes(drawn, 0.85, 0.45 + (2 - number) * PANEL, 1.75, 0.75 + number * PANEL + 0.1)
        for number in range(3)
    )
    iteration_s = run.iteration_s()
    least_s = limit_s or 0.0
    draw_performance(by_iteration, iteration_s, lockstep_s, least_s, run.p, label=run.origin, first=1)
    draw_performance(by_rank, iteration_s.T, lockstep_s, least_s, run.p, label=run.origin)
    by_rank.sharey(by_iteration)  # the same quantity
    by_iteration.autoscale(axis="y")
    by_iteration.set_xlabel("iteration", fontsize=8)
    by_rank.set_xlabel("rank", fontsize=8)
    legend_beside(by_iteration)
    inside_s, across_s = skews(run.iteration_end_s, run.domain)
    draw_skew(skew, inside_s, across_s)
    return drawn
