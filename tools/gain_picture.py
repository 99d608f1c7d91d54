"""Draws the picture of the README, which shows what a user gains: docs/images/alltoall-gain.png.

The times are published measurements of alltoall on 1,024 processes of the cluster Hydra (Salimi Beni,
Cosenza, Hunold; ``tests/reference/hydra-ft-scenario.csv``). In each pair of bars, one algorithm is fastest
without delays, and the rule ``average`` selects the other algorithm.
"""

from __future__ import annotations

import csv
from pathlib import Path

from matplotlib.container import BarContainer

from offbeat.presentation.drawing.axes import POINTS, framed_axes, titled_figure
from offbeat.presentation.drawing.palette import BLUE, INK, MUTED, ORANGE
from offbeat.presentation.drawing.picture_files import write_picture

REPOSITORY = Path(__file__).resolve().parents[1]
MEASUREMENTS = REPOSITORY / "tests" / "reference" / "hydra-ft-scenario.csv"
PICTURE = REPOSITORY / "docs" / "images" / "alltoall-gain.png"

BENCHMARK_WINNER, SELECTED = "Lin", "Pair"
BAR_HEIGHT = 0.38
PATTERN_LABELS = {
    "no_delay": "all together\n(a benchmark)",
    "first_delayed": "first process late",
    "last_delayed": "last process late",
    "random": "random delays",
    "ascending": "one after another",
    "ft_scenario": "as in an application\n(3D FFT)",
}


def last_delays_s() -> dict[tuple[str, str], float]:
    """Pattern and algorithm → last delay d̂ in seconds."""
    with MEASUREMENTS.open(encoding="utf-8", newline="") as stream:
        return {
            (row["pattern"], row["algorithm"]): float(row["last_delay_s"])
            for row in csv.DictReader(stream)
            if row["pattern"] in PATTERN_LABELS
        }


def main() -> None:
    """Draw the picture."""
    delays_s = last_delays_s()
    figure = titled_figure(
        5.6,
        4.2,
        "alltoall of 32 KiB on 1,024 processes, in seconds",
        "from the last arrival to the last exit; shorter is better",
    )
    axes = framed_axes(figure, 1.55, 0.35, 0.45, 0.95)
    series = (
        (BENCHMARK_WINNER, "a benchmark selects this algorithm", ORANGE, -BAR_HEIGHT / 2),
        (SELECTED, "offbeat selects this algorithm", BLUE, BAR_HEIGHT / 2),
    )
    for algorithm, meaning, colour, offset in series:
        times_s = [delays_s[pattern, algorithm] for pattern in PATTERN_LABELS]
        positions = [index + offset for index in range(len(times_s))]
        bars: BarContainer = axes.barh(positions, times_s, BAR_HEIGHT, color=colour)
        bars.set_label(f"{algorithm}: {meaning}")
        axes.bar_label(bars, fmt="%.2f", padding=3, fontsize=POINTS, color=INK)
    axes.set_yticks(range(len(PATTERN_LABELS)), list(PATTERN_LABELS.values()), color=INK)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.45)
    axes.tick_params(axis="y", length=0)
    figure.legend(
        loc="upper left",
        bbox_to_anchor=(0.015, 0.885),
        ncols=1,
        frameon=False,
        fontsize=POINTS,
        labelcolor=MUTED,
    )
    write_picture(figure, PICTURE)


if __name__ == "__main__":
    main()
