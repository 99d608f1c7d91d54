"""Looking at every node of a host file or a batch job: which answer, and which cores they have."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from offbeat.errors import RunFailed
from offbeat.mpi import check
from offbeat.mpi.allocation import Allocation
from offbeat.mpi.check import Check
from offbeat.mpi.installation import Installation
from offbeat.mpi.launch import command
from offbeat.mpi.placement import hosts_of

UNBOUND: dict[str, list[str]] = {
    "openmpi": ["--bind-to", "none"],
    "mpich": ["-bind-to", "none"],
    "intelmpi": [],
}
"""Options with which a process may run on every core of its node that the launcher gives it."""

UNBOUND_VARIABLES: dict[str, dict[str, str]] = {"intelmpi": {"I_MPI_PIN": "0"}}
"""The same for libraries that bind by variables."""

TIMEOUT_S = 60.0
TIMEOUT_OF_ONE_S = 20.0


class SeenNode(Struct, frozen=True, kw_only=True):
    """A node: the hardware threads (``threads``) that a process may use there, or why it does not answer."""

    host: str
    threads: int = 0
    failure: str = ""


def look_at_nodes(
    installation: Installation,
    driver: Path,
    hostfile: Path | None,
    allocation: Allocation | None,
    environ: Mapping[str, str] = os.environ,
) -> list[SeenNode]:
    """One process on each node of the host file, or of the batch job; empty where there is only this node.

    Where the launch over all of them fails, each host of the host file is tried alone. Raises
    :class:`BadInput` for a host file that cannot be read, and :class:`RunFailed` where a batch job's nodes
    cannot be launched on.
    """
    hosts = hosts_of(hostfile)
    count = len(hosts) or (allocation.nodes if allocation else 1)
    if count < 2 and not hosts:
        return []
    try:
        answer = _answer(installation, driver, count, hostfile, allocation, environ, TIMEOUT_S)
    except RunFailed:
        if not hosts:
            raise
        return [_alone(installation, driver, host, environ) for host in hosts]
    return [_seen(place) for place in answer.places]


def limits_of_nodes(nodes: Sequence[SeenNode]) -> Iterator[str]:
    """What will not work over these nodes, and why."""
    silent = [node for node in nodes if node.failure]
    for node in silent:
        yield f"Node {node.host} does not answer: {node.failure}"
    if nodes and not silent and len({node.host for node in nodes}) < len(nodes):
        yield (
            "The launcher put processes that should be on different nodes on the same one: several names in"
            " the host file mean one node, or a node has no room for a process."
        )
    counts = {node.host: node.threads for node in nodes if not node.failure}
    if len(set(counts.values())) > 1:
        least = min(counts, key=lambda host: counts[host])
        yield (
            f"The nodes have different numbers of hardware threads: {counts[least]} on {least},"
            f" {max(counts.values())} elsewhere. With a 'ppn' above {counts[least]}, processes share them"
            " there."
        )


def _answer(
    installation: Installation,
    driver: Path,
    nodes: int,
    hostfile: Path | None,
    allocation: Allocation | None,
    environ: Mapping[str, str],
    timeout_s: float,
) -> Check:
    launch = command(
        installation,
        [str(driver), "--check"],
        nodes,
        nodes=nodes,
        ppn=1,
        hostfile=hostfile,
        options=UNBOUND[installation.family],
        environment=UNBOUND_VARIABLES.get(installation.family),
        allocation=allocation,
        environ=environ,
    )
    return check.run(launch, installation, nodes, timeout_s)


def _alone(installation: Installation, driver: Path, host: str, environ: Mapping[str, str]) -> SeenNode:
    """One process on one host."""
    with tempfile.TemporaryDirectory() as folder:
        hostfile = Path(folder) / "hostfile"
        hostfile.write_text(f"{host}\n", encoding="utf-8")
        try:
            answer = _answer(installation, driver, 1, hostfile, None, environ, TIMEOUT_OF_ONE_S)
        except RunFailed as reason:
            return SeenNode(host=host, failure=str(reason).split("; to see it by hand")[0])
    return _seen(answer.places[0])


def _seen(place: str) -> SeenNode:
    """A node from what the driver says of a process on it: ``host 0,1``."""
    host, _, threads = place.partition(" ")
    return SeenNode(host=host, threads=len(threads.split(",")) if threads else 0)
