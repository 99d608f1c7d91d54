"""The whole check: find the algorithms, prove them, and do what is not done yet, step by step."""

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

import offbeat
from offbeat.clock import wanted as asked
from offbeat.clock.directory import Check, Kept
from offbeat.clock.measure import LaunchedProber, Prober, candidates, ordered, prove, where
from offbeat.clock.rows import Found, Machine
from offbeat.clock.wanted import BARRIER, Step, Wanted
from offbeat.engines.mpi import MpiEngine, open_engine
from offbeat.errors import RunFailed
from offbeat.mpi import allocation, cores, launch
from offbeat.mpi.build import build_native
from offbeat.mpi.driver import DriverLost, Refused
from offbeat.mpi.installation import Installation
from offbeat.study.schema import MpiSection, RepetitionsSection, StartSection

BUSY = 0.5
"""Running processes for each core from which on measurements are disturbed."""


class Told(Protocol):
    """Who hears how a check goes on."""

    def say(self, what: str) -> None:
        """Something that takes its time."""

    def doing(self, what: str) -> None:
        """What is being done now, to be replaced by the next."""

    def warn(self, sentence: str) -> None:
        """Something that the user must know to judge the numbers."""

    def begin(self, done: int, total: int) -> None:
        """Measuring begins; so many steps of the total are there already."""

    def finished(self, step: Step, failure: str) -> None:
        """A step is on disk; ``failure`` says what went wrong in it, if anything did."""


class Here(Struct, frozen=True, kw_only=True):
    """The processes that this machine or batch job has room for."""

    p: int
    nodes: int


def here(nodes: int = 0) -> Here:
    """A process for each core, at least two: of the batch job, or of this node times ``nodes``."""
    job = allocation.current()
    if job is None:
        return Here(p=max(2, cores.available().physical * max(1, nodes)), nodes=nodes)
    if nodes:
        return Here(p=max(2, nodes * job.cores_per_node), nodes=nodes)
    return Here(p=max(2, job.cores), nodes=0)


def check(installation: Installation, wanted: Wanted, directory: Path, told: Told) -> Check:
    """Do what a check asks for and what of it is not done yet in ``directory``.

    Raises :class:`offbeat.errors.BadInput` for what cannot be measured, and RunFailed where nothing can be
    launched; what was measured before is kept.
    """
    asked.check(wanted)
    with Kept(directory, wanted) as kept, _engine(installation, wanted, kept.logs, told) as engine:
        machine, found = _described(engine, wanted, kept, told)
        for warning in machine.warnings:
            told.warn(warning)
        prober = LaunchedProber(engine, wanted, found)
        todo = _steps(engine, wanted, found, bent=machine.shared)
        go_on(kept, ordered(todo, cache(lambda step: prober.where(step))), prober, told)
        return kept.check()


def go_on(kept: Kept, todo: Sequence[Step], prober: Prober, told: Told) -> None:
    """Do the steps that are not done yet, and keep each before the next one begins."""
    done = kept.done
    told.begin(len(done), len(todo))
    for step in todo:
        if step.id in done:
            continue
        told.doing(step.id)
        row = prober.do(step)
        kept.append(row)
        told.finished(step, row.failure)


@contextmanager
def _engine(installation: Installation, wanted: Wanted, logs: Path, told: Told) -> Iterator[MpiEngine]:
    driver = build_native(installation, echo=told.say)
    with TemporaryDirectory() as scratch:
        engine = open_engine(
            installation,
            driver,
            MpiSection(hostfile=wanted.hostfile),
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


def _described(engine: MpiEngine, wanted: Wanted, kept: Kept, told: Told) -> tuple[Machine, Found]:
    """Where it is measured, and the algorithms; as they were found when the check began."""
    if kept.head.machine is not None and kept.head.found is not None:
        return kept.head.machine, kept.head.found
    asked.choose(candidates(engine, wanted, wanted.collective), wanted.algorithms)
    machine = _machine(engine, wanted)
    found = prove(engine, wanted, told.doing)
    kept.describe(machine=machine, found=found)
    return machine, found


def _machine(engine: MpiEngine, wanted: Wanted) -> Machine:
    place = where(engine, wanted, [], plain=False)
    command = engine.launches.command(place)
    try:
        answer = engine.launches.get(place).ask("hello", timeout_s=RepetitionsSection().hang_after)
    except (DriverLost, Refused) as lost:
        raise RunFailed(
            f"{engine.installation.name} cannot be launched with {wanted.p} processes: {lost}; 'offbeat"
            " doctor' shows what works here"
        ) from None
    if answer["p"] != wanted.p:
        raise RunFailed(
            f"{wanted.p} processes of {engine.installation.name} were launched, but the driver saw"
            f" {answer['p']}: the launcher {engine.installation.mpirun} and the library"
            f" {engine.installation.library} do not belong together"
        )
    places = answer["places"]
    assert isinstance(places, list)
    hosts = [str(one).split(" ")[0] for one in places]
    return Machine(
        host=hosts[0],
        library=engine.installation.version_text,
        p=wanted.p,
        hosts=list(dict.fromkeys(hosts)),
        clock=str(answer["clock_source"]),
        shared=bool(answer["clock_shared"]),
        crowded=command.oversubscribed,
        cores=_cores(len(set(hosts))),
        command=launch.shell_line(command),
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        offbeat=offbeat.__version__,
        warnings=[*command.warnings, *_load()],
    )


def _cores(hosts: int) -> int:
    """Cores to compare the processes with."""
    job = allocation.current()
    return job.cores if job else cores.available().logical * hosts


def _load() -> list[str]:
    """Who else uses this node."""
    load, there = os.getloadavg()[0], cores.available().logical
    if load < BUSY * there:
        return []
    return [f"The machine was busy (load {load:.1f} on {there} cores): starts and syncs suffer from that."]


def _steps(engine: MpiEngine, wanted: Wanted, found: Found, *, bent: bool) -> list[Step]:
    """The steps for the algorithms that are sound: those asked for, else those that need no own launch."""
    sound = found.measured(wanted.collective)
    if wanted.algorithms:
        sound = [one for one in sound if one.name in wanted.algorithms]
    else:
        sound = [one for one in sound if engine.steering.force_arguments(one, engine.variables()) is not None]
    return asked.steps(wanted, found.measured(BARRIER), sound, bent=bent)
