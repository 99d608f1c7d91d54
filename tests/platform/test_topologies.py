"""Routes are as documented, and equal those of SimGrid's zones of the same shape."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from real_libraries import skip_without

from offbeat import _simulator
from offbeat.model.platform import schema
from offbeat.model.platform.topologies import TOPOLOGIES

LATENCY_S = 1e-6
CABLE = (1e9, LATENCY_S)
REVERSE = 0.05

PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<cluster id="c" prefix="" suffix="" radical="0-{last}" speed="1Gf" bw="1GBps" lat="1us" {topology}
 sharing_policy="SPLITDUPLEX" loopback_bw="1GBps" loopback_lat="1us"/>
</platform>
"""


def forward(topology: _simulator.Topology, source: int, target: int) -> list[int]:
    """The links of a route without those of the reverse direction."""
    return [link for link, weight in topology.routes(source, target)[1] if weight == 1]


def tree(nodes: int, *levels: tuple[int, int, int]) -> _simulator.Topology:
    return _simulator.fat_tree(nodes, [(*level, CABLE) for level in levels], REVERSE)


def butterfly(groups: int, routers: int, nodes: int, cables: int = 1) -> _simulator.Topology:
    return _simulator.dragonfly(groups, routers, nodes, cables, CABLE, CABLE, CABLE, REVERSE)


@pytest.fixture(scope="module")
def simgrid_routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that prints the routes of a SimGrid platform."""
    compiler = shutil.which("g++")
    program = tmp_path_factory.mktemp("simgrid") / "routes"
    source = Path(__file__).with_name("simgrid_routes.cpp")
    if compiler is None or not Path("/usr/include/simgrid/s4u.hpp").exists():
        skip_without("SimGrid (Debian's package libsimgrid-dev) and g++")
    subprocess.run(
        [compiler, "-std=c++17", str(source), "-lsimgrid", "-o", str(program)], check=True, timeout=300
    )
    return program


def published(
    program: Path, folder: Path, nodes: int, words: str
) -> dict[tuple[int, int], tuple[float, list[str]]]:
    """SimGrid's routes: (source, target) → latency and links."""
    platform = folder / "platform.xml"
    platform.write_text(PLATFORM.format(last=nodes - 1, topology=words), encoding="utf-8")
    done = subprocess.run([program, platform], capture_output=True, text=True, check=True, timeout=120)
    lines = [line.split() for line in done.stdout.splitlines()]
    return {(int(line[0]), int(line[1])): (float(line[2]), line[3:]) for line in lines}


def assert_same_routes(
    topology: _simulator.Topology, simgrid: dict[tuple[int, int], tuple[float, list[str]]]
) -> None:
    """Every route is as long and leads over the same links: there is one name for each of our numbers."""
    assert len(simgrid) == topology.nodes * (topology.nodes - 1)
    names: dict[int, str] = {}
    for (source, target), (latency_s, links) in simgrid.items():
        assert topology.routes(source, target)[0] == pytest.approx(latency_s)
        numbers = forward(topology, source, target)
        assert len(numbers) == len(links)
        for number, name in zip(numbers, links, strict=True):
            assert names.setdefault(number, name) == name, (source, target)
    assert len(set(names.values())) == len(names)


@pytest.mark.parametrize(
    ("words", "levels"),
    [
        ("2;4,4;1,4;1,1", [(4, 1, 1), (4, 4, 1)]),
        ("2;4,4;1,2;1,2", [(4, 1, 1), (4, 2, 2)]),
        ("2;6,3;1,2;1,1", [(6, 1, 1), (3, 2, 1)]),
        ("2;4,3;1,1;1,3", [(4, 1, 1), (3, 1, 3)]),
        ("3;3,2,4;1,3,2;1,1,1", [(3, 1, 1), (2, 3, 1), (4, 2, 1)]),
        ("3;4,4,2;1,2,1;1,1,1", [(4, 1, 1), (4, 2, 1), (2, 1, 1)]),
        ("3;2,3,2;1,2,2;1,1,2", [(2, 1, 1), (3, 2, 1), (2, 2, 2)]),
    ],
)
def test_a_fat_tree_has_the_routes_of_simgrids(
    simgrid_routes: Path, tmp_path: Path, words: str, levels: list[tuple[int, int, int]]
) -> None:
    nodes = 1
    for level in levels:
        nodes *= level[0]
    listed = f'topology="FAT_TREE" topo_parameters="{words}"'
    assert_same_routes(tree(nodes, *levels), published(simgrid_routes, tmp_path, nodes, listed))


@pytest.mark.parametrize(("groups", "routers", "nodes"), [(4, 4, 2), (3, 5, 1), (5, 6, 3), (1, 4, 2)])
def test_a_dragonfly_has_the_routes_of_simgrids(
    simgrid_routes: Path, tmp_path: Path, groups: int, routers: int, nodes: int
) -> None:
    listed = f'topology="DRAGONFLY" topo_parameters="{groups},1;1,1;{routers},1;{nodes}"'
    topology = butterfly(groups, routers, nodes)
    assert_same_routes(topology, published(simgrid_routes, tmp_path, topology.nodes, listed))


def test_a_single_switch_has_the_routes_of_simgrids(simgrid_routes: Path, tmp_path: Path) -> None:
    topology = _simulator.single_switch(9, CABLE, REVERSE)
    simgrid = published(simgrid_routes, tmp_path, 9, "")
    for (source, target), (latency_s, links) in simgrid.items():
        assert topology.routes(source, target)[0] == pytest.approx(latency_s)
        assert len(forward(topology, source, target)) == len(links) == 2


