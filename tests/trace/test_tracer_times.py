"""The times in a trace on the shared clock: against clocks whose truth is known, and injected delays."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from traced_program import RankTrace, Traced

WANDER = 50e-18
"""How much a rate changes, in 1/ns; as in the files' headers."""


def shared(trace: RankTrace, local_ns: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shared minus local time and its bound, as native/trace/format.h says, within the points."""
    points = sorted({point[0]: point for point in trace.points}.values())
    at = np.array([point[0] for point in points], np.float64)
    offset = np.array([point[1] - point[0] for point in points], np.float64)
    bound = np.array([point[2] for point in points], np.float64)
    x = local_ns.astype(np.float64)
    widest = max((later - earlier for earlier, later in pairwise(at)), default=0.0)
    extra = WANDER * widest**2 / 8 if not all(point[3] for point in points) else 0.0
    return np.interp(x, at, offset), np.interp(x, at, bound) + extra


def test_a_clock_that_is_shared_needs_no_correction(traced: Traced) -> None:
    for trace in traced.trace(traced.compile_c("barriers.c"), 2, "20"):
        assert trace.source == "CLOCK_MONOTONIC"
        assert all(local == at and bound == 0 and same for local, at, bound, same in trace.points)


def test_bent_clocks_are_straightened_within_their_bound(traced: Traced) -> None:
    epoch_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    offset_ns, drift = 123_456_789, 40e-6
    source = f"virtual:epoch={epoch_ns};1:offset={offset_ns},drift={drift * 1e6:g}"
    ranks = traced.trace(
        traced.compile_c("barriers.c"), 2, "40", "5000", variables={"OFFBEAT_CLOCK_SOURCE": source}
    )
    bent = ranks[1]
    local_ns = bent.records["enter_ns"]
    elapsed = (local_ns - offset_ns - epoch_ns).astype(np.float64) / (1 + drift)
    truth = elapsed + epoch_ns - local_ns
    estimate, bound = shared(bent, local_ns)
    assert np.abs(estimate - truth).max() <= bound.max() + 1
    assert len(bent.points) > 10
    assert not any(same for *_, same in bent.points)


def test_ranks_that_sleep_before_a_call_arrive_in_the_order_of_their_delays(traced: Traced) -> None:
    delay_ns = 3_000_000
    ranks = traced.trace(traced.compile_c("barriers.c"), 3, "30", str(delay_ns // 1000))
    arrivals = []
    for rank, trace in enumerate(ranks):
        is_barrier = np.array(trace.names) == "MPI_Barrier"
        barriers = trace.records[is_barrier]
        before = trace.records["exit_ns"][np.flatnonzero(is_barrier) - 1]
        assert (barriers["enter_ns"] - before >= rank * delay_ns).all()
        arrivals.append(barriers["enter_ns"] + shared(trace, barriers["enter_ns"])[0])
    late_ns = np.median(np.array(arrivals) - arrivals[0], axis=1)
    assert late_ns[0] == 0
    assert (np.diff(late_ns) > delay_ns / 2).all()
