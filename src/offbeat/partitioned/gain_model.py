"""The time of a partitioned message from the times at which its partitions become ready.

The time of a message is measured as in the paper's section 2.1: from the moment at which the last partition
is ready, because without partitions nothing could be sent earlier, to the arrival of the last byte.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Times = NDArray[np.float64]


def mean_delay_s(ready_s: Times) -> float:
    """The time between the first and the last ready partition (..., partitions), the mean over all trials."""
    return float(np.ptp(ready_s, axis=-1).mean())


def pipelined_s(ready_s: Times, occupied_s: ArrayLike, latency_s: float = 0.0) -> Times:
    """The time of messages that are sent as soon as each is ready, in the order in which they are ready.

    ``ready_s`` (..., messages) are the times at which messages are ready. Each message occupies the link for
    ``occupied_s``, one number or the shape (messages,), and the next one follows: t ← max(t, ready) +
    occupied. The last byte arrives ``latency_s`` after that. A single message gives T_b of equation 2, and
    equation 3 is the case that only the last message is late. Returns the shape (...,).
    """
    order = np.argsort(ready_s, axis=-1, kind="stable")
    occupied_s = np.broadcast_to(np.asarray(occupied_s, dtype=np.float64), ready_s.shape)
    occupied_s = np.take_along_axis(occupied_s, order, axis=-1)
    remaining_s = np.cumsum(occupied_s[..., ::-1], axis=-1)[..., ::-1]
    in_order_s = np.take_along_axis(ready_s, order, axis=-1)
    # The recursion's closed form: some message finds the link free, and all later ones follow it at once.
    # Times are relative to the last ready message: they must not vanish beside a ready time of hours.
    sent_s = np.max(in_order_s - in_order_s[..., -1:] + remaining_s, axis=-1)
    return np.asarray(sent_s + latency_s)


def aggregated(ready_s: Times, partition_bytes: float, messages: int) -> tuple[Times, Times]:
    """Partitions (..., n) as ``messages`` messages of neighbouring partitions: when each is ready, its bytes.

    A message is ready when the last of its partitions is. Returns the shapes (..., messages) and (messages,).
    ``messages`` is 1 to n; message m has the partitions from ⌊mn / messages⌋ on, as in
    ``native/partitioned/layout.c``.
    """
    bounds = np.arange(messages + 1) * ready_s.shape[-1] // messages
    return np.maximum.reduceat(ready_s, bounds[:-1], axis=-1), np.diff(bounds) * partition_bytes


def gain_by_delay_rate(partitions: int, delay_rate: float, bandwidth: float) -> float:
    """η = T_b / T_p of large messages, whose latency is negligible (equation 4).

    ``delay_rate`` is γ in seconds per byte of a partition, ``bandwidth`` in bytes per second.
    """
    return partitions / max(partitions - delay_rate * bandwidth, 1.0)


def gain_by_latency(partitions: int) -> float:
    """η of small messages, in which each message costs a latency and delays are negligible (equation 5)."""
    return 1.0 / partitions
