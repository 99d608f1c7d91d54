"""What partitioned messages gain on a platform, by message size and number of partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Protocol

import numpy as np
from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.units import amount, format_bandwidth, format_time
from offbeat.model.pattern import SHAPE_NAMES
from offbeat.model.pattern.pattern_file import shape_pattern
from offbeat.model.pattern.replay_file import Replay, read_any
from offbeat.model.platform.message_times import MessagePath, message_parts_s, message_paths
from offbeat.model.platform.schema import PlatformFile
from offbeat.model.study.algorithm import LEARNED, OWN
from offbeat.partitioned.cost_fit import fit_of
from offbeat.partitioned.costs import MOST_MESSAGES, SINGLE, Costs, time_s
from offbeat.partitioned.delay_rate import Computation, last_delayed_s
from offbeat.partitioned.gain_model import Times, aggregated, mean_delay_s, pipelined_s

MAX_TRIALS, MIN_TRIALS, MAX_VALUES = 1000, 20, 2**22
"""Random computations of which a prediction is the mean: fewer where they have more partitions in all."""

SEED = 1

MAX_PARTITIONS = 2**16
"""More partitions of a message than any program uses."""


class ReadySource(Protocol):
    """Says when the partitions of a message become ready."""

    def ready_s(self, threads: int, partitions_per_thread: int, partition_bytes: float) -> Times:
        """Ready times in seconds, (trials, threads × partitions_per_thread)."""
        ...


class LastDelayed(Struct, frozen=True, kw_only=True):
    """The last partition is late by ``delay_rate`` seconds per byte of a partition, the others are not."""

    delay_rate: float

    def ready_s(self, threads: int, partitions_per_thread: int, partition_bytes: float) -> Times:
        """A single trial: (1, threads × partitions_per_thread)."""
        return last_delayed_s(threads * partitions_per_thread, self.delay_rate * partition_bytes)[None]


class RandomComputation(Struct, frozen=True, kw_only=True):
    """Each thread computes its partitions in turn, for times with random noise."""

    computation: Computation

    def ready_s(self, threads: int, partitions_per_thread: int, partition_bytes: float) -> Times:
        """Random trials, the same in every call."""
        trials = max(MIN_TRIALS, min(MAX_TRIALS, MAX_VALUES // (threads * partitions_per_thread)))
        return self.computation.ready_times_s(threads, partitions_per_thread, partition_bytes, trials, SEED)


class GivenDelays(Struct, frozen=True, kw_only=True):
    """The delays of a pattern file, a replay file or a shape.

    In a pattern file with a delay for each rank and partition, a line is a thread. A call of a replay file is
    a trial.
    """

    name: str
    skew_s: float

    def ready_s(self, threads: int, partitions_per_thread: int, partition_bytes: float) -> Times:
        """The delays, whatever the partitions' size. Raises BadInput for another number of delays, and for
        node_delayed."""
        if self.name == "node_delayed":
            raise BadInput("'node_delayed' delays processes, not partitions; take another shape")
        partitions = threads * partitions_per_thread
        delays_s = _delays_of(self.name, partitions, self.skew_s)
        if delays_s.shape[1] != partitions:
            raise BadInput(
                f"{self.name} has {delays_s.shape[1]} delays, but {amount(threads, 'thread')} with"
                f" {amount(partitions_per_thread, 'partition')} each need {partitions}"
            )
        return delays_s


class Prediction(Struct, frozen=True, kw_only=True):
    """The times of a message of ``total_bytes``, from the last ready partition to the arrival of all bytes.

    ``delay_s`` is the time between the first and the last ready partition. ``single_s`` is the time of one
    message, ``each_s`` that of one message a partition (of ``offbeat``, at most 1024), ``best_s`` that of
    ``best_messages`` messages of neighbouring partitions. Times are means over the trials.
    """

    total_bytes: int
    threads: int
    partitions_per_thread: int
    delay_s: float
    single_s: float
    each_s: float
    best_messages: int
    best_s: float

    @property
    def partitions(self) -> int:
        """The partitions of the message."""
        return self.threads * self.partitions_per_thread

    @property
    def gain(self) -> float:
        """η of one message a partition: the time of a single message divided by its time."""
        return self.single_s / self.each_s

    @property
    def best_gain(self) -> float:
        """η of the best number of messages."""
        return self.single_s / self.best_s


def check_partitions(threads: int, per_thread: Iterable[int]) -> None:
    """Raise BadInput if a message would have more than MAX_PARTITIONS partitions."""
    for number in per_thread:
        if threads * number > MAX_PARTITIONS:
            raise BadInput(
                f"{threads} threads with {number} partitions each: a message has at most {MAX_PARTITIONS}"
                " partitions"
            )


class MessageTimes(Protocol):
    """How long messages between two processes take."""

    @property
    def label(self) -> str:
        """The platform, and which messages these are."""
        ...

    @property
    def description(self) -> str:
        """What the times are computed from."""
        ...

    def counts(self, partitions: int) -> list[int]:
        """The numbers of messages that can be sent, ascending; the last one is nearest to one a partition."""
        ...

    def single_s(self, ready_s: Times, total_bytes: int, threads: int) -> Times:
        """As ``times_s``, of a message that is sent whole."""
        ...

    def times_s(self, ready_s: Times, total_bytes: int, threads: int, messages: int) -> Times:
        """From the last of the ready times (trials, partitions) to the arrival of all bytes: (trials,)."""
        ...


class Network(Struct, frozen=True, kw_only=True):
    """Times of the paper's model, from the latencies and bandwidths of a platform.

    ``message_cost_s`` is the time for which a message occupies the sender before its bytes move. Without it,
    each message costs the latency, as equation 5 assumes: messages then don't overlap at all.
    """

    platform: PlatformFile
    path: MessagePath
    message_cost_s: float | None = None

    @property
    def label(self) -> str:
        """The platform and the path."""
        return f"{self.platform.name}, {self.path.name}"

    @property
    def description(self) -> str:
        """The latency and the bandwidth of the path."""
        path = self.path
        return f"latency {format_time(path.latency_s)}, {format_bandwidth(path.bandwidth)}"

    def counts(self, partitions: int) -> list[int]:
        """See :func:`powers_of_two`."""
        return powers_of_two(partitions)

    def single_s(self, ready_s: Times, total_bytes: int, threads: int) -> Times:
        """See :class:`MessageTimes`; the same in all trials."""
        (occupied_s,), latency_s = self._costs_s(np.array([total_bytes], dtype=np.float64))
        return np.full(len(ready_s), occupied_s + latency_s)

    def times_s(self, ready_s: Times, total_bytes: int, threads: int, messages: int) -> Times:
        """See :class:`MessageTimes`; the number of threads makes no difference."""
        message_ready_s, sizes = aggregated(ready_s, total_bytes / ready_s.shape[-1], messages)
        occupied_s, latency_s = self._costs_s(sizes)
        return pipelined_s(message_ready_s, occupied_s, latency_s)

    def _costs_s(self, sizes: Times) -> tuple[Times, float]:
        """For messages of these sizes in bytes: the seconds for which each occupies the link, and those from
        there to the arrival of the last one."""
        occupied_s, flight_s = message_parts_s(self.platform, self.path, sizes)
        if self.message_cost_s is None:
            return occupied_s + flight_s, 0.0
        return occupied_s - self.platform.messages.send_overhead + self.message_cost_s, float(flight_s.max())


class FittedMessages(Struct, frozen=True, kw_only=True):
    """Times from the costs that were fitted to measurements: of one approach, and of a single message."""

    platform: str
    approach: str
    costs: Costs
    single: Costs

    @property
    def label(self) -> str:
        """The platform and the approach."""
        return f"{self.platform}, {self.approach}"

    @property
    def description(self) -> str:
        """Whose costs."""
        return f"fitted costs of {self.approach}, and of {SINGLE} for a single message"

    def counts(self, partitions: int) -> list[int]:
        """Of offbeat's approach, see :func:`powers_of_two`; others send each partition by itself."""
        return powers_of_two(min(partitions, MOST_MESSAGES)) if self.approach == OWN else [partitions]

    def single_s(self, ready_s: Times, total_bytes: int, threads: int) -> Times:
        """By the costs of ``single``."""
        return time_s(self.single, ready_s, total_bytes, threads, 1)

    def times_s(self, ready_s: Times, total_bytes: int, threads: int, messages: int) -> Times:
        """By the costs of the approach."""
        return time_s(self.costs, ready_s, total_bytes, threads, messages)


