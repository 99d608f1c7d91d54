"""From a platform file to the simulator's objects: switches, ranks on nodes, the network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from offbeat import _simulator
from offbeat.model.platform.schema import InsideSection, MessagesSection, PlatformFile
from offbeat.model.platform.topologies import topology_of

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


Steps = list[tuple[float, float]]
"""(minimum size in bytes, factor), ascending."""


def topology(platform: PlatformFile) -> _simulator.Topology:
    """The simulator's topology."""
    return topology_of(platform).build(platform)


def network(platform: PlatformFile, node_of_rank: Nodes) -> _simulator.Network:
    """The simulator's network with ranks placed on it."""
    messages, inside = platform.messages, inside_factors(platform)
    return _simulator.Network(
        topology(platform),
        node_of_rank,
        inside_latency_s=platform.inside.latency,
        inside_bandwidth=platform.inside.bandwidth,
        inside_latency_factors=factor_steps(inside, inside.latency_factors),
        inside_bandwidth_factors=factor_steps(inside, inside.bandwidth_factors),
        latency_factors=factor_steps(messages, messages.latency_factors),
        bandwidth_factors=factor_steps(messages, messages.bandwidth_factors),
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


def factor_steps(section: InsideSection | MessagesSection, factors: Sequence[float]) -> Steps:
    """The latency or bandwidth factors of a section, in the simulator's format."""
    return list(zip(map(float, section.from_sizes), factors, strict=True))


def _per_byte(bandwidth: float) -> float:
    return 1 / bandwidth if bandwidth else 0.0
