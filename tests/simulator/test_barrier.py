"""Barrier algorithms are correct, and send the messages of the libraries they are named after."""

from __future__ import annotations

from collections import Counter

import pytest
from algorithm_messages import depth, exits, hops, sent

from offbeat import _simulator

ALGORITHMS = [
    (entry["family"], entry["name"]) for entry in _simulator.algorithms() if entry["collective"] == "barrier"
]
P = [*range(1, 40), 64, 65]
FOR_TWO = ("two_proc", "ompi_two_procs")


@pytest.mark.parametrize(("family", "name"), ALGORITHMS)
@pytest.mark.parametrize("ranks_per_node", [0, 4])
def test_no_rank_leaves_before_the_last_arrival(family: str, name: str, ranks_per_node: int) -> None:
    outcome = _simulator.check_range("barrier", family, name, p=P, counts=[0], ranks_per_node=ranks_per_node)
    assert outcome["findings"] == []
    assert {p for p, *_ in outcome["refusals"]} == (set(P) - {2} if name in FOR_TWO else set())


@pytest.mark.parametrize("k", [3, 4, 7, 50])
@pytest.mark.parametrize("name", ["k_dissemination", "recexch", "nb(tsp_recexch)", "nb(tsp_k_dissemination)"])
def test_barrier_is_correct_for_any_radix(name: str, k: int) -> None:
    outcome = _simulator.check_range("barrier", "mpich", name, {"k": k}, p=P, counts=[0])
    assert outcome["findings"] == []
    assert outcome["refused"] == 0


@pytest.mark.parametrize(
    ("family", "name", "parameters", "p", "longest"),
    [
        ("openmpi", "linear", {}, 9, 9),
        ("simgrid", "ompi_basic_linear", {}, 9, 2),
        ("openmpi", "bruck", {}, 9, 4),
        ("openmpi", "recursive_doubling", {}, 8, 3),
        ("openmpi", "recursive_doubling", {}, 9, 5),
        ("openmpi", "tree", {}, 8, 6),
        ("openmpi", "double_ring", {}, 6, 12),
        ("mpich", "k_dissemination", {"k": 2}, 9, 4),
        ("mpich", "k_dissemination", {"k": 3}, 9, 2),
        ("mpich", "nb(tsp_k_dissemination)", {"k": 3}, 10, 3),
        ("mpich", "recexch", {"k": 3}, 9, 2),
        ("mpich", "nb(tsp_recexch)", {"k": 3}, 11, 3),
    ],
)
def test_longest_chain_of_messages(
    family: str, name: str, parameters: dict[str, int], p: int, longest: int
) -> None:
    assert depth("barrier", family, name, p, parameters=parameters) == longest


def test_dissemination_goes_to_multiples_of_powers_of_the_radix() -> None:
    expected = Counter({(places, 0): 1 for places in (1, 2, 3, 6)})
    assert hops("barrier", "mpich", "k_dissemination", 9, parameters={"k": 3}) == [expected] * 9


def test_radix_is_limited_to_p_except_in_the_task_graph() -> None:
    cut = hops("barrier", "mpich", "k_dissemination", 4, parameters={"k": 6})
    assert cut == [Counter({(1, 0): 1, (2, 0): 1, (3, 0): 1})] * 4
    uncut = hops("barrier", "mpich", "nb(tsp_k_dissemination)", 4, parameters={"k": 6})
    assert uncut == [Counter({(0, 0): 1, (1, 0): 2, (2, 0): 1, (3, 0): 1})] * 4


def test_open_mpi_releases_by_a_synchronous_send_and_simgrid_does_not() -> None:
    late = [0.0, 0.0, 10e-6]
    open_mpi = exits("barrier", "openmpi", "recursive_doubling", late)
    assert open_mpi == pytest.approx([13e-6, 12e-6, 13e-6])
    assert Counter(sent("barrier", "openmpi", "recursive_doubling", 3)) == Counter(
        sent("barrier", "simgrid", "ompi_recursivedoubling", 3)
    )


def test_only_leaders_send_between_nodes() -> None:
    nodes = [rank // 4 for rank in range(16)]
    messages = sent("barrier", "mpich", "smp", 16, node_of_rank=nodes)
    between = {(source, target) for source, target, _ in messages if nodes[source] != nodes[target]}
    assert between == {(4 * n, 4 * ((n + d) % 4)) for n in range(4) for d in (1, 2)}
