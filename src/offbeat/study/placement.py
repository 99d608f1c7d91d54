"""Placements of processes on nodes, and the memory that processes and buffers take on one machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import psutil

from offbeat.study.case import ROOTED
from offbeat.toml.faults import INVALID, items

Placement = tuple[int, int, int]
"""(p, nodes, ppn); nodes and ppn are 0 where the launcher places the processes."""


def placements(processes: Any) -> list[Placement]:
    """Every placement that a section ``[processes]`` asks for: each p, then each nodes × ppn."""
    if processes is INVALID:
        return []
    nodes_and_ppn = [
        (nodes, ppn) for _, nodes in items(processes["nodes"]) for _, ppn in items(processes["ppn"])
    ]
    launcher_places = [(p, 0, 0) for _, p in items(processes["p"])]
    return launcher_places + [(nodes * ppn, nodes, ppn) for nodes, ppn in nodes_and_ppn]


PER_PROCESS: dict[str, tuple[int, int]] = {
    "allreduce": (2, 0),
    "alltoall": (0, 2),
    "alltoallv": (0, 2),
    "allgather": (1, 1),
    "allgatherv": (1, 1),
    "bcast": (1, 0),
    "reduce": (2, 0),
    "reduce_scatter": (1, 1),
    "reduce_scatter_block": (1, 1),
    "gather": (1, 1),
    "scatter": (1, 1),
    "scan": (2, 0),
    "exscan": (2, 0),
    "barrier": (0, 0),
}
"""Collective → (a, b): a process needs (a + b·p) × message size for its send and receive buffers. Of gather
and scatter only the root needs the b·p part."""

SUMMED_COUNTS = ("alltoallv", "allgatherv", "reduce_scatter")
"""Collectives in which MPI's int displacements or summed counts reach p × count."""


PROCESS_BYTES = 3 * 2**20
"""What a process takes at least beside its buffers and what it shares with others: on two processes of one
machine 3.5 MiB were seen with Open MPI 5.0, 10 MiB with MPICH 5.0."""


def buffer_bytes(collective: str, size_bytes: int, p: int, processes: int) -> int:
    """The bytes of send and receive buffers of so many of the p processes, the root among them."""
    own, shared = PER_PROCESS[collective]
    holders = 1 if collective in ROOTED else processes
    return size_bytes * (own * processes + shared * p * holders)


def processes_here(p: int, ppn: int, mpi: Mapping[str, object]) -> int:
    """How many of p processes surely share one machine.

    All of them, unless ppn says otherwise; one, where a host file, srun or an allocation may spread them.
    ``mpi`` is the study's section of that name.
    """
    if ppn:
        return ppn
    spread = mpi.get("hostfile") or mpi.get("launcher") == "srun"
    allocated = any(name in os.environ for name in ("SLURM_JOB_ID", "PBS_JOBID"))
    return 1 if spread or allocated else p


def machine_bytes() -> int:
    """This machine's memory."""
    return int(psutil.virtual_memory().total)