def fitted_messages(platform: PlatformFile, approach: str) -> FittedMessages:
    """The costs of an approach in a platform file. Raises BadInput if it has none, or none of ``single``."""
    if approach in (SINGLE, LEARNED):
        raise BadInput(
            f"--approach {approach}: it has no number of messages to be predicted; give {OWN} or another one"
        )
    costs = {one.approach: fit_of(one).costs for one in platform.partitioned}
    for name in (approach, SINGLE):
        if name not in costs:
            fitted = ", ".join(costs) or "none"
            raise BadInput(
                f"--approach {approach}: the platform {platform.name} has no costs of {name} in"
                f" [[partitioned]], but of: {fitted}; 'offbeat partitioned fit' writes them"
            )
    return FittedMessages(
        platform=platform.name, approach=approach, costs=costs[approach], single=costs[SINGLE]
    )


def network(platform: PlatformFile, message_cost_s: float | None = None, *, inside: bool = False) -> Network:
    """Messages inside a node, or over the longest path between nodes if there are several nodes."""
    paths = message_paths(platform)
    path = paths[0] if inside else paths[-1]
    return Network(platform=platform, path=path, message_cost_s=message_cost_s)


def predict(
    between: MessageTimes, source: ReadySource, total_bytes: int, threads: int, partitions_per_thread: int
) -> Prediction:
    """The times of a message sent whole, with one message a partition, and in the best number of messages."""
    partitions = threads * partitions_per_thread
    partition_bytes = total_bytes / partitions
    ready_s = source.ready_s(threads, partitions_per_thread, partition_bytes)
    times_s = {
        count: float(between.times_s(ready_s, total_bytes, threads, count).mean())
        for count in between.counts(partitions)
    }
    best = min(times_s, key=lambda count: times_s[count])
    return Prediction(
        total_bytes=total_bytes,
        threads=threads,
        partitions_per_thread=partitions_per_thread,
        delay_s=mean_delay_s(ready_s),
        single_s=float(between.single_s(ready_s, total_bytes, threads).mean()),
        each_s=times_s[max(times_s)],
        best_messages=best,
        best_s=times_s[best],
    )


def predictions(
    between: MessageTimes,
    source: ReadySource,
    sizes: Iterable[int],
    threads: int,
    per_thread: Iterable[int],
) -> Iterator[Prediction]:
    """Predictions for all message sizes in bytes and all numbers of partitions per thread."""
    return (predict(between, source, size, threads, number) for size, number in product(sizes, per_thread))


def powers_of_two(partitions: int) -> list[int]:
    """The powers of two up to the number of partitions, and this number; ascending."""
    return sorted({2**exponent for exponent in range(partitions.bit_length())} | {partitions})


def _delays_of(name: str, partitions: int, skew_s: float) -> Times:
    """The delays of a shape, or of a file: (trials, partitions)."""
    if name in SHAPE_NAMES:
        return shape_pattern(name, partitions, skew_s).delays_s[None]
    loaded = read_any(Path(name), partitions=None)
    return loaded.delays_s if isinstance(loaded, Replay) else loaded.delays_s.reshape(1, -1)
