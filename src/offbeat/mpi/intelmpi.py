"""Launching Intel MPI 2021 with its own launcher, also hydra."""

from __future__ import annotations

from collections.abc import Mapping

from offbeat.mpi import mpich
from offbeat.mpi.installation import Installation
from offbeat.mpi.placement import Placement

SRUN_PLUGIN = "pmi2"
"""Slurm's plugin that starts Intel MPI processes."""

_PINNING = {
    "own core": {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": "core"},
    "own thread": {"I_MPI_PIN": "1", "I_MPI_PIN_CELL": "unit", "I_MPI_PIN_DOMAIN": "1"},
    "oversubscribed": {"I_MPI_PIN": "0"},
}


def arguments(placement: Placement, environment: Mapping[str, str]) -> list[str]:
    """What follows ``mpirun``: number, hosts, mapping, variables. Binding is a matter of variables."""
    return ["-np", str(placement.p), *mpich.hosts(placement), *mpich.variables(environment)]


def steering_environment(installation: Installation, placement: Placement) -> dict[str, str]:
    """Nothing is in the way of I_MPI_ADJUST_X."""
    return {}


def environment(
    installation: Installation, placement: Placement, inherited: Mapping[str, str]
) -> dict[str, str]:
    """Variables that this family needs; what the user has set already is left alone.

    The root, as wheels come without the script that sets it; one node's fabric, as probing the network fails
    on machines without one; pinning; and leave to place processes otherwise than the batch system would.
    """
    needed = {"I_MPI_ROOT": str(installation.prefix)}
    if not placement.several_nodes:
        needed["I_MPI_FABRICS"] = "shm"
    if not any(name.startswith("I_MPI_PIN") for name in inherited):
        needed |= _PINNING[placement.load]
    if placement.ppn and placement.slots is not None:
        needed["I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"] = "0"
    return {name: value for name, value in needed.items() if name == "I_MPI_ROOT" or name not in inherited}
