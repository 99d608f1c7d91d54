"""The confidence in a choice, and the noise of a study.

Confidence: what the same rule would choose if the study were repeated. Each case was measured in blocks, in
different rounds of the study and in different launches, so the scatter between its blocks is what another
study would differ by (:mod:`offbeat.measurement.results.blocks`). Repeated studies are simulated: the
logarithm of each case's delay moves by a combination of its blocks' deviations with random weights. The
weights are the same for all cases of a configuration, so that noise common to a whole launch does not affect
the comparison. They are normal, divided by the root of a χ² share, so that each delay follows Student's t
with the degrees of freedom of the blocks; the variance is doubled, because this study and the repeated one
both have that error. The rule then chooses in each simulated (*resampled*) study. ``benchmarks/certainty.py``
checks the stated confidence by repeating studies.

Control: two shapes can be the same delays under two names (with two processes ``ascending``,
``last_delayed`` and ``half_delayed`` are). Such cases are measured separately, at different times, so their
difference is noise alone. Where they differ by more than the scatter between blocks predicts, every
uncertainty of the study is widened by that factor.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.measurement.results.blocks import RESOLUTION_S, Block
from offbeat.measurement.results.read import Results
from offbeat.model.pattern import shapes
from offbeat.selection.choices.delay_table import CONFIGURATION_COLUMNS, DelayTable
from offbeat.selection.choices.selection_rules import Rule, comparable_columns, scores_of, winners_of

LOSS_QUANTILE = 0.95
"""The plausible loss and the noise floor are this quantile over the resampled studies."""

TIE_SHARE = 0.05
"""An algorithm that ranks before the choice in a larger share of resampled studies than this ties with the
choice."""


class CaseRepetitions(Struct, frozen=True, eq=False):
    """The valid repetitions of a case: d̂ in seconds, and the block number and, for a replay, the call
    number of each. ``blocks`` is None if it is unknown which repetitions belong together."""

    last_delay_s: NDArray[np.float64]
    calls: NDArray[np.int64] | None = None
    blocks: NDArray[np.int64] | None = None

    def deviations(self) -> dict[int, float]:
        """Block number → deviation of the logarithm of its delay from the mean over all blocks."""
        if self.blocks is None:
            return {}
        logs = {}
        for number in np.unique(self.blocks):
            in_block = self.blocks == number
            calls = None if self.calls is None else self.calls[in_block]
            block = Block(self.last_delay_s[in_block], self.last_delay_s[in_block], 0, calls)
            logs[int(number)] = float(np.log(max(block.delay_s, RESOLUTION_S)))
        mean = sum(logs.values()) / len(logs)
        return {number: log - mean for number, log in logs.items()}


class Certainty(Struct, frozen=True, kw_only=True):
    """The confidence in a choice, from resampled studies; all values are shares.

    ``same_choice`` is the share of resampled studies that choose the same algorithm; ``within_tolerance`` the
    share in which the choice is worse than the best by at most the tolerance. ``expected_loss`` is the mean
    loss against the best, and ``plausible_loss`` its 95th percentile. ``noise_floor`` is the smallest lead
    over the next best algorithm that this study could have detected, and ``ties`` names the algorithms whose
    distance from the choice is too small to be detected.
    """

    same_choice: float
    within_tolerance: float
    expected_loss: float
    plausible_loss: float
    noise_floor: float
    ties: list[str] = []


EXACT = Certainty(
    same_choice=1.0, within_tolerance=1.0, expected_loss=0.0, plausible_loss=0.0, noise_floor=0.0
)
"""The confidence in choices from results without noise, which are the same in every study."""


def samples_of(repetitions: pl.DataFrame) -> dict[str, CaseRepetitions]:
    """The valid repetitions of every case."""
    usable = pl.col("valid") & pl.col("last_delay_s").is_finite()
    valid = repetitions.filter(usable).group_by("case", maintain_order=True)
    groups = valid.agg("last_delay_s", pl.col("call").drop_nulls(), pl.col("block").drop_nulls())
    return {
        case: CaseRepetitions(
            np.asarray(values, dtype=np.float64), _if_complete(calls, values), _if_complete(blocks, values)
        )
        for case, values, calls, blocks in groups.iter_rows()
    }


def _if_complete(numbers: list[int], values: list[float]) -> NDArray[np.int64] | None:
    return np.asarray(numbers, dtype=np.int64) if len(numbers) == len(values) else None


def certainty_of(
    table: DelayTable,
    rule: Rule,
    samples: dict[str, CaseRepetitions],
    algorithm: str,
    *,
    tolerance: float,
    resamples: int,
    seed: int,
    scatter_factor: float = 1.0,
) -> Certainty | None:
    """What ``resamples`` simulated repetitions of the study say about ``algorithm`` in one configuration.

    ``tolerance`` is the acceptable loss, as a share; ``scatter_factor`` multiplies the scatter
    (:attr:`Control.scatter_factor`). None without resamples, without another algorithm to compare with, or
    when a compared case has fewer than two blocks. The draws depend on ``seed`` and the configuration alone.
    """
    rows = rule.rows(table)
    columns = comparable_columns(table, rows)
    delays_s = _resampled_delays_s(table, rows, columns, samples, resamples, seed, scatter_factor)
    if delays_s is None:
        return None
    names = [table.algorithms[j] for j in columns]
    scores = scores_of(rule, delays_s, list(range(len(columns))))
    column = names.index(algorithm)
    loss = scores[:, column] / scores.min(axis=-1) - 1
    shares_before = (scores < scores[:, [column]]).mean(axis=0)
    return Certainty(
        same_choice=float(np.mean(winners_of(scores) == column)),
        within_tolerance=float(np.mean(loss <= tolerance)),
        expected_loss=float(loss.mean()),
        plausible_loss=float(np.quantile(loss, LOSS_QUANTILE)),
        noise_floor=_noise_floor(scores, rule.scores(table), names, algorithm),
        ties=[name for name, share in zip(names, shares_before, strict=True) if share > TIE_SHARE],
    )


def _noise_floor(
    scores: NDArray[np.float64], scores_by_name: dict[str, float], names: list[str], algorithm: str
) -> float:
    """The share by which an algorithm's lead over the next best shrinks in 5% of resampled studies."""
    rival = min((name for name in names if name != algorithm), key=lambda name: scores_by_name[name])
    leads = np.log(scores[:, names.index(rival)] / scores[:, names.index(algorithm)])
    shrinkage = np.log(scores_by_name[rival] / scores_by_name[algorithm]) - leads
    return max(0.0, float(np.expm1(np.quantile(shrinkage, LOSS_QUANTILE))))


