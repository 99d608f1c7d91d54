"""Running a check: prove the algorithms, then measure the remaining steps, and show progress."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from msgspec import Struct
from rich.console import Console

import offbeat
from offbeat.clock import check_plan
from offbeat.clock.check_plan import BARRIER, CheckSettings, Step
from offbeat.clock.directory import Check, CheckDirectory
from offbeat.clock.measure import LaunchedProber, Prober, candidates, ordered, prove, where
from offbeat.clock.rows import CheckedAlgorithms, Machine
from offbeat.engines.mpi import MpiEngine, open_engine
from offbeat.errors import RunFailed
from offbeat.mpi import allocation, cores, launch
from offbeat.mpi.build import build_native
from offbeat.mpi.driver import DriverLost, Refused
from offbeat.mpi.installation import Installation
from offbeat.mpi.protocol import Hello
from offbeat.progress_bar import ProgressBar
from offbeat.study.schema import MpiSection, RepetitionsSection, StartSection

BUSY_LOAD = 0.5
"""Load per core above which measurements are disturbed."""


class CheckListener(Protocol):
    """Receives progress events of a check."""

    def say(self, activity: str) -> None:
        """A long activity begins, for example a build."""

    def doing(self, activity: str) -> None:
        """A short activity begins, which replaces the previous one."""

    def warn(self, sentence: str) -> None:
        """Something limits the reliability of the results."""

    def begin(self, done: int, total: int) -> None:
        """Measuring begins; ``done`` of the total number of steps are done already."""

    def finished(self, step: Step, failure: str) -> None:
        """A step is on disk; ``failure`` is the reason if the step failed, else empty."""


class DefaultProcesses(Struct, frozen=True, kw_only=True):
    """The default number of processes and nodes of a check."""

    p: int
    nodes: int


def default_processes(nodes: int = 0) -> DefaultProcesses:
    """One process per core, at least two: of the batch job, or of this node times ``nodes``."""
    job = allocation.current()
    if job is None:
        return DefaultProcesses(p=max(2, cores.available().physical * max(1, nodes)), nodes=nodes)
    if nodes:
        return DefaultProcesses(p=max(2, nodes * job.cores_per_node), nodes=nodes)
    return DefaultProcesses(p=max(2, job.cores), nodes=0)


def check(
    installation: Installation, settings: CheckSettings, directory: Path, listener: CheckListener
) -> Check:
    """Measure the steps of a check that are not done yet in ``directory``.

    Raises :class:`offbeat.errors.BadInput` for settings that cannot be measured, and RunFailed if nothing can
    be launched; finished steps are kept.
    """
    check_plan.check(settings)
    with (
        CheckDirectory(directory, settings) as kept,
        _engine(installation, settings, kept.logs, listener) as engine,
    ):
        machine, found = _described(engine, settings, kept, listener)
        for warning in machine.warnings:
            listener.warn(warning)
        prober = LaunchedProber(engine, settings, found)
        todo = _steps(engine, settings, found, distorted=machine.shared)
        run_steps(kept, ordered(todo, cache(lambda step: prober.where(step))), prober, listener)
        return kept.check()


def run_steps(kept: CheckDirectory, todo: Sequence[Step], prober: Prober, listener: CheckListener) -> None:
    """Measure the steps that are not done yet, and write each to disk before the next one begins."""
    done = kept.done
    listener.begin(len(done), len(todo))
    for step in todo:
        if step.id in done:
            continue
        listener.doing(step.id)
        row = prober.do(step)
        kept.append(row)
        listener.finished(step, row.failure)


@contextmanager
def _engine(
    installation: Installation, settings: CheckSettings, logs: Path, listener: CheckListener
) -> Iterator[MpiEngine]:
    driver = build_native(installation, echo=listener.say)
    with TemporaryDirectory() as scratch:
        engine = open_engine(
            installation,
            driver,
            MpiSection(hostfile=settings.hostfile),
            StartSection(),
            RepetitionsSection().hang_after,
            Path.cwd(),
            logs=logs,
            scratch=Path(scratch) / "samples",
        )
        try:
            yield engine
        finally:
            engine.close()


def _described(
    engine: MpiEngine, settings: CheckSettings, kept: CheckDirectory, listener: CheckListener
) -> tuple[Machine, CheckedAlgorithms]:
    """The machine and the algorithms, as they were determined when the check began."""
    if kept.head.machine is not None and kept.head.algorithms is not None:
        return kept.head.machine, kept.head.algorithms
    check_plan.choose(candidates(engine, settings, settings.collective), settings.algorithms)
    machine = _machine(engine, settings)
    found = prove(engine, settings, listener.doing)
    kept.describe(machine=machine, algorithms=found)
    return machine, found


def _machine(engine: MpiEngine, settings: CheckSettings) -> Machine:
    place = where(engine, settings, [], plain=False)
    command = engine.launches.command(place)
    try:
        answer = engine.launches.get(place).ask(Hello(), timeout_s=RepetitionsSection().hang_after)
    except (DriverLost, Refused) as lost:
        raise RunFailed(
            f"{engine.installation.name} cannot be launched with {settings.p} processes: {lost}; 'offbeat"
            " doctor' shows what works here"
        ) from None
    if answer.p != settings.p:
        raise RunFailed(
            f"{settings.p} processes of {engine.installation.name} were launched, but the driver saw"
            f" {answer.p}: the launcher {engine.installation.mpirun} and the library"
            f" {engine.installation.library} do not belong together"
        )
    hosts = answer.host_of_rank
    return Machine(
        host=hosts[0],
        library=engine.installation.version_text,
        p=settings.p,
        hosts=list(dict.fromkeys(hosts)),
        clock=answer.clock_source,
        shared=answer.clock_shared,
        oversubscribed=command.oversubscribed,
        cores=_cores(len(set(hosts))),
        command=launch.shell_line(command),
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        offbeat=offbeat.__version__,
        warnings=[*command.warnings, *_load()],
    )


def _cores(hosts: int) -> int:
    """The number of cores for the processes."""
    job = allocation.current()
    return job.cores if job else cores.available().logical * hosts


def _load() -> list[str]:
    """A warning if other programs use this node."""
    load, count = os.getloadavg()[0], cores.available().logical
    if load < BUSY_LOAD * count:
        return []
    return [f"The machine was busy (load {load:.1f} on {count} cores): starts and syncs are less accurate."]


def _steps(
    engine: MpiEngine, settings: CheckSettings, found: CheckedAlgorithms, *, distorted: bool
) -> list[Step]:
    """The steps for the sound algorithms: the requested ones, else those that need no launch of their own."""
    sound = found.measured(settings.collective)
    if settings.algorithms:
        sound = [one for one in sound if one.name in settings.algorithms]
    else:
        sound = [one for one in sound if engine.steering.force_arguments(one, engine.variables()) is not None]
    return check_plan.steps(settings, found.measured(BARRIER), sound, distorted=distorted)


class CheckProgress(ProgressBar):
    """Displays the progress of a check (a :class:`CheckListener`); a context manager."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__("listing algorithms", console)
        self._done = self._total = 0

    def say(self, activity: str) -> None:
        """A long activity begins, for example a build."""
        self.print(activity)

    def doing(self, activity: str) -> None:
        """A short activity begins; shown only on a terminal."""
        self.update(activity=activity)

    def warn(self, sentence: str) -> None:
        """Something limits the reliability of the results."""
        self.print(f"warning: {sentence}")

    def begin(self, done: int, total: int) -> None:
        """Measuring begins."""
        self._done, self._total = done, total
        if done:
            self.print(f"{done} of {total} steps already done")
        self.restart(done, total)

    def finished(self, step: Step, failure: str) -> None:
        """A step is on disk."""
        self._done += 1
        if failure:
            self.print(f"failed: {step.id}: {failure}")
        self.update(done=self._done)
        self.print_periodically(f"{self._done} of {self._total} steps")
