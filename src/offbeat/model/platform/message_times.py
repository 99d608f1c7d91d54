"""The time of a single message by the platform model.

Without contention, a message of b bytes takes send overhead + latency × factor + (b + header) / (share ×
factor) + receive overhead, if its receiver is ready (``simulator/platform/network.hpp``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.model.platform.network import inside_factors, topology
from offbeat.model.platform.schema import PlatformFile

Times = NDArray[np.float64]


class MessagePath(Struct, frozen=True, kw_only=True):
    """A path of messages: its latency, and the bandwidth of a single message in bytes per second."""

    name: str
    hops: int
    latency_s: float
    bandwidth: float


def message_paths(platform: PlatformFile) -> list[MessagePath]:
    """The path inside a node, and from node 0 one path of each length and latency."""
    nodes = topology(platform)
    bandwidths = nodes.bandwidths
    by_length: dict[tuple[int, float], MessagePath] = {}
    for target in range(1, platform.nodes):
        latency_s, hops = nodes.routes(0, target)
        links = [link for link, weight in hops if weight == 1]
        key = (len(links), latency_s)
        if key not in by_length:
            alone = min(bandwidths[link] for link in links)
            cap = platform.messages.flow_bandwidth
            by_length[key] = MessagePath(
                name=f"over {len(links)} links",
                hops=len(links),
                latency_s=latency_s,
                bandwidth=min(alone, cap) if cap else alone,
            )
    inside_node = MessagePath(
        name="inside a node",
        hops=0,
        latency_s=platform.inside.latency,
        bandwidth=platform.inside.bandwidth,
    )
    return [inside_node, *sorted(by_length.values(), key=lambda path: (path.hops, path.latency_s))]


def message_s(platform: PlatformFile, path: MessagePath, sizes: Sequence[int] | Times) -> Times:
    """The seconds of single messages of these sizes in bytes: same shape as ``sizes``."""
    occupied_s, flight_s = message_parts_s(platform, path, sizes)
    return occupied_s + flight_s


def message_parts_s(
    platform: PlatformFile, path: MessagePath, sizes: Sequence[int] | Times
) -> tuple[Times, Times]:
    """The two parts of a message's time in seconds: same shapes as ``sizes``, which are in bytes.

    The first part is that for which the message occupies its sender and its path, so that the next message
    waits; the second part follows it, and messages overlap in it.
    """
    message_bytes = np.asarray(sizes, dtype=np.float64) + platform.messages.header
    section = platform.messages if path.hops else inside_factors(platform)
    latency = path.latency_s * factors_at(section.from_sizes, section.latency_factors, message_bytes)
    transfer_s = message_bytes / (
        path.bandwidth * factors_at(section.from_sizes, section.bandwidth_factors, message_bytes)
    )
    return platform.messages.send_overhead + transfer_s, latency + platform.messages.receive_overhead


def concurrent_message_s(platform: PlatformFile, path: MessagePath, size_bytes: int, flows: int) -> float:
    """The seconds of simultaneous messages between ``flows`` pairs of processes.

    Between nodes, all are between the same two nodes and share their links.
    """
    alone_s = float(message_s(platform, path, [size_bytes])[0])
    if not path.hops:
        return alone_s
    share = min(path.bandwidth, platform.link.bandwidth / flows)
    message_bytes = np.array([float(size_bytes + platform.messages.header)])
    messages = platform.messages
    factor = float(factors_at(messages.from_sizes, messages.bandwidth_factors, message_bytes)[0])
    return alone_s + float(message_bytes[0]) / factor * (1 / share - 1 / path.bandwidth)


def factors_at(from_sizes: Sequence[int], factors: Sequence[float], message_bytes: Times) -> Times:
    """The factor at each size; 1 below the first."""
    if not from_sizes:
        return np.ones_like(message_bytes)
    steps = np.array([1.0, *factors])
    return steps[np.searchsorted(np.asarray(from_sizes), message_bytes, side="right")]


def inside_transfer_s(platform: PlatformFile, size_bytes: int) -> float:
    """The seconds for which the bytes of a single message inside a node move, without other costs."""
    section = inside_factors(platform)
    message_bytes = np.array([float(size_bytes + platform.messages.header)])
    factor = float(factors_at(section.from_sizes, section.bandwidth_factors, message_bytes)[0])
    return float(message_bytes[0]) / (platform.inside.bandwidth * factor)


def shared_message_s(platform: PlatformFile, size_bytes: int, flows: int) -> float:
    """The seconds of ``flows`` simultaneous messages inside one memory domain, as programs of many iterations
    have them: together they get the domain's bandwidth for messages."""
    alone_s = float(message_s(platform, message_paths(platform)[0], [size_bytes])[0])
    together = platform.memory.message_bandwidth
    transfer_s = inside_transfer_s(platform, size_bytes)
    shared_s = flows * (size_bytes + platform.messages.header) / together if together else 0.0
    return alone_s + max(shared_s - transfer_s, 0.0)
