"""Bcast algorithms are correct, and send the messages of the libraries they are named after."""

from __future__ import annotations

from collections import Counter

import pytest
from algorithm_messages import depth, exits, hops, sent

from offbeat import _simulator

ALGORITHMS = [
    (entry["family"], entry["name"]) for entry in _simulator.algorithms() if entry["collective"] == "bcast"
]
P = [*range(1, 18), 25, 32, 33]
POWERS_OF_TWO = {1, 2, 4, 8, 16, 32}
NEEDS_POWERS_OF_TWO = {
    "scatter_recursive_doubling_allgather",
    "nb(sched_scatter_recursive_doubling_allgather)",
}
NEEDS_ROOT_0 = {"nb(tsp_scatterv_recexch_allgatherv)", "nb(tsp_scatterv_ring_allgatherv)"}

KARY, KNOMIAL_1, KNOMIAL_2 = range(3)

RECORDED = [
    # Open MPI 5.0.11, p = 7, root 2, 20 B: the sends of ob1, by source
    (
        ("openmpi", "chain", {"fanout": 2, "segment": 8}, 2),
        {
            0: "1/8 1/8 1/4",
            2: "3/8 6/8 3/8 6/8 3/4 6/4",
            3: "4/8 4/8 4/4",
            4: "5/8 5/8 5/4",
            6: "0/8 0/8 0/4",
        },
    ),
    (
        ("openmpi", "split_binary_tree", {"segment": 8}, 2),
        {
            0: "1/10",
            1: "0/10",
            2: "3/8 4/8 3/2 4/2",
            3: "5/8 0/8 5/2 0/2 4/10",
            4: "6/8 1/8 6/2 1/2 3/10",
            5: "6/10",
            6: "5/10",
        },
    ),
    (("openmpi", "knomial", {"radix": 3}, 2), {2: "5/20 1/20 3/20 4/20", 5: "6/20 0/20"}),
    (
        ("openmpi", "scatter_allgather", {}, 2),
        {
            0: "6/3 3/8",
            1: "6/2 4/8",
            2: "6/8 4/6 3/3 3/3 4/6 6/12",
            3: "2/3 5/6 0/12 5/8",
            4: "5/3 5/3 2/6 1/12",
            5: "4/3 3/6",
            6: "1/2 0/3 0/3 1/6 0/2 2/8",
        },
    ),
    # MPICH 5.0.2, p = 7, 20 B: the sends of UCX
    (("mpich", "binomial", {}, 2), {2: "6/20 4/20 3/20", 4: "5/20", 6: "1/20 0/20"}),
    (
        ("mpich", "nb(sched_scatter_ring_allgather)", {}, 2),
        {
            0: "1/3 1/3 1/3 1/3 1/3 1/3",
            1: "2/2 2/3 2/3 2/3 2/3 2/3",
            2: "6/8 4/6 3/3 3/3 3/2 3/3 3/3 3/3 3/3",
            3: "4/3 4/3 4/2 4/3 4/3 4/3",
            4: "5/11 5/3 5/3 5/3 5/2 5/3 5/3",
            5: "6/3 6/3 6/3 6/3 6/2 6/3",
            6: "1/2 0/3 0/3 0/3 0/3 0/3 0/3 0/2",
        },
    ),
    (
        ("mpich", "nb(tsp_scatterv_recexch_allgatherv)", {}, 0),
        {
            0: "1/12 5/5 1/3",
            1: "2/6 4/3 3/6 5/12 0/20",
            2: "3/3 3/3",
            3: "1/6 6/12 2/20",
            4: "5/3",
            5: "6/2 6/6 1/8 4/20",
            6: "5/2 3/8",
        },
    ),
    (
        ("mpich", "tree", {"tree_type": KNOMIAL_1, "k": 3}, 2),
        {2: "3/20 6/20", 3: "4/20 5/20", 6: "0/20 1/20"},
    ),
    (
        ("mpich", "pipelined_tree", {"chunk_size": 8}, 2),
        {
            2: "3/4 4/4 3/8 4/8 3/8 4/8",
            3: "5/4 6/4 5/8 6/8 5/8 6/8",
            4: "0/4 1/4 0/8 1/8 0/8 1/8",
        },
    ),
]


@pytest.mark.parametrize(("family", "name"), ALGORITHMS)
@pytest.mark.parametrize("ranks_per_node", [0, 1, 4])
def test_bcast_is_correct(family: str, name: str, ranks_per_node: int) -> None:
    outcome = _simulator.check_range(
        "bcast", family, name, p=P, counts=[0, 1, 2, 3, 17, 40], ranks_per_node=ranks_per_node
    )
    refused = set(P) - POWERS_OF_TWO if name in NEEDS_POWERS_OF_TWO and family == "mpich" else set()
    if name in NEEDS_ROOT_0:
        refused = set(P) - {1}
        assert {root for _, root, *_ in outcome["refusals"]} == {1}
    assert outcome["findings"] == []
    assert {p for p, *_ in outcome["refusals"]} == refused


