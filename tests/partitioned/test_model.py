"""The model of partitioned messages: the paper's numbers, its equations as special cases, and bounds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.partitioned.delay_rate import Computation, last_delayed_s
from offbeat.partitioned.gain_model import aggregated, gain_by_delay_rate, gain_by_latency, pipelined_s

BETA = 25e9
"""Bytes per second: the network of the paper's examples."""

FREQUENCY_HZ = 3.5e9
"""Not printed in the paper; this frequency gives its delay rates."""

FFT = Computation(arithmetic_intensity=5, frequency_hz=FREQUENCY_HZ, system_noise=0.04)
STENCIL = Computation(
    arithmetic_intensity=1 / 13,
    communication_intensity=(66 / 64) ** 3 - 1,
    frequency_hz=FREQUENCY_HZ,
    system_noise=0.04,
    imbalance=0.5,
)
PER_MB = 1e-6 / 1e6
"""A delay rate of 1 µs/MB in seconds per byte."""


@pytest.mark.parametrize(
    ("computation", "theta", "us_per_mb"),
    [
        (FFT, 1, 7.142857),
        (FFT, 2, 187.193620),
        (FFT, 8, 1263.672954),
        (STENCIL, 1, 15.339813),
        (STENCIL, 2, 46.923854),
        (STENCIL, 8, 228.213109),
    ],
)
def test_delay_rates_are_those_of_the_papers_appendix(
    computation: Computation, theta: int, us_per_mb: float
) -> None:
    assert computation.delay_rate(theta) == pytest.approx(us_per_mb * PER_MB, rel=1e-6)


def test_messages_have_a_time_however_late_they_are_ready() -> None:
    ready_s = np.array([0.0, 1e16, 2e16])
    assert pipelined_s(ready_s, 1e-6, 1e-7) == pytest.approx(1.1e-6)


@pytest.mark.parametrize(
    ("threads", "theta", "us_per_mb", "gain"),
    [
        (8, 1, 7.142857, 1.022831),
        (8, 2, 187.193620, 1.413408),
        (8, 8, 1263.672954, 1.974810),
        (8, 1, 15.339813, 1.050351),
        (8, 2, 46.923854, 1.079119),
        (8, 8, 228.213109, 1.097870),
        (4, 1, 15.339813, 1.106040),
        (4, 2, 46.923854, 1.171834),
        (4, 8, 228.213109, 1.216977),
        (8, 1, 1.0, 1.003135),
        (8, 1, 10.0, 1.032258),
        (8, 8, 1000.0, 1.641026),
        (4, 1, 100.0, 2.666667),
    ],
)
def test_gains_are_those_that_equation_4_gives(
    threads: int, theta: int, us_per_mb: float, gain: float
) -> None:
    partitions = threads * theta
    assert gain_by_delay_rate(partitions, us_per_mb * PER_MB, BETA) == pytest.approx(gain, rel=1e-6)
    ready_s = last_delayed_s(partitions, us_per_mb * PER_MB * 1e6)
    recursion = partitions * 1e6 / BETA / pipelined_s(ready_s, 1e6 / BETA)
    assert recursion == pytest.approx(gain, rel=1e-6)


@pytest.mark.parametrize(
    ("computation", "threads", "theta", "gain"),
    [
        (FFT, 8, 1, 1.0325),
        (FFT, 8, 2, 1.4247),
        (FFT, 8, 8, 1.9846),
        (STENCIL, 8, 1, 1.0742),
        (STENCIL, 8, 2, 1.0930),
        (STENCIL, 8, 8, 1.1043),
        (STENCIL, 4, 1, 1.1121),
        (STENCIL, 4, 2, 1.1767),
        (STENCIL, 4, 8, 1.2177),
    ],
)
def test_random_ready_times_gain_what_a_simulation_of_the_queue_gained(
    computation: Computation, threads: int, theta: int, gain: float
) -> None:
    ready_s = computation.ready_times_s(threads, theta, 1e6, trials=40_000, seed=1)
    gains = threads * theta * 1e6 / BETA / pipelined_s(ready_s, 1e6 / BETA)
    assert gains.mean() == pytest.approx(gain, rel=3e-3)  # both are means of random trials


READY = st.lists(st.floats(0, 1e-3), min_size=1, max_size=12)
COSTS = st.lists(st.floats(0, 1e-3), min_size=12, max_size=12)


@given(ready=READY, costs=COSTS, latency_s=st.floats(0, 1e-4))
def test_the_time_is_that_of_a_queue_which_serves_messages_in_the_order_of_readiness(
    ready: list[float], costs: list[float], latency_s: float
) -> None:
    free_s = 0.0
    for index in sorted(range(len(ready)), key=lambda index: ready[index]):
        free_s = max(free_s, ready[index]) + costs[index]
    time_s = pipelined_s(np.array(ready), costs[: len(ready)], latency_s)
    assert float(time_s) == pytest.approx(free_s + latency_s - max(ready), rel=1e-9, abs=1e-12)


@given(ready=READY, messages=st.integers(1, 12))
def test_no_byte_is_lost_and_no_message_leaves_before_its_last_partition(
    ready: list[float], messages: int
) -> None:
    messages = min(messages, len(ready))
    ready_s, sizes = aggregated(np.array(ready), 64.0, messages)
    assert sizes.sum() == 64 * len(ready) and len(sizes) == messages
    bounds = [m * len(ready) // messages for m in range(messages + 1)]
    for (first, end), message_ready_s in zip(pairwise(bounds), ready_s, strict=True):
        assert message_ready_s == max(ready[first:end])


@pytest.mark.parametrize("partitions", [1, 2, 32])
def test_without_delays_and_bandwidth_limits_each_message_costs_a_latency(partitions: int) -> None:
    """Equation 5: the paper's latency is the time for which each message occupies the link here."""
    latency_s = 1e-6
    gain = latency_s / pipelined_s(np.zeros(partitions), latency_s)
    assert float(gain) == pytest.approx(gain_by_latency(partitions))
