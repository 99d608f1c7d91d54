"""The batch job that offbeat runs in, if any: nodes, cores and the remaining time."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from offbeat.reading import read_text


class Allocation(Struct, frozen=True, kw_only=True):
    """A Slurm or PBS job.

    ``nodes`` is how many nodes it holds; ``cores_per_node`` is the smallest number of cores that it holds on
    any of them and ``cores`` their sum. ``slots`` is how many processes the batch system expects.
    ``node_file`` is PBS's list of hosts. ``time_left_s`` is the remaining time in seconds; ``None`` where the
    batch system does not report it.
    """

    system: str  # Slurm or PBS
    job: str
    nodes: int
    cores_per_node: int
    cores: int
    slots: int
    node_file: Path | None = None
    time_left_s: float | None = None


def current(environ: Mapping[str, str] = os.environ) -> Allocation | None:
    """The allocation that these environment variables describe; ``None`` outside one."""
    if environ.get("SLURM_JOB_ID") and environ.get("SLURM_JOB_NUM_NODES", environ.get("SLURM_NNODES")):
        return _slurm(environ)
    if environ.get("PBS_JOBID") and environ.get("PBS_NODEFILE"):
        return _pbs(environ)
    return None


def _slurm(environ: Mapping[str, str]) -> Allocation:
    nodes = int(environ.get("SLURM_JOB_NUM_NODES") or environ["SLURM_NNODES"])
    on_node = environ.get("SLURM_CPUS_ON_NODE", "1")
    cores = repeated_numbers(environ.get("SLURM_JOB_CPUS_PER_NODE", "")) or [int(on_node)] * nodes
    tasks = repeated_numbers(environ.get("SLURM_TASKS_PER_NODE", "")) or cores
    return Allocation(
        system="Slurm",
        job=environ["SLURM_JOB_ID"],
        nodes=nodes,
        cores_per_node=min(cores),
        cores=sum(cores),
        slots=sum(tasks),
        time_left_s=_slurm_time_left_s(environ),
    )


def repeated_numbers(text: str) -> list[int]:
    """Slurm's short form of a list: ``16(x2),8`` is ``[16, 16, 8]``; empty for anything else."""
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part.strip())
        if not match:
            return []
        numbers += [int(match[1])] * int(match[2] or 1)
    return numbers


def _slurm_time_left_s(environ: Mapping[str, str]) -> float | None:
    """Newer versions give the job's end in the environment; for older ones squeue is called."""
    end = environ.get("SLURM_JOB_END_TIME", "")
    if end.isdigit():
        return max(0.0, int(end) - time.time())
    squeue = shutil.which("squeue", path=environ.get("PATH"))
    if not squeue:
        return None
    command = [squeue, "--noheader", "--format=%L", "--jobs", environ["SLURM_JOB_ID"]]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=10, env=dict(environ), check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return slurm_duration_s(answer.stdout)


def slurm_duration_s(text: str) -> float | None:
    """Slurm's ``days-hours:minutes:seconds``, days and hours optional, in seconds; else ``None``."""
    match = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", text.strip())
    if not match:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _pbs(environ: Mapping[str, str]) -> Allocation | None:
    """PBS lists a host once for each process it expects there; it does not report the remaining time."""
    node_file = Path(environ["PBS_NODEFILE"])
    try:
        hosts = Counter(read_text(node_file).split())
    except OSError:
        return None
    if not hosts:
        return None
    on_node = environ.get("NCPUS", "")
    cores = [max(count, int(on_node) if on_node.isdigit() else 0) for count in hosts.values()]
    return Allocation(
        system="PBS",
        job=environ["PBS_JOBID"],
        nodes=len(hosts),
        cores_per_node=min(cores),
        cores=sum(cores),
        slots=hosts.total(),
        node_file=node_file,
    )
