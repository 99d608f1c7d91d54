"""Repeating a case until its delay is known with the required accuracy: within a block, and over blocks.

A block is repeated until its own median, or the mean over the calls of a replay, has the accuracy that the
study requires of one block; blocks are added until their scatter allows the interval that the study requires.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from offbeat.base.reading import RESULT_BYTES, read_file
from offbeat.base.units import amount
from offbeat.measurement.results.blocks import Blocks, Samples, delays
from offbeat.measurement.results.layout import UNFINISHED_CASE
from offbeat.measurement.results.statistics import mean_interval, mean_over_calls, median_interval
from offbeat.model.study.communicators import CommunicatorLayout
from offbeat.model.study.schema import RepetitionsSection

S_PER_NS = 1e-9
ATTEMPTS_PER_REPETITION = 4
"""The most starts per requested repetition, because late starts are invalid."""

ROUNDS = 3
"""At least three rounds through the calls of a replay, so that the median of each call is defined."""

BATCH_GROWTH = 1.5
"""Each batch multiplies the number of rounds measured so far by this factor."""

TIME_CAP_MULTIPLE = 5.0
"""A case with many late starts may take this multiple of its time cap to reach its minimum, and always gets
``ATTEMPTS_PER_REPETITION`` attempts per repetition of its minimum: slow cases reach their minimum too."""

LEAST_IN_BLOCK = 3
"""The fewest repetitions of a block, if the study's maximum allows them, so that the median is defined."""

BLOCKS_MULTIPLE = 2
"""A case may have at most this multiple of the blocks that its study plans."""

MeasureBatch = Callable[[int, int], str]
"""Measures a number of valid repetitions in at most a number of attempts, into the sample file; returns the
reason for a failure, or ''."""


