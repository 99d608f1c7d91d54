"""Times of a machine that behaves as a platform file says, exactly or with noise: for calibrations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from offbeat.libraries.calibration.fit_memory import traffic_s
from offbeat.libraries.calibration.measured_times import LateReceiverPoint, Point, StreamPoint, point
from offbeat.libraries.calibration.measurement_plan import Machine, Ranks
from offbeat.model.platform.machine import Platform
from offbeat.model.platform.message_times import (
    MessagePath,
    concurrent_message_s,
    message_paths,
    message_s,
    shared_message_s,
)
from offbeat.model.platform.schema import MemorySection


class SyntheticProbe:
    """See :class:`offbeat.libraries.calibration.measurement_plan.Probe`. ``noise`` is the relative deviation
    of each time.
    """

    def __init__(self, platform: Platform, machine: Machine, noise: float = 0.0, seed: int = 1) -> None:
        self._file = platform.file
        self._memory = platform.file.memory
        if not self._memory.bandwidth:
            self._memory = MemorySection(bandwidth=4e10, core_bandwidth=1.5e10)
        self._machine = machine
        self._noise = noise
        self._random = np.random.default_rng(seed)
        self._ways = message_paths(platform.file)
        self.asked: list[tuple[str, int]] = []

    def pingpong(self, ranks: Ranks, size_bytes: int) -> NDArray[np.float64]:
        self.asked.append(("pingpong", size_bytes))
        return self._disturbed(np.full(5, message_s(self._file, self._way(ranks), [size_bytes])[0]))

    def late(self, ranks: Ranks, size_bytes: int, shortest_s: float) -> LateReceiverPoint:
        self.asked.append(("late", size_bytes))
        messages, delay_s = self._file.messages, max(5e-4, 20 * shortest_s)
        alone_s = float(message_s(self._file, self._way(ranks), [size_bytes])[0])
        if size_bytes < messages.eager_below:
            both = (messages.send_overhead, messages.receive_overhead)
        else:
            both = (delay_s + alone_s, alone_s)
        send_s, receive_s = self._disturbed(np.maximum(both, 1e-9))
        return LateReceiverPoint(
            bytes=size_bytes, delay_s=delay_s, send_s=float(send_s), receive_s=float(receive_s)
        )

    def stream(self, flows: Sequence[Ranks], size_bytes: int) -> StreamPoint:
        self.asked.append(("stream", size_bytes))
        time_s = concurrent_message_s(self._file, self._way(flows[0]), size_bytes, len(flows))
        return StreamPoint(
            flows=len(flows), bytes=size_bytes, time_s=float(self._disturbed(np.array([time_s]))[0])
        )

    def local(self, work: str, size_bytes: int) -> Point:
        messages = self._file.messages
        bandwidth = messages.reduce_bandwidth if work == "reduce" else messages.copy_bandwidth
        return point(size_bytes, self._disturbed(np.full(5, size_bytes / (bandwidth or 1e12))))

    def traffic(self, ranks: Sequence[int], size_bytes: int) -> NDArray[np.float64]:
        return self._disturbed(np.full(5, traffic_s(self._memory, size_bytes, len(ranks))))

    def flops(self, rank: int, count: int) -> NDArray[np.float64]:
        return self._disturbed(np.full(5, count / (self._file.flop_rate or 1e10)))

    def exchange(self, ranks: Sequence[int], size_bytes: int, messages: int) -> NDArray[np.float64]:
        return self._disturbed(np.full(5, shared_message_s(self._file, size_bytes, messages * len(ranks))))

    def _way(self, ranks: Ranks) -> MessagePath:
        hosts = self._machine.host_of_rank
        return self._ways[0 if hosts[ranks[0]] == hosts[ranks[1]] else 1]

    def _disturbed(self, times_s: NDArray[np.float64]) -> NDArray[np.float64]:
        return times_s * (1 + self._noise * np.abs(self._random.standard_normal(times_s.shape)))


def machine_of(nodes: int, ppn: int) -> Machine:
    """The given number of processes on hosts n0, n1, ..., in blocks."""
    hosts = [f"n{rank // ppn}" for rank in range(nodes * ppn)]
    return Machine(host_of_rank=hosts, cores=ppn, library="an MPI library")
