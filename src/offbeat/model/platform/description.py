"""The properties of a platform, as text and tables."""

from __future__ import annotations

from offbeat.base.errors import BadInput
from offbeat.base.units import amount, format_bandwidth, format_size, format_time
from offbeat.model.platform.machine import Platform
from offbeat.model.platform.message_times import message_paths, message_s
from offbeat.model.platform.schema import PlatformFile
from offbeat.model.platform.topologies import topology_of

SIZES = [1, 64, 1024, 8192, 65536, 2**20, 2**24]
"""Message sizes of the table."""


def summary(platform: Platform) -> tuple[str, str, str, str]:
    """A row of ``offbeat platform list``: name, nodes × cores, topology, source."""
    file = platform.file
    return file.name, f"{file.nodes} × {file.cores}", topology_text(file), file.source


def topology_text(file: PlatformFile) -> str:
    """The topology as a phrase."""
    if file.nodes == 1:
        return "one node"
    return topology_of(file).description(file, format_bandwidth(file.link.bandwidth))


def facts(platform: Platform) -> list[tuple[str, str]]:
    """The properties that do not depend on message size: (name, text)."""
    file, messages = platform.file, platform.file.messages
    listed = [
        ("file", platform.path),
        ("source", file.source or "unknown"),
        ("machine", f"{amount(file.nodes, 'node')} of {amount(file.cores, 'core')}"),
        ("joined by", topology_text(file)),
        ("ranks", _ranks(file)),
    ]
    if file.nodes > 1:
        cable = f"{format_bandwidth(file.link.bandwidth)}, {format_time(file.link.latency)}"
        listed.append(("a node's link", cable))
        if file.reverse_share:
            share = f"{100 * file.reverse_share:g}% of a message's rate on the links of the reverse path"
            listed.append(("in reverse", share))
        if messages.flow_bandwidth:
            listed.append(("a single message", f"at most {format_bandwidth(messages.flow_bandwidth)}"))
    alone = f"{format_bandwidth(file.inside.bandwidth)}, {format_time(file.inside.latency)}, no contention"
    listed.append(("inside a node", alone))
    if file.memory.bandwidth:
        listed += [("memory", memory_text(file)), ("in programs", shared_messages_text(file))]
    listed += [
        ("eager", _below(messages.eager_below, "leave when they are sent", "no message leaves")),
        ("detached", _below(messages.detached_below, "do not block their sender", "no sender continues")),
        ("overheads", _overheads(file)),
        ("local work", _work(file)),
    ]
    return listed


def by_size(platform: Platform) -> tuple[list[str], list[list[str]]]:
    """The table of times and bandwidths: its headings, and a row for each size."""
    file = platform.file
    paths = message_paths(file)
    headings = ["size", *(f"{path.name} ({format_time(path.latency_s)})" for path in paths)]
    times = [message_s(file, path, SIZES) for path in paths]
    rows = [
        [
            format_size(size),
            *(f"{format_time(taken[i])}, {format_bandwidth(size / taken[i])}" for taken in times),
        ]
        for i, size in enumerate(SIZES)
    ]
    return headings, rows


def route(platform: Platform, source: int, target: int) -> tuple[float, list[list[str]]]:
    """The route between two nodes: its latency in seconds, and a row for each link.

    A row is the link's number, its bandwidth, and the share of the message's rate that the link carries.
    Raises :class:`BadInput` for an unknown node.
    """
    last = platform.file.nodes - 1
    for node in (source, target):
        if not 0 <= node <= last:
            raise BadInput(f"--route {source} {target}: there is no node {node}; the nodes are 0 to {last}")
    topology = platform.topology()
    bandwidths = topology.bandwidths
    latency_s, hops = topology.routes(source, target)
    rows = [
        [f"link {link}", format_bandwidth(bandwidths[link]), f"{100 * weight:g}%"] for link, weight in hops
    ]
    return latency_s, rows


def memory_text(file: PlatformFile) -> str:
    """The memory domains as a phrase."""
    memory = file.memory
    domains = f"{amount(memory.domains, 'domain')} of {format_bandwidth(memory.bandwidth)} for each node"
    return f"{domains}, of which one core draws {format_bandwidth(memory.core_bandwidth)}"


def shared_messages_text(file: PlatformFile) -> str:
    """How messages inside a node contend in programs of many iterations, as a phrase."""
    memory = file.memory
    contention = "do not contend"
    if memory.message_bandwidth:
        contention = f"share {format_bandwidth(memory.message_bandwidth)} in the domain of their receivers"
    traffic = f"{memory.message_traffic:g} B from the memory for each byte" if memory.message_traffic else ""
    return f"messages inside a node {contention} and draw {traffic or 'nothing from the memory'}"


def _ranks(file: PlatformFile) -> str:
    ranks = file.ranks
    mapping = {
        "block": "in blocks: a node's cores are filled before the next node's",
        "cyclic": "cyclic: one on each node in turn",
        "list": f"as listed: {amount(len(ranks.nodes), 'rank')}",
    }[ranks.mapping]
    return mapping + ("; more ranks than cores allowed" if ranks.oversubscribe else "")


def _below(limit: int, behaviour: str, never: str) -> str:
    if limit == 0:
        return f"{never} before its receiver is ready"
    return f"messages below {format_size(limit)} {behaviour}, even if their receiver is not ready"


def _overheads(file: PlatformFile) -> str:
    messages = file.messages
    return f"send {format_time(messages.send_overhead)}, receive {format_time(messages.receive_overhead)}"


def _work(file: PlatformFile) -> str:
    speeds = {"reductions": file.messages.reduce_bandwidth, "copies": file.messages.copy_bandwidth}
    return ", ".join(
        f"{name} {'at ' + format_bandwidth(speed) if speed else 'take no time'}"
        for name, speed in speeds.items()
    )
