"""What the blocks of a case say together: its last and total delay, and how well they are known.

A case is measured in blocks, each at another time of the study and in another launch. Repetitions of one
block share what differs between launches (where processes and their memory are) and between minutes (what
else the machine does), so their scatter does not show it: two blocks of one case lie further apart than the
intervals of their medians allow. What a repeated study would find is told by the scatter between blocks.

The delay of a case is the Hodges–Lehmann estimate over its blocks' delays: the median of the means of all
pairs, each block being a pair with itself. One disturbed block of five hardly moves it, and of undisturbed
blocks it is as good as their mean. The interval is Student's t over the logarithms of the blocks' delays.
With one block only, its own repetitions give the interval, which is then too narrow for another launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from offbeat.results.plausible import LONGEST_S
from offbeat.results.repetitions import Samples
from offbeat.results.samples import delays
from offbeat.results.statistics import mean_interval, mean_over_calls, median_interval

RESOLUTION_S = 1e-9
"""The finest step of the clocks in use. A delay below it, 0 included, is unknown to that step."""


class Block(Struct, frozen=True, eq=False, dict=True):  # dict: where the delays are kept once computed
    """One block of a case: d̂ and d* in seconds of each valid repetition, how many were invalid, and, of a
    replay, the number of each valid repetition's call."""

    last_delay_s: NDArray[np.float64]
    total_delay_s: NDArray[np.float64]
    invalid: int = 0
    calls: NDArray[np.int64] | None = None

    @cached_property
    def delay_s(self) -> float:
        """The block's last delay: the median, or of a replay the mean over its calls' medians."""
        return _middle(self.last_delay_s, self.calls)

    @cached_property
    def total_s(self) -> float:
        """The block's total delay, in the same way."""
        return _middle(self.total_delay_s, self.calls)


class Blocks(Struct, frozen=True, eq=False):
    """All blocks of a case so far. ``is_exact`` says that repeating would give the same numbers, and
    ``overshoot_s`` and ``clock_bound_s`` are the largest of any block."""

    blocks: tuple[Block, ...] = ()
    overshoot_s: float = 0.0
    clock_bound_s: float = 0.0
    is_exact: bool = False

    def joined(self, samples: Samples) -> Blocks:
        """These blocks and one more."""
        return Blocks(
            (*self.blocks, block_of(samples)),
            overshoot_s=max(self.overshoot_s, samples.overshoot_s),
            clock_bound_s=max(self.clock_bound_s, samples.clock_bound_s),
            is_exact=samples.is_exact,
        )

    @property
    def valid(self) -> int:
        """How many valid repetitions there are."""
        return sum(len(block.last_delay_s) for block in self.blocks)

    @property
    def tried(self) -> int:
        """How many repetitions there are, valid or not."""
        return self.valid + sum(block.invalid for block in self.blocks)

    def calls_met(self) -> int:
        """Of a replay: how many of its calls have a valid repetition."""
        return len({call for block in self.blocks if block.calls is not None for call in block.calls})

    def measures(self) -> dict[str, object]:
        """The columns of CASES that are computed from samples; no delays where no repetition is valid."""
        low_s, high_s = self.interval_s()
        has_delay = self.valid > 0
        return {
            "blocks": len(self.blocks),
            "repetitions": self.valid,
            "invalid": self.tried - self.valid,
            "last_delay_s": self.last_delay_s() if has_delay else None,
            "last_delay_low_s": low_s if has_delay else None,
            "last_delay_high_s": high_s if has_delay else None,
            "total_delay_s": hodges_lehmann([block.total_s for block in self.filled]) if has_delay else None,
        }

    def last_delay_s(self) -> float:
        """The last delay of the case, in seconds; NaN without valid repetitions."""
        return hodges_lehmann([block.delay_s for block in self.filled])

    def interval_s(self) -> tuple[float, float]:
        """The 95% confidence interval of the last delay, in seconds; never without the estimate itself."""
        estimate_s = self.last_delay_s()
        if not self.filled or self.is_exact:
            return estimate_s, estimate_s
        if len(self.filled) > 1:
            return block_interval([block.delay_s for block in self.filled], estimate_s)
        (only,) = self.filled
        if only.calls is not None:
            return mean_interval(only.last_delay_s, only.calls)
        return median_interval(only.last_delay_s)

    @property
    def filled(self) -> list[Block]:
        """The blocks with valid repetitions."""
        return [block for block in self.blocks if len(block.last_delay_s)]


def block_of(samples: Samples) -> Block:
    """The valid repetitions of a block's samples, as delays."""
    valid = np.asarray(samples.valid, dtype=np.bool_)
    last_s, total_s = delays(samples)
    return Block(
        last_delay_s=last_s[valid],
        total_delay_s=total_s[valid],
        invalid=int(len(valid) - valid.sum()),
        calls=None if samples.calls is None else samples.calls[valid],
    )


def hodges_lehmann(values: ArrayLike) -> float:
    """The median of the means of all pairs of values, each value being a pair with itself (Hodges and
    Lehmann, 1963); of one value that value, of none NaN."""
    given = np.asarray(values, dtype=np.float64)
    if len(given) < 2:
        return float(given[0]) if len(given) else float("nan")
    first, second = np.triu_indices(len(given))
    return float(np.median((given[first] + given[second]) / 2))


def block_interval(
    values_s: Sequence[float], estimate_s: float, confidence: float = 0.95
) -> tuple[float, float]:
    """The confidence interval of a delay that two or more blocks estimate, in seconds: Student's t over the
    logarithms of their values. Values below the clock's resolution count as that, and no interval reaches
    beyond LONGEST_S: two blocks that differ by chance say nothing about an upper end."""
    from scipy.special import stdtrit  # takes long to load, and single blocks do without

    logs = np.log(np.maximum(np.asarray(values_s, dtype=np.float64), RESOLUTION_S))
    error = logs.std(ddof=1) / np.sqrt(len(logs))
    reach = float(np.exp(stdtrit(len(logs) - 1, (1 + confidence) / 2) * error))
    return estimate_s / reach, max(estimate_s, min(estimate_s * reach, LONGEST_S))


def _middle(values: NDArray[np.float64], calls: NDArray[np.int64] | None) -> float:
    if calls is not None:
        return mean_over_calls(values, calls)
    return float(np.median(values)) if len(values) else float("nan")
