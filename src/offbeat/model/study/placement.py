"""Placements of processes on nodes, and the memory that processes and buffers take on one machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import psutil

from offbeat.base.toml.faults import INVALID, valid_items
from offbeat.model.study.collectives import PROPERTIES
from offbeat.model.study.communicators import Placement


def placements(processes: Any) -> list[Placement]:
    """The placements of a section ``[processes]``: each p, then each nodes × ppn."""
    if processes is INVALID:
        return []
    nodes_and_ppn = [
        (nodes, ppn)
        for _, nodes in valid_items(processes["nodes"])
        for _, ppn in valid_items(processes["ppn"])
    ]
    launcher_places = [(p, 0, 0) for _, p in valid_items(processes["p"])]
    return launcher_places + [(nodes * ppn, nodes, ppn) for nodes, ppn in nodes_and_ppn]


def placements_of(section: Any, processes: Any) -> list[Placement]:
    """The placements of a section ``[[collective]]``: those of the study, or those with its own p."""
    section_sizes = {p for _, p in valid_items(section["p"])}
    return [place for place in placements(processes) if not section_sizes or place[0] in section_sizes]


def communicators_of(section: Any) -> int:
    """Into how many communicators a section ``[[collective]]`` divides the processes."""
    return int(section["communicators"]) if section["communicators"] is not INVALID else 1


def communicator_sizes(section: Any, processes: Any) -> list[int]:
    """The numbers of processes of the communicators of a section ``[[collective]]``, ascending."""
    return sorted({p // communicators_of(section) for p, _, _ in placements_of(section, processes)})


PROCESS_BYTES = 3 * 2**20
"""Minimum private memory of a process without its buffers: with two processes on one machine, 3.5 MiB were
measured with Open MPI 5.0 and 10 MiB with MPICH 5.0."""


def buffer_bytes(collective: str, size_bytes: int, p: int, processes: int) -> int:
    """The bytes of send and receive buffers of ``processes`` of the p processes, including the root."""
    row = PROPERTIES[collective]
    holders = 1 if row.is_rooted else processes
    return size_bytes * (row.buffers("ONE_BLOCK") * processes + row.buffers("BLOCK_PER_RANK") * p * holders)


def processes_here(p: int, ppn: int, mpi: Mapping[str, object]) -> int:
    """How many of p processes certainly share one machine.

    All of them, unless ppn is given; one, if a host file, srun or a batch job may distribute them.
    ``mpi`` is the study's section of that name.
    """
    if ppn:
        return ppn
    spread = mpi.get("hostfile") or mpi.get("launcher") == "srun"
    is_batch_job = any(name in os.environ for name in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"))
    return 1 if spread or is_batch_job else p


def machine_bytes() -> int:
    """The memory of this machine in bytes."""
    return int(psutil.virtual_memory().total)
