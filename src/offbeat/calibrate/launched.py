"""The launch that a calibration measures in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from offbeat.calibrate.measure import Machine
from offbeat.errors import RunFailed
from offbeat.mpi import allocation, cores, launch
from offbeat.mpi.build import build_native
from offbeat.mpi.driver import Driver, DriverLost, Refused
from offbeat.mpi.installation import Installation

MOST_PER_NODE = 16
"""So many processes a node at most, unless more are asked for: they are to fill the node's link."""

PATIENCE_S = 120.0

BUSY = 0.5
"""Running processes for each core from which on measurements are disturbed."""


def placement(nodes: int, ppn: int, hostfile: Path | None) -> tuple[int, int]:
    """Nodes and processes a node: what is asked for, else what is here.

    Inside a batch job of several nodes two are taken, else this node. Processes have a core each.
    """
    job = allocation.current()
    several = (job is not None and job.nodes > 1) or hostfile is not None
    per_node = job.cores_per_node if job else cores.available().physical
    return nodes or (2 if several else 1), ppn or max(2, min(per_node, MOST_PER_NODE))


@contextmanager
def launched(
    installation: Installation,
    nodes: int,
    ppn: int,
    *,
    hostfile: Path | None = None,
    told: Callable[[str], None],
) -> Iterator[tuple[Driver, Machine]]:
    """Start the processes; gives the driver, and where its processes are. Raises RunFailed, BadInput."""
    command = launch.command(
        installation,
        build_native(installation, echo=told),
        nodes * ppn,
        nodes=nodes if nodes > 1 else 0,
        ppn=ppn if nodes > 1 else 0,
        hostfile=hostfile,
        allocation=allocation.current(),
        steerable=False,
    )
    with TemporaryDirectory() as scratch:
        try:
            driver = Driver(command.argv, command.environment, Path(scratch) / "log")
        except OSError as error:
            reason = error.strerror or str(error)
            raise RunFailed(
                f"{command.argv[0]} could not be started: {reason}; see 'offbeat doctor'"
            ) from None
        try:
            yield driver, _machine(driver, installation, command.warnings)
        finally:
            driver.close()


def _machine(driver: Driver, installation: Installation, warnings: list[str]) -> Machine:
    try:
        answer = driver.ask("hello", timeout_s=PATIENCE_S)
    except (DriverLost, Refused) as lost:
        raise RunFailed(f"{installation.name} does not work here: {lost}; see 'offbeat doctor'") from None
    places = answer["places"]
    assert isinstance(places, list)
    return Machine(
        host_of_rank=[str(place).split(" ")[0] for place in places],
        cores=cores.available().physical,
        library=installation.version_text,
        warnings=[*warnings, *_load()],
    )


def _load() -> list[str]:
    """Who else uses this node."""
    load, here = os.getloadavg()[0], cores.available().logical
    if load < BUSY * here:
        return []
    return [
        f"The machine was busy (load {load:.1f} on {here} cores): some times are longer than on an idle one."
    ]