def _resampled_delays_s(
    table: DelayTable,
    rows: list[int],
    columns: list[int],
    samples: dict[str, CaseRepetitions],
    resamples: int,
    seed: int,
    scatter_factor: float,
) -> NDArray[np.float64] | None:
    """The delays of resampled studies, ``(resamples, rows, columns)`` in seconds; None without blocks."""
    if resamples < 1 or len(columns) < 2:
        return None
    cases = [[table.cases[i][j] for j in columns] for i in rows]
    if any(case not in samples for line in cases for case in line):
        return None
    deviations = [[samples[case].deviations() for case in line] for line in cases]
    counts = np.array([[len(blocks) for blocks in line] for line in deviations])
    if counts.min(initial=2) < 2:
        return None
    numbers = sorted({number for line in deviations for blocks in line for number in blocks})
    scatter = np.array(
        [[[blocks.get(number, 0.0) for blocks in line] for line in deviations] for number in numbers]
    )
    generator = np.random.default_rng([seed, zlib.crc32(str(table.configuration).encode())])
    weights = generator.normal(size=(resamples, len(numbers)))
    freedom = int(counts.min()) - 1
    spread = np.sqrt(generator.chisquare(freedom, resamples) / freedom)
    shift = np.tensordot(weights, scatter, 1) / np.sqrt(counts * (counts - 1))
    shift *= np.sqrt(2) * scatter_factor / spread[:, np.newaxis, np.newaxis]
    delays_s = np.maximum(table.last_delay_s[np.ix_(rows, columns)], RESOLUTION_S)
    return np.asarray(delays_s * np.exp(np.clip(shift, -50, 50)))


