"""Launching MPICH 4 and 5 with its own launcher, hydra."""

from __future__ import annotations

from collections.abc import Mapping

from offbeat.mpi.installation import Installation
from offbeat.mpi.placement import Placement

SRUN_PLUGIN = "pmi2"
"""Slurm's plugin that starts MPICH processes."""


def arguments(placement: Placement, environment: Mapping[str, str]) -> list[str]:
    """What follows ``mpirun``: number, hosts, mapping, binding, environment."""
    words = ["-np", str(placement.p), *hosts(placement)]
    if not placement.mentions("-bind-to", "--bind-to"):
        binding = {"own core": "core", "own thread": "hwthread", "oversubscribed": "none"}[placement.load]
        words += ["-bind-to", binding]
    return words + variables(environment)


def hosts(placement: Placement) -> list[str]:
    """Hosts and processes per host, as every hydra takes them."""
    words: list[str] = []
    if placement.hostfile and not placement.mentions("-f", "-hosts", "-host", "-machinefile", "-hostfile"):
        words += ["-f", str(placement.hostfile)]
    if placement.ppn and not placement.mentions("-ppn", "-perhost"):
        words += ["-ppn", str(placement.ppn)]
    return words


def variables(environment: Mapping[str, str]) -> list[str]:
    """Environment variables for all processes, as every hydra takes them."""
    return [word for name, value in sorted(environment.items()) for word in ("-genv", name, value)]


def steering_environment(installation: Installation, placement: Placement) -> dict[str, str]:
    """What lets forced algorithms act: the device must not divide collectives, nor use its own.

    The device collectives of 5.0.2 ignore the settings on one node. Those of 4.0.2 divide a collective into a
    part inside nodes and one between them, and force the algorithm on each part.
    """
    return {"MPIR_CVAR_DEVICE_COLLECTIVES": "none"}


def environment(
    installation: Installation, placement: Placement, inherited: Mapping[str, str]
) -> dict[str, str]:
    """Variables that this family needs in any launch: none."""
    return {}