@pytest.mark.parametrize("segment", [1, 7, 64])
@pytest.mark.parametrize(
    ("family", "name"),
    [
        *(
            ("openmpi", name)
            for name in ("chain", "pipeline", "split_binary_tree", "binary_tree", "binomial")
        ),
        *(("simgrid", name) for name in ("flattree_pipeline", "NTSB", "NTSL", "SMP_binary", "SMP_linear")),
    ],
)
def test_bcast_is_correct_for_any_segment(family: str, name: str, segment: int) -> None:
    outcome = _simulator.check_range(
        "bcast",
        family,
        name,
        {"segment": segment},
        p=[1, 2, 5, 12],
        counts=[1, 63, 64, 150],
        ranks_per_node=3,
    )
    assert outcome["findings"] == []
    assert outcome["refused"] == 0


@pytest.mark.parametrize("tree_type", [KARY, KNOMIAL_1, KNOMIAL_2])
@pytest.mark.parametrize("k", [2, 3, 40])
@pytest.mark.parametrize("name", ["tree", "pipelined_tree", "nb(tsp_tree)"])
def test_mpich_trees_work_for_every_k_and_type(name: str, k: int, tree_type: int) -> None:
    parameters = {"k": k, "tree_type": tree_type}
    if name != "tree":
        parameters["chunk_size"] = 8
    outcome = _simulator.check_range("bcast", "mpich", name, parameters, p=P, counts=[1, 20])
    assert outcome["findings"] == []
    assert outcome["refused"] == 0


@pytest.mark.parametrize("parameters", [{"is_non_blocking": 0}, {"recv_pre_posted": 1}])
def test_pipelined_tree_posting_options(parameters: dict[str, int]) -> None:
    outcome = _simulator.check_range(
        "bcast", "mpich", "pipelined_tree", {"chunk_size": 8, **parameters}, p=[1, 2, 7], counts=[1, 20, 100]
    )
    assert outcome["findings"] == []


@pytest.mark.parametrize(("call", "recorded"), RECORDED, ids=[" ".join(call[:2]) for call, _ in RECORDED])
def test_messages_equal_those_observed_in_the_library(
    call: tuple[str, str, dict[str, int], int], recorded: dict[int, str]
) -> None:
    family, name, parameters, root = call
    expected = Counter(
        (source, *map(int, message.split("/")))
        for source, messages in recorded.items()
        for message in messages.split()
    )
    ours = sent("bcast", family, name, 7, parameters=parameters, root=root, count=20)
    assert Counter(ours) == expected


def test_fallback_for_few_elements() -> None:
    for name in ("scatter_allgather", "scatter_allgather_ring"):
        assert hops("bcast", "openmpi", name, 8, count=7)[0] == {(places, 7): 1 for places in range(1, 8)}
    assert depth("bcast", "openmpi", "split_binary_tree", 6, count=1) == 5


def test_segment_bytes_are_rounded_to_elements() -> None:
    def segments(bytes_: int) -> list[int]:
        drawn = sent(
            "bcast", "openmpi", "pipeline", 2, parameters={"segment": bytes_}, count=10, element_bytes=8
        )
        return [elements for *_, elements in drawn]

    assert segments(7) == [10]
    assert segments(28) == [3, 3, 3, 1]
    assert segments(29) == [4, 4, 2]
    assert segments(80) == [10]


def test_each_node_receives_the_message_once() -> None:
    nodes = [rank // 4 for rank in range(16)]
    for name in ("SMP_binary", "SMP_binomial", "SMP_linear", "mvapich2_intra_node"):
        messages = sent("bcast", "simgrid", name, 16, count=20000, node_of_rank=nodes)
        entered = Counter(nodes[target] for source, target, _ in messages if nodes[source] != nodes[target])
        pieces = Counter(target for _, target, _ in messages)
        assert entered == {node: pieces[4 * node] for node in (1, 2, 3)}


def test_root_sends_to_its_leader_first() -> None:
    nodes = [rank // 4 for rank in range(12)]
    assert Counter(sent("bcast", "mpich", "smp", 12, root=6, count=3, node_of_rank=nodes)) == Counter(
        [(6, 4, 3), (4, 8, 3), (4, 0, 3)]
        + [(leader, leader + near, 3) for leader in (0, 4, 8) for near in (1, 2)]
        + [(leader + 2, leader + 3, 3) for leader in (0, 4, 8)]
    )


def test_simgrid_pipelines_start_at_rank_0() -> None:
    assert sent("bcast", "simgrid", "NTSL", 4, root=2) == [(2, 0, 1), (0, 1, 1), (1, 2, 1), (2, 3, 1)]


def test_late_child_delays_only_blocking_sends() -> None:
    late = [0.0] * 8
    late[4] = 1e-3
    blocking = exits("bcast", "mpich", "binomial", late, count=1000)
    at_once = exits("bcast", "mpich", "nb(sched_binomial)", late, count=1000)
    assert blocking[1] > 1e-3
    assert at_once[1] < 1e-5
    assert at_once[0] > 1e-3  # the root leaves when all its sends are complete


def test_pipelining_hides_all_but_the_first_segments() -> None:
    whole = exits("bcast", "openmpi", "pipeline", [0.0] * 5, count=100_000)
    parts = exits("bcast", "openmpi", "pipeline", [0.0] * 5, parameters={"segment": 10_000}, count=100_000)
    assert whole.max() == pytest.approx(4 * 101e-6)
    assert parts.max() == pytest.approx(13 * 11e-6)
