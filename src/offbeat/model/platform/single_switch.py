"""A single switch: each node has one cable to a switch that never limits."""

from __future__ import annotations

from offbeat import _simulator
from offbeat.model.platform.schema import PlatformFile
from offbeat.model.platform.topology import Levels, Topology


def build(platform: PlatformFile) -> _simulator.Topology:
    """The simulator's topology."""
    cable = (platform.link.bandwidth, platform.link.latency)
    return _simulator.single_switch(platform.nodes, cable, platform.reverse_share)


TOPOLOGY = Topology(
    name="single_switch",
    build=build,
    description=lambda platform, speed: f"one switch at {speed}",
    picture=lambda platform: Levels([("nodes", platform.nodes), ("switch", 1)]),
)