ENOUGH_PAIRS = 10
"""The smallest number of pairs from which the noise is estimated."""


class Control(Struct, frozen=True, kw_only=True):
    """The differences between cases with the same delays, over ``pairs`` pairs, as shares.

    ``median`` and ``largest`` (95th percentile) describe the differences. ``scatter_factor`` is the factor by
    which the differences exceed those expected from the scatter between blocks; at least 1.
    """

    pairs: int
    median: float
    largest: float
    scatter_factor: float


def control(results: Results, samples: Mapping[str, CaseRepetitions]) -> Control | None:
    """The control of a study; None if too few of its cases must be equal."""
    from scipy.special import stdtrit  # loads slowly

    differences, errors, freedom = [], [], []
    for first, second in _equal_cases(results):
        blocks = [list(samples[row["case"]].deviations().values()) for row in (first, second)]
        if min(map(len, blocks)) < 2:
            continue
        variances = [float(np.var(logs, ddof=1)) / len(logs) for logs in blocks]
        logs = [np.log(max(row["last_delay_s"], RESOLUTION_S)) for row in (first, second)]
        differences.append(abs(logs[0] - logs[1]))
        errors.append(max(np.sqrt(sum(variances)), 1e-12))
        freedom.append(sum(map(len, blocks)) - 2)
    if len(differences) < ENOUGH_PAIRS:
        return None
    observed_median = float(np.median(np.array(differences) / np.array(errors)))
    expected_median = float(stdtrit(float(np.median(freedom)), 0.75))  # the median of |t|
    shares = np.expm1(differences)
    return Control(
        pairs=len(differences),
        median=float(np.median(shares)),
        largest=float(np.quantile(shares, 0.95)),
        scatter_factor=max(1.0, observed_median / expected_median),
    )


def _equal_cases(results: Results) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Pairs of measured cases that differ only in the names of their shapes."""
    with_repetitions = set(results.repetitions["case"])
    seed = pattern_seed(results.study)
    is_shape = (pl.col("pattern_kind") == "shape") & pl.col("shape").is_in(list(shapes.SHAPES))
    has_delay = pl.col("last_delay_s").is_finite() & (pl.col("status") != "quarantined")
    delays: dict[tuple[str, int, int], bytes] = {}
    same_delays: dict[tuple[object, ...], list[dict[str, Any]]] = {}
    for row in results.cases.filter(is_shape & has_delay.fill_null(False)).iter_rows(named=True):
        if (
            row["case"] not in with_repetitions
            or not row["skew_s"]
            or (row["shape"] == "node_delayed" and not row["ppn"])
        ):
            continue
        shape = (row["shape"], row["p"], row["ppn"])
        if shape not in delays:
            delays[shape] = shapes.delays(row["shape"], row["p"], 1.0, seed=seed, ppn=row["ppn"]).tobytes()
        key = tuple(row[name] for name in (*CONFIGURATION_COLUMNS, "algorithm", "skew_s"))
        same_delays.setdefault((*key, delays[shape]), []).append(row)
    return [pair for rows in same_delays.values() for pair in combinations(rows, 2)]


def pattern_seed(study: Mapping[str, Any]) -> int:
    """The seed of random shapes in a resolved study."""
    section = study.get("patterns")
    return int(section.get("seed", 1)) if isinstance(section, dict) else 1
