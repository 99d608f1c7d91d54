"""What a platform holds, in words and figures for tables."""

from __future__ import annotations

from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.platform.machine import Platform
from offbeat.platform.network import levels, tapers
from offbeat.platform.predict import message_s, ways
from offbeat.platform.schema import PlatformFile
from offbeat.units import counted, format_bandwidth, format_size, format_time

SIZES = [1, 64, 1024, 8192, 65536, 2**20, 2**24]
"""Message sizes of the table."""


class Summary(Struct, frozen=True, kw_only=True):
    """A line of ``offbeat platform list``."""

    name: str
    machine: str
    joined: str
    source: str


def summary(platform: Platform) -> Summary:
    """One line about a platform."""
    file = platform.file
    return Summary(
        name=file.name, machine=f"{file.nodes} × {file.cores}", joined=joined(file), source=file.source
    )


def joined(file: PlatformFile) -> str:
    """How its nodes are joined, in a phrase."""
    if file.nodes == 1:
        return "one node"
    speed = format_bandwidth(file.link.bandwidth)
    if file.topology == "fat_tree":
        made = levels(file)
        shape = ", ".join(level.words for level in made)
        taper = " and ".join(f"{ratio:.3g}" for ratio in tapers(file))
        return f"fat tree at {speed}: {shape}; taper {taper}"
    if file.topology == "dragonfly":
        fly = file.dragonfly
        cables = counted(fly.global_cables, "cable")
        groups = f"{fly.groups} groups × {fly.routers} routers × {fly.nodes_per_router} nodes"
        return f"dragonfly at {speed}: {groups}; {cables} between two groups"
    return f"one switch at {speed}"


def facts(platform: Platform) -> list[tuple[str, str]]:
    """Everything beside the figures by size: what it is, and its value in words."""
    file, messages = platform.file, platform.file.messages
    listed = [
        ("file", platform.path),
        ("source", file.source or "not told"),
        ("machine", f"{counted(file.nodes, 'node')} of {counted(file.cores, 'core')}"),
        ("joined by", joined(file)),
        ("ranks", _ranks(file)),
    ]
    if file.nodes > 1:
        cable = f"{format_bandwidth(file.link.bandwidth)}, {format_time(file.link.latency)}"
        listed.append(("a node's link", cable))
        if file.reverse_share:
            way_back = f"{100 * file.reverse_share:g}% of a message's rate on the links of its way back"
            listed.append(("in reverse", way_back))
        if messages.flow_bandwidth:
            listed.append(("a message alone", f"at most {format_bandwidth(messages.flow_bandwidth)}"))
    alone = f"{format_bandwidth(file.inside.bandwidth)}, {format_time(file.inside.latency)}, no contention"
    listed += [
        ("inside a node", alone),
        ("eager", _below(messages.eager_below, "leave when they are sent", "no message leaves")),
        ("detached", _below(messages.detached_below, "do not keep their sender", "no sender goes on")),
        ("overheads", _overheads(file)),
        ("local work", _work(file)),
    ]
    return listed


def by_size(platform: Platform, sizes: list[int] = SIZES) -> tuple[list[str], list[list[str]]]:
    """The table of effective figures: its headings, and a row for each size."""
    file = platform.file
    found = ways(file)
    headings = ["size", *(f"{way.name}{_where(way.latency_s)}" for way in found)]
    times = [message_s(file, way, sizes) for way in found]
    rows = [
        [
            format_size(size),
            *(f"{format_time(taken[i])}, {format_bandwidth(size / taken[i])}" for taken in times),
        ]
        for i, size in enumerate(sizes)
    ]
    return headings, rows


def route(platform: Platform, source: int, target: int) -> tuple[float, list[list[str]]]:
    """The way from one node to another: its latency in seconds, and a row for each link that a message takes.

    A row is the link's number, its bandwidth, and how much of its rate the message takes of it. Raises
    :class:`BadInput` for a node that isn't there.
    """
    last = platform.file.nodes - 1
    for node in (source, target):
        if not 0 <= node <= last:
            raise BadInput(f"--route {source} {target}: there is no node {node}; the nodes are 0 to {last}")
    made = platform.topology()
    bandwidths = made.bandwidths
    latency_s, hops = made.routes(source, target)
    rows = [
        [f"link {link}", format_bandwidth(bandwidths[link]), f"{100 * weight:g}%"] for link, weight in hops
    ]
    return latency_s, rows


def _where(latency_s: float) -> str:
    return f" ({format_time(latency_s)})"


def _ranks(file: PlatformFile) -> str:
    ranks = file.ranks
    words = {
        "block": "in blocks: a node's cores are filled before the next node's",
        "cyclic": "cyclic: one a node in turn",
        "list": f"as listed: {counted(len(ranks.nodes), 'rank')}",
    }[ranks.mapping]
    return words + ("; more ranks than cores allowed" if ranks.oversubscribe else "")


def _below(limit: int, what: str, never: str) -> str:
    if limit == 0:
        return f"{never} before its receiver is ready"
    return f"messages below {format_size(limit)} {what}, their receiver ready or not"


def _overheads(file: PlatformFile) -> str:
    messages = file.messages
    return f"send {format_time(messages.send_overhead)}, receive {format_time(messages.receive_overhead)}"


def _work(file: PlatformFile) -> str:
    speeds = {"reductions": file.messages.reduce_bandwidth, "copies": file.messages.copy_bandwidth}
    return ", ".join(
        f"{name} {'at ' + format_bandwidth(speed) if speed else 'take no time'}"
        for name, speed in speeds.items()
    )
