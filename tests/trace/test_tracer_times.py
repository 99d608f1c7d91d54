"""Times in a trace, compared with distorted clocks whose true time is known, and with injected delays."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from traced_program import RankTrace, Traced

WANDER = 50e-18
"""The change of a rate, in 1/ns, as in the files' headers."""


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
        assert trace.stamps_wrong_ns < 1000


def test_distorted_clocks_are_corrected_within_their_bound(traced: Traced) -> None:
    epoch_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    offset_ns, drift = 123_456_789, 40e-6
    source = f"virtual:epoch={epoch_ns};1:offset={offset_ns},drift={drift * 1e6:g}"
    ranks = traced.trace(
        traced.compile_c("barriers.c"), 2, "40", "5000", variables={"OFFBEAT_CLOCK_SOURCE": source}
    )
    distorted = ranks[1]
    local_ns = distorted.records["enter_ns"]
    elapsed = (local_ns - offset_ns - epoch_ns).astype(np.float64) / (1 + drift)
    truth = elapsed + epoch_ns - local_ns
    estimate, bound = shared(distorted, local_ns)
    assert np.abs(estimate - truth).max() <= bound.max() + 1
    assert len(distorted.points) > 10
    assert not any(same for *_, same in distorted.points)


DELAYS_US = (0, 700, 300)
"""What the ranks of programs/arrivals.c wait for."""

CALLS = 40


def distorted_clocks() -> dict[str, str]:
    """Clocks of ranks 1 and 2 with offsets of a second and a minute, and drift; rank 0's clock is the true
    time."""
    epoch_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    ranks = "1:offset=1000000000,drift=30;2:offset=-60000000000,drift=-25"
    return {"OFFBEAT_CLOCK_SOURCE": f"virtual:epoch={epoch_ns};{ranks}"}


@pytest.mark.parametrize("clocks", ["own", "distorted"])
def test_injected_delays_are_recovered_within_bound_and_timer_jitter(traced: Traced, clocks: str) -> None:
    arguments = [str(traced.folder), str(CALLS), *map(str, DELAYS_US)]
    variables = distorted_clocks() if clocks == "distorted" else {}
    ranks = traced.trace(traced.compile_c("arrivals.c"), len(DELAYS_US), *arguments, variables=variables)
    recovered_ns, late_ns, bounds_ns = [], [], []
    for rank, trace in enumerate(ranks):
        planned, before, after = np.loadtxt(traced.folder / f"{rank}.txt", np.int64, unpack=True)
        calls = trace.records[np.array(trace.names) == "MPI_Allreduce"]
        assert len(calls) == CALLS
        offset, bound = shared(trace, calls["enter_ns"])
        arrived = calls["enter_ns"] - planned.min() + offset  # near 0, so that a double resolves nanoseconds
        bound_ns = float(bound.max()) + trace.stamps_wrong_ns + 1
        # The program read its clock before the call and after it: the arrival is in between.
        assert (arrived >= before - planned.min() - bound_ns).all()
        assert (arrived <= after - planned.min() + bound_ns).all()
        released = planned - planned.min() - DELAYS_US[rank] * 1000
        recovered_ns.append(arrived - released)
        late_ns.append(before - planned)
        bounds_ns.append(bound_ns)
    # Delays relative to rank 0, whose delay is 0. The error of a call is at most the error of its timer
    # plus the time between reading the clock and the call.
    entry_ns = 2000
    for rank, delay_us in enumerate(DELAYS_US):
        error_ns = np.abs(recovered_ns[rank] - recovered_ns[0] - delay_us * 1000)
        jitter_ns = np.abs(late_ns[rank] - late_ns[0])
        unexplained_ns = np.median(error_ns - jitter_ns)
        assert unexplained_ns <= bounds_ns[rank] + bounds_ns[0] + entry_ns, (rank, unexplained_ns, bounds_ns)
