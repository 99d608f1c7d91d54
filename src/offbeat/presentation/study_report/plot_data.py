"""The data of the report's plots: distributions of last delays, and arrival patterns.

The page holds the last delays of the repetitions. If a study has too many for a page of reasonable size, each
case is thinned to evenly spaced order statistics, which keep the minimum, the maximum and the quartiles.
Shapes are drawn from their formula, scenarios and replays as they were measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from offbeat.base.errors import BadInput
from offbeat.measurement.results.read import Results
from offbeat.model.pattern.shapes import SHAPES, delays
from offbeat.model.study.case import PARTITIONED_SEND
from offbeat.model.study.case_expansion import SENDER
from offbeat.presentation.drawing.terminal_bars import BAND
from offbeat.presentation.study_report.configurations import ConfigurationView
from offbeat.presentation.study_report.figures import PatternPlot
from offbeat.selection.choices import wording
from offbeat.selection.choices.certainty import pattern_seed, samples_of
from offbeat.selection.choices.delay_table import DelayTable

MAXIMUM_VALUES = 50_000
"""Maximum number of values in a page, all cases together: about 300 kilobytes of text, a third of a page."""

MINIMUM_PER_CASE = 5
"""Minimum number of values per case: minimum, quartiles, maximum."""


def distributions(views: Sequence[ConfigurationView], repetitions: pl.DataFrame) -> dict[str, Any]:
    """The data of the distribution plot: ``configurations``, each with its unit and
    ``values[pattern][algorithm]``.

    Values are in the configuration's unit. A case without recorded repetitions (an import) has only its
    median. ``thinned`` is the number of values per case if cases were thinned, else 0; ``repeated`` is true
    if any case has several repetitions.
    """
    samples = {case: repeated.last_delay_s for case, repeated in samples_of(repetitions).items()}
    measured = [(view, view.table) for view in views if view.table is not None]
    number = sum(int(np.isfinite(table.last_delay_s).sum()) for _, table in measured)
    most = max(MINIMUM_PER_CASE, MAXIMUM_VALUES // max(number, 1))
    configurations = [_configuration(view, table, samples, most) for view, table in measured]
    longest = max((len(values) for values in samples.values()), default=0)
    return {
        "configurations": configurations,
        "thinned": most if longest > most else 0,
        "repeated": longest > 1,
    }


def thinned(values: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """At most ``most`` evenly spaced order statistics of ``values``, with minimum and maximum."""
    if len(values) <= most:
        return values
    return np.asarray(np.quantile(values, np.linspace(0, 1, most)))


def _configuration(
    view: ConfigurationView, table: DelayTable, samples: dict[str, NDArray[np.float64]], most: int
) -> dict[str, Any]:
    unit, per_second = wording.common_unit(table.last_delay_s)

    def numbers(i: int, j: int) -> list[float]:
        if np.isnan(table.last_delay_s[i, j]):
            return []
        values = samples.get(table.cases[i][j], table.last_delay_s[i, j : j + 1])
        return [float(f"{value:.4g}") for value in thinned(values, most) * per_second]

    return {
        "id": view.slug,
        "title": view.title,
        "unit": unit,
        "patterns": table.patterns,
        "algorithms": table.algorithms,
        "values": [[numbers(i, j) for j in range(len(table.algorithms))] for i in range(len(table.patterns))],
    }


def pattern_plots(results: Results) -> tuple[list[PatternPlot], list[str]]:
    """A plot of each shape, scenario and replay at its largest p, and why others cannot be drawn."""
    drawn, missing = [], []
    ranks: pl.DataFrame | None = None
    for shape, rows in _by_shape(results.cases):
        labels = list(dict.fromkeys(rows["pattern"]))
        remark = ", ".join(label.removeprefix(shape) for label in labels if label != shape)
        remark = f"skew {remark}" if remark else ""
        row = rows.row(0, named=True)
        if row["pattern_kind"] == "shape" and shape in SHAPES:
            plot: PatternPlot | str = _shape(row, remark, pattern_seed(results.study))
        else:
            ranks = results.ranks() if ranks is None else ranks
            plot = _replay(rows, ranks) if row["pattern_kind"] == "replay" else _scenario(rows, remark, ranks)
        if isinstance(plot, PatternPlot):
            drawn.append(plot)
        else:
            missing.append(plot)
    return drawn, missing


def _by_shape(cases: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """The cases of each shape, the largest p first; standard shapes, other patterns, replays."""
    standard_shapes = list(SHAPES)
    replays = set(cases.filter(pattern_kind="replay")["shape"])
    shapes = [str(shape) for shape in dict.fromkeys(cases["shape"])]
    shapes.sort(
        key=lambda shape: (
            standard_shapes.index(shape)
            if shape in standard_shapes
            else len(standard_shapes) + (shape in replays)
        )
    )
    by_p = cases.sort("p", "partitions", descending=True, maintain_order=True)
    return [(shape, by_p.filter(pl.col("shape") == shape)) for shape in shapes]


def _shape(row: dict[str, Any], remark: str, seed: int) -> PatternPlot | str:
    try:
        noun, count = _delayed(row)
        values = delays(row["shape"], count, 1.0, seed=seed, ppn=row["ppn"])
    except BadInput as error:
        return f"{row['shape']}: {error}"
    return PatternPlot(label=row["shape"], remark=remark, delays=values, noun=noun)


def _delayed(row: dict[str, Any]) -> tuple[str, int]:
    """What the delays of a case belong to, and their number: ranks, or the partitions of the sender."""
    is_partitioned = row["collective"] == PARTITIONED_SEND
    return ("partition", row["partitions"]) if is_partitioned else ("rank", row["p"])


def _scenario(rows: pl.DataFrame, remark: str, ranks: pl.DataFrame) -> PatternPlot | str:
    """A scenario from its measured arrivals: each rank's, or sender's partition's, median in one case."""
    name, times = str(rows["shape"][0]), _times(rows, ranks)
    if not times.height:
        return _not_recorded(name)
    noun, _ = _delayed(rows.row(0, named=True))
    times = times if noun == "rank" else times.filter(rank=SENDER)
    medians = times.group_by(noun).agg(pl.col("arrival_s").median())
    arrivals = medians.sort(noun)["arrival_s"].to_numpy()
    return PatternPlot(
        label=name, remark=f"{remark} as measured".strip(), delays=arrivals - np.min(arrivals), noun=noun
    )


