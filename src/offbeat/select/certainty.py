"""How sure a choice is: the same rule applied to resampled repetitions.

Each case's repetitions are drawn anew with replacement and their median is recomputed, all cases
independently; the rule then chooses from each such set of medians. The certainty of a choice is the share of
resamples in which the same algorithm is chosen. It covers the scatter within one run of the study, not what
changes between runs, nodes or days.
"""

from __future__ import annotations

import zlib

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from offbeat.select.rules import Rule, compared, scores_of, winners_of
from offbeat.select.table import DelayTable


def samples_of(repetitions: pl.DataFrame) -> dict[str, NDArray[np.float64]]:
    """The valid last delays of every case in seconds: case → one value a repetition."""
    usable = pl.col("valid") & pl.col("last_delay_s").is_finite()
    groups = repetitions.filter(usable).group_by("case", maintain_order=True).agg("last_delay_s")
    return {case: np.asarray(values, dtype=np.float64) for case, values in groups.iter_rows()}


def certainty(
    table: DelayTable,
    rule: Rule,
    samples: dict[str, NDArray[np.float64]],
    algorithm: str,
    resamples: int,
    seed: int,
) -> float | None:
    """The share of ``resamples`` in which ``rule`` chooses ``algorithm`` from ``table``.

    None when it cannot be known: without resamples, or when a compared case has fewer than two valid
    repetitions. The draws of a case depend on ``seed`` and the case's identity alone, not on which other
    cases are looked at.
    """
    rows = rule.rows(table)
    columns = compared(table, rows)
    drawn = _medians(table, rows, columns, samples, resamples, seed)
    if drawn is None:
        return None
    scores = scores_of(rule, drawn, list(range(len(columns))))
    chosen = columns.index(table.algorithms.index(algorithm))
    return float(np.mean(winners_of(scores) == chosen))


def _medians(
    table: DelayTable,
    rows: list[int],
    columns: list[int],
    samples: dict[str, NDArray[np.float64]],
    resamples: int,
    seed: int,
) -> NDArray[np.float64] | None:
    """Resampled medians ``(resamples, rows, columns)`` in seconds; None when some case has too few values."""
    if table.cases is None or resamples < 1:
        return None
    cases = [[table.cases[i][j] for j in columns] for i in rows]
    if any(samples.get(case, np.empty(0)).size < 2 for line in cases for case in line):
        return None
    return np.stack(
        [np.stack([_resample(samples[c], c, resamples, seed) for c in line], axis=-1) for line in cases], 1
    )


def _resample(values: NDArray[np.float64], case: str, resamples: int, seed: int) -> NDArray[np.float64]:
    """The medians of ``resamples`` draws from one case's repetitions."""
    generator = np.random.default_rng([seed, zlib.crc32(case.encode())])
    result = stats.bootstrap(
        (values,), np.median, n_resamples=resamples, method="percentile", axis=-1, random_state=generator
    )
    return np.asarray(result.bootstrap_distribution)
