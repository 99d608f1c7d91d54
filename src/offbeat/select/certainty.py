"""How sure a choice is: the same rule applied to resampled repetitions.

Each case's repetitions are drawn anew with replacement and their median is recomputed, all cases
independently; the rule then chooses from each such set of medians. Of a replay the mean over its calls is
recomputed (:func:`offbeat.results.statistics.resampled_means`); where whole calls are drawn, they are the
same for all algorithms. The certainty of a choice is the share of resamples in which the same algorithm is
chosen. It covers the scatter within one run of the study, not what changes between runs, nodes or days.
"""

from __future__ import annotations

import zlib

import numpy as np
import polars as pl
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.results.statistics import every_call_is_repeated, resampled_means
from offbeat.select.rules import Rule, compared, scores_of, winners_of
from offbeat.select.table import DelayTable


class Repeated(Struct, frozen=True, eq=False):
    """The valid repetitions of a case: d̂ in seconds and, of a replay, the number of each one's call."""

    last_delay_s: NDArray[np.float64]
    calls: NDArray[np.int64] | None = None


def samples_of(repetitions: pl.DataFrame) -> dict[str, Repeated]:
    """The valid repetitions of every case."""
    usable = pl.col("valid") & pl.col("last_delay_s").is_finite()
    kept = repetitions.filter(usable).group_by("case", maintain_order=True)
    groups = kept.agg("last_delay_s", pl.col("call").drop_nulls())
    return {
        case: Repeated(
            np.asarray(values, dtype=np.float64),
            np.asarray(calls, dtype=np.int64) if len(calls) == len(values) else None,
        )
        for case, values, calls in groups.iter_rows()
    }


def certainty(
    table: DelayTable,
    rule: Rule,
    samples: dict[str, Repeated],
    algorithm: str,
    resamples: int,
    seed: int,
) -> float | None:
    """The share of ``resamples`` in which ``rule`` chooses ``algorithm`` from ``table``.

    None when it cannot be known: without resamples, or when a compared case has fewer than two valid
    repetitions. The draws of a case depend on ``seed`` and the case's identity alone (where whole calls of a
    replay are drawn, on its name), not on which other cases are looked at.
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
    samples: dict[str, Repeated],
    resamples: int,
    seed: int,
) -> NDArray[np.float64] | None:
    """Resampled medians, and means of replays, ``(resamples, rows, columns)`` in seconds; None when some case
    has too few values.
    """
    if table.cases is None or resamples < 1:
        return None
    cases = [[table.cases[i][j] for j in columns] for i in rows]
    if any(case not in samples or len(samples[case].last_delay_s) < 2 for line in cases for case in line):
        return None
    drawn = [
        [_resample(samples[case], case, table.patterns[i], resamples, seed) for case in line]
        for i, line in zip(rows, cases, strict=True)
    ]
    return np.stack([np.stack(line, axis=-1) for line in drawn], 1)


def _resample(repeated: Repeated, case: str, pattern: str, resamples: int, seed: int) -> NDArray[np.float64]:
    """The medians, or the means over calls, of ``resamples`` draws from one case's repetitions."""
    values = repeated.last_delay_s
    if repeated.calls is not None:
        own = case if every_call_is_repeated(repeated.calls) else pattern
        generator = np.random.default_rng([seed, zlib.crc32(own.encode())])
        return resampled_means(values, repeated.calls, resamples, generator)
    generator = np.random.default_rng([seed, zlib.crc32(case.encode())])
    drawn = values[generator.integers(0, len(values), (resamples, len(values)))]
    drawn.sort(axis=1)  # several times as fast as np.median, with the same result
    return np.asarray((drawn[:, (len(values) - 1) // 2] + drawn[:, len(values) // 2]) / 2)
