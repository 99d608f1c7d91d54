"""Alltoall algorithms are correct, and send the messages of the libraries they are named after."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from algorithm_messages import depth, exits, hops, sent

from offbeat import _simulator

ALGORITHMS = [
    (entry["family"], entry["name"]) for entry in _simulator.algorithms() if entry["collective"] == "alltoall"
]
P = [*range(1, 18), 25, 32, 33]
POWERS_OF_TWO = {1, 2, 4, 8, 16, 32}
RUNS_ONLY_AT = {
    "two_proc": {2},
    "pair": POWERS_OF_TWO,
    "pair_light_barrier": POWERS_OF_TWO,
    "pair_mpi_barrier": POWERS_OF_TWO,
    "pair_one_barrier": POWERS_OF_TWO,
    "2dmesh": {2, 3, 4, 6, 8, 9, 10, 12, 14, 15, 16, 25, 32, 33},
    "3dmesh": {3, 4, 5, 6, 7, 8, 9, 12, 16, 25, 32},
}
"""By name: the values of P that the library does not refuse."""


@pytest.mark.parametrize(("family", "name"), ALGORITHMS)
def test_alltoall_is_correct(family: str, name: str) -> None:
    outcome = _simulator.check_range("alltoall", family, name, p=P, counts=[0, 1, 3])
    assert outcome["findings"] == []
    assert {p for p, *_ in outcome["refusals"]} == set(P) - RUNS_ONLY_AT.get(name, set(P))


@pytest.mark.parametrize(
    ("family", "name", "parameters"),
    [
        *(("mpich", "k_brucks", {"k": k}) for k in (3, 4, 7, 40)),
        *(
            ("mpich", "nb(tsp_brucks)", {"k": k, "buffer_per_nbr": own})
            for k in (2, 3, 5, 40)
            for own in (0, 1)
        ),
        *(("mpich", "scattered", {"throttle": throttle}) for throttle in (0, 1, 5)),
        *(
            ("mpich", "nb(tsp_scattered)", {"batch_size": batch, "outstanding_tasks": window})
            for batch, window in ((1, 1), (4, 2), (3, 7))
        ),
        *(("openmpi", "linear_sync", {"requests": requests}) for requests in (1, 2, 5)),
    ],
)
def test_alltoall_is_correct_with_parameters(family: str, name: str, parameters: dict[str, int]) -> None:
    outcome = _simulator.check_range("alltoall", family, name, parameters, p=P, counts=[2])
    assert outcome["findings"] == []
    assert outcome["refused"] == 0


@pytest.mark.parametrize(
    ("family", "name", "parameters", "p", "expected"),
    [
        ("simgrid", "bruck", {}, 8, {(1, 4): 1, (2, 4): 1, (4, 4): 1}),
        ("openmpi", "modified_bruck", {}, 6, {(1, 3): 1, (2, 2): 1, (4, 2): 1}),
        ("mpich", "brucks", {}, 6, {(1, 3): 1, (2, 2): 1, (4, 2): 1}),
        ("mpich", "k_brucks", {"k": 3}, 9, {(1, 3): 1, (2, 3): 1, (3, 3): 1, (6, 3): 1}),
        ("mpich", "nb(tsp_brucks)", {"k": 4}, 7, {(1, 2): 1, (2, 2): 1, (3, 1): 1, (4, 3): 1}),
    ],
)
def test_bruck_sends_the_blocks_of_a_digit_in_one_message(
    family: str, name: str, parameters: dict[str, int], p: int, expected: dict[tuple[int, int], int]
) -> None:
    assert hops("alltoall", family, name, p, parameters=parameters) == [Counter(expected)] * p


@pytest.mark.parametrize(("p", "rounds"), [(2, 1), (7, 3), (8, 3), (9, 4), (33, 6)])
def test_bruck_has_one_round_per_bit(p: int, rounds: int) -> None:
    assert depth("alltoall", "simgrid", "bruck", p) == rounds


@pytest.mark.parametrize(
    ("family", "name", "itself"),
    [
        ("openmpi", "linear", 0),
        ("openmpi", "pairwise", 0),
        ("simgrid", "basic_linear", 0),
        ("simgrid", "ring", 0),
        ("simgrid", "mvapich2_scatter_dest", 1),
        ("mpich", "scattered", 1),
        ("mpich", "nb(tsp_scattered)", 1),
    ],
)
def test_messages_of_a_rank_to_itself(family: str, name: str, itself: int) -> None:
    expected = Counter({(places, 2): 1 for places in range(1 - itself, 5)})
    assert hops("alltoall", family, name, 5, count=2) == [expected] * 5


def test_mpich_pairwise_uses_pairs_for_powers_of_two() -> None:
    arrivals = np.random.default_rng(4).uniform(0, 20e-6, 8).tolist()
    for p, same in ((8, "pair"), (6, "ring")):
        mpich_exits = exits("alltoall", "mpich", "pairwise", arrivals[:p])
        assert np.array_equal(mpich_exits, exits("alltoall", "simgrid", same, arrivals[:p]))


@pytest.mark.parametrize(("requests", "rounds"), [(1, 6), (2, 3), (3, 2), (5, 2), (6, 1), (100, 1), (0, 1)])
def test_linear_sync_limits_messages_in_flight(requests: int, rounds: int) -> None:
    left = exits("alltoall", "openmpi", "linear_sync", [0.0] * 7, parameters={"requests": requests})
    assert left == pytest.approx([rounds * 1.001e-6] * 7)


@pytest.mark.parametrize(("throttle", "rounds"), [(1, 7), (3, 3), (7, 1), (0, 1)])
def test_scattered_waits_for_each_batch(throttle: int, rounds: int) -> None:
    left = exits("alltoall", "mpich", "scattered", [0.0] * 7, parameters={"throttle": throttle})
    assert left == pytest.approx([rounds * 1.001e-6] * 7)


def test_barriers_between_steps_are_linear() -> None:
    messages = sent("alltoall", "simgrid", "ring_mpi_barrier", 5, count=3)
    empty = Counter((source, target) for source, target, elements in messages if elements == 0)
    assert empty == {edge: 5 for other in range(1, 5) for edge in ((other, 0), (0, other))}
    one = sent("alltoall", "simgrid", "ring_one_barrier", 5, count=3)
    assert sum(elements == 0 for *_, elements in one) == 8


@pytest.mark.parametrize(("element_bytes", "elements"), [(1, 1), (2, 1), (4, 0), (8, 0)])
def test_light_barrier_sends_about_one_byte(element_bytes: int, elements: int) -> None:
    messages = sent("alltoall", "simgrid", "ring_light_barrier", 5, count=3, element_bytes=element_bytes)
    assert Counter(length for *_, length in messages) == {3: 5 * 4, elements: 5 * 3}


def test_mesh_exchanges_along_rows_then_columns() -> None:
    messages = sent("alltoall", "simgrid", "2dmesh", 12, count=1)
    assert {(s // 4 == t // 4, s % 4 == t % 4, n) for s, t, n in messages} == {
        (True, False, 12),
        (False, True, 4),
    }
    assert len(messages) == 12 * (3 + 2)


def test_a_thousand_ranks_have_a_million_messages() -> None:
    schedule = _simulator.Schedule("alltoall", "simgrid", "ring", {}, 1024, 0, 1, 1, [0] * 1024)
    assert schedule.messages == 1024 * 1023
