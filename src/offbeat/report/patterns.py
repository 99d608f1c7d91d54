"""The arrival patterns of a study, ready to be drawn: shapes from their formula, scenarios and replays as
they were measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.pattern.draw import BAND
from offbeat.pattern.shapes import SHAPES, delays
from offbeat.report.figures import Drawn

if TYPE_CHECKING:
    from offbeat.results.read import Results


class Patterns(Struct, frozen=True, kw_only=True):
    """``drawn`` are the patterns in the order of the cases; ``missing`` names those nothing is known of, with
    why.
    """

    drawn: list[Drawn]
    missing: list[str]


def patterns(results: Results) -> Patterns:
    """Each shape, scenario and replay once, at the largest p that it was measured with."""
    drawn, missing = [], []
    ranks: pl.DataFrame | None = None
    for shape, rows in _by_shape(results.cases):
        labels = list(dict.fromkeys(rows["pattern"]))
        remark = ", ".join(label.removeprefix(shape) for label in labels if label != shape)
        remark = f"skew {remark}" if remark else ""
        row = rows.row(0, named=True)
        if row["pattern_kind"] == "shape" and shape in SHAPES:
            found: Drawn | str = _shape(row, remark, _seed(results.study))
        else:
            ranks = results.ranks() if ranks is None else ranks
            found = (
                _replayed(rows, ranks)
                if row["pattern_kind"] == "replay"
                else _as_measured(rows, remark, ranks)
            )
        if isinstance(found, Drawn):
            drawn.append(found)
        else:
            missing.append(found)
    return Patterns(drawn=drawn, missing=missing)


def _by_shape(cases: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """The cases of each shape, the largest p first; shapes in their usual order, others, replays."""
    known = list(SHAPES)
    replays = set(cases.filter(pattern_kind="replay")["shape"])
    shapes = [str(shape) for shape in dict.fromkeys(cases["shape"])]
    shapes.sort(key=lambda shape: known.index(shape) if shape in known else len(known) + (shape in replays))
    by_p = cases.sort("p", descending=True, maintain_order=True)
    return [(shape, by_p.filter(pl.col("shape") == shape)) for shape in shapes]


def _seed(study: dict[str, Any]) -> int:
    section = study.get("patterns")
    return int(section.get("seed", 1)) if isinstance(section, dict) else 1


def _shape(row: dict[str, Any], remark: str, seed: int) -> Drawn | str:
    """A shape at the p and placement of one case."""
    try:
        values = delays(row["shape"], row["p"], 1.0, seed=seed, ppn=row["ppn"])
    except BadInput as error:
        return f"{row['shape']}: {error}"
    return Drawn(label=row["shape"], remark=remark, delays=values)


def _as_measured(rows: pl.DataFrame, remark: str, ranks: pl.DataFrame) -> Drawn | str:
    """A scenario as its processes really arrived: each rank's median arrival in one case."""
    name, times = str(rows["shape"][0]), _times(rows, ranks)
    if not times.height:
        return _unknown(name)
    medians = times.group_by("rank").agg(pl.col("arrival_s").median())
    arrivals = medians.sort("rank")["arrival_s"].to_numpy()
    return Drawn(label=name, remark=f"{remark} as measured".strip(), delays=arrivals - np.min(arrivals))


def _replayed(rows: pl.DataFrame, ranks: pl.DataFrame) -> Drawn | str:
    """A replay: each rank's mean delay over one case's repetitions, and where nine of ten of them lie."""
    name, times = str(rows["shape"][0]), _times(rows, ranks)
    if not times.height:
        return _unknown(name)
    delay = pl.col("arrival_s") - pl.col("arrival_s").min().over("repetition")
    low, high = (pl.col("delay").quantile(share, "linear") for share in BAND)
    spread = (
        times.select("rank", "repetition", delay.alias("delay"))
        .group_by("rank")
        .agg(pl.col("delay").mean().alias("mean"), low.alias("low"), high.alias("high"))
        .sort("rank")
    )
    return Drawn(
        label=name,
        remark="mean, and 5% to 95% of the calls",
        delays=spread["mean"].to_numpy(),
        band=(spread["low"].to_numpy(), spread["high"].to_numpy()),
    )


def _times(rows: pl.DataFrame, ranks: pl.DataFrame) -> pl.DataFrame:
    """The ranks' times in the first case that has any; nothing where none has."""
    known = rows.filter(pl.col("case").is_in(ranks["case"].unique().implode()))
    return ranks.filter(pl.col("case") == known["case"][0]) if known.height else ranks.clear()


def _unknown(name: str) -> str:
    return f"{name}: the results hold no arrival times of it"
