"""How certain a choice is: what the same rule would choose if the study were repeated.

Each case was measured in blocks, in different rounds through the study and in different launches, so the
scatter between its blocks is what another study would differ by (:mod:`offbeat.results.blocks`). Repeated
studies are simulated: the logarithm of each case's delay moves by a combination of its blocks' deviations
with random weights, the same weights for all cases of a cell, so that what a whole launch shares does not
count between algorithms. Weights are normal, divided by the root of a χ² share, so that each delay follows
Student's t with the degrees of freedom that the blocks have; the variance is doubled, as both this study and
the repeated one are off by that much.

The rule then chooses in each of the simulated studies. What is said of a choice can be checked by repeating
the study: ``benchmarks/certainty.py`` does.
"""

from __future__ import annotations

import zlib

import numpy as np
import polars as pl
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.results.blocks import RESOLUTION_S, Block
from offbeat.select.rules import Rule, compared, scores_of, winners_of
from offbeat.select.table import DelayTable

PLAUSIBLE = 0.95
"""The share of repeated studies in which a loss is at most the plausible one."""

DISTINCT = 0.05
"""An algorithm that a larger share of repeated studies than this ranks before the choice ties with it."""


class Repeated(Struct, frozen=True, eq=False):
    """The valid repetitions of a case: d̂ in seconds, and the numbers of each one's block and, of a replay,
    of its call. ``blocks`` is None where it is not known which repetitions belong together."""

    last_delay_s: NDArray[np.float64]
    calls: NDArray[np.int64] | None = None
    blocks: NDArray[np.int64] | None = None

    def deviations(self) -> dict[int, float]:
        """Number of each block → how far the logarithm of its delay is from the mean over all blocks."""
        if self.blocks is None:
            return {}
        logs = {}
        for number in np.unique(self.blocks):
            own = self.blocks == number
            calls = None if self.calls is None else self.calls[own]
            block = Block(self.last_delay_s[own], self.last_delay_s[own], 0, calls)
            logs[int(number)] = float(np.log(max(block.delay_s, RESOLUTION_S)))
        middle = sum(logs.values()) / len(logs)
        return {number: log - middle for number, log in logs.items()}


class Certainty(Struct, frozen=True, kw_only=True):
    """What repeated studies would say of a choice, all as shares.

    ``same_choice`` of them choose the same algorithm; in ``within_tolerance`` of them the choice is at most
    the tolerance worse than the best. ``expected_loss`` is how much worse it is on average, and
    ``plausible_loss`` what it exceeds in 5% of them. ``noise_floor`` is the smallest lead over the next best
    algorithm that this study could have told from none, and ``ties`` names the algorithms whose distance from
    the choice is below what could be told.
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
"""The certainty of numbers that are the same in every study."""


def samples_of(repetitions: pl.DataFrame) -> dict[str, Repeated]:
    """The valid repetitions of every case."""
    usable = pl.col("valid") & pl.col("last_delay_s").is_finite()
    kept = repetitions.filter(usable).group_by("case", maintain_order=True)
    groups = kept.agg("last_delay_s", pl.col("call").drop_nulls(), pl.col("block").drop_nulls())
    return {
        case: Repeated(np.asarray(values, dtype=np.float64), _known(calls, values), _known(blocks, values))
        for case, values, calls, blocks in groups.iter_rows()
    }


def _known(numbers: list[int], values: list[float]) -> NDArray[np.int64] | None:
    return np.asarray(numbers, dtype=np.int64) if len(numbers) == len(values) else None


def certainty(
    table: DelayTable,
    rule: Rule,
    samples: dict[str, Repeated],
    algorithm: str,
    *,
    tolerance: float,
    resamples: int,
    seed: int,
    widening: float = 1.0,
) -> Certainty | None:
    """What ``resamples`` simulated repetitions of the study say of ``algorithm`` in one cell.

    ``tolerance`` is the loss, as a share, that counts as none. ``widening`` multiplies the scatter, where
    cases that must be equal differ by more than their blocks do (:mod:`offbeat.select.control`). None when it
    cannot be known: without resamples, without another algorithm to compare with, or when a compared case
    was measured in fewer than two blocks. The draws depend on ``seed`` and the cell alone.
    """
    rows = rule.rows(table)
    columns = compared(table, rows)
    drawn = _repeated_delays(table, rows, columns, samples, resamples, seed, widening)
    if drawn is None:
        return None
    names = [table.algorithms[j] for j in columns]
    scores = scores_of(rule, drawn, list(range(len(columns))))
    own = names.index(algorithm)
    loss = scores[:, own] / scores.min(axis=-1) - 1
    before = (scores < scores[:, [own]]).mean(axis=0)
    return Certainty(
        same_choice=float(np.mean(winners_of(scores) == own)),
        within_tolerance=float(np.mean(loss <= tolerance)),
        expected_loss=float(loss.mean()),
        plausible_loss=float(np.quantile(loss, PLAUSIBLE)),
        noise_floor=_noise_floor(scores, rule.scores(table), names, algorithm),
        ties=[name for name, share in zip(names, before, strict=True) if share > DISTINCT],
    )


def _noise_floor(
    scores: NDArray[np.float64], found: dict[str, float], names: list[str], algorithm: str
) -> float:
    """By how much an algorithm's lead over the next best shrinks in 5% of repeated studies, as a share."""
    rival = min((name for name in names if name != algorithm), key=lambda name: found[name])
    leads = np.log(scores[:, names.index(rival)] / scores[:, names.index(algorithm)])
    lost = np.log(found[rival] / found[algorithm]) - leads
    return max(0.0, float(np.expm1(np.quantile(lost, PLAUSIBLE))))


def _repeated_delays(
    table: DelayTable,
    rows: list[int],
    columns: list[int],
    samples: dict[str, Repeated],
    resamples: int,
    seed: int,
    widening: float,
) -> NDArray[np.float64] | None:
    """The delays that repeated studies would find, ``(resamples, rows, columns)`` in seconds; None where some
    case has too few blocks."""
    if table.cases is None or resamples < 1 or len(columns) < 2:
        return None
    cases = [[table.cases[i][j] for j in columns] for i in rows]
    if any(case not in samples for line in cases for case in line):
        return None
    deviations = [[samples[case].deviations() for case in line] for line in cases]
    counts = np.array([[len(one) for one in line] for line in deviations])
    if counts.min(initial=2) < 2:
        return None
    numbers = sorted({number for line in deviations for one in line for number in one})
    scatter = np.array(
        [[[one.get(number, 0.0) for one in line] for line in deviations] for number in numbers]
    )
    generator = np.random.default_rng([seed, zlib.crc32(str(table.cell).encode())])
    weights = generator.normal(size=(resamples, len(numbers)))
    freedom = int(counts.min()) - 1
    spread = np.sqrt(generator.chisquare(freedom, resamples) / freedom)
    moved = np.tensordot(weights, scatter, 1) / np.sqrt(counts * (counts - 1))
    moved *= np.sqrt(2) * widening / spread[:, np.newaxis, np.newaxis]
    delays_s = np.maximum(table.last_delay_s[np.ix_(rows, columns)], RESOLUTION_S)
    return np.asarray(delays_s * np.exp(np.clip(moved, -50, 50)))
