"""The delays of a case, estimated from its blocks, and their confidence intervals.

A case is measured in blocks, each at another time of the study and in another launch. Repetitions of one
block share what varies between launches (placement of processes and memory) and over time (other load): only
the scatter between blocks predicts what a repeated study would measure.

The delay of a case is the Hodges–Lehmann estimate over its blocks' delays: one disturbed block of five hardly
moves it, and of undisturbed blocks it is as good as their mean. The interval is Student's t over the
logarithms of the blocks' delays. With one block only, its own repetitions give the interval, which is then
too narrow for another launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct, structs
from numpy.typing import ArrayLike, NDArray

from offbeat.measurement.results.plausible import MAX_TIME_S
from offbeat.measurement.results.statistics import mean_interval, mean_over_calls, median_interval
from offbeat.model.study.communicators import CommunicatorLayout


class Samples(Struct, kw_only=True):
    """The repetitions of one block of a case: the times of every rank; ``block`` is its number, from 0.

    ``arrivals_s`` and ``exits_s`` are (repetitions × processes), of a partitioned send with several
    partitions (repetitions × p × partitions), in seconds on the shared clock since the repetition's deadline;
    ``valid`` is (repetitions,). ``overshoot_s`` is the largest start error of a valid repetition and
    ``clock_bound_s`` the largest error bound of the clock. ``failure`` is empty, or the reason why the case
    must be quarantined; the arrays then hold what was measured before the failure. For a replay, ``calls``
    holds the number of each repetition's call, from 0, (repetitions,). ``is_exact`` says that repeating would
    give the same numbers. ``layout`` divides the processes into communicators; None: they are one.
    """

    arrivals_s: NDArray[np.float64]
    exits_s: NDArray[np.float64]
    valid: NDArray[np.bool_]
    overshoot_s: float = 0.0
    clock_bound_s: float = 0.0
    failure: str = ""
    calls: NDArray[np.int64] | None = None
    is_exact: bool = False
    block: int = 0
    layout: CommunicatorLayout | None = None


RESOLUTION_S = 1e-9
"""The resolution of the clocks. A delay below it, including 0, is known only to this resolution."""


class Block(Struct, frozen=True, eq=False, dict=True):  # dict=True: for cached_property
    """One block of a case: d̂ and d* in seconds of each valid repetition, how many were invalid, and, of a
    replay, the number of each valid repetition's call."""

    last_delay_s: NDArray[np.float64]
    total_delay_s: NDArray[np.float64]
    invalid: int = 0
    calls: NDArray[np.int64] | None = None

    @cached_property
    def delay_s(self) -> float:
        """The block's last delay: the median, or of a replay the mean over its calls' medians."""
        return _central_delay(self.last_delay_s, self.calls)

    @cached_property
    def total_s(self) -> float:
        """The block's total delay: the median, or of a replay the mean over its calls' medians."""
        return _central_delay(self.total_delay_s, self.calls)


