"""How many processes run where, and whether each has a core to itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.reading import read_file
from offbeat.libraries.launch.batch_job import Allocation
from offbeat.libraries.launch.cores import Cores

_NAME_HOSTS = (
    "--host",
    "-host",
    "-hosts",
    "-H",
    "--hostfile",
    "-hostfile",
    "-f",
    "-machinefile",
    "--machinefile",
)

_NAME_GROUPS = ("--het-group", "--pack-group")
"""Options of srun that name the groups of nodes of a heterogeneous job."""

Load = Literal["own core", "own thread", "own cores", "oversubscribed"]


class Placement(Struct, frozen=True, kw_only=True):
    """Where a launcher shall start processes.

    ``nodes`` and ``ppn`` are 0 where the launcher places the ``p`` processes. ``load`` says whether every
    process has a core (``own core``), only a hardware thread (``own thread``), a core for each of several
    threads (``own cores``: such processes are not bound), or less than that (``oversubscribed``). ``slots``
    is how many processes the launcher starts by default, where a batch system limits it. ``options`` are the
    user's launcher options.
    """

    p: int
    nodes: int
    ppn: int
    hostfile: Path | None
    several_nodes: bool
    load: Load
    slots: int | None
    as_root: bool
    options: tuple[str, ...] = ()

    def mentions(self, *names: str) -> bool:
        """Whether the user's options contain one of these: launchers refuse an option that is given twice."""
        return any(option in names or option.split("=")[0] in names for option in self.options)


def place_processes(
    p: int,
    *,
    nodes: int,
    ppn: int,
    hostfile: Path | None,
    options: Sequence[str],
    allocation: Allocation | None,
    cores: Cores,
    by_srun: bool,
    as_root: bool,
    threads: int = 1,
) -> tuple[Placement, list[str]]:
    """Check the requested placement against the available cores; returns the placement and warnings.

    Raises :class:`BadInput` for numbers that contradict each other or exceed the allocation.
    """
    hosts = hosts_of(hostfile)
    nodes, ppn = _nodes_and_ppn(p, nodes, ppn)
    if allocation and by_srun and any(option.split("=")[0] in _NAME_GROUPS for option in options):
        allocation = allocation.join_groups()
    _check_nodes(nodes, hostfile, hosts, options, allocation, by_srun)
    ranks, logical, physical, where = _share(p, nodes, ppn, hosts, allocation, cores)
    placement = Placement(
        p=p,
        nodes=nodes,
        ppn=ppn,
        hostfile=hostfile or (allocation.node_file if allocation else None),
        several_nodes=max(
            nodes, len(hosts) if not nodes else 0, allocation.nodes if allocation and not nodes else 0
        )
        > 1,
        load=_load(ranks, threads, logical, physical),
        slots=allocation.slots if allocation else None,
        as_root=as_root,
        options=tuple(options),
    )
    if threads > 1:
        return placement, _thread_warnings(placement, ranks * threads, logical, where)
    return placement, _warnings(placement, ranks, logical, physical, where)


def _load(ranks: int, threads: int, logical: int, physical: int) -> Load:
    if ranks * threads > logical:
        return "oversubscribed"
    if threads > 1:
        return "own cores"
    return "own core" if ranks <= physical else "own thread"


def _thread_warnings(placement: Placement, threads: int, logical: int, where: str) -> list[str]:
    if placement.load != "oversubscribed":
        return []
    return [
        f"{threads} threads of all processes share {_amount(logical, 'hardware thread')} {where}: times"
        " include waiting for a core."
    ]


def hosts_of(hostfile: Path | None) -> list[str]:
    """The hosts that a hostfile names, each once; empty without one.

    Raises :class:`BadInput` where it cannot be read or names none.
    """
    if hostfile is None:
        return []
    try:
        lines = read_file(hostfile).decode().splitlines()
    except (OSError, UnicodeDecodeError) as reason:
        raise BadInput(f"the hostfile {hostfile} cannot be read: {reason}") from None
    entries = [line.split("#")[0].split() for line in lines]
    hosts = list(dict.fromkeys(entry[0].split(":")[0] for entry in entries if entry))
    if not hosts:
        raise BadInput(f"the hostfile {hostfile} names no host; write one per line")
    return hosts


