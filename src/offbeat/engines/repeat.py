"""Repeating a case until its delay is known well enough: within a block, and over blocks.

A block is repeated until its own median, or the mean over the calls of a replay, has its part of the accuracy
that the study asks for; blocks are added until their scatter allows the interval that the study asks for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from offbeat.results.blocks import Blocks
from offbeat.results.repetitions import Samples
from offbeat.results.samples import delays
from offbeat.results.statistics import mean_interval, mean_over_calls, median_interval
from offbeat.study.schema import RepetitionsSection

NS = 1e-9
ATTEMPTS_PER_REPETITION = 4
ROUNDS = 3
"""So many rounds through its calls are a replay's minimum: of fewer repetitions there is no middle one."""

GROWTH = 1.5
PATIENCE = 5.0
"""A case that misses its starts may take this many times its time cap to get its minimum, and never fewer
attempts than ``ATTEMPTS_PER_REPETITION`` for each repetition of it: slow ones get their minimum too."""

LEAST_IN_BLOCK = 3
"""A block has so many repetitions at least, where the study's maximum allows: fewer have no middle one."""

MOST_BLOCKS = 2
"""A case may have so many times the blocks that its study asks for."""

Batch = Callable[[int, int], str]
"""Measures so many valid repetitions in at most so many attempts, into the sample file; says why it failed,
or ''."""


def read_samples(path: Path, p: int) -> Samples:
    """The driver's sample file (see ``save_samples`` in ``native/benchmark/measure.c``).

    Raises ValueError where the file does not hold whole repetitions.
    """
    raw = np.fromfile(path, dtype=np.int64)
    repetitions, rest = divmod(raw.size, 4 * p + 1)
    if rest:
        raise ValueError(f"{path} holds {raw.size} numbers, which are no whole repetitions of {p} ranks")
    times = raw[: 4 * p * repetitions].reshape(p, repetitions, 4)
    valid = raw[4 * p * repetitions :].astype(bool)
    return Samples(
        arrivals_s=np.asarray(times[:, :, 0].T * NS, dtype=np.float64),
        exits_s=np.asarray(times[:, :, 1].T * NS, dtype=np.float64),
        valid=valid,
        overshoot_s=float(times[:, valid, 2].max(initial=0)) * NS,
        clock_bound_s=float(times[:, :, 3].max(initial=0)) * NS,
    )


def sample_bytes(repetitions: int, p: int) -> int:
    """The size of a sample file with so many repetitions, in bytes."""
    return repetitions * (4 * p + 1) * np.dtype(np.int64).itemsize


def join(first: Samples, second: Samples) -> Samples:
    """One after the other."""
    return Samples(
        arrivals_s=np.concatenate([first.arrivals_s, second.arrivals_s]),
        exits_s=np.concatenate([first.exits_s, second.exits_s]),
        valid=np.concatenate([first.valid, second.valid]),
        overshoot_s=max(first.overshoot_s, second.overshoot_s),
        clock_bound_s=max(first.clock_bound_s, second.clock_bound_s),
        failure=first.failure or second.failure,
    )


def no_samples(p: int, failure: str = "") -> Samples:
    """A case of which nothing was measured."""
    nothing = np.zeros((0, p))
    return Samples(arrivals_s=nothing, exits_s=nothing, valid=np.zeros(0, dtype=bool), failure=failure)


def last_delays_s(samples: Samples) -> NDArray[np.float64]:
    """d̂ of each valid repetition, in seconds."""
    return delays(samples)[0][samples.valid]


def is_enough(samples: Samples, rule: RepetitionsSection) -> bool:
    """Whether the minimum is reached, and half the median's confidence interval is within the rule's share of
    it."""
    count = int(samples.valid.sum())
    if count < rule.minimum:
        return False
    if count >= rule.maximum:
        return True
    last_s = last_delays_s(samples)
    return _is_narrow(median_interval(last_s), float(np.median(last_s)), rule)


def is_replayed_enough(samples: Samples, calls: int, rule: RepetitionsSection, rounds: int = ROUNDS) -> bool:
    """The same of a replay of so many calls, after ``rounds`` whole rounds: of the mean over its calls.

    With a single round, what it yields is enough: the scatter between calls is no error of measurement.
    """
    assert samples.calls is not None
    done, rest = divmod(int(samples.valid.sum()), calls)
    if rest or done * calls < rule.minimum or done < min(rounds, rule.maximum):
        return False
    if done >= rule.maximum or rounds == 1:
        return True
    last_s, of = last_delays_s(samples), samples.calls[samples.valid]
    return _is_narrow(mean_interval(last_s, of), mean_over_calls(last_s, of), rule)