class Blocks(Struct, frozen=True, eq=False):
    """All blocks of a case so far.

    ``is_exact`` says that repeating would give the same numbers; ``overshoot_s`` and ``clock_bound_s`` are
    the largest of any block.
    """

    blocks: tuple[Block, ...] = ()
    overshoot_s: float = 0.0
    clock_bound_s: float = 0.0
    is_exact: bool = False

    def with_block(self, samples: Samples) -> Blocks:
        """These blocks and one more."""
        return Blocks(
            (*self.blocks, block_of(samples)),
            overshoot_s=max(self.overshoot_s, samples.overshoot_s),
            clock_bound_s=max(self.clock_bound_s, samples.clock_bound_s),
            is_exact=samples.is_exact,
        )

    def without_failed(self) -> Blocks:
        """These blocks without the last one if that has no repetition, because its launch failed."""
        last = self.blocks[-1:]
        is_failed = bool(last) and not len(last[0].last_delay_s) and not last[0].invalid
        return structs.replace(self, blocks=self.blocks[:-1]) if is_failed else self

    @property
    def valid(self) -> int:
        """The number of valid repetitions."""
        return sum(len(block.last_delay_s) for block in self.blocks)

    @property
    def total_repetitions(self) -> int:
        """The number of repetitions, valid or not."""
        return self.valid + sum(block.invalid for block in self.blocks)

    def covered_calls(self) -> int:
        """For a replay: the number of calls with a valid repetition."""
        return len({call for block in self.blocks if block.calls is not None for call in block.calls})

    def columns(self) -> dict[str, object]:
        """The columns of CASES that are computed from samples; no delays where no repetition is valid."""
        low_s, high_s = self.interval_s()
        has_delay = self.valid > 0
        return {
            "blocks": len(self.blocks),
            "repetitions": self.valid,
            "invalid": self.total_repetitions - self.valid,
            "last_delay_s": self.last_delay_s() if has_delay else None,
            "last_delay_low_s": low_s if has_delay else None,
            "last_delay_high_s": high_s if has_delay else None,
            "total_delay_s": hodges_lehmann([block.total_s for block in self.nonempty])
            if has_delay
            else None,
        }

    def last_delay_s(self) -> float:
        """The last delay of the case, in seconds; NaN without valid repetitions."""
        return hodges_lehmann([block.delay_s for block in self.nonempty])

    def interval_s(self, confidence: float = 0.95) -> tuple[float, float]:
        """The confidence interval of the last delay, in seconds; never without the estimate itself."""
        estimate_s = self.last_delay_s()
        if not self.nonempty or self.is_exact:
            return estimate_s, estimate_s
        if len(self.nonempty) > 1:
            return block_interval([block.delay_s for block in self.nonempty], estimate_s, confidence)
        (block,) = self.nonempty
        if block.calls is not None:
            return mean_interval(block.last_delay_s, block.calls, confidence)
        return median_interval(block.last_delay_s, confidence)

    @property
    def nonempty(self) -> list[Block]:
        """The blocks with valid repetitions."""
        return [block for block in self.blocks if len(block.last_delay_s)]


def delays(samples: Samples) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Last delay d̂ and total delay d* of each repetition, in seconds (paper: equations 1 and 2).

    Of several communicators the mean: each of them is a call of its own.
    """
    if len(samples.arrivals_s) == 0:
        return np.zeros(0), np.zeros(0)
    arrivals_s, exits_s = (
        times_s.reshape(len(times_s), 1, -1)
        if samples.layout is None or samples.layout.communicators == 1
        else samples.layout.by_communicator(times_s)
        for times_s in (samples.arrivals_s, samples.exits_s)
    )
    last_exit = exits_s.max(axis=2)
    last_s, total_s = last_exit - arrivals_s.max(axis=2), last_exit - arrivals_s.min(axis=2)
    return last_s.mean(axis=1), total_s.mean(axis=1)


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
    array = np.asarray(values, dtype=np.float64)
    if len(array) < 2:
        return float(array[0]) if len(array) else float("nan")
    first, second = np.triu_indices(len(array))
    return float(np.median((array[first] + array[second]) / 2))


def block_interval(
    values_s: Sequence[float], estimate_s: float, confidence: float = 0.95
) -> tuple[float, float]:
    """The confidence interval of a delay that two or more blocks estimate, in seconds: Student's t over the
    logarithms of their values. Values below the clock's resolution count as that, and no interval reaches
    beyond MAX_TIME_S: two blocks that differ by chance give no useful upper end."""
    from scipy.special import stdtrit  # loads slowly, and single blocks do not need it

    logs = np.log(np.maximum(np.asarray(values_s, dtype=np.float64), RESOLUTION_S))
    error = logs.std(ddof=1) / np.sqrt(len(logs))
    reach = float(np.exp(stdtrit(len(logs) - 1, (1 + confidence) / 2) * error))
    return estimate_s / reach, max(estimate_s, min(estimate_s * reach, MAX_TIME_S))


def _central_delay(values: NDArray[np.float64], calls: NDArray[np.int64] | None) -> float:
    if calls is not None:
        return mean_over_calls(values, calls)
    return float(np.median(values)) if len(values) else float("nan")
