"""Gather and scatter algorithms are correct, and send the messages of the libraries they are named after."""

from __future__ import annotations

from collections import Counter

import pytest
from algorithm_messages import exits, sent

from offbeat import _simulator

ALGORITHMS = [
    (entry["collective"], entry["family"], entry["name"])
    for entry in _simulator.algorithms()
    if entry["collective"] in ("gather", "scatter")
]
P = [*range(1, 18), 25, 32, 33]

RECORDED = [
    # Open MPI 5.0.11 and MPICH 5.0.2, p = 7, root 2, 4 B a rank, by source
    (("gather", "openmpi", "binomial", {}), {0: "6/4", 1: "6/4", 3: "2/4", 4: "2/8", 5: "4/4", 6: "2/12"}),
    (
        ("gather", "openmpi", "linear_sync", {"segment": 3}),
        {2: "0/0 1/0 3/0 4/0 5/0 6/0", **dict.fromkeys((0, 1, 3, 4, 5, 6), "2/3 2/1")},
    ),
    (("gather", "mpich", "nb(tsp_tree)", {}), {0: "2/8", 1: "0/4", 3: "2/16", 4: "3/8", 5: "4/4", 6: "3/4"}),
    (("scatter", "openmpi", "binomial", {}), {2: "6/12 4/8 3/4", 4: "5/4", 6: "1/4 0/4"}),
    (("scatter", "mpich", "nb(tsp_tree)", {"k": 3}), {2: "3/12 6/12", 3: "4/4 5/4", 6: "0/4 1/4"}),
]


@pytest.mark.parametrize(("collective", "family", "name"), ALGORITHMS)
@pytest.mark.parametrize("ranks_per_node", [0, 1, 4])
def test_gather_and_scatter_are_correct(collective: str, family: str, name: str, ranks_per_node: int) -> None:
    outcome = _simulator.check_range(
        collective, family, name, p=P, counts=[0, 1, 3], ranks_per_node=ranks_per_node
    )
    assert outcome["findings"] == []
    assert outcome["refused"] == 0


@pytest.mark.parametrize(("collective", "family", "name"), ALGORITHMS)
def test_round_robin_placement_is_correct(collective: str, family: str, name: str) -> None:
    for root in range(10):
        nodes = [rank % 3 for rank in range(10)]
        assert _simulator.check(collective, family, name, p=10, root=root, count=2, node_of_rank=nodes) == ""


@pytest.mark.parametrize("k", [3, 4, 40])
@pytest.mark.parametrize("collective", ["gather", "scatter"])
def test_task_tree_is_correct_for_any_k(collective: str, k: int) -> None:
    outcome = _simulator.check_range(collective, "mpich", "nb(tsp_tree)", {"k": k}, p=P, counts=[2])
    assert outcome["findings"] == []


@pytest.mark.parametrize(("call", "recorded"), RECORDED, ids=[" ".join(call[:3]) for call, _ in RECORDED])
def test_messages_equal_those_observed_in_the_library(
    call: tuple[str, str, str, dict[str, int]], recorded: dict[int, str]
) -> None:
    collective, family, name, parameters = call
    expected = Counter(
        (source, *map(int, message.split("/")))
        for source, messages in recorded.items()
        for message in messages.split()
    )
    ours = sent(collective, family, name, 7, parameters=parameters, root=2, count=4)
    assert Counter(ours) == expected


def test_open_mpi_serves_the_largest_subtree_first_and_simgrid_the_smallest() -> None:
    largest_first = exits("scatter", "openmpi", "binomial", [0.0] * 8, count=1000)
    smallest_first = exits("scatter", "simgrid", "ompi_binomial", [0.0] * 8, count=1000)
    assert smallest_first[1] == pytest.approx(2e-6)
    assert largest_first[1] == pytest.approx((5 + 3 + 2) * 1e-6)


def test_linear_sync_gathers_one_rank_after_the_other() -> None:
    late = [0.0, 1e-3, 0.0, 0.0]
    times = exits("gather", "openmpi", "linear_sync", late)
    assert times[3] > 1e-3
    assert exits("gather", "openmpi", "basic_linear", late)[0] > 1e-3


@pytest.mark.parametrize("requests", [0, 1, 2, 3])
def test_root_blocks_on_every_nth_send(requests: int) -> None:
    late = [0.0, 0.0, 1e-3, 0.0, 0.0, 0.0]
    times = exits("scatter", "openmpi", "linear_nb", late, parameters={"requests": requests})
    assert (times[5] > 1e-3) == (requests == 2)


def test_blocks_of_a_node_travel_in_one_message() -> None:
    nodes = [rank // 3 for rank in range(9)]
    gathered = sent("gather", "simgrid", "mvapich2_two_level", 9, root=4, count=2, node_of_rank=nodes)
    assert [message for message in gathered if message[2] > 4] == [(0, 3, 6), (6, 3, 6), (3, 4, 18)]
    scattered = sent(
        "scatter", "simgrid", "mvapich2_two_level_direct", 9, root=4, count=2, node_of_rank=nodes
    )
    assert [message for message in scattered if message[2] > 4] == [(4, 3, 18), (3, 0, 6), (3, 6, 6)]
