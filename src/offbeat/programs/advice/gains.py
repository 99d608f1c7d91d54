"""What each change of a program gains, by simulating the program with and without it, and in lockstep.

Times, lockstep and gains are those of :mod:`offbeat.programs.simulation.lockstep`, of the iterations that
count.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import Event

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.base.errors import BadInput
from offbeat.measurement.results.statistics import geometric_interval, geometric_mean
from offbeat.model.platform.machine import Platform
from offbeat.programs.advice.changes import Change
from offbeat.programs.description.program_file import Program
from offbeat.programs.simulation.iterations import settled_span
from offbeat.programs.simulation.lockstep import lockstep, settled_iteration_s
from offbeat.programs.simulation.simulate import prepare, until

Progress = Callable[[int, int], None]
"""Called with the number of simulations that are done, and their total."""

CONFIDENCE = 0.95

MORE_SEEDS = 4
"""A comparison that is not decided is simulated with up to this many times the number of seeds."""


class Interval(Struct, frozen=True, kw_only=True):
    """A mean and its interval over seeds (Student's t of logarithms); gains as fractions: 0.1 is 10%."""

    mean: float
    low: float
    high: float

    def exceeds(self, least: float) -> bool | None:
        """Whether the gain is positive and at least ``least``; None if the interval does not tell.

        It does not tell if it contains 0 and ``least``: the gain may then be none, or one that counts. An
        interval that is narrower than ``least`` always tells.
        """
        if self.low > 0:
            return self.mean >= least
        return False if self.high < least else None

    def negated(self) -> Interval:
        """The loss."""
        return Interval(mean=-self.mean, low=-self.high, high=-self.low)


class Gain(Struct, frozen=True, kw_only=True):
    """What a change gains; every gain is a fraction of the time of an iteration with the change.

    ``iteration_s`` is the mean time of an iteration with the change over seeds. ``lockstep_s`` is the time
    that it has to beat: that of the program in lockstep, or of the changed program, whichever is shorter.
    ``total`` compares with the program as it is, ``over_lockstep`` with ``lockstep_s``. ``out_of_step`` is
    the part of ``total`` that lockstep does not explain: the gain of the changed program against its own
    lockstep in relation to that of the program as it is.
    """

    change: Change
    iteration_s: float
    lockstep_s: float
    total: Interval
    over_lockstep: Interval
    out_of_step: Interval


class Subject(Struct, frozen=True, kw_only=True):
    """What is simulated: a program as it is, or in lockstep."""

    program: Program
    in_lockstep: bool = False


class Simulations:
    """Simulations of the same subjects with a growing number of seeds. One without noise is done once."""

    def __init__(
        self,
        subjects: Sequence[Subject],
        platform: Platform,
        seeds: Sequence[int],
        on_progress: Progress | None = None,
    ) -> None:
        self._subjects, self._platform, self._seeds = subjects, platform, seeds
        self._on_progress = on_progress
        self._times_s: list[list[float]] = [[] for _ in subjects]

    def times_s(self, place: int) -> NDArray[np.float64]:
        """The mean time of an iteration of a subject with each simulated seed, in seconds."""
        return np.array(self._times_s[place])

    def extend(self, places: Sequence[int], count: int) -> None:
        """Simulate these subjects with the first ``count`` seeds, on all processors."""
        jobs = [
            (place, seed)
            for place in places
            for seed in range(len(self._times_s[place]), self._count(place, count))
        ]
        found_s: dict[tuple[int, int], float] = {}
        stop = Event()
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            running = {
                pool.submit(_settled_s, self._subjects[place], self._seeds[seed], self._platform, stop): (
                    place,
                    seed,
                )
                for place, seed in jobs
            }
            try:
                for done, future in enumerate(as_completed(running), start=1):
                    found_s[running[future]] = future.result()
                    if self._on_progress is not None:
                        self._on_progress(done, len(jobs))
            finally:
                stop.set()
                pool.shutdown(cancel_futures=True)
        for place, seed in sorted(found_s):
            self._times_s[place].append(found_s[place, seed])

    def _count(self, place: int, count: int) -> int:
        return count if self._subjects[place].program.file.noise else 1


def _settled_s(subject: Subject, seed: int, platform: Platform, stop: Event) -> float:
    """The mean time of the iterations that count, of a run that ends early if ``stop`` is set."""
    program, check = subject.program.resized(seed=seed), until(stop)
    if subject.in_lockstep:
        return lockstep(program, platform, settled_span(program.file.iterations), check).iteration_s
    return settled_iteration_s(prepare(program, platform).simulate(check))


class Comparison:
    """A program and its changes, simulated with and without, and in lockstep.

    Delays do not shorten lockstep, so that it is not simulated with them. A program and its change have the
    same seed in each comparison, so that the program's own noise is the same in both. Raises
    :class:`BadInput` if no phase is executed in the iterations that count.
    """

    def __init__(
        self,
        base: Program,
        changes: Sequence[Change],
        platform: Platform,
        seeds: Sequence[int],
        on_progress: Progress | None = None,
    ) -> None:
        self._changes = changes
        # intervals of all changes hold together (Bonferroni)
        self._confidence = 1 - (1 - CONFIDENCE) / max(len(changes), 1)
        rest = [change.program for change in changes]
        in_lockstep = [one for one in changes if one.kind != "injected delays"]
        subjects = [
            Subject(program=base),
            Subject(program=base, in_lockstep=True),
            Subject(program=base.without_noise(), in_lockstep=True),
            *(Subject(program=one) for one in rest),
            *(Subject(program=one.program, in_lockstep=True) for one in in_lockstep),
        ]
        first = _BASE + len(changes)
        self._lockstep_place = {id(one): first + number for number, one in enumerate(in_lockstep)}
        self._simulations = Simulations(subjects, platform, seeds, on_progress)
        self._base = base

    def extend(self, undecided: Sequence[Change] | None, count: int) -> None:
        """Simulate the program and undecided changes (None: all) with the first ``count`` seeds."""
        changed = self._changes if undecided is None else undecided
        places = [0, 1, 2]
        for number, one in enumerate(self._changes):
            if any(one is other for other in changed):
                places.append(_BASE + number)
                places += [self._lockstep_place[id(one)]] if id(one) in self._lockstep_place else []
        self._simulations.extend(places, count)
        _check_times(self._base, self._simulations.times_s(0))

    def base_s(self) -> NDArray[np.float64]:
        """The mean time of an iteration of the program as it is, with each seed."""
        return self._simulations.times_s(0)

    def lockstep_s(self) -> NDArray[np.float64]:
        """The same in lockstep."""
        return self._simulations.times_s(1)

    def quiet_lockstep_s(self) -> float:
        """The same in lockstep without the program's own delays."""
        return float(self._simulations.times_s(2)[0])

    def gain(self, number: int) -> Gain:
        """The gain of a change."""
        change = self._changes[number]
        changed_s = self._simulations.times_s(_BASE + number)
        own_s = self.lockstep_s()
        place = self._lockstep_place.get(id(change))
        changed_own_s = own_s if place is None else self._simulations.times_s(place)
        base_s, own_s, changed_s, changed_own_s = _paired(self.base_s(), own_s, changed_s, changed_own_s)
        least_s = np.minimum(own_s, changed_own_s)
        return Gain(
            change=change,
            iteration_s=float(changed_s.mean()),
            lockstep_s=float(least_s.mean()),
            total=interval(base_s / changed_s, self._confidence),
            over_lockstep=interval(least_s / changed_s, self._confidence),
            out_of_step=interval(base_s / changed_s * changed_own_s / own_s, self._confidence),
        )


_BASE = 3
"""Subjects of the program itself, before those of changes."""


def _paired(*times_s: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Times with the same seeds: those without noise are repeated."""
    count = min((len(one) for one in times_s if len(one) > 1), default=1)
    return tuple(one[:count] if len(one) > 1 else np.repeat(one, count) for one in times_s)


def _check_times(program: Program, times_s: NDArray[np.float64]) -> None:
    """Raise :class:`BadInput` if iterations take no time."""
    if not times_s.all():
        first, end = settled_span(program.file.iterations)
        raise BadInput(
            f"{program.path}: iterations {first + 1} to {end}, which count, execute no phase that"
            " takes time; simulate more (--iterations)"
        )


def interval(ratios: NDArray[np.float64], confidence: float = CONFIDENCE) -> Interval:
    """The gain that ratios of times mean, one ratio per seed: exact if all are equal."""
    low, high = geometric_interval(ratios, confidence)
    return Interval(mean=geometric_mean(ratios) - 1, low=low - 1, high=high - 1)
