"""Scan and exscan algorithms are correct, and send the messages of the libraries they are named after."""

from __future__ import annotations

import pytest

from offbeat import _simulator

ALGORITHMS = [
    (entry["collective"], entry["family"], entry["name"])
    for entry in _simulator.algorithms()
    if entry["collective"] in ("scan", "exscan")
]


def sent(collective: str, family: str, name: str, p: int, **how: object) -> list[tuple[int, int]]:
    drawn = _simulator.messages(collective, family, name, p=p, **how)
    return list(zip(drawn["source"].tolist(), drawn["target"].tolist(), strict=True))


@pytest.mark.parametrize(("collective", "family", "name"), ALGORITHMS)
@pytest.mark.parametrize("ranks_per_node", [0, 3])
def test_each_rank_has_the_sum_before_it(
    collective: str, family: str, name: str, ranks_per_node: int
) -> None:
    outcome = _simulator.check_range(
        collective,
        family,
        name,
        p=[*range(1, 20), 33],
        roots=[0],
        counts=[0, 1, 5],
        element_bytes=8,
        ranks_per_node=ranks_per_node,
    )
    assert outcome["findings"] == []
    assert outcome["proved"] > 0


@pytest.mark.parametrize(
    ("collective", "family", "name"), [entry for entry in ALGORITHMS if entry[1] != "simgrid"]
)
def test_the_order_of_the_ranks_is_kept(collective: str, family: str, name: str) -> None:
    outcome = _simulator.check_range(
        collective, family, name, p=range(1, 20), roots=[0], ranks_per_node=4, commutative=[False]
    )
    assert outcome["findings"] == []


@pytest.mark.parametrize("collective", ["scan", "exscan"])
def test_the_linear_algorithm_is_a_chain(collective: str) -> None:
    assert sent(collective, "openmpi", "linear", 4) == [(0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize("collective", ["scan", "exscan"])
def test_doubling_exchanges_with_all_partners_that_exist(collective: str) -> None:
    pairs = {(0, 1), (2, 3), (0, 2), (1, 3), (0, 4)}
    both_ways = pairs | {(target, source) for source, target in pairs}
    messages = sent(collective, "mpich", "recursive_doubling", 5)
    assert set(messages) == both_ways
    assert len(messages) == len(both_ways)


@pytest.mark.parametrize("collective", ["scan", "exscan"])
def test_simgrid_sends_to_all_higher_ranks(collective: str) -> None:
    expected = {(source, target) for source in range(5) for target in range(source + 1, 5)}
    assert set(sent(collective, "simgrid", "linear", 5)) == expected


def test_only_mpichs_leaders_send_between_nodes() -> None:
    nodes = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    for name in ("smp", "nb(sched_smp)"):
        messages = sent("scan", "mpich", name, 9, node_of_rank=nodes)
        between = [edge for edge in messages if nodes[edge[0]] != nodes[edge[1]]]
        doubling = [(0, 3), (3, 0), (0, 6), (6, 0)]
        handing_on = [(0, 3), (3, 6)]
        assert sorted(between) == sorted(doubling + handing_on)


def test_only_blocking_mpich_announces_the_sum() -> None:
    nodes = [0, 0, 1, 1]
    blocking = sent("scan", "mpich", "smp", 4, node_of_rank=nodes)
    scheduled = sent("scan", "mpich", "nb(sched_smp)", 4, node_of_rank=nodes)
    assert len(blocking) == len(scheduled) + 2


@pytest.mark.parametrize("nodes", [[0, 1, 0, 1], [0, 1, 2, 3]])
def test_nonconsecutive_or_single_rank_nodes_are_ignored(nodes: list[int]) -> None:
    assert sent("scan", "mpich", "smp", 4, node_of_rank=nodes) == sent(
        "scan", "mpich", "recursive_doubling", 4
    )


@pytest.mark.parametrize(
    ("name", "bytes_", "messages_to_last_rank"),
    [("smp", 12288, 1), ("smp", 12289, 4), ("nb(sched_smp)", 12287, 1), ("nb(sched_smp)", 12288, 4)],
)
def test_the_sum_of_previous_nodes_is_sent_by_the_bcast_that_mpich_chooses(
    name: str, bytes_: int, messages_to_last_rank: int
) -> None:
    """Binomial up to 12 KiB, in nonblocking schedules below; otherwise a scatter and three exchanges."""
    nodes = [0] * 8 + [1] * 8
    drawn = _simulator.messages("scan", "mpich", name, {}, p=16, count=bytes_, node_of_rank=nodes)
    after_nodes = drawn["depth"] > drawn["depth"][(drawn["source"] < 8) & (drawn["target"] >= 8)].max()
    announced = (drawn["elements"] == 4) & (name == "smp")
    assert ((drawn["target"] == 15) & after_nodes & ~announced).sum() == messages_to_last_rank
