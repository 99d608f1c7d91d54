"""A ring: each node is joined with the next one and the previous one."""

from __future__ import annotations

from offbeat import _simulator
from offbeat.platform.schema import PlatformFile
from offbeat.platform.topology import Levels, Topology


def build(platform: PlatformFile) -> _simulator.Topology:
    """The simulator's topology."""
    cable = (platform.link.bandwidth, platform.link.latency)
    return _simulator.ring(platform.nodes, cable, platform.reverse_share)


TOPOLOGY = Topology(
    name="ring",
    build=build,
    description=lambda platform, speed: f"ring at {speed}",
    picture=lambda platform: Levels([("nodes", platform.nodes)]),
)
