"""Repeating a case until its median is known well enough."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from offbeat.results.repetitions import Samples
from offbeat.results.samples import delays
from offbeat.results.statistics import median_interval
from offbeat.study.schema import RepetitionsSection

NS = 1e-9
ATTEMPTS_PER_REPETITION = 4
GROWTH = 1.5
PATIENCE = 5.0
"""A case that misses its starts may take this many times its time cap to get its minimum, and never fewer
attempts than ``ATTEMPTS_PER_REPETITION`` for each repetition of it: slow ones get their minimum too."""

Batch = Callable[[int, int], str]
"""Measures so many valid repetitions in at most so many attempts, into the sample file; says why it failed,
or ''."""


def read_samples(path: Path, p: int) -> Samples:
    """The driver's sample file (see ``save`` in ``native/benchmark/measure.c``).

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
    low, high = median_interval(last_s)
    return (high - low) / 2 <= rule.confidence_width * abs(float(np.median(last_s)))


def repeat(
    batch: Batch, path: Path, p: int, rule: RepetitionsSection, clock: Callable[[], float] = time.monotonic
) -> Samples:
    """Measure in growing batches until it is enough, or the time cap is reached.

    Below the minimum it goes on, until ``PATIENCE`` runs out with starts that are missed again and again;
    then what there is is returned, and the caller sees that it is too little. A batch that fails ends the
    case with what was measured before it.
    """
    began = clock()
    samples, wanted = no_samples(p), rule.minimum
    most_tried = rule.minimum * ATTEMPTS_PER_REPETITION
    while True:
        failure = batch(wanted, wanted * ATTEMPTS_PER_REPETITION)
        if failure:
            return join(samples, no_samples(p, failure))
        samples = join(samples, read_samples(path, p))
        if is_enough(samples, rule):
            return samples
        count = int(samples.valid.sum())
        has_minimum = count >= rule.minimum
        spent_s = clock() - began
        if has_minimum and spent_s >= rule.time_cap:
            return samples
        if spent_s >= rule.time_cap * PATIENCE and samples.valid.size >= most_tried:
            return samples
        wanted = _next_batch(count, rule) if has_minimum else rule.minimum - count


def _next_batch(count: int, rule: RepetitionsSection) -> int:
    return max(1, min(math.ceil(count * (GROWTH - 1)), rule.maximum - count))
