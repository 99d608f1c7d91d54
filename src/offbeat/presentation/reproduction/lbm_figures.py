"""Figures 4b, 4c and 5 of "Making Applications Faster by Asynchronous Execution", simulated.

Figure 4 is about how the frequency of a collective changes the speed of a lattice-Boltzmann solver (D3Q19) on
the paper's cluster Meggie; figure 5 shows its speed around the collectives on Fritz.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from offbeat.base.errors import BadInput
from offbeat.presentation.drawing.axes import framed_axes, legend_beside, titled_figure
from offbeat.presentation.drawing.iterations import draw_bounds
from offbeat.presentation.drawing.palette import BLUE, GREEN, GREY, INK, PALE_BLUE, VERMILION
from offbeat.presentation.drawing.picture_files import write_pictures
from offbeat.presentation.reproduction.claims import Claim, Observation, Reproduction, simulated_sentence
from offbeat.presentation.reproduction.lbm_runs import (
    NOISE,
    PERIOD,
    SHAPES_4B,
    SHAPES_4C,
    Curve,
    Timeline,
    curves,
    timeline,
)
from offbeat.programs.simulation.iterations import last_ends_s, mean_iteration_s
from offbeat.programs.simulation.simulate import Progress

FIGURES = ("4b", "4c", "5")

ITERATIONS = {"4b": 4000, "4c": 4000, "5": 1000}
"""Of each run, unless an option says otherwise."""

MOST_ITERATIONS = 100_000


def reproduce(
    figure: str, directory: Path, iterations: int | None = None, on_progress: Progress | None = None
) -> Reproduction:
    """Simulate a figure, draw it, and check what the paper says of it.

    Raises :class:`BadInput` for another figure, for fewer iterations than it needs, and for a directory that
    cannot be written.
    """
    if figure not in FIGURES:
        raise BadInput(f"figure {figure}: the simulated figures of the solver are {', '.join(FIGURES)}")
    count = ITERATIONS[figure] if iterations is None else iterations
    if not 20 * PERIOD <= count <= MOST_ITERATIONS:
        raise BadInput(f"{count} iterations: the figure needs from {20 * PERIOD} to {MOST_ITERATIONS}")
    if figure == "5":
        of = timeline(count, on_progress)
        drawn, total = figure_5(of), 1
        claims = [simulated_sentence(claim, of) for claim in CLAIMS_5]
    else:
        shapes, checked = (SHAPES_4B, CLAIMS_4B) if figure == "4b" else (SHAPES_4C, CLAIMS_4C)
        simulated = curves(shapes, count, on_progress)
        drawn, total = figure_4(simulated, figure), sum(len(one.iteration_s) for one in simulated)
        claims = [simulated_sentence(claim, simulated) for claim in checked]
    pictures = write_pictures(drawn, directory / "pictures", f"async-figure{figure}")
    return Reproduction(done=total, total=total, pictures=pictures, claims=claims, remarks=REMARKS[figure])


_NOISE_REMARK = (
    f"Assumed: each rank is delayed after each sweep, by {NOISE:.0%} of its time on average (exponential)."
    " The paper does not state the noise of its machines, and without any the ranks stay in lockstep."
)

REMARKS = {
    "4b": [
        "Simulated: the program lbm on the platform meggie; computation and communication take the paper's"
        " times of table 3, for which each shape has its own bandwidth of messages.",
        _NOISE_REMARK,
    ],
    "4c": [
        "Simulated: the program lbm on the platform meggie. The ratio of the times is that of table 3's first"
        " shape; the simulation knows a shape by the sizes of its messages alone.",
        _NOISE_REMARK,
    ],
    "5": ["Simulated: the program lbm on the platform fritz.", _NOISE_REMARK],
}


# --- the pictures ---

_TONES = (VERMILION, BLUE, GREEN, GREY)


def figure_4(of: list[Curve], figure: str) -> Figure:
    """The speed of each shape by the step of the collective, against that in every 20th iteration."""
    drawn = titled_figure(
        8.6,
        4.2,
        f"Figure {figure}: speed by the step of the collective, simulated",
        "1: with an allreduce in every 20th iteration; crosses: if only the allreduce's own time were saved",
    )
    axes = framed_axes(drawn, 0.75, 0.55, 2.7, 0.75)
    steps = [step for step in of[0].iteration_s if step]
    places = [*steps, 10 * steps[-1]]
    for tone, curve in zip(_TONES, of, strict=False):
        speedups = [curve.speedups[step] for step in [*steps, 0]]
        label = f"{curve.shape.label}, CER {curve.composite.communication_ratio:.2f}"
        axes.plot(places, speedups, color=tone, marker="o", markersize=4, linewidth=1.3, label=label)
    best = max(of, key=lambda curve: curve.gain)
    crosses = [1, *[best.cost_of_collective] * (len(places) - 1)]
    axes.plot(places, crosses, color=INK, linestyle="", marker="x", markersize=6, label="allreduce alone")
    axes.set_xscale("log")
    axes.set_xticks(places, [*(f"{step:,}" for step in steps), "never"])
    axes.minorticks_off()
    axes.set_xlabel("iterations from one collective to the next", fontsize=8)
    axes.set_ylabel("speed against step 20", fontsize=8)
    axes.set_ylim(0.99, None)
    legend_beside(axes)
    return drawn


def figure_5(of: Timeline) -> Figure:
    """The rate of a rank in four periods (above), and by the place in a period (below)."""
    drawn = titled_figure(
        8.6,
        5.2,
        "Figure 5: speed of the solver around its collectives, simulated",
        "iterations per second; lines: means over ranks, areas: standard deviation; below: over periods, too",
    )
    above = framed_axes(drawn, 0.75, 2.85, 1.6, 0.75)
    below = framed_axes(drawn, 0.75, 0.45, 1.6, 3.0)
    count = of.run.iterations // PERIOD * PERIOD
    times_s = of.run.iteration_s()[count - 4 * PERIOD : count]
    mean_s, deviation_s = times_s.mean(axis=1), times_s.std(axis=1)
    rates, deviations = map(np.array, of.rates())
    panels = (
        (above, np.arange(count - 4 * PERIOD + 1, count + 1), 1 / mean_s, deviation_s / mean_s**2),
        (below, np.arange(1, PERIOD + 1), rates, deviations),
    )
    for axes, places, mean, deviation in panels:
        axes.fill_between(places, mean - deviation, mean + deviation, color=PALE_BLUE, linewidth=0)
        axes.plot(places, mean, color=BLUE, linewidth=1.3, label="simulated")
        draw_bounds(axes, of.composite.iteration_s, of.limit_s)
        axes.set_ylabel("iterations/s", fontsize=8)
        axes.set_ylim(0, None)
        axes.margins(x=0.01)
    above.set_xlabel("iteration", fontsize=8)
    below.set_xlabel("iteration since the last collective; the collective ends iteration 20", fontsize=8)
    below.set_xticks(range(2, PERIOD + 1, 2))
    legend_beside(above)
    return drawn


# --- the claims ---

Curves = list[Curve]


def _percent(values: list[float]) -> str:
    return ", ".join(f"{100 * value:.1f}%" for value in values)


def _more_with_fewer(of: Curves) -> Observation:
    ordered = [
        [curve.speedups[step] for step in sorted(curve.speedups, key=lambda s: s or np.inf)] for curve in of
    ]
    text = f"{_percent([curve.gain for curve in of])} without any, by shape"
    return Observation(text, all(speeds == sorted(speeds) for speeds in ordered))


def _range(of: Curves) -> Observation:
    gains = [curve.gain for curve in of]
    return Observation(_percent(gains), all(0.07 <= gain <= 0.13 for gain in gains))


def _best_near_1(of: Curves) -> Observation:
    best = max(of, key=lambda curve: curve.gain)
    return Observation(
        f"at CER {best.composite.communication_ratio:.2f} ({100 * best.gain:.1f}%),"
        f" against {100 * of[0].gain:.1f}% at CER {of[0].composite.communication_ratio:.2f}",
        best is of[0],
    )


def _falls_with_ratio(of: Curves) -> Observation:
    gains = [curve.gain for curve in of[1:]]
    return Observation(_percent(gains), gains == sorted(gains, reverse=True))


def _not_the_cost(of: Curves) -> Observation:
    costs = [curve.cost_of_collective - 1 for curve in of]
    return Observation(f"at most {100 * max(costs):.2f}%", max(costs) < 0.005)


def _same_for_all(of: Curves) -> Observation:
    gains = [curve.gain for curve in of]
    return Observation(_percent(gains), max(gains) - min(gains) < 0.02)


def _drop(of: Timeline) -> Observation:
    rates, _ = of.rates()
    text = (
        f"{rates[0]:.2f} iterations/s in the first iteration after a collective, {rates[-2]:.2f} in the 19th"
    )
    return Observation(text, rates[0] < 0.95 * rates[-2])


def _recovery(of: Timeline) -> Observation:
    rates, _ = of.rates()
    rest = [(rates[-2] - rate) / (rates[-2] - rates[0]) for rate in rates]
    half = next(place for place, part in enumerate(rest) if part <= 0.5)
    late_gain = rates[-2] / rates[-7] - 1
    return Observation(
        f"half of the drop is made up after {half} iterations, and the last five gain {late_gain:.1%}",
        late_gain < 0.02,
    )


def _above_composite(of: Timeline) -> Observation:
    rates = [1 / time_s for time_s in (mean_iteration_s(last_ends_s(of.run)), of.composite.iteration_s)]
    return Observation(f"{rates[0]:.2f} iterations/s, in lockstep {rates[1]:.2f}", rates[0] > rates[1])


CLAIMS_4B: list[Claim[Curves]] = [
    Claim(says="The less frequent the collective, the faster the solver.", check=_more_with_fewer),
    Claim(
        says="At most, it becomes 7% to 13% faster.",
        check=_range,
        differs="Hiding all communication would gain 7.6% at CER 0.08, by the times of the paper's table 3.",
    ),
    Claim(
        says="The gain is highest where communication takes as long as computation (CER 1.08: 10.8%).",
        check=_best_near_1,
    ),
    Claim(
        says="It falls with the CER below: 9.3%, 9.2% and 8% at 0.47, 0.28 and 0.08.", check=_falls_with_ratio
    ),
    Claim(says="The time of the collectives themselves explains none of it.", check=_not_the_cost),
]

CLAIMS_4C: list[Claim[Curves]] = [
    Claim(says="With the same CER, the shape of the cross-section does not matter.", check=_same_for_all),
    Claim(says="The time of the collectives themselves explains none of the gain.", check=_not_the_cost),
]

CLAIMS_5: list[Claim[Timeline]] = [
    Claim(says="The speed drops sharply after a collective.", check=_drop),
    Claim(
        says="Then it soon settles to a steady state.",
        check=_recovery,
        differs="The simulated ranks drift apart for longer than a period.",
    ),
    Claim(says="On average it exceeds the composite one.", check=_above_composite),
]
