"""Allgather algorithms are correct, and send the messages of the libraries they are named after."""

from __future__ import annotations

from collections import Counter

import pytest
from algorithm_messages import depth, hops, sent

from offbeat import _simulator

ALGORITHMS = [
    (entry["family"], entry["name"])
    for entry in _simulator.algorithms()
    if entry["collective"] == "allgather"
]
P = [*range(1, 18), 25, 32, 33]
POWERS_OF_TWO = {1, 2, 4, 8, 16, 32}
RUNS_ONLY_AT = {
    ("openmpi", "two_proc"): {2},
    ("mpich", "recursive_doubling"): POWERS_OF_TWO,
    ("mpich", "nb(sched_recursive_doubling)"): POWERS_OF_TWO,
    ("simgrid", "pair"): POWERS_OF_TWO,
    ("simgrid", "rhv"): POWERS_OF_TWO,
    ("simgrid", "2dmesh"): {2, 3, 4, 6, 8, 9, 10, 12, 14, 15, 16, 25, 32, 33},
    ("simgrid", "3dmesh"): {3, 4, 5, 6, 7, 8, 9, 12, 16, 25, 32},
}
"""The values of P that the library does not refuse."""

NODES = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
"""Of 12 ranks."""


@pytest.mark.parametrize(("family", "name"), ALGORITHMS)
@pytest.mark.parametrize("ranks_per_node", [0, 4])
def test_allgather_is_correct(family: str, name: str, ranks_per_node: int) -> None:
    outcome = _simulator.check_range(
        "allgather", family, name, p=P, counts=[0, 1, 3], ranks_per_node=ranks_per_node
    )
    runs_at = RUNS_ONLY_AT.get((family, name), set(P))
    if name == "mvapich2_smp" and ranks_per_node:
        runs_at = {p for p in P if p <= ranks_per_node or p % ranks_per_node == 0}
    assert outcome["findings"] == []
    assert {p for p, *_ in outcome["refusals"]} == set(P) - runs_at


@pytest.mark.parametrize("k", [3, 4, 7, 40])
@pytest.mark.parametrize(
    "name",
    [
        "k_brucks",
        "recexch_doubling",
        "recexch_halving",
        "nb(tsp_brucks)",
        "nb(tsp_recexch_doubling)",
        "nb(tsp_recexch_halving)",
    ],
)
def test_allgather_is_correct_for_any_radix(name: str, k: int) -> None:
    outcome = _simulator.check_range("allgather", "mpich", name, {"k": k}, p=P, counts=[2])
    assert outcome["findings"] == []
    assert outcome["refused"] == 0


@pytest.mark.parametrize("name", ["recexch_doubling", "recexch_halving"])
def test_single_phase_receives_are_correct(name: str) -> None:
    parameters = {"k": 2, "single_phase_recv": 1}
    assert _simulator.check_range("allgather", "mpich", name, parameters, p=P)["findings"] == []


@pytest.mark.parametrize(
    ("family", "name", "parameters", "p", "expected"),
    [
        ("openmpi", "ring", {}, 5, {(1, 1): 4}),
        ("openmpi", "bruck", {}, 6, {(5, 1): 1, (4, 2): 1, (2, 2): 1}),
        ("openmpi", "recursive_doubling", {}, 6, {(5, 1): 1, (4, 2): 1, (2, 2): 1}),
        ("openmpi", "neighbor", {}, 5, {(1, 1): 4}),
        ("simgrid", "ompi_neighborexchange", {}, 5, {(places, 1): 1 for places in range(1, 5)}),
        ("openmpi", "sparbit", {}, 6, {(4, 1): 1, (2, 1): 1, (1, 1): 3}),
        ("mpich", "k_brucks", {"k": 3}, 8, {(7, 1): 1, (6, 1): 1, (5, 3): 1, (2, 2): 1}),
        ("simgrid", "ring", {}, 5, {(places, 1): 1 for places in range(1, 5)}),
        ("simgrid", "NTSLR", {}, 5, {(1, 1): 4}),
    ],
)
def test_allgather_messages_equal_the_librarys(
    family: str, name: str, parameters: dict[str, int], p: int, expected: dict[tuple[int, int], int]
) -> None:
    assert hops("allgather", family, name, p, parameters=parameters) == [Counter(expected)] * p


def test_neighbors_exchange_two_blocks_from_the_second_step_on() -> None:
    messages = Counter(sent("allgather", "openmpi", "neighbor", 8))
    for even in range(0, 8, 2):
        after, before = even + 1, (even - 1) % 8
        assert messages[even, after, 1] == messages[after, even, 1] == 1
        assert messages[even, after, 2] == messages[after, even, 2] == 1
        assert messages[even, before, 2] == messages[before, even, 2] == 2


def test_recursive_exchange_serves_nonparticipants_last() -> None:
    messages = sent("allgather", "mpich", "recexch_doubling", 11, parameters={"k": 3})
    for outsider in (0, 1):
        assert [m for m in messages if outsider in m[:2]] == [(outsider, 2, 1), (2, outsider, 11)]


def test_doubling_serves_ranks_without_partner_by_a_tree() -> None:
    to_rank_3 = [m for m in sent("allgather", "simgrid", "rdb", 5) if m[1] == 3]
    assert to_rank_3 == [(2, 3, 1), (1, 3, 2), (2, 3, 1)]


def test_open_mpi_linear_is_its_default_gather_and_bcast() -> None:
    gather = sent("gather", "openmpi", "binomial", 40, count=3)
    bcast = sent("bcast", "openmpi", "binomial", 40, count=3 * 40)
    assert Counter(sent("allgather", "openmpi", "linear", 40, count=3)) == Counter(gather + bcast)


@pytest.mark.parametrize(
    ("name", "between_nodes"),
    [
        ("smp_simple", {(s, t, 4) for s in (0, 4, 8) for t in (0, 4, 8) if s != t}),
        ("SMP_NTS", {(0, 4, 4), (4, 8, 4), (8, 0, 4)}),
        ("loosely_lr", {(s, (s + 4) % 12, 1) for s in range(12)}),
    ],
)
def test_messages_between_nodes(name: str, between_nodes: set[tuple[int, int, int]]) -> None:
    messages = sent("allgather", "simgrid", name, 12, node_of_rank=NODES)
    assert {m for m in messages if NODES[m[0]] != NODES[m[1]]} == between_nodes


def test_leaders_forward_messages_down_a_chain() -> None:
    messages = sent("allgather", "simgrid", "SMP_NTS", 12, node_of_rank=NODES)
    inside = Counter(m for m in messages if NODES[m[0]] == NODES[m[1]] and m[2] == 4)
    assert inside == {(rank, rank + 1, 4): 2 for rank in (0, 1, 2, 4, 5, 6, 8, 9, 10)}


def test_nodes_of_nonconsecutive_ranks_are_refused() -> None:
    with pytest.raises(ValueError, match="numbered node by node"):
        sent("allgather", "simgrid", "mvapich2_smp", 4, node_of_rank=[0, 1, 0, 1])


@pytest.mark.parametrize(("p", "rounds"), [(2, 1), (8, 3), (9, 4), (33, 6)])
def test_bruck_has_one_round_per_bit(p: int, rounds: int) -> None:
    assert depth("allgather", "openmpi", "bruck", p) == rounds
