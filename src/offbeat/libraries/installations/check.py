"""The short run that shows whether an installation works here: a few processes, the driver's ``--check``."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.base.errors import RunFailed
from offbeat.libraries.families.libraries import library_of
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch import driver_protocol
from offbeat.libraries.launch.batch_job import Allocation, current
from offbeat.libraries.launch.driver_protocol import Hello, LaunchFacts
from offbeat.libraries.launch.launch_command import LaunchCommand, command, shell_line
from offbeat.libraries.launch.placement import hosts_of

_MARK = "@offbeat "

TIMEOUT_S = 60.0
NODE_TIMEOUT_S = 20.0
"""How long a launch on a single node may take before the node counts as not answering."""


def check(
    installation: Installation,
    driver: Path,
    p: int = 2,
    timeout_s: float = 60.0,
    environ: Mapping[str, str] = os.environ,
) -> LaunchFacts:
    """Launch ``p`` processes on this node and read the driver's answer; raises :class:`RunFailed`."""
    launch = command(installation, [str(driver), "--check"], p, allocation=current(environ), environ=environ)
    return run(launch, installation, p, timeout_s)


def run(launch: LaunchCommand, installation: Installation, p: int, timeout_s: float = 60.0) -> LaunchFacts:
    """Run a launch of ``p`` processes of the driver with ``--check``; raises :class:`RunFailed`."""
    try:
        process = subprocess.run(
            launch.argv,
            env=launch.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RunFailed(
            f"{p} processes of {installation.name} did not end within {timeout_s:.0f} s;"
            f" {_command_hint(launch)}"
        ) from None
    except OSError as reason:
        raise RunFailed(
            f"{installation.mpirun} cannot be started: {reason.strerror}; {_command_hint(launch)}"
        ) from None
    answer = [line for line in process.stdout.splitlines() if line.startswith(_MARK)]
    if process.returncode != 0 or not answer:
        output = (process.stderr or process.stdout).strip().splitlines()[-3:]
        raise RunFailed(
            f"{p} processes of {installation.name} ended with status {process.returncode} and"
            f" {'no answer' if not answer else 'an answer'}: {' | '.join(output) or 'nothing was printed'};"
            f" {_command_hint(launch)}"
        )
    return _read(answer[-1].removeprefix(_MARK), p, installation)


def _read(text: str, p: int, installation: Installation) -> LaunchFacts:
    answer = msgspec.convert(
        driver_protocol.decode(Hello(), text.encode()), LaunchFacts, from_attributes=True
    )
    if answer.p != p:
        raise RunFailed(
            f"{p} processes of {installation.name} were launched, but the driver saw {answer.p}: the launcher"
            f" {installation.mpirun} and the library {installation.library} do not belong together"
        )
    return answer


def _command_hint(launch: LaunchCommand) -> str:
    return f"to try it yourself: {shell_line(launch)}"


class NodeStatus(Struct, frozen=True, kw_only=True):
    """A node: the number of hardware threads that a process may use there, or why it does not answer."""

    host: str
    threads: int = 0
    failure: str = ""


def check_nodes(
    installation: Installation,
    driver: Path,
    hostfile: Path | None,
    job: Allocation | None,
    environ: Mapping[str, str] = os.environ,
) -> list[NodeStatus]:
    """Start one process on each node of the host file or of the batch job; empty if there is only this node.

    If the launch over all nodes fails, each host of the host file is tried alone. Raises :class:`BadInput`
    for a host file that cannot be read, and :class:`RunFailed` if the launch over a batch job's nodes fails.
    """
    hosts = hosts_of(hostfile)
    count = len(hosts) or (job.nodes if job else 1)
    if count < 2 and not hosts:
        return []
    try:
        answer = _one_per_node(installation, driver, count, hostfile, job, environ, TIMEOUT_S)
    except RunFailed:
        if not hosts:
            raise
        return [_check_host(installation, driver, host, environ) for host in hosts]
    return [_node_status(place) for place in answer.places]


def limits_of_nodes(nodes: Sequence[NodeStatus]) -> Iterator[str]:
    """The limits of these nodes: sentences that say what will not work there, and why."""
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


def _one_per_node(
    installation: Installation,
    driver: Path,
    nodes: int,
    hostfile: Path | None,
    job: Allocation | None,
    environ: Mapping[str, str],
    timeout_s: float,
) -> LaunchFacts:
    """Launch one unbound process on each of so many nodes."""
    library = library_of(installation)
    launch = command(
        installation,
        [str(driver), "--check"],
        nodes,
        nodes=nodes,
        ppn=1,
        hostfile=hostfile,
        options=library.unbound_options,
        environment=library.unbound_variables,
        allocation=job,
        environ=environ,
    )
    return run(launch, installation, nodes, timeout_s)


def _check_host(
    installation: Installation, driver: Path, host: str, environ: Mapping[str, str]
) -> NodeStatus:
    with tempfile.TemporaryDirectory() as folder:
        hostfile = Path(folder) / "hostfile"
        hostfile.write_text(f"{host}\n", encoding="utf-8")
        try:
            answer = _one_per_node(installation, driver, 1, hostfile, None, environ, NODE_TIMEOUT_S)
        except RunFailed as reason:
            return NodeStatus(host=host, failure=str(reason).split("; to try it yourself")[0])
    return _node_status(answer.places[0])


def _node_status(description: str) -> NodeStatus:
    """A node from the driver's description of a process on it: ``host 0,1``."""
    host, _, threads = description.partition(" ")
    return NodeStatus(host=host, threads=len(threads.split(",")) if threads else 0)
