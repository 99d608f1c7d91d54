"""Stopping in time: a batch job that is killed at its limit has measured its last case in vain."""

from __future__ import annotations

import time
from collections.abc import Callable

from offbeat.mpi.allocation import Allocation, current


def time_limit(
    margin_min: float, allocation: Allocation | None = None, clock: Callable[[], float] = time.monotonic
) -> Callable[[float], bool]:
    """A question that answers whether a case of so many seconds no longer fits before the job's limit.

    ``margin_min`` minutes are kept for closing the results. Outside a batch job, and where the scheduler does
    not tell the time left, everything fits.
    """
    job = allocation or current()
    left_s = job.time_left_s if job else None
    if left_s is None:
        return lambda _: False
    end = clock() + left_s - 60.0 * margin_min
    return lambda longest_s: clock() + longest_s > end
