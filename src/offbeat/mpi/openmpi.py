"""Launching Open MPI 4.1 and 5.0."""

from __future__ import annotations

from collections.abc import Mapping

from offbeat.mpi.installation import Installation
from offbeat.mpi.placement import Placement

SRUN_PLUGIN = "pmix"
"""Slurm's plugin that starts Open MPI processes."""


def arguments(placement: Placement, environment: Mapping[str, str]) -> list[str]:
    """What follows ``mpirun``: root, number, hosts, mapping, binding, settings.

    Remote processes get only the variables that are named; MCA parameters go by the option made for them.
    """
    words = ["--allow-run-as-root"] if placement.as_root else []
    words += ["-np", str(placement.p)]
    if placement.hostfile and not placement.mentions("--hostfile", "--machinefile", "--host", "-H"):
        words += ["--hostfile", str(placement.hostfile)]
    if placement.ppn and not placement.mentions("--map-by", "--rankfile", "--npernode", "--ppr"):
        words += ["--map-by", f"ppr:{placement.ppn}:node"]
    words += _cores(placement)
    for name, value in sorted(environment.items()):
        parameter = name.removeprefix("OMPI_MCA_")
        words += ["--mca", parameter, value] if parameter != name else ["-x", f"{name}={value}"]
    return words


def _cores(placement: Placement) -> list[str]:
    """Oversubscription and binding.

    Open MPI counts the machine's cores, not the control group's share of them, so whether waiting processes
    give their core away is stated instead of left to it. A batch job with fewer slots than cores is not
    oversubscribed.
    """
    words: list[str] = []
    binding = {"own core": "core", "own thread": "hwthread", "oversubscribed": "none"}[placement.load]
    short_of_slots = placement.slots is not None and placement.p > placement.slots
    if placement.load == "oversubscribed":
        words += ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
    elif short_of_slots:
        words += ["--oversubscribe", "--mca", "mpi_yield_when_idle", "0"]
    if placement.load == "own thread":
        words += ["--use-hwthread-cpus"]
    if not placement.mentions("--bind-to", "--cpu-set", "--rankfile"):
        words += ["--bind-to", binding]
    return words


def steering_environment(installation: Installation, placement: Placement) -> dict[str, str]:
    """Nothing: what is in the way of a forced algorithm on several nodes is a setting of that algorithm."""
    return {}


def environment(
    installation: Installation, placement: Placement, inherited: Mapping[str, str]
) -> dict[str, str]:
    """Variables that this family needs in any launch: none."""
    return {}
