"""What a figure of the partitioned paper shows: times by approach and size, and their picture."""

from __future__ import annotations

import math

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from msgspec import Struct

from offbeat.base.units import amount, format_bandwidth, format_size
from offbeat.measurement.results.blocks import block_interval, hodges_lehmann
from offbeat.measurement.results.read import Results
from offbeat.presentation.drawing.axes import framed_axes, legend_beside, time_axis, titled_figure
from offbeat.presentation.drawing.palette import LINES, MARKERS
from offbeat.presentation.drawing.sheet import width_of
from offbeat.presentation.reproduction.partitioned_figure import PAPER_RULE, Setting


class Time(Struct, frozen=True):
    """The last delay d̂ of a case in seconds, and the ends of its 90% confidence interval.

    The ends are NaN if only one block of the case has repetitions.
    """

    middle_s: float
    low_s: float
    high_s: float

    def over(self, other: Time) -> Time:
        """The ratio to another time; its ends are the largest and the smallest that the intervals allow."""
        return Time(self.middle_s / other.middle_s, self.low_s / other.high_s, self.high_s / other.low_s)

    def is_within(self, at_least: float = 0.0, at_most: float = math.inf) -> bool | None:
        """Whether it lies between two limits, both inclusive; None if the interval does not tell."""
        if self.low_s >= at_least and self.high_s <= at_most:
            return True
        return False if self.high_s < at_least or self.low_s > at_most else None

    def __str__(self) -> str:
        """A ratio in a sentence: ``1.7 (1.5 to 1.9)``."""
        if math.isnan(self.low_s):
            return f"{self.middle_s:.3g} (interval unknown)"
        return f"{self.middle_s:.3g} ({self.low_s:.3g} to {self.high_s:.3g})"


class Measured(Struct, frozen=True, kw_only=True):
    """A measured figure: approach → size in bytes → time. Approaches that were not measured are missing.

    ``few`` is the number of cases with fewer repetitions than required, because starts were late, and
    ``reasons`` says of approaches why they were not measured, if that is known.
    """

    setting: Setting
    library: str
    times: dict[str, dict[int, Time]]
    few: int = 0
    reasons: dict[str, str] = {}

    def ratio(self, one: str, other: str, size: int) -> Time | None:
        """The time of one approach over that of another at a size; None unless both were measured."""
        mine, theirs = (self.times.get(name, {}).get(size) for name in (one, other))
        return mine.over(theirs) if mine and theirs else None

    def common_sizes(self, *approaches: str) -> list[int]:
        """The sizes at which all of these approaches were measured."""
        every = [set(self.times.get(name, {})) for name in approaches]
        return sorted(set.intersection(*every))


def measured(one: Setting, results: Results) -> Measured:
    """The times of a figure's results."""
    blocks = (
        results.repetitions.filter("valid")
        .group_by("case", "block", maintain_order=True)
        .agg(pl.col("last_delay_s").median())
        .group_by("case", maintain_order=True)
        .agg("last_delay_s")
    )
    times: dict[str, dict[int, Time]] = {name: {} for name in one.figure.approaches}
    usable = results.cases.filter(pl.col("status").is_in(["measured", "incomplete"]))
    rows = usable.join(blocks, on="case", suffix="_of_blocks")
    for row in rows.sort("bytes").iter_rows(named=True):
        values_s = row["last_delay_s_of_blocks"]
        middle_s = hodges_lehmann(values_s)
        low_s, high_s = (
            block_interval(values_s, middle_s, PAPER_RULE.confidence)
            if len(values_s) > 1
            else (math.nan, math.nan)
        )
        times[row["algorithm"]][row["bytes"]] = Time(middle_s, low_s, high_s)
    library = results.cases["library"][0] if len(results.cases) else ""
    return Measured(
        setting=one,
        library=library,
        times={name: of for name, of in times.items() if of},
        few=results.cases.filter(status="incomplete").height,
        reasons={verdict.algorithm: verdict.reason for verdict in results.verdicts if verdict.reason},
    )


PAPER_NAMES = {
    "single": "Pt2Pt single",
    "many": "Pt2Pt many",
    "library": "Pt2Pt part: the library's",
    "rma_passive_single": "RMA single, passive",
    "rma_passive_many": "RMA many, passive",
    "rma_active_single": "RMA single, active",
    "rma_active_many": "RMA many, active",
}
"""The names of approaches in the paper's legends."""


def figure_of(results: Measured) -> Figure:
    """The picture: a line for each approach over the message size, with its 90% confidence interval."""
    one = results.setting
    names = {name: PAPER_NAMES.get(name, name) for name in results.times}
    right = max((width_of(text, 8.5) for text in names.values()), default=1.0) + 0.6
    is_bandwidth = one.figure.is_bandwidth
    delays = f", last partition delayed by γ = {one.delay_rate:g} µs/MB" if one.delay_rate else ""
    figure = titled_figure(
        6.0 + right,
        4.6,
        f"Figure {one.figure.number}: {one.figure.title}",
        f"{results.library}, {amount(one.figure.partitions, 'partition')} by"
        f" {amount(one.threads, 'thread')} on {amount(one.cores, 'core')}{delays}",
        "median of blocks; shaded: 90% confidence interval",
    )
    axes = framed_axes(figure, 0.95, 0.6, right, 0.85)
    for place, (name, text) in enumerate(names.items()):
        sizes = list(results.times[name])
        times = list(results.times[name].values())
        middle, low, high = (
            [size / value_s if is_bandwidth else value_s for size, value_s in zip(sizes, values, strict=True)]
            for values in (
                [time.middle_s for time in times],
                [time.low_s for time in times],
                [time.high_s for time in times],
            )
        )
        colour = LINES[place % len(LINES)]
        marker = MARKERS[place % len(MARKERS)]
        axes.plot(sizes, middle, color=colour, marker=marker, markersize=4, linewidth=1.4, label=text)
        axes.fill_between(sizes, low, high, color=colour, alpha=0.18, linewidth=0)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_size(round(value))))
    axes.set_xticks(one.sizes[:: 1 if len(one.sizes) < 7 else 2])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("message size", fontsize=9)
    time_axis(axes, "y", is_log=True)
    if is_bandwidth:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_bandwidth(float(value))))
    axes.set_ylabel("size / time after the last partition" if is_bandwidth else "time", fontsize=9)
    axes.grid(axis="y", linewidth=0.4, alpha=0.5)
    legend_beside(axes)
    return figure
