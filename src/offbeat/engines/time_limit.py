"""Stopping in time: a batch job that is killed at its limit has measured its last case in vain."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from offbeat.mpi.allocation import current
from offbeat.study.script import job_end_s


def time_limit(
    margin_min: float,
    environ: Mapping[str, str] = os.environ,
    now_s: Callable[[], float] = time.time,
) -> Callable[[float], bool]:
    """A question that answers whether a case of so many seconds no longer fits before the job's limit.

    ``margin_min`` minutes are kept for closing the results. Outside a batch job, and where neither the
    scheduler nor a job script of ours tells the limit, everything fits. ``now_s`` is seconds since 1970.
    """
    end_s = _end_s(environ, now_s)
    if end_s is None:
        return lambda _: False
    last_s = end_s - 60.0 * margin_min
    return lambda longest_s: now_s() + longest_s > last_s


def _end_s(environ: Mapping[str, str], now_s: Callable[[], float]) -> float | None:
    """When the job ends: by the scheduler, or, where it does not tell (PBS), by the job script."""
    job = current(environ)
    if job and job.time_left_s is not None:
        return now_s() + job.time_left_s
    return job_end_s(environ)
