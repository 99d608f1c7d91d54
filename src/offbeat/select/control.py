"""The control that a study carries with itself: cases that must be equal, and how far apart they are.

Two shapes can be the same delays under two names: with two processes ``ascending``, ``last_delayed`` and
``half_delayed`` are. Such cases are measured one by one, at different moments, so their difference is noise
alone. They check what the scatter between blocks promises; where they differ by more, every uncertainty of
the study is widened by as much.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from msgspec import Struct

from offbeat.pattern import shapes
from offbeat.results.blocks import RESOLUTION_S
from offbeat.select.certainty import Repeated
from offbeat.select.table import CELL_COLUMNS

if TYPE_CHECKING:
    from offbeat.results.read import Results

ENOUGH_PAIRS = 10
"""Fewer pairs than this check nothing."""


class Control(Struct, frozen=True, kw_only=True):
    """How far apart cases with the same delays were, over ``pairs`` pairs, as shares.

    ``median`` and ``largest`` (95th percentile) are of the differences. ``widening`` is how many times the
    differences exceed what the scatter between blocks lets expect, and never less than 1.
    """

    pairs: int
    median: float
    largest: float
    widening: float


def control(results: Results, samples: Mapping[str, Repeated]) -> Control | None:
    """The control of a study; None where too few of its cases must be equal."""
    differences, errors, freedom = [], [], []
    for first, second in _equal_cases(results):
        blocks = [list(samples[row["case"]].deviations().values()) for row in (first, second)]
        if min(map(len, blocks)) < 2:
            continue
        variances = [float(np.var(own, ddof=1)) / len(own) for own in blocks]
        logs = [np.log(max(row["last_delay_s"], RESOLUTION_S)) for row in (first, second)]
        differences.append(abs(logs[0] - logs[1]))
        errors.append(max(np.sqrt(sum(variances)), 1e-12))
        freedom.append(sum(map(len, blocks)) - 2)
    if len(differences) < ENOUGH_PAIRS:
        return None
    seen = float(np.median(np.array(differences) / np.array(errors)))
    shares = np.expm1(differences)
    return Control(
        pairs=len(differences),
        median=float(np.median(shares)),
        largest=float(np.quantile(shares, 0.95)),
        widening=max(1.0, seen / _median_of_t(float(np.median(freedom)))),
    )


def _median_of_t(freedom: float) -> float:
    """The median of the absolute value of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.75))


def _equal_cases(results: Results) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Pairs of measured cases that differ in the names of their shapes alone."""
    known = set(results.repetitions["case"])
    section = results.study.get("patterns")
    seed = int(section.get("seed", 1)) if isinstance(section, dict) else 1
    is_shape = (pl.col("pattern_kind") == "shape") & pl.col("shape").is_in(list(shapes.SHAPES))
    has_delay = pl.col("last_delay_s").is_finite() & (pl.col("status") != "quarantined")
    drawn: dict[tuple[str, int, int], bytes] = {}
    alike: dict[tuple[object, ...], list[dict[str, Any]]] = {}
    for row in results.cases.filter(is_shape & has_delay.fill_null(False)).iter_rows(named=True):
        if (
            row["case"] not in known
            or not row["skew_s"]
            or (row["shape"] == "node_delayed" and not row["ppn"])
        ):
            continue
        shape = (row["shape"], row["p"], row["ppn"])
        if shape not in drawn:
            drawn[shape] = shapes.delays(row["shape"], row["p"], 1.0, seed=seed, ppn=row["ppn"]).tobytes()
        place = tuple(row[name] for name in (*CELL_COLUMNS, "algorithm", "skew_s"))
        alike.setdefault((*place, drawn[shape]), []).append(row)
    return [pair for rows in alike.values() for pair in combinations(rows, 2)]
