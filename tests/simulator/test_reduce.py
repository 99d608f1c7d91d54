"""Reduce algorithms are correct, and send the messages of the libraries they are named after."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from offbeat import _simulator

Edges = set[tuple[int, int]]

ALGORITHMS = [
    (entry["family"], entry["name"]) for entry in _simulator.algorithms() if entry["collective"] == "reduce"
]

COMBINE_IN_ORDER = [
    ("openmpi", "linear"),
    ("openmpi", "in_order_binary"),
    ("openmpi", "rabenseifner"),
    ("mpich", "binomial"),
    ("mpich", "smp"),
    ("mpich", "reduce_scatter_gather"),
    ("mpich", "nb(tsp_tree)"),
    ("mpich", "nb(tsp_ring)"),
    ("simgrid", "binomial"),
    ("simgrid", "flat_tree"),
    ("simgrid", "ompi_in_order_binary"),
    ("simgrid", "rab"),
]
"""The algorithms that are correct if the operation does not commute."""


def sent(family: str, name: str, p: int, **how: object) -> list[tuple[int, int, int]]:
    """All messages: source, target, elements."""
    drawn = _simulator.messages("reduce", family, name, p=p, **how)
    columns = (drawn[key].tolist() for key in ("source", "target", "elements"))
    return list(zip(*columns, strict=True))


def edges(messages: Iterable[tuple[int, int, int]]) -> Edges:
    return {(source, target) for source, target, _ in messages}


def lengths(messages: Iterable[tuple[int, int, int]], source: int, target: int) -> list[int]:
    return [elements for *edge, elements in messages if edge == [source, target]]


@pytest.mark.parametrize(("family", "name"), ALGORITHMS)
@pytest.mark.parametrize("ranks_per_node", [0, 3])
def test_every_contribution_counts_once(family: str, name: str, ranks_per_node: int) -> None:
    outcome = _simulator.check_range(
        "reduce",
        family,
        name,
        p=[*range(1, 14), 33],
        counts=[0, 1, 2, 13, 40],
        ranks_per_node=ranks_per_node,
    )
    assert outcome["findings"] == []
    assert outcome["proved"] > 0
    assert outcome["refused"] == 0


@pytest.mark.parametrize(("family", "name"), COMBINE_IN_ORDER)
def test_contributions_are_combined_in_rank_order(family: str, name: str) -> None:
    outcome = _simulator.check_range(
        "reduce", family, name, p=range(1, 20), counts=[1, 20], ranks_per_node=4, commutative=[False]
    )
    assert outcome["findings"] == []


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("chain", {"fanout": 3, "segment": 8, "requests": 2}),
        ("chain", {"fanout": 100}),
        ("pipeline", {"segment": 4}),
        ("binary", {"segment": 12, "requests": 1}),
        ("binomial", {"segment": 4, "requests": 3}),
        ("in_order_binary", {"segment": 8, "requests": 2}),
    ],
)
def test_reduce_is_correct_with_segments_and_limits(name: str, parameters: dict[str, int]) -> None:
    outcome = _simulator.check_range(
        "reduce", "openmpi", name, parameters, p=range(1, 17), counts=[1, 5, 17], element_bytes=4
    )
    assert outcome["findings"] == []


@pytest.mark.parametrize("tree_type", [0, 1, 2])
@pytest.mark.parametrize("buffer_per_child", [0, 1])
@pytest.mark.parametrize("chunk_size", [0, 12])
def test_mpich_task_trees_are_correct(tree_type: int, buffer_per_child: int, chunk_size: int) -> None:
    for k in (2, 3, 5):
        parameters = {
            "tree_type": tree_type,
            "k": k,
            "buffer_per_child": buffer_per_child,
            "chunk_size": chunk_size,
        }
        outcome = _simulator.check_range(
            "reduce", "mpich", "nb(tsp_tree)", parameters, p=range(1, 17), counts=[1, 7], element_bytes=4
        )
        assert outcome["findings"] == []


def test_a_kary_tree_may_be_a_chain_but_a_knomial_tree_may_not() -> None:
    chain = sent("mpich", "nb(tsp_tree)", 4, parameters={"k": 1, "tree_type": 0})
    assert edges(chain) == {(3, 2), (2, 1), (1, 0)}
    with pytest.raises(ValueError, match="k-nomial tree must be at least 2"):
        sent("mpich", "nb(tsp_tree)", 4, parameters={"k": 1, "tree_type": 1})
    with pytest.raises(ValueError, match="tree_type"):
        sent("mpich", "nb(tsp_tree)", 4, parameters={"tree_type": 3})


@pytest.mark.parametrize(
    ("family", "name", "p", "root", "parameters", "expected"),
    [
        ("openmpi", "linear", 4, 1, {}, {(0, 1), (2, 1), (3, 1)}),
        (
            "openmpi",
            "binomial",
            8,
            0,
            {},
            {(1, 0), (2, 0), (4, 0), (3, 2), (5, 4), (6, 4), (7, 6)},
        ),
        ("openmpi", "binary", 7, 0, {}, {(1, 0), (2, 0), (3, 1), (5, 1), (4, 2), (6, 2)}),
        ("openmpi", "binary", 4, 3, {}, {(0, 3), (1, 3), (2, 0)}),
        ("openmpi", "pipeline", 4, 2, {}, {(1, 0), (0, 3), (3, 2)}),
        (
            "openmpi",
            "chain",
            8,
            0,
            {"fanout": 3},
            {(3, 2), (2, 1), (1, 0), (5, 4), (4, 0), (7, 6), (6, 0)},
        ),
        (
            "openmpi",
            "in_order_binary",
            9,
            8,
            {},
            {(7, 8), (3, 8), (6, 7), (5, 7), (2, 3), (1, 3), (4, 5), (0, 1)},
        ),
        ("openmpi", "in_order_binary", 3, 0, {}, {(1, 2), (0, 2), (2, 0)}),
        (
            "simgrid",
            "mvapich2_knomial",
            10,
            0,
            {},
            {(4, 0), (8, 0), (1, 0), (2, 0), (3, 0), (5, 4), (6, 4), (7, 4), (9, 8)},
        ),
        ("simgrid", "NTSL", 4, 1, {}, {(0, 3), (3, 2), (2, 1)}),
        (
            "mpich",
            "nb(tsp_tree)",
            8,
            0,
            {"tree_type": 1},
            {(1, 0), (5, 0), (7, 0), (2, 1), (4, 1), (6, 5), (3, 2)},
        ),
        (
            "mpich",
            "nb(tsp_tree)",
            8,
            0,
            {"tree_type": 2},
            {(4, 0), (2, 0), (1, 0), (6, 4), (5, 4), (3, 2), (7, 6)},
        ),
        ("mpich", "nb(tsp_tree)", 6, 2, {}, {(3, 2), (4, 2), (5, 3), (0, 3), (1, 4)}),
        ("mpich", "nb(tsp_ring)", 4, 1, {}, {(0, 3), (3, 2), (2, 1)}),
    ],
)
def test_messages_go_along_the_librarys_tree(
    family: str, name: str, p: int, root: int, parameters: dict[str, int], expected: Edges
) -> None:
    messages = sent(family, name, p, root=root, parameters=parameters)
    assert edges(messages) == expected
    assert len(messages) == len(expected)


@pytest.mark.parametrize(
    ("segment", "expected"), [(0, [10]), (16, [4, 4, 2]), (3, [10]), (6, [1] * 10), (7, [2] * 5), (400, [10])]
)
def test_a_segment_is_the_nearest_number_of_elements(segment: int, expected: list[int]) -> None:
    messages = sent("openmpi", "pipeline", 2, count=10, element_bytes=4, parameters={"segment": segment})
    assert lengths(messages, 1, 0) == expected


def test_a_leaf_with_few_open_sends_waits_for_its_parent(network: _simulator.Network) -> None:
    late = np.array([[1e-3, 0.0]])

    def exit_of_leaf(requests: int) -> float:
        parameters = {"segment": 1, "requests": requests}
        schedule = _simulator.Schedule("reduce", "openmpi", "pipeline", parameters, 2, 0, 8, 1, [0, 0])
        exits, _ = _simulator.evaluate(schedule, network, late, 1.0)
        return float(exits[0, 1])

    assert exit_of_leaf(0) == 0.0
    assert exit_of_leaf(8) == 0.0
    assert exit_of_leaf(7) > 1e-3


@pytest.fixture
def network() -> _simulator.Network:
    """Two ranks on a node, 1 µs apart; small sends do not wait."""
    switch = _simulator.single_switch(1, (1e9, 1e-6), 0.0)
    nodes = np.zeros(2, dtype=np.int32)
    return _simulator.Network(switch, nodes, inside_latency_s=1e-6, inside_bandwidth=1e9)


@pytest.mark.parametrize("count", [1, 7])
def test_rabenseifner_falls_back_with_few_elements(count: int) -> None:
    assert sent("openmpi", "rabenseifner", 9, root=2, count=count) == sent(
        "openmpi", "linear", 9, root=2, count=count
    )
    assert sent("mpich", "reduce_scatter_gather", 9, root=2, count=count) == sent(
        "mpich", "binomial", 9, root=2, count=count
    )


def test_halves_equal_the_librarys() -> None:
    def first_half(family: str, name: str) -> int:
        return lengths(sent(family, name, 4, count=7), 0, 1)[0]

    assert first_half("openmpi", "rabenseifner") == 4
    assert first_half("mpich", "reduce_scatter_gather") == 3
    assert first_half("mpich", "nb(sched_reduce_scatter_gather)") == 5
    assert first_half("simgrid", "scatter_gather") == 5


def test_simgrids_scatter_gather_pads_to_one_element_a_rank() -> None:
    messages = sent("simgrid", "scatter_gather", 8, count=1)
    assert lengths(messages, 0, 1) == [4]
    assert sum(elements for *_, elements in messages) == 8 * (4 + 2 + 1) + 4 * 1 + 2 * 2 + 1 * 4


def test_simgrid_chooses_segments_by_ranks_and_size() -> None:
    def longest(name: str, p: int, count: int) -> int:
        return max(elements for *_, elements in sent("simgrid", name, p, count=count))

    assert longest("ompi_pipeline", 32, 65536) == 1024
    assert longest("ompi_pipeline", 8, 262144) == 32 * 1024
    assert longest("ompi_pipeline", 2, 1 << 20) == 64 * 1024
    assert longest("ompi_chain", 8, 1 << 20) == 64 * 1024
    assert longest("ompi_binary", 8, 1 << 20) == 32 * 1024
    assert longest("ompi_binomial", 64, 65536) == 1024
    assert longest("ompi_binomial", 64, 1 << 20) == 1 << 20
    assert longest("ompi_binomial", 7, 16384) == 16384
    assert longest("ompi_in_order_binary", 8, 1 << 20) == 1 << 20


def test_simgrids_chains_are_half_as_many_as_ranks() -> None:
    messages = edges(sent("simgrid", "ompi_chain", 9))
    assert {source for source, target in messages if target == 0} == {1, 3, 5, 7}


def test_remainder_of_ntsl_goes_directly_to_the_root() -> None:
    messages = sent("simgrid", "NTSL", 4, root=1, count=2 * 8192 + 100)
    assert lengths(messages, 0, 3) == lengths(messages, 3, 2) == [8192, 8192]
    assert lengths(messages, 2, 1) == [8192, 8192, 100]
    assert lengths(messages, 3, 1) == lengths(messages, 0, 1) == [100]


def test_mpichs_first_chunk_is_the_shorter_one() -> None:
    messages = sent("mpich", "nb(tsp_ring)", 2, count=10, element_bytes=4, parameters={"chunk_size": 17})
    assert sorted(lengths(messages, 1, 0)) == [2, 4, 4]
    drawn = _simulator.messages(
        "reduce", "mpich", "nb(tsp_ring)", {"chunk_size": 17}, p=2, count=10, element_bytes=4
    )
    assert drawn["elements"][drawn["tag"].argmin()] == 2


NODES = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]


def test_two_levels_meet_at_the_leaders() -> None:
    messages = edges(sent("simgrid", "mvapich2_two_level", 12, root=5, node_of_rank=NODES))
    between = {edge for edge in messages if NODES[edge[0]] != NODES[edge[1]]}
    assert between == {(0, 4), (8, 4)}
    assert (4, 5) in messages


def test_mpich_reduces_the_roots_node_last() -> None:
    drawn = _simulator.messages("reduce", "mpich", "smp", p=12, root=5, node_of_rank=NODES)
    listed = list(zip(drawn["source"].tolist(), drawn["target"].tolist(), strict=True))
    between = [edge for edge in listed if NODES[edge[0]] != NODES[edge[1]]]
    assert set(between) == {(0, 4), (8, 4)}
    depth = dict(zip(listed, drawn["depth"].tolist(), strict=True))
    leader_in_root_node = next(edge for edge in listed if edge[0] == 4)
    assert depth[leader_in_root_node] > max(depth[edge] for edge in between)
    assert len(listed) == 11


def test_mpich_ignores_nodes_with_one_rank_each() -> None:
    for count in (3, 5000):
        alone = sent("mpich", "smp", 6, root=2, count=count, node_of_rank=list(range(6)))
        flat = "binomial" if count == 3 else "reduce_scatter_gather"
        assert alone == sent("mpich", flat, 6, root=2, count=count)
