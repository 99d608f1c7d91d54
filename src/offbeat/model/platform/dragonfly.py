"""The dragonfly: groups of fully connected routers, with cables between all groups."""

from __future__ import annotations

from typing import Any

from offbeat import _simulator
from offbeat.base.toml.faults import INVALID, Faults, Tree
from offbeat.base.units import amount
from offbeat.model.platform.schema import PlatformFile
from offbeat.model.platform.topology import Groups, Topology, latency_or_link


def build(platform: PlatformFile) -> _simulator.Topology:
    """The simulator's topology."""
    fly, cable = platform.dragonfly, (platform.link.bandwidth, platform.link.latency)
    local = (fly.local_bandwidth or cable[0], latency_or_link(fly.local_latency, platform))
    global_link = (fly.global_bandwidth or cable[0], latency_or_link(fly.global_latency, platform))
    sizes = (fly.groups, fly.routers, fly.nodes_per_router, fly.global_cables)
    return _simulator.dragonfly(*sizes, cable, local, global_link, platform.reverse_share)


def description(platform: PlatformFile, speed: str) -> str:
    """The groups, and the cables between them."""
    fly = platform.dragonfly
    cables = amount(fly.global_cables, "cable")
    groups = f"{fly.groups} groups × {fly.routers} routers × {fly.nodes_per_router} nodes"
    return f"dragonfly at {speed}: {groups}; {cables} between two groups"


def picture(platform: PlatformFile) -> Groups:
    """The groups."""
    fly = platform.dragonfly
    return Groups(fly.groups, f"{fly.routers} routers × {fly.nodes_per_router} nodes")


def check(dragonfly: Tree, nodes: Any, faults: Faults) -> None:
    """Add the faults of the section ``[dragonfly]``."""
    sizes = [dragonfly[name] for name in ("groups", "routers", "nodes_per_router")]
    for name, size in zip(("groups", "routers", "nodes_per_router"), sizes, strict=True):
        if size == 0:
            faults.add(("dragonfly", name), "a dragonfly has at least one of these; say how many")
    if INVALID in (nodes, *sizes) or 0 in sizes:
        return
    product = sizes[0] * sizes[1] * sizes[2]
    if product != nodes:
        sentence = (
            f"nodes = {nodes}, but {sizes[0]} groups × {sizes[1]} routers × {sizes[2]} nodes are {product}"
        )
        faults.add(("nodes",), f"{sentence}; make them the same")


TOPOLOGY = Topology(
    name="dragonfly",
    build=build,
    description=description,
    picture=picture,
    check=check,
    examples={
        "groups": 4,
        "routers": 4,
        "nodes_per_router": 2,
        "local_bandwidth": "200 Gbit/s",
        "local_latency": "350 ns",
        "global_bandwidth": "200 Gbit/s",
        "global_latency": "450 ns",
    },
)
