"""What one message alone takes, by the model: the figures that a platform file comes to.

A message of b bytes takes send overhead + latency × factor + (b + header) / (share × factor) + receive
overhead, where its receiver is ready (``simulator/platform/network.hpp``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.platform.network import inside_factors, topology
from offbeat.platform.schema import PlatformFile

Times = NDArray[np.float64]


class Way(Struct, frozen=True, kw_only=True):
    """What messages of one kind pass: ``latency_s``, and the ``bandwidth`` in bytes per second that a message
    alone gets of the links."""

    name: str
    hops: int
    latency_s: float
    bandwidth: float


def inside(platform: PlatformFile) -> Way:
    """Between ranks of one node."""
    return Way(
        name="inside a node",
        hops=0,
        latency_s=platform.inside.latency,
        bandwidth=platform.inside.bandwidth,
    )


def ways(platform: PlatformFile) -> list[Way]:
    """Inside a node, and from node 0 to nodes that are ever more links away: each length once."""
    joined = topology(platform)
    bandwidths = joined.bandwidths
    found: dict[tuple[int, float], Way] = {}
    for target in range(1, platform.nodes):
        latency_s, hops = joined.routes(0, target)
        passed = [link for link, weight in hops if weight == 1]
        key = (len(passed), latency_s)
        if key not in found:
            alone = min(bandwidths[link] for link in passed)
            cap = platform.messages.flow_bandwidth
            found[key] = Way(
                name=f"over {len(passed)} links",
                hops=len(passed),
                latency_s=latency_s,
                bandwidth=min(alone, cap) if cap else alone,
            )
    return [inside(platform), *sorted(found.values(), key=lambda way: (way.hops, way.latency_s))]


def message_s(platform: PlatformFile, way: Way, sizes: Sequence[int] | Times) -> Times:
    """The seconds that messages of so many bytes take, each alone: same shape as ``sizes``."""
    carried = np.asarray(sizes, dtype=np.float64) + platform.messages.header
    section = platform.messages if way.hops else inside_factors(platform)
    latency = way.latency_s * factors_at(section.from_sizes, section.latency_factors, carried)
    moving = carried / (way.bandwidth * factors_at(section.from_sizes, section.bandwidth_factors, carried))
    overheads_s = platform.messages.send_overhead + platform.messages.receive_overhead
    return overheads_s + latency + moving


def several_s(platform: PlatformFile, way: Way, size_bytes: int, flows: int) -> float:
    """The seconds that messages between as many pairs of processes take at once.

    Between nodes, all are between the same two and share their links.
    """
    alone_s = float(message_s(platform, way, [size_bytes])[0])
    if not way.hops:
        return alone_s
    share = min(way.bandwidth, platform.link.bandwidth / flows)
    carried = np.array([float(size_bytes + platform.messages.header)])
    messages = platform.messages
    factor = float(factors_at(messages.from_sizes, messages.bandwidth_factors, carried)[0])
    return alone_s + float(carried[0]) / factor * (1 / share - 1 / way.bandwidth)


def factors_at(from_sizes: Sequence[int], factors: Sequence[float], carried: Times) -> Times:
    """The factor that holds at each size; 1 below the first."""
    if not from_sizes:
        return np.ones_like(carried)
    steps = np.array([1.0, *factors])
    return steps[np.searchsorted(np.asarray(from_sizes), carried, side="right")]