def _replay(rows: pl.DataFrame, ranks: pl.DataFrame) -> PatternPlot | str:
    """A replay: each rank's mean delay over one case's repetitions, and their 5th and 95th percentiles."""
    name, times = str(rows["shape"][0]), _times(rows, ranks)
    if not times.height:
        return _not_recorded(name)
    delay = pl.col("arrival_s") - pl.col("arrival_s").min().over("repetition")
    low, high = (pl.col("delay").quantile(share, "linear") for share in BAND)
    spread = (
        times.select("rank", "repetition", delay.alias("delay"))
        .group_by("rank")
        .agg(pl.col("delay").mean().alias("mean"), low.alias("low"), high.alias("high"))
        .sort("rank")
    )
    return PatternPlot(
        label=name,
        remark="mean, and 5% to 95% of the calls",
        delays=spread["mean"].to_numpy(),
        band=(spread["low"].to_numpy(), spread["high"].to_numpy()),
    )


def _times(rows: pl.DataFrame, ranks: pl.DataFrame) -> pl.DataFrame:
    """The ranks' times in the first case that has any; empty if none has."""
    with_ranks = rows.filter(pl.col("case").is_in(ranks["case"].unique().implode()))
    return ranks.filter(pl.col("case") == with_ranks["case"][0]) if with_ranks.height else ranks.clear()


def _not_recorded(name: str) -> str:
    return f"{name}: the results hold no arrival times"
