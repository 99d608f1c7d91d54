"""When partitions become ready: the delay rate of a computation (appendix A of the paper), and random times.

A thread computes its partitions one after the other. A partition takes a time proportional to its size, with
noise; each partition is ready when its computation ends.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

FLOPS_PER_CYCLE = 8
"""Equation 6: flops of a core in a cycle."""


class Computation(Struct, frozen=True, kw_only=True):
    """What a thread computes before a partition is ready.

    ``arithmetic_intensity`` is in flops per byte of memory; ``communication_intensity`` is the share of the
    memory that is sent. ``system_noise`` (ε) and ``imbalance`` (δ) are shares of the time that a partition is
    computed for.
    """

    arithmetic_intensity: float
    communication_intensity: float = 1.0
    frequency_hz: float
    system_noise: float = 0.0
    imbalance: float = 0.0

    @classmethod
    def of_rate(cls, seconds_per_byte: float, relative_noise: float) -> Computation:
        """The computation with this μ and σ."""
        return cls(
            arithmetic_intensity=seconds_per_byte * FLOPS_PER_CYCLE,
            frequency_hz=1.0,
            system_noise=2 * relative_noise,
        )

    @property
    def seconds_per_byte(self) -> float:
        """μ, the computing time of a byte that is sent (equation 6)."""
        intensity = self.arithmetic_intensity / self.communication_intensity
        return intensity / (FLOPS_PER_CYCLE * self.frequency_hz)

    @property
    def relative_noise(self) -> float:
        """σ, the standard deviation of a partition's computing time divided by its mean (equation 7)."""
        return (self.system_noise + self.imbalance) / 2

    def delay_rate(self, partitions_per_thread: int) -> float:
        """γ_θ in seconds per byte of a partition: the time between the first and the last ready partition,
        divided by the partition's size (equation 9)."""
        theta = partitions_per_thread
        return self.seconds_per_byte * (theta + self.relative_noise * (math.sqrt(theta) + 1) - 1)

    def ready_times_s(
        self, threads: int, partitions_per_thread: int, partition_bytes: float, trials: int, seed: int
    ) -> NDArray[np.float64]:
        """Random ready times of partitions in seconds: (trials, threads × partitions_per_thread).

        The partitions of a thread are neighbours. A computing time that the noise would make negative is 0.
        """
        generator = np.random.default_rng(seed)
        shape = (trials, threads, partitions_per_thread)
        relative = np.maximum(generator.normal(1.0, self.relative_noise, shape), 0.0)
        durations_s = self.seconds_per_byte * partition_bytes * relative
        return durations_s.cumsum(axis=2).reshape(trials, -1)


def last_delayed_s(partitions: int, delay_s: float) -> NDArray[np.float64]:
    """Ready times in seconds, (partitions,): the last partition is ready ``delay_s`` after all others.

    Section 4.3 of the paper represents every computation by this case, with the delay of its delay rate.
    """
    ready_s = np.zeros(partitions)
    ready_s[-1] = delay_s
    return ready_s
