"""The time of a partitioned message by each approach, from the costs of that approach on a machine.

The recursion of :mod:`offbeat.partitioned.gain_model` with what it leaves out: threads that mark partitions,
the costs of calls, contention between threads, protocols, and libraries that send nothing while the program
computes. :mod:`offbeat.partitioned.cost_fit` finds the costs from measurements.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from offbeat.model.study.algorithm import LEARNED, OWN
from offbeat.partitioned.gain_model import Times, aggregated, pipelined_s

SINGLE = "single"

DEFAULT_MESSAGE_BYTES, MOST_MESSAGES, CANDIDATES = 2**20, 1024, 6
"""As in ``native/partitioned/settings.c`` and ``layout.h``."""


class Costs(Struct, frozen=True, kw_only=True):
    """What messages cost by one approach.

    A partition costs the thread that marks it ``partition_s`` (the call and the update of the ready bit), a
    message occupies the path for ``message_s`` and its bytes, from ``eager_below`` bytes on (the rendezvous
    protocol) for ``rendezvous_message_s`` and its bytes; with t threads these costs, but not the bytes, are
    multiplied by 1 + ``contention`` × (t − 1). The last byte arrives ``latency_s`` later, if any message
    uses the rendezvous protocol ``rendezvous_latency_s`` more. ``eager_progress`` and
    ``rendezvous_progress`` are the shares of a message's head start that the library uses: 1 where it sends
    the message at once, 0 where nothing moves until the last partition is ready.
    """

    latency_s: float
    message_s: float
    partition_s: float
    contention: float
    eager_below: int
    eager_bandwidth: float
    rendezvous_latency_s: float
    rendezvous_message_s: float
    rendezvous_bandwidth: float
    eager_progress: float
    rendezvous_progress: float


def messages_of_bytes(partitions: int, total_bytes: int, message_bytes: int) -> int:
    """The largest number of messages of at least ``message_bytes`` each (``native/partitioned/layout.c``)."""
    partition_bytes = total_bytes // partitions if partitions else 0
    if not partition_bytes:
        return 1
    return max(1, min(partitions // -(-message_bytes // partition_bytes), MOST_MESSAGES))


def message_counts(approach: str, partitions: int, total_bytes: int, setting: int = 0) -> list[int]:
    """The numbers of messages that an approach may use; several where it learns which is the fastest.

    ``setting`` is the value of ``offbeat_messages``; 0: not set.
    """
    most = min(partitions, MOST_MESSAGES)
    if approach == SINGLE:
        return [1]
    if approach == OWN:
        default = messages_of_bytes(partitions, total_bytes, DEFAULT_MESSAGE_BYTES)
        return [max(1, min(setting or default, most))]
    if approach == LEARNED:
        return sorted({_candidate(most, place) for place in range(CANDIDATES)})
    return [partitions]


def _candidate(most: int, place: int) -> int:
    """A number of messages that learning tries (``candidate`` in ``native/partitioned/layout.c``)."""
    if place == CANDIDATES - 1 or most == 1:
        return most
    factor = 1 if place < CANDIDATES // 2 else 3
    octaves = np.log2(most) * place / (CANDIDATES - 1) - np.log2(factor)
    return int(min(factor * 2 ** max(0, round(octaves)), most))


def threads_of_partitions(partitions: int, threads: int) -> NDArray[np.int64]:
    """The number of the thread that computes each partition: neighbours, as in the benchmark."""
    return ((np.arange(partitions) + 1) * threads - 1) // partitions


def time_s(costs: Costs, ready_s: Times, total_bytes: ArrayLike, threads: int, messages: int) -> Times:
    """From the last ready partition to the completion of the message: (trials,).

    ``ready_s`` (trials, partitions) are the times at which threads have computed the partitions, which are
    neighbours in a thread. ``total_bytes`` is one number or (trials,).
    """
    factor = 1 + costs.contention * (threads - 1)
    marked_s = _marked_s(ready_s, threads, costs.partition_s * factor)
    message_s, counts = aggregated(marked_s, 1.0, messages)
    partition_bytes = np.asarray(total_bytes, dtype=np.float64).reshape(-1, 1) / ready_s.shape[-1]
    sizes = counts * partition_bytes
    is_eager = sizes < costs.eager_below
    last_s = marked_s.max(axis=-1, keepdims=True)
    progress = np.where(is_eager, costs.eager_progress, costs.rendezvous_progress)
    leaves_s = last_s - progress * (last_s - message_s)
    bandwidth = np.where(is_eager, costs.eager_bandwidth, costs.rendezvous_bandwidth)
    occupied_s = np.where(is_eager, costs.message_s, costs.rendezvous_message_s) * factor + sizes / bandwidth
    sent_s = pipelined_s(leaves_s, np.broadcast_to(occupied_s, leaves_s.shape))
    handshake_s = np.where(is_eager.all(axis=-1), 0.0, costs.rendezvous_latency_s)
    marking_s = last_s[:, 0] - ready_s.max(axis=-1)
    return np.asarray(marking_s + sent_s + costs.latency_s + handshake_s)


def approach_time_s(
    costs: Costs, approach: str, ready_s: Times, total_bytes: ArrayLike, threads: int, setting: int = 0
) -> Times:
    """The time of :func:`time_s` with the approach's number of messages; the best of those that it learns."""
    sizes = np.broadcast_to(np.asarray(total_bytes), ready_s.shape[:1])
    # One call of time_s for all sizes with the same numbers of messages: a fit calls this function often.
    sizes_of: dict[tuple[int, ...], list[int]] = {}
    for size in np.unique(sizes).tolist():
        counts = tuple(message_counts(approach, ready_s.shape[-1], size, setting))
        sizes_of.setdefault(counts, []).append(size)
    times_s = np.empty(len(sizes))
    for counts, alike in sizes_of.items():
        rows = np.isin(sizes, alike)
        tried = [time_s(costs, ready_s[rows], sizes[rows], threads, count) for count in counts]
        times_s[rows] = np.min(tried, axis=0)
    return times_s


def _marked_s(ready_s: Times, threads: int, partition_s: float) -> Times:
    """When each partition is marked: a thread marks its partitions in the order in which they are ready."""
    owner = threads_of_partitions(ready_s.shape[-1], threads)
    place = np.arange(len(owner)) - np.searchsorted(owner, owner)  # among the partitions of the thread
    by_thread_s = np.full((len(ready_s), threads, place.max() + 1), np.inf)  # threads with fewer end in inf
    by_thread_s[:, owner, place] = ready_s
    order = np.argsort(by_thread_s, axis=-1, kind="stable")
    begun_s = np.arange(by_thread_s.shape[-1]) * partition_s
    in_order_s = np.take_along_axis(by_thread_s, order, axis=-1)
    done_s = np.maximum.accumulate(in_order_s - begun_s, axis=-1) + begun_s + partition_s
    return np.take_along_axis(done_s, np.argsort(order, axis=-1), axis=-1)[:, owner, place]
