"""Running a check: prove the algorithms, then measure the remaining steps, and show progress."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import offbeat
from offbeat.base.campaign.progress import CampaignProgress
from offbeat.base.campaign.steps import StepListener, run_steps
from offbeat.base.errors import RunFailed
from offbeat.libraries.installations.build import build_native
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch import batch_job, cores, launch_command
from offbeat.libraries.launch.driver import CommandRefused, DriverLost
from offbeat.libraries.launch.driver_protocol import Hello
from offbeat.measurement.clock_check import check_plan
from offbeat.measurement.clock_check.check_plan import BARRIER, CheckSettings, Step
from offbeat.measurement.clock_check.directory import Check, CheckDirectory
from offbeat.measurement.clock_check.measure import LaunchedProber, candidates, order_steps, prove, where
from offbeat.measurement.clock_check.rows import CheckedAlgorithms, Machine, Row
from offbeat.measurement.engines.mpi_engine import MpiEngine, open_engine
from offbeat.model.study.schema import MpiSection, RepetitionsSection, StartSection

BUSY_LOAD = 0.5
"""Load per core above which measurements are disturbed."""


class CheckListener(StepListener[Row], Protocol):
    """Receives progress events of a check."""

    def print(self, text: str) -> None:
        """A long activity begins, for example a build."""


def default_processes(nodes: int = 0) -> int:
    """One process per core, at least two: of the batch job, or of this node times ``nodes``."""
    job = batch_job.current()
    if job is None:
        return max(2, cores.available().physical * max(1, nodes))
    return max(2, nodes * job.cores_per_node if nodes else job.cores)


def check(
    installation: Installation, settings: CheckSettings, directory: Path, listener: CheckListener
) -> Check:
    """Measure the steps of a check that are not done yet in ``directory``.

    Raises :class:`offbeat.base.errors.BadInput` for settings that cannot be measured, and RunFailed if
    nothing can be launched; finished steps are kept.
    """
    check_plan.check(settings)
    with (
        CheckDirectory(directory, settings) as check_directory,
        _engine(installation, settings, check_directory.logs, listener) as engine,
    ):
        machine, algorithms = _determine_machine(engine, settings, check_directory, listener)
        for warning in machine.warnings:
            listener.warn(warning)
        prober = LaunchedProber(engine, settings, algorithms)
        todo = _steps(engine, settings, algorithms, is_distorted=machine.shared)
        in_order = order_steps(todo, cache(lambda step: prober.where(step)))
        run_steps(check_directory, {step.id: step for step in in_order}, prober.do, listener)
        return check_directory.check()


@contextmanager
def _engine(
    installation: Installation, settings: CheckSettings, logs: Path, listener: CheckListener
) -> Iterator[MpiEngine]:
    driver = build_native(installation, echo=listener.print)
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


def _determine_machine(
    engine: MpiEngine, settings: CheckSettings, check_directory: CheckDirectory, listener: CheckListener
) -> tuple[Machine, CheckedAlgorithms]:
    """The machine and the algorithms, as they were determined when the check began."""
    if check_directory.head.machine is not None and check_directory.head.algorithms is not None:
        return check_directory.head.machine, check_directory.head.algorithms
    check_plan.choose(candidates(engine, settings, settings.collective), settings.algorithms)
    machine = _machine(engine, settings)
    algorithms = prove(engine, settings, listener.say)
    check_directory.update_head(machine=machine, algorithms=algorithms)
    return machine, algorithms


def _machine(engine: MpiEngine, settings: CheckSettings) -> Machine:
    spec = where(engine, settings, [], plain=False)
    command = engine.launches.command(spec)
    try:
        answer = engine.launches.get(spec).ask(Hello(), timeout_s=RepetitionsSection().hang_after)
    except (DriverLost, CommandRefused) as reason:
        raise RunFailed(
            f"{engine.installation.name} cannot be launched with {settings.p} processes: {reason}; 'offbeat"
            " doctor' shows what works here"
        ) from None
    if answer.p != settings.p:
        raise RunFailed(
            f"{settings.p} processes of {engine.installation.name} were launched, but the driver saw"
            f" {answer.p}: the launcher {engine.installation.mpirun} and the library"
            f" {engine.installation.library} do not belong together"
        )
    hosts, job = answer.host_of_rank, batch_job.current()
    return Machine(
        host=hosts[0],
        library=engine.installation.version_text,
        p=settings.p,
        hosts=list(dict.fromkeys(hosts)),
        clock=answer.clock_source,
        shared=answer.clock_shared,
        oversubscribed=command.is_oversubscribed,
        cores=job.cores if job else cores.available().logical * len(set(hosts)),
        command=launch_command.shell_line(command),
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        offbeat=offbeat.__version__,
        warnings=[*command.warnings, *_load()],
    )


def _load() -> list[str]:
    """A warning if other programs use this node."""
    load, count = os.getloadavg()[0], cores.available().logical
    if load < BUSY_LOAD * count:
        return []
    return [f"The machine was busy (load {load:.1f} on {count} cores): starts and syncs are less accurate."]


def _steps(
    engine: MpiEngine, settings: CheckSettings, algorithms: CheckedAlgorithms, *, is_distorted: bool
) -> list[Step]:
    """The steps for the sound algorithms: the requested ones, else those that need no launch of their own."""
    sound = algorithms.algorithms_to_measure(settings.collective)
    if settings.algorithms:
        sound = [one for one in sound if one.name in settings.algorithms]
    else:
        sound = [one for one in sound if engine.steering.force_arguments(one, engine.variables()) is not None]
    return check_plan.steps(
        settings, algorithms.algorithms_to_measure(BARRIER), sound, is_distorted=is_distorted
    )


class CheckProgress(CampaignProgress):
    """Displays the progress of a check (a :class:`CheckListener`); a context manager."""

    def report_record(self, record: Row) -> None:
        """The row of a step is on disk."""
        if record.failure:
            self.print(f"failed: {record.step}: {record.failure}")
        self.advance()