def read_samples(
    path: Path, p: int, partitions: int = 1, layout: CommunicatorLayout | None = None
) -> Samples:
    """The driver's sample file (see ``save_samples`` in ``native/benchmark/samples.c``).

    Raises ValueError if the file does not hold complete repetitions.
    """
    content = read_file(path, RESULT_BYTES)
    raw = np.frombuffer(content, dtype=np.int64, count=len(content) // np.dtype(np.int64).itemsize)
    columns = 4 * p * partitions
    repetitions, rest = divmod(raw.size, columns + 1)
    if rest:
        raise ValueError(f"{path} holds {raw.size} numbers, which is not a multiple of those for {p} ranks")
    times = raw[: columns * repetitions].reshape(p, repetitions, partitions, 4).swapaxes(0, 1)
    valid = raw[columns * repetitions :].astype(bool)
    shape = (repetitions, p) if partitions == 1 else (repetitions, p, partitions)
    return Samples(
        arrivals_s=np.asarray(times[..., 0].reshape(shape) * S_PER_NS, dtype=np.float64),
        exits_s=np.asarray(times[..., 1].reshape(shape) * S_PER_NS, dtype=np.float64),
        valid=valid,
        overshoot_s=float(times[valid, ..., 2].max(initial=0)) * S_PER_NS,
        clock_bound_s=float(times[..., 3].max(initial=0)) * S_PER_NS,
        layout=layout,
    )


def sample_bytes(repetitions: int, p: int, partitions: int = 1) -> int:
    """The size of a sample file in bytes."""
    return repetitions * (4 * p * partitions + 1) * np.dtype(np.int64).itemsize


def join(first: Samples, second: Samples) -> Samples:
    """Concatenate the repetitions of both."""
    return Samples(
        arrivals_s=np.concatenate([first.arrivals_s, second.arrivals_s]),
        exits_s=np.concatenate([first.exits_s, second.exits_s]),
        valid=np.concatenate([first.valid, second.valid]),
        overshoot_s=max(first.overshoot_s, second.overshoot_s),
        clock_bound_s=max(first.clock_bound_s, second.clock_bound_s),
        failure=first.failure or second.failure,
        layout=first.layout or second.layout,
    )


def no_samples(p: int, failure: str = "", partitions: int = 1) -> Samples:
    """The samples of a case of p processes without any repetition."""
    empty = np.zeros((0, p) if partitions == 1 else (0, p, partitions))
    return Samples(arrivals_s=empty, exits_s=empty, valid=np.zeros(0, dtype=bool), failure=failure)


def last_delays_s(samples: Samples) -> NDArray[np.float64]:
    """d̂ of each valid repetition, in seconds."""
    return delays(samples)[0][samples.valid]


def is_enough(samples: Samples, rule: RepetitionsSection) -> bool:
    """Whether the minimum is reached and the median's interval is as narrow as the rule requires."""
    count = int(samples.valid.sum())
    if count < rule.minimum:
        return False
    if count >= rule.maximum:
        return True
    last_s = last_delays_s(samples)
    return _is_narrow(median_interval(last_s, rule.confidence), float(np.median(last_s)), rule)


def is_replayed_enough(samples: Samples, calls: int, rule: RepetitionsSection, rounds: int = ROUNDS) -> bool:
    """Whether the mean over the calls of a replay is known well enough, after ``rounds`` complete rounds.

    A single round is enough by itself: the scatter between calls is not a measurement error.
    """
    assert samples.calls is not None
    complete_rounds, rest = divmod(int(samples.valid.sum()), calls)
    if rest or complete_rounds * calls < rule.minimum or complete_rounds < min(rounds, rule.maximum):
        return False
    if complete_rounds >= rule.maximum or rounds == 1:
        return True
    last_s, call_of_each = last_delays_s(samples), samples.calls[samples.valid]
    interval = mean_interval(last_s, call_of_each, rule.confidence)
    return _is_narrow(interval, mean_over_calls(last_s, call_of_each), rule)


def _is_narrow(interval: tuple[float, float], estimate: float, rule: RepetitionsSection) -> bool:
    low, high = interval
    return (high - low) / 2 <= rule.confidence_width * abs(estimate)


def block_rule(rule: RepetitionsSection) -> RepetitionsSection:
    """The rule for one block of a case: the block's share of the repetitions and of the time, and an interval
    that is wider by the square root of the number of blocks."""
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


def are_enough_blocks(blocks: Blocks, rule: RepetitionsSection, calls: int = 0) -> bool:
    """Whether a case needs no further block: all planned blocks are measured, and their interval is narrow
    enough or the repetitions are used up. ``calls`` is the number of calls of a replay."""
    count, planned_count = len(blocks.blocks), rule.planned_blocks
    if count < planned_count:
        return False
    if planned_count == 1 or count >= BLOCKS_MULTIPLE * planned_count:
        return True
    if blocks.total_repetitions < rule.minimum:  # the minimum was raised after these blocks were measured
        return False
    if blocks.valid + block_rule(rule).minimum * (calls or 1) > rule.maximum * (calls or 1):
        return True
    interval = blocks.interval_s(rule.confidence)
    return blocks.valid > 0 and _is_narrow(interval, blocks.last_delay_s(), rule)


def judge_blocks(blocks: Blocks, rule: RepetitionsSection, calls: int = 0) -> tuple[str, str]:
    """The status of a case with these blocks, and the reason if it is not ``blocks``."""
    if not are_enough_blocks(blocks, rule, calls):
        planned_count = max(rule.planned_blocks, len(blocks.blocks) + 1)
        return UNFINISHED_CASE, f"{len(blocks.blocks)} of {planned_count} blocks"
    return judge_repetitions(blocks, rule.minimum, calls)


def judge_repetitions(blocks: Blocks, minimum: int, calls: int = 0) -> tuple[str, str]:
    """The status of a case that gets no further block, and the reason if it is not ``blocks``."""
    if calls and (measured_calls := blocks.covered_calls()) < calls:
        return "incomplete", f"time allowed {measured_calls} of its {amount(calls, 'call')}"
    if blocks.valid >= minimum:
        return "measured", ""
    if blocks.total_repetitions < minimum:
        return (
            "incomplete",
            f"{blocks.valid} of {amount(minimum, 'repetition')}; raise repetitions.blocks",
        )
    return "incomplete", "too few starts were on time"


def repeat(
    measure_batch: MeasureBatch,
    path: Path,
    p: int,
    rule: RepetitionsSection,
    clock: Callable[[], float] = time.monotonic,
    *,
    partitions: int = 1,
    calls: int = 0,
    rounds: int = ROUNDS,
    layout: CommunicatorLayout | None = None,
) -> Samples:
    """Measure in growing batches until the accuracy or the time cap is reached.

    Below the minimum, measuring continues beyond the time cap, up to ``TIME_CAP_MULTIPLE`` time caps; then
    fewer samples than the minimum are returned. If a batch fails, the earlier samples are returned with the
    failure.

    ``p`` is the number of processes, which ``layout`` divides into communicators (None: into a single one).
    ``calls`` is the number of calls of a replay: each valid repetition belongs to the next call, and calls
    are measured in complete rounds. The minimum is ``rounds`` rounds, or more if these have fewer repetitions
    than the rule's minimum; the rule's maximum holds for each call. A round that the time cap cut short
    counts.
    """
    started_s = clock()
    round_length = calls or 1
    least_rounds = max(math.ceil(rule.minimum / round_length), min(rounds, rule.maximum) if calls else 0)
    minimum = least_rounds * round_length
    samples, batch_size = _number_calls(no_samples(p, partitions=partitions), calls), minimum
    least_attempts = rule.minimum * ATTEMPTS_PER_REPETITION
    while True:
        failure = measure_batch(batch_size, batch_size * ATTEMPTS_PER_REPETITION)
        if failure:
            return _number_calls(join(samples, no_samples(p, failure, partitions)), calls)
        samples = _number_calls(join(samples, read_samples(path, p, partitions, layout)), calls)
        count = int(samples.valid.sum())
        if is_replayed_enough(samples, calls, rule, rounds) if calls else is_enough(samples, rule):
            return samples
        has_minimum = count >= minimum
        spent_s = clock() - started_s
        if has_minimum and spent_s >= rule.time_cap:
            return samples
        if spent_s >= rule.time_cap * TIME_CAP_MULTIPLE and samples.valid.size >= least_attempts:
            return samples
        batch_size = _next_batch(count, round_length, rule) if has_minimum else minimum - count


def _next_batch(count: int, round_length: int, rule: RepetitionsSection) -> int:
    """The number of further repetitions; for a replay, the rest of a round, or complete rounds."""
    partial_round = count % round_length
    if partial_round:
        return round_length - partial_round
    rounds = count // round_length
    return round_length * max(1, min(math.ceil(rounds * (BATCH_GROWTH - 1)), rule.maximum - rounds))


def _number_calls(samples: Samples, calls: int) -> Samples:
    """Set the call of each repetition: an invalid repetition belongs to the same call as the next one."""
    if calls:
        valid = samples.valid.astype(np.int64)
        samples.calls = (np.cumsum(valid) - valid) % calls
    return samples