def _nodes_and_ppn(p: int, nodes: int, ppn: int) -> tuple[int, int]:
    if p < 1:
        raise BadInput(f"{p} processes cannot be launched; at least 1 is needed")
    if bool(nodes) != bool(ppn):
        raise BadInput(
            f"nodes = {nodes} and ppn = {ppn}: give both, or neither and let the launcher place them"
        )
    if nodes and nodes * ppn != p:
        raise BadInput(f"{nodes} nodes × {ppn} processes per node are {nodes * ppn} processes, not {p}")
    return nodes, ppn


def _check_nodes(
    nodes: int,
    hostfile: Path | None,
    hosts: list[str],
    options: Sequence[str],
    allocation: Allocation | None,
    by_srun: bool,
) -> None:
    if nodes <= 1 or any(option.split("=")[0] in _NAME_HOSTS for option in options):
        return
    if hostfile is not None:
        if nodes > len(hosts):
            raise BadInput(f"nodes = {nodes}, but the hostfile {hostfile} names {len(hosts)}")
    elif allocation is not None:
        if nodes > allocation.nodes:
            groups = len(allocation.groups)
            reason = f" in the first of its {groups} groups, which launchers use" if groups > 1 else ""
            raise BadInput(
                f"nodes = {nodes}, but the {allocation.system} job {allocation.job} has"
                f" {allocation.nodes}{reason}"
            )
    elif not by_srun:
        raise BadInput(
            f"nodes = {nodes}, but their names are unknown: give a hostfile (--hostfile, or key 'hostfile' in"
            " [mpi]), or run inside a batch job of Slurm, PBS or LSF ('offbeat script' writes a job script)"
        )


def _share(
    p: int, nodes: int, ppn: int, hosts: list[str], allocation: Allocation | None, cores: Cores
) -> tuple[int, int, int, str]:
    """Numbers of processes, hardware threads and cores to compare, and a phrase that says where they are."""
    if allocation:
        job = f"the {allocation.system} job's"
        if ppn:
            return ppn, allocation.cores_per_node, allocation.cores_per_node, f"on each of {job} nodes"
        return p, allocation.cores, allocation.cores, f"on {job} {_amount(allocation.nodes, 'node')}"
    if ppn:
        where = "on each node, if all have as many as this one" if nodes > 1 else "here"
        return ppn, cores.logical, cores.physical, where
    if len(hosts) > 1:
        return (
            p,
            cores.logical * len(hosts),
            cores.physical * len(hosts),
            f"on the hostfile's {len(hosts)} hosts, if all have as many as this one",
        )
    return p, cores.logical, cores.physical, "here"


def _warnings(placement: Placement, ranks: int, logical: int, physical: int, where: str) -> list[str]:
    if placement.load == "oversubscribed":
        unit = "core" if logical == physical else "hardware thread"
        return [
            f"{ranks} processes share {_amount(logical, unit)} {where}: times include waiting for a core."
            " They show that everything works, but not which algorithm is faster on a machine with a core for"
            f" each process; {_limit_phrase(physical)} reliable times."
        ]
    if placement.load == "own thread":
        return [
            f"{ranks} processes run on {_amount(physical, 'core')} with {logical} hardware threads {where}:"
            f" pairs of processes slow each other down. At most {_amount(physical, 'process')}"
            f" {'has' if physical == 1 else 'have'} a core of their own."
        ]
    return []


def _limit_phrase(cores: int) -> str:
    """Returns ``only 1 process gives``, or ``at most 2 processes give``."""
    return "only 1 process gives" if cores == 1 else f"at most {cores} processes give"


def _amount(number: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
