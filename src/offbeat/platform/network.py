"""From a platform file to the simulator's objects: switches, ranks on nodes, the network."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat import _simulator
from offbeat.platform.schema import (
    FatTreeSection,
    InsideSection,
    MessagesSection,
    PlatformFile,
)
from offbeat.toml.quantities import Seconds

Nodes = NDArray[np.int32]
"""The node of each rank, nodes counted from 0."""


def block(p: int, nodes: int, per_node: int) -> Nodes:
    """Fill each node with ``per_node`` ranks before the next one; further ranks start at the first node."""
    return (np.arange(p) // per_node % nodes).astype(np.int32)


def cyclic(p: int, nodes: int) -> Nodes:
    """Place ranks round-robin, one on each node in turn."""
    return (np.arange(p) % nodes).astype(np.int32)


def max_ranks_per_node(node_of_rank: Nodes) -> int:
    """The number of ranks on the node with most ranks."""
    return int(np.bincount(node_of_rank).max())


class Level(Struct, frozen=True, kw_only=True):
    """The switches of one level of a tree: ``children`` below each, ``parents`` above each child.

    ``switches`` is their total number; ``bandwidth`` (bytes per second) and ``latency_s`` are those of a
    cable from a child.
    """

    name: str
    switches: int
    children: int
    parents: int
    cables: int
    bandwidth: float
    latency_s: float

    @property
    def description(self) -> str:
        """The switches of the level: ``8 leaf switches``."""
        return f"{self.switches} {self.name} switch{'' if self.switches == 1 else 'es'}"

    @property
    def simulator_arguments(self) -> tuple[int, int, int, tuple[float, float]]:
        """The arguments of the simulator's fat_tree for this level."""
        return self.children, self.parents, self.cables, (self.bandwidth, self.latency_s)


def uplinks(tree: FatTreeSection) -> float:
    """Cables from a leaf to all of its spines; a whole number unless the taper does not fit."""
    return tree.nodes_per_leaf / tree.taper if tree.taper else float(tree.spines * tree.cables)


def levels(platform: PlatformFile) -> list[Level]:
    """The levels of a fat tree from below; the last leaf and the last pod may be partly empty."""
    tree, link = platform.fat_tree, platform.link
    leaves = math.ceil(platform.nodes / tree.nodes_per_leaf)
    spines = round(uplinks(tree)) // tree.cables
    pods = math.ceil(leaves / tree.leaves_per_pod) if tree.leaves_per_pod else 1
    bandwidth, latency_s = tree.bandwidth or link.bandwidth, latency_or_link(tree.latency, platform)
    result = [
        Level(
            name="leaf",
            switches=leaves,
            children=tree.nodes_per_leaf,
            parents=1,
            cables=1,
            bandwidth=link.bandwidth,
            latency_s=link.latency,
        ),
        Level(
            name="spine",
            switches=spines * pods,
            children=tree.leaves_per_pod or leaves,
            parents=spines,
            cables=tree.cables,
            bandwidth=bandwidth,
            latency_s=latency_s,
        ),
    ]
    if tree.leaves_per_pod:
        core = Level(
            name="core",
            switches=spines * tree.cores_per_spine,
            children=pods,
            parents=tree.cores_per_spine,
            cables=tree.core_cables,
            bandwidth=bandwidth,
            latency_s=latency_s,
        )
        result.append(core)
    return result


def tapers(platform: PlatformFile) -> list[float]:
    """For each level but the highest: bandwidth into its switches from below for each byte that goes up."""
    all_levels = levels(platform)
    return [
        lower.children * lower.cables * lower.bandwidth / (upper.parents * upper.cables * upper.bandwidth)
        for lower, upper in pairwise(all_levels)
    ]


def latency_or_link(latency: Seconds | str, platform: PlatformFile) -> float:
    """A latency in seconds; 'link' stands for the latency of a node's link."""
    return platform.link.latency if isinstance(latency, str) else latency


Steps = list[tuple[float, float]]
"""(minimum size in bytes, factor), ascending."""


def topology(platform: PlatformFile) -> _simulator.Topology:
    """The simulator's topology."""
    cable = (platform.link.bandwidth, platform.link.latency)
    if platform.topology == "fat_tree":
        listed = [level.simulator_arguments for level in levels(platform)]
        return _simulator.fat_tree(platform.nodes, listed, platform.reverse_share)
    if platform.topology == "dragonfly":
        fly = platform.dragonfly
        local = (fly.local_bandwidth or cable[0], latency_or_link(fly.local_latency, platform))
        between = (fly.global_bandwidth or cable[0], latency_or_link(fly.global_latency, platform))
        sizes = (fly.groups, fly.routers, fly.nodes_per_router, fly.global_cables)
        return _simulator.dragonfly(*sizes, cable, local, between, platform.reverse_share)
    return _simulator.single_switch(platform.nodes, cable, platform.reverse_share)


def network(platform: PlatformFile, node_of_rank: Nodes) -> _simulator.Network:
    """The simulator's network with ranks placed on it."""
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
    """The section whose factors apply inside a node."""
    return platform.inside if platform.inside.from_sizes else platform.messages


def latency_factors(section: Any) -> Steps:
    """The latency factors of a section, in the simulator's format."""
    return [
        (float(size), factor)
        for size, factor in zip(section.from_sizes, section.latency_factors, strict=True)
    ]


def bandwidth_factors(section: Any) -> Steps:
    """The bandwidth factors of a section, in the simulator's format."""
    return [
        (float(size), factor)
        for size, factor in zip(section.from_sizes, section.bandwidth_factors, strict=True)
    ]


def _per_byte(bandwidth: float) -> float:
    return 1 / bandwidth if bandwidth else 0.0
