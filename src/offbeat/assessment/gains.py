"""What each change of a program gains, by simulating the program with and without it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from threading import Event

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.assessment.changes import Change
from offbeat.errors import BadInput
from offbeat.platform.machine import Platform
from offbeat.program.iterations import Lockstep
from offbeat.program.load import Program
from offbeat.program.simulate import lockstep, prepare
from offbeat.results.statistics import geometric_interval, geometric_mean

Progress = Callable[[int, int], None]
"""Called with the number of simulations that are done, and their total."""


class Interval(Struct, frozen=True, kw_only=True):
    """A mean and its 95% interval over seeds (Student's t of logarithms); gains as fractions: 0.1 is 10%."""

    mean: float
    low: float
    high: float


class Gain(Struct, frozen=True, kw_only=True):
    """What a change gains: how much shorter an iteration is, as a fraction of the changed time.

    ``iteration_s`` is the mean time of an iteration with the change, over the second half of the iterations
    and over seeds; ``lockstep_s`` that of these iterations in lockstep. ``total`` compares with the
    program as it is. ``out_of_step`` is the part of it that lockstep does not explain: the gain divided by
    the one of the two programs in lockstep.
    """

    change: Change
    iteration_s: float
    lockstep_s: float
    total: Interval
    out_of_step: Interval


def gains(
    base: Program,
    composite: Lockstep,
    changes: Sequence[Change],
    platform: Platform,
    seeds: Sequence[int],
    on_progress: Progress | None = None,
) -> tuple[NDArray[np.float64], list[Gain]]:
    """The mean time of an iteration in seconds with each seed, (seeds,), and the gain of each change.

    ``composite`` is the program in lockstep; delays do not change it. The program and its change have the
    same seed in each comparison, so that the program's own noise is the same in both. Raises
    :class:`BadInput` if no phase is executed in the iterations that count.
    """
    programs = [base, *(change.program for change in changes)]
    times_s = simulated_s(programs, platform, seeds, on_progress)
    phases = base.file.phase
    _check_times(base, times_s)
    lockstep_s = [
        settled(composite if one.file.phase == phases else lockstep(one, platform), one).iteration_s
        for one in programs
    ]
    found = [
        Gain(
            change=change,
            iteration_s=float(changed_s.mean()),
            lockstep_s=alone_s,
            total=interval(times_s[0] / changed_s),
            out_of_step=interval(times_s[0] / changed_s * alone_s / lockstep_s[0]),
        )
        for change, changed_s, alone_s in zip(changes, times_s[1:], lockstep_s[1:], strict=True)
    ]
    return times_s[0], found


def simulated_s(
    programs: Sequence[Program],
    platform: Platform,
    seeds: Sequence[int],
    on_progress: Progress | None = None,
) -> NDArray[np.float64]:
    """The mean time of an iteration in seconds, (programs, seeds), over the second half of the iterations.

    A program without noise is simulated once. The simulations share the processors.
    """
    jobs = [(n, s) for n, one in enumerate(programs) for s in range(len(seeds) if one.file.noise else 1)]
    times_s = np.full((len(programs), len(seeds)), np.nan)
    stop = Event()
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        running = {
            pool.submit(_settled_s, programs[n].resized(seed=seeds[s]), platform, stop): (n, s)
            for n, s in jobs
        }
        try:
            for done, future in enumerate(as_completed(running), start=1):
                times_s[running[future]] = future.result()
                if on_progress is not None:
                    on_progress(done, len(jobs))
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
    return np.where(np.isnan(times_s), times_s[:, :1], times_s)


def _settled_s(program: Program, platform: Platform, stop: Event) -> float:
    """The mean time of an iteration over the second half of a run, which ends early if ``stop`` is set."""

    def check(_done: int, _total: int) -> None:
        if stop.is_set():
            raise CancelledError

    return prepare(program, platform).simulate(check).settled_iteration_s()


def settled(composite: Lockstep, program: Program) -> Lockstep:
    """The lockstep of the iterations that count: those of the second half."""
    iterations = program.file.iterations
    return composite.within(iterations // 2, iterations)


def _check_times(program: Program, times_s: NDArray[np.float64]) -> None:
    """Raise :class:`BadInput` if iterations take no time."""
    if not times_s.all():
        count = program.file.iterations
        raise BadInput(
            f"{program.path}: iterations {count // 2 + 1} to {count}, which count, execute no phase that"
            " takes time; simulate more (--iterations)"
        )


def interval(ratios: NDArray[np.float64]) -> Interval:
    """The gain that ratios of times mean, one ratio per seed: exact if all are equal."""
    low, high = geometric_interval(ratios)
    return Interval(mean=geometric_mean(ratios) - 1, low=low - 1, high=high - 1)