sizes = st.integers(1, 4)
levels_of_trees = st.lists(st.tuples(sizes, sizes, sizes), min_size=1, max_size=3)


@given(levels=levels_of_trees, data=st.data())
def test_a_route_in_a_fat_tree_goes_up_to_the_lowest_common_switch_and_down(
    levels: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    places = 1
    for children, _, _ in levels:
        places *= children
    topology = tree(places, *levels)
    source, target = data.draw(st.integers(0, places - 1)), data.draw(st.integers(0, places - 1))
    one, other, height = source, target, 0
    while one != other:
        one, other, height = one // levels[height][0], other // levels[height][0], height + 1
    latency_s, hops = topology.routes(source, target)
    links = [link for link, weight in hops if weight == 1]
    assert len(links) == 2 * height and latency_s == pytest.approx(2 * height * LATENCY_S)
    assert [link % 2 for link in links] == [0] * height + [1] * height
    assert len({link for link, _ in hops}) == len(hops), "no link is taken twice, back or forth"
    back = [link for link, weight in hops if weight == REVERSE]
    assert back == forward(topology, target, source)


@pytest.mark.parametrize(("nodes_per_leaf", "spines"), [(4, 4), (8, 4), (16, 8), (6, 3)])
def test_messages_to_the_nodes_of_a_leaf_are_spread_over_all_spines(nodes_per_leaf: int, spines: int) -> None:
    topology = tree(3 * nodes_per_leaf, (nodes_per_leaf, 1, 1), (3, spines, 1))
    targets = range(nodes_per_leaf, 2 * nodes_per_leaf)
    upward = Counter(forward(topology, 0, target)[1] for target in targets)
    assert len(upward) == spines
    assert set(upward.values()) == {nodes_per_leaf // spines}


def test_a_shift_between_leaves_uses_every_uplink_of_a_full_tree_once() -> None:
    nodes, leaf = 32, 8
    topology = tree(nodes, (leaf, 1, 1), (4, leaf, 1))
    for shift in range(1, nodes):
        used = Counter(
            link for node in range(nodes) for link in forward(topology, node, (node + shift) % nodes)
        )
        assert max(used.values()) == 1, f"shift {shift}"


def test_a_tree_may_have_unused_ports() -> None:
    topology = tree(13, (4, 1, 1), (4, 2, 1))
    assert topology.nodes == 13
    assert len(forward(topology, 0, 12)) == 4
    with pytest.raises(ValueError, match="no node 13; the nodes are 0 to 12"):
        topology.routes(0, 13)


@given(groups=st.integers(1, 5), routers=st.integers(1, 5), nodes=st.integers(1, 3), cables=st.integers(1, 4))
def test_a_route_in_a_dragonfly_is_minimal_and_connected(
    groups: int, routers: int, nodes: int, cables: int
) -> None:
    topology = _simulator.dragonfly(
        groups, routers, nodes, cables, (1e9, 1e-6), (2e9, 1e-3), (3e9, 1.0), REVERSE
    )
    kinds = {1e9: "node", 2e9: "local", 3e9: "global"}
    ends: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for source, target in itertools.permutations(range(topology.nodes), 2):
        latency_s, hops = topology.routes(source, target)
        way = [kinds[topology.bandwidths[link]] for link, weight in hops if weight == 1]
        a, b = source // nodes, target // nodes
        if a == b:
            assert way == ["node", "node"]
        elif a // routers == b // routers:
            assert way == ["node", "local", "node"]
        else:
            assert [kind for kind in way if kind != "local"] == ["node", "global", "node"]
            assert len(way) <= 5
            place = way.index("global")
            assert place <= 2 and len(way) - place <= 3
            ends[forward(topology, source, target)[place]].add((a // routers, b // routers))
        expected_s = 2e-6 + way.count("local") * 1e-3 + way.count("global")
        assert latency_s == pytest.approx(expected_s)
        assert len({link for link, _ in hops}) == len(hops)
    assert all(len(pairs) == 1 for pairs in ends.values()), "a global cable joins two groups"


@given(groups=st.integers(2, 9), routers=st.integers(1, 8), cables=st.integers(1, 5))
def test_global_cables_of_a_dragonfly_are_spread_over_its_routers(
    groups: int, routers: int, cables: int
) -> None:
    """A cable is at the router from which it is reached without a local hop."""
    topology = _simulator.dragonfly(groups, routers, cables, cables, CABLE, (2e9, 0), (3e9, 0), REVERSE)
    at: Counter[int] = Counter()
    per_group = routers * cables
    for router, group in itertools.product(range(routers), range(1, groups)):
        targets = range(group * per_group, group * per_group + cables)
        ways = [forward(topology, router * cables, target) for target in targets]
        at[router] += sum(topology.bandwidths[way[1]] == 3e9 for way in ways)
    assert sum(at.values()) == (groups - 1) * cables
    assert max(at[router] for router in range(routers)) - min(at[router] for router in range(routers)) <= 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: tree(5, (4, 1, 1)),
        lambda: tree(4, (4, 0, 1)),
        lambda: tree(1),
        lambda: butterfly(0, 1, 1),
        lambda: butterfly(2, 1, 1, cables=0),
    ],
)
def test_an_impossible_shape_is_refused(make) -> None:
    with pytest.raises(ValueError, match="needs"):
        make()


def test_every_topology_of_the_platform_file_has_a_record_and_a_section_if_it_has_keys() -> None:
    assert set(get_args(schema.Topology)) == set(TOPOLOGIES)
    sections = {field.name for field in structs.fields(schema.PlatformFile)}
    assert {name for name, record in TOPOLOGIES.items() if record.check} == sections & set(TOPOLOGIES)