def _is_narrow(interval: tuple[float, float], middle: float, rule: RepetitionsSection) -> bool:
    low, high = interval
    return (high - low) / 2 <= rule.confidence_width * abs(middle)


def block_rule(rule: RepetitionsSection) -> RepetitionsSection:
    """The part of a study's rule that one block of a case has to fulfil: its share of the repetitions and of
    the time, and an interval that is wider by the square root of the number of blocks."""
    blocks = rule.planned_blocks
    if blocks == 1:
        return rule
    maximum = math.ceil(rule.maximum / blocks)
    return msgspec.structs.replace(
        rule,
        minimum=min(maximum, max(LEAST_IN_BLOCK, math.ceil(rule.minimum / blocks))),
        maximum=maximum,
        time_cap=rule.time_cap / blocks,
        confidence_width=min(rule.confidence_width * math.sqrt(blocks), 0.999),
    )


def are_enough_blocks(measured: Blocks, rule: RepetitionsSection, calls: int = 0) -> bool:
    """Whether a case needs no further block: its blocks are as many as planned, and they agree as well as
    asked for or the repetitions are used up. ``calls`` is how many calls a replay has."""
    count, planned = len(measured.blocks), rule.planned_blocks
    if count < planned:
        return False
    if planned == 1 or count >= MOST_BLOCKS * planned:
        return True
    if measured.valid + block_rule(rule).minimum * (calls or 1) > rule.maximum * (calls or 1):
        return True
    return measured.valid > 0 and _is_narrow(measured.interval_s(), measured.last_delay_s(), rule)


def repeat(
    batch: Batch,
    path: Path,
    p: int,
    rule: RepetitionsSection,
    clock: Callable[[], float] = time.monotonic,
    *,
    calls: int = 0,
    rounds: int = ROUNDS,
) -> Samples:
    """Measure in growing batches until it is enough, or the time cap is reached.

    Below the minimum it goes on, until ``PATIENCE`` runs out with starts that are missed again and again;
    then what there is is returned, and the caller sees that it is too little. A batch that fails ends the
    case with what was measured before it.

    ``calls`` says that the case is a replay of so many: each valid repetition is of the next one, and they
    are measured in whole rounds. Its minimum is ``rounds`` of them, and more where those would be fewer
    repetitions than the rule's; the rule's maximum holds for each call. What time allowed of a round counts.
    """
    began = clock()
    whole = calls or 1
    minimum = max(math.ceil(rule.minimum / whole), min(rounds, rule.maximum) if calls else 0) * whole
    samples, wanted = _numbered(no_samples(p), calls), minimum
    most_tried = rule.minimum * ATTEMPTS_PER_REPETITION
    while True:
        failure = batch(wanted, wanted * ATTEMPTS_PER_REPETITION)
        if failure:
            return _numbered(join(samples, no_samples(p, failure)), calls)
        samples = _numbered(join(samples, read_samples(path, p)), calls)
        count = int(samples.valid.sum())
        if is_replayed_enough(samples, calls, rule, rounds) if calls else is_enough(samples, rule):
            return samples
        has_minimum = count >= minimum
        spent_s = clock() - began
        if has_minimum and spent_s >= rule.time_cap:
            return samples
        if spent_s >= rule.time_cap * PATIENCE and samples.valid.size >= most_tried:
            return samples
        wanted = _next_batch(count, whole, rule) if has_minimum else minimum - count


def _next_batch(count: int, whole: int, rule: RepetitionsSection) -> int:
    """So many repetitions more; of a replay, what is left of a round, or whole rounds."""
    begun = count % whole
    if begun:
        return whole - begun
    rounds = count // whole
    return whole * max(1, min(math.ceil(rounds * (GROWTH - 1)), rule.maximum - rounds))


def _numbered(samples: Samples, calls: int) -> Samples:
    """With the number of each repetition's call: an invalid one is of the same call as the next."""
    if calls:
        valid = samples.valid.astype(np.int64)
        samples.calls = (np.cumsum(valid) - valid) % calls
    return samples
