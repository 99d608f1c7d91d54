"""The message times of ``platform show`` and of the calibration equal those of the simulator."""

from __future__ import annotations

import numpy as np
import pytest

from offbeat import _simulator
from offbeat.model.platform import bundled_platforms, machine
from offbeat.model.platform.message_times import concurrent_message_s, message_paths, message_s

SIZES = [0, 1, 241, 1024, 4095, 4096, 65536, 2**20]

CALIBRATED = """nodes = 2
cores = 4
[link]
bandwidth = "10 GB/s"
latency = "600 ns"
[inside]
bandwidth = "8 GB/s"
latency = "200 ns"
from_sizes = [0, "4 KiB"]
latency_factors = [1, 3.5]
bandwidth_factors = [0.4, 1]
[messages]
from_sizes = [100, "1 KiB"]
latency_factors = [1.2, 2]
bandwidth_factors = [0.5, 0.9]
flow_bandwidth = "6 GB/s"
header = 0
send_overhead = "150 ns"
receive_overhead = "250 ns"
"""


def simulated_s(platform: machine.Platform, size: int, node_of_rank: list[int]) -> np.ndarray:
    """The exits of messages of this size: rank 2i sends to rank 2i + 1."""
    p = len(node_of_rank)
    schedule = _simulator.Schedule(
        "bcast", "openmpi", "binomial", {}, p, 0, size, 1, node_of_rank, True, True
    )
    network = platform.network(p, node_of_rank=node_of_rank)
    exits, _ = _simulator.evaluate(schedule, network, np.zeros((1, p)), 1.0)
    return np.asarray(exits)[0]


def farthest(platform: machine.Platform) -> list[tuple[int, object]]:
    """A node at each distance from node 0, and the figures of that distance."""
    network, paths = platform.topology(), message_paths(platform.file)
    listed: list[tuple[int, object]] = [(0, paths[0])]
    for way in paths[1:]:
        for node in range(1, platform.file.nodes):
            latency_s, hops = network.routes(0, node)
            if sum(weight == 1 for _, weight in hops) == way.hops and latency_s == way.latency_s:
                listed.append((node, way))
                break
    return listed


@pytest.mark.parametrize("name", [*bundled_platforms.PRESETS.names(), "calibrated"])
@pytest.mark.parametrize("size", SIZES)
def test_one_message_takes_what_the_simulator_says(name: str, size: int) -> None:
    platform = machine.loads(CALIBRATED, "x.toml") if name == "calibrated" else machine.load(name)
    for node, way in farthest(platform):
        expected_s = message_s(platform.file, way, [size])[0]  # type: ignore[arg-type]
        assert simulated_s(platform, size, [0, node])[1] == pytest.approx(expected_s, rel=1e-6), way


def together_s(platform: machine.Platform, size: int, node_of_rank: list[int]) -> float:
    """When the last message arrives if each even rank sends one to the next rank."""
    p = len(node_of_rank)

    def write(rank: _simulator.Rank) -> None:
        if rank.id % 2:
            rank.recv(rank.id - 1, rank.scratch(size))
        else:
            rank.send(rank.id + 1, rank.scratch(size))

    programs = _simulator.Programs("barrier", write, p, node_of_rank=node_of_rank)
    network = platform.network(p, node_of_rank=node_of_rank)
    exits, _ = _simulator.evaluate(_simulator.Schedule(programs, True), network, np.zeros((1, p)), 1.0)
    return float(np.asarray(exits).max())


@pytest.mark.parametrize("flows", [1, 2, 3, 8])
@pytest.mark.parametrize("between", [True, False])
def test_several_messages_share_a_link_and_nothing_inside_a_node(flows: int, between: bool) -> None:
    platform = machine.loads(CALIBRATED.replace("cores = 4", "cores = 16"), "x.toml")
    way = message_paths(platform.file)[1 if between else 0]
    nodes = [0, int(between)] * flows
    assert together_s(platform, 2**20, nodes) == pytest.approx(
        concurrent_message_s(platform.file, way, 2**20, flows), rel=1e-6
    )


def test_a_tapered_tree_is_slower_by_its_taper_if_all_messages_leave_their_leaf() -> None:
    """16 nodes of one leaf send over 4 spines: four messages share each cable."""
    text = """topology = "fat_tree"
nodes = 32
cores = 1
[link]
bandwidth = "1 GB/s"
latency = 0
[inside]
bandwidth = "1 GB/s"
latency = 0
[messages]
header = 0
[fat_tree]
nodes_per_leaf = 16
taper = 4
"""
    platform = machine.loads(text, "x.toml")
    nodes = [node for pair in range(16) for node in (pair, 16 + pair)]
    assert together_s(platform, 10**6, nodes) == pytest.approx(4e-3)
    beside = [node for pair in range(8) for node in (2 * pair, 2 * pair + 1)]
    assert together_s(platform, 10**6, beside) == pytest.approx(1e-3)


def test_all_messages_between_two_groups_of_a_dragonfly_share_its_cables() -> None:
    text = """topology = "dragonfly"
nodes = 16
cores = 1
[link]
bandwidth = "1 GB/s"
latency = 0
[inside]
bandwidth = "1 GB/s"
latency = 0
[messages]
header = 0
[dragonfly]
groups = 2
routers = 4
nodes_per_router = 2
global_cables = 2
"""
    platform = machine.loads(text, "x.toml")
    nodes = [node for pair in range(8) for node in (pair, 8 + pair)]
    assert together_s(platform, 10**6, nodes) == pytest.approx(4e-3)
