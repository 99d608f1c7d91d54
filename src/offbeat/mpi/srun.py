"""Launching with Slurm's own srun, whatever the library."""

from __future__ import annotations

from collections.abc import Mapping

from offbeat.errors import BadInput
from offbeat.mpi.placement import Placement


def arguments(placement: Placement, plugin: str, inherited: Mapping[str, str]) -> list[str]:
    """What follows ``srun``; variables travel in its environment, as --export takes no value with a comma.

    ``plugin`` is what starts this library's processes, unless the site or the user chose one.
    """
    if placement.hostfile:
        raise BadInput(
            f"hostfile = {placement.hostfile}: srun takes its nodes from Slurm; leave the hostfile out, or"
            " launch with mpirun"
        )
    words = ["--ntasks", str(placement.p)]
    if placement.nodes:
        words += ["--nodes", str(placement.nodes), "--ntasks-per-node", str(placement.ppn)]
    if not placement.mentions("--mpi") and "SLURM_MPI_TYPE" not in inherited:
        words += [f"--mpi={plugin}"]
    if placement.load == "oversubscribed":
        words += ["--overcommit"]
    if not placement.mentions("--cpu-bind"):
        binding = {"own core": "cores", "own thread": "threads", "oversubscribed": "none"}[placement.load]
        words += [f"--cpu-bind={binding}"]
    return [*words, "--kill-on-bad-exit=1", "--export=ALL"]
