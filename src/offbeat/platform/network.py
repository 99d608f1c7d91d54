"""A platform file as the simulator's objects."""

from __future__ import annotations

from typing import Any

from offbeat import _simulator
from offbeat.platform.mapping import Nodes
from offbeat.platform.schema import InsideSection, MessagesSection, PlatformFile
from offbeat.platform.shape import levels, own_or_link

Steps = list[tuple[float, float]]
"""(from so many bytes on, factor), ascending."""


def topology(platform: PlatformFile) -> _simulator.Topology:
    """How its nodes are joined."""
    cable = (platform.link.bandwidth, platform.link.latency)
    if platform.topology == "fat_tree":
        listed = [level.as_levels for level in levels(platform)]
        return _simulator.fat_tree(platform.nodes, listed, platform.reverse_share)
    if platform.topology == "dragonfly":
        fly = platform.dragonfly
        local = (fly.local_bandwidth or cable[0], own_or_link(fly.local_latency, platform))
        between = (fly.global_bandwidth or cable[0], own_or_link(fly.global_latency, platform))
        sizes = (fly.groups, fly.routers, fly.nodes_per_router, fly.global_cables)
        return _simulator.dragonfly(*sizes, cable, local, between, platform.reverse_share)
    return _simulator.single_switch(platform.nodes, cable, platform.reverse_share)


def network(platform: PlatformFile, node_of_rank: Nodes) -> _simulator.Network:
    """The machine with ranks on it."""
    messages = platform.messages
    return _simulator.Network(
        topology(platform),
        node_of_rank,
        inside_latency_s=platform.inside.latency,
        inside_bandwidth=platform.inside.bandwidth,
        inside_latency_factors=latency_factors(inside_factors(platform)),
        inside_bandwidth_factors=bandwidth_factors(inside_factors(platform)),
        latency_factors=latency_factors(messages),
        bandwidth_factors=bandwidth_factors(messages),
        flow_bandwidth=messages.flow_bandwidth,
        header_bytes=float(messages.header),
        eager_below_bytes=float(messages.eager_below),
        detached_below_bytes=float(messages.detached_below),
        send_overhead_s=messages.send_overhead,
        receive_overhead_s=messages.receive_overhead,
        reduce_s_per_byte=_per_byte(messages.reduce_bandwidth),
        copy_s_per_byte=_per_byte(messages.copy_bandwidth),
    )


def inside_factors(platform: PlatformFile) -> InsideSection | MessagesSection:
    """The section whose factors hold inside a node."""
    return platform.inside if platform.inside.from_sizes else platform.messages


def latency_factors(section: Any) -> Steps:
    """A section's factors of the latency, as the simulator takes them."""
    return [
        (float(size), factor)
        for size, factor in zip(section.from_sizes, section.latency_factors, strict=True)
    ]


def bandwidth_factors(section: Any) -> Steps:
    """A section's factors of the bandwidth, as the simulator takes them."""
    return [
        (float(size), factor)
        for size, factor in zip(section.from_sizes, section.bandwidth_factors, strict=True)
    ]


def _per_byte(bandwidth: float) -> float:
    return 1 / bandwidth if bandwidth else 0.0
