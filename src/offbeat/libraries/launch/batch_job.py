"""The batch job that offbeat runs in, if any: nodes, cores and the remaining time.

Slurm, PBS and LSF describe a job by environment variables, which other programs may have changed: what is no
number counts as not set.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from offbeat.base.errors import BadInput
from offbeat.base.reading import read_file


class NodeGroup(Struct, frozen=True, kw_only=True):
    """Nodes that a job holds.

    ``cores_per_node`` is the smallest number of cores that the job holds on any of them and ``cores`` their
    sum. ``slots`` is how many processes the batch system expects.
    """

    nodes: int
    cores_per_node: int
    cores: int
    slots: int


class Allocation(Struct, frozen=True, kw_only=True):
    """A Slurm, PBS or LSF job.

    A heterogeneous Slurm job has several ``groups`` of nodes; all other jobs have one. Launchers use the
    first group unless srun's option --het-group names others. ``node_file`` is the list of hosts of PBS and
    LSF. ``time_left_s`` is the remaining time in seconds; ``None`` where the batch system does not report it.
    """

    system: str  # Slurm, PBS or LSF
    job: str
    groups: tuple[NodeGroup, ...]
    node_file: Path | None = None
    time_left_s: float | None = None

    @property
    def nodes(self) -> int:
        """The nodes that launchers use."""
        return self.groups[0].nodes

    @property
    def cores_per_node(self) -> int:
        """The smallest number of cores on a node that launchers use."""
        return self.groups[0].cores_per_node

    @property
    def cores(self) -> int:
        """The cores of the nodes that launchers use."""
        return self.groups[0].cores

    @property
    def slots(self) -> int:
        """The number of processes that the batch system expects on the nodes that launchers use."""
        return self.groups[0].slots

    def join_groups(self) -> Allocation:
        """The same job with the nodes of all groups in one."""
        together = NodeGroup(
            nodes=sum(group.nodes for group in self.groups),
            cores_per_node=min(group.cores_per_node for group in self.groups),
            cores=sum(group.cores for group in self.groups),
            slots=sum(group.slots for group in self.groups),
        )
        return replace(self, groups=(together,))


def current(environ: Mapping[str, str] = os.environ) -> Allocation | None:
    """The job that these environment variables describe; ``None`` outside a job.

    Raises :class:`BadInput` if the batch system's list of hosts is no text file.
    """
    if environ.get("SLURM_JOB_ID") and (groups := tuple(_slurm_groups(environ))):
        return Allocation(
            system="Slurm",
            job=environ["SLURM_JOB_ID"],
            groups=groups,
            time_left_s=_slurm_time_left_s(environ),
        )
    if environ.get("PBS_JOBID") and environ.get("PBS_NODEFILE"):
        return _read_host_list(
            "PBS", environ["PBS_JOBID"], "PBS_NODEFILE", environ, _number(environ.get("NCPUS", ""))
        )
    if environ.get("LSB_JOBID") and environ.get("LSB_DJOB_HOSTFILE"):
        return _read_host_list("LSF", environ["LSB_JOBID"], "LSB_DJOB_HOSTFILE", environ)
    return None


def _slurm_groups(environ: Mapping[str, str]) -> Iterator[NodeGroup]:
    """The groups of nodes of a Slurm job.

    The variables of a heterogeneous job end in the number of the group, which Slurm before 20.02 calls a
    pack. Those of the first group may also have the names that they have in other jobs.
    """
    names = {"SLURM_HET_SIZE": "_HET_GROUP_", "SLURM_PACK_SIZE": "_PACK_GROUP_"}
    suffix = next((suffix for size, suffix in names.items() if _number(environ.get(size, ""))), "")
    first = _read_slurm_group(environ, f"{suffix}0") or _read_slurm_group(environ, "")
    if first:
        yield first
        further = (_read_slurm_group(environ, f"{suffix}{number}") for number in itertools.count(1))
        yield from itertools.takewhile(bool, further if suffix else ())


def _read_slurm_group(environ: Mapping[str, str], suffix: str) -> NodeGroup | None:
    """The nodes that variables with a suffix describe; ``None`` if there are no such variables."""

    def value(name: str) -> str:
        return environ.get(f"{name}{suffix}", "")

    nodes = _number(value("SLURM_JOB_NUM_NODES")) or _number(value("SLURM_NNODES"))
    if not nodes:
        return None
    on_node = _number(value("SLURM_CPUS_ON_NODE")) or 1
    cores = repeated_numbers(value("SLURM_JOB_CPUS_PER_NODE")) or [(on_node, nodes)]
    tasks = repeated_numbers(value("SLURM_TASKS_PER_NODE")) or cores
    return NodeGroup(
        nodes=nodes,
        cores_per_node=min(number for number, _ in cores),
        cores=_total(cores),
        slots=_total(tasks),
    )


def repeated_numbers(text: str) -> list[tuple[int, int]]:
    """Slurm's short form of a list, as numbers and how often each is repeated: ``16(x2),8`` is
    ``[(16, 2), (8, 1)]``; empty for anything else.
    """
    numbers: list[tuple[int, int]] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:\(x(\d{1,9})\))?", part.strip(), re.ASCII)
        if not match:
            return []
        numbers.append((int(match[1]), int(match[2] or 1)))
    return numbers


def _total(numbers: list[tuple[int, int]]) -> int:
    return sum(number * times for number, times in numbers)


def _number(text: str) -> int:
    """A whole number; 0 for any other text."""
    return int(text) if re.fullmatch(r"\d{1,18}", text.strip(), re.ASCII) else 0


def _slurm_time_left_s(environ: Mapping[str, str]) -> float | None:
    """Newer versions give the job's end in the environment; for older ones squeue is called."""
    end = _number(environ.get("SLURM_JOB_END_TIME", ""))
    if end:
        return max(0.0, end - time.time())
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
    match = re.fullmatch(r"(?:(\d{1,9})-)?(?:(\d{1,9}):)?(\d{1,9}):(\d{1,9})", text.strip(), re.ASCII)
    if not match:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _read_host_list(
    system: str, job: str, variable: str, environ: Mapping[str, str], least_cores: int = 0
) -> Allocation | None:
    """A job of PBS or LSF, which list a host once for each process that they expect there.

    They do not report the remaining time. A node has ``least_cores`` cores at least.
    """
    node_file = Path(environ[variable])
    try:
        hosts = Counter(read_file(node_file).decode("ascii").split())
    except OSError:
        return None
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{variable} = {node_file} is no list of hosts: the byte 0x{error.object[error.start]:02x} is not"
            f" part of a host name; unset {variable} outside of {system} jobs"
        ) from None
    if not hosts:
        return None
    cores = [max(count, least_cores) for count in hosts.values()]
    group = NodeGroup(nodes=len(hosts), cores_per_node=min(cores), cores=sum(cores), slots=hosts.total())
    return Allocation(system=system, job=job, groups=(group,), node_file=node_file)
