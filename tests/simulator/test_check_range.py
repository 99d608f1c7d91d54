"""Ranges of calls: which calls they contain, how they are counted, and that guarantees are checked."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_programs import flat_bcast, flat_reduce

from offbeat import _simulator


def test_every_root_and_count_is_checked() -> None:
    observed = []

    def write(rank: _simulator.Rank) -> None:
        if rank.id == 0:
            observed.append((rank.p, rank.root, rank.count))
        flat_bcast(rank)

    outcome = _simulator.check_written("bcast", write, [1, 3], [], [0, 2])
    assert observed == [(1, 0, 0), (1, 0, 2), *[(3, root, count) for root in range(3) for count in (0, 2)]]
    assert (outcome["proved"], outcome["refused"], outcome["findings"]) == (8, 0, [])


def test_roots_count_from_p_and_those_that_p_does_not_have_are_left_out() -> None:
    observed = []

    def write(rank: _simulator.Rank) -> None:
        if rank.id == 0:
            observed.append((rank.p, rank.root))
        flat_bcast(rank)

    _simulator.check_written("bcast", write, [2, 4], [0, 3, -1, -3])
    assert observed == [(2, 0), (2, 1), (4, 0), (4, 1), (4, 3)]


@pytest.mark.parametrize(
    ("by_node", "nodes"), [(False, [0, 0, 0, 1, 1, 1, 2]), (True, [0, 1, 2, 0, 1, 2, 0])]
)
def test_ranks_are_placed_node_after_node_or_in_turn(by_node: bool, nodes: list[int]) -> None:
    def write(rank: _simulator.Rank) -> None:
        assert [rank.node(other) for other in range(rank.p)] == nodes
        flat_bcast(rank)

    assert _simulator.check_written("bcast", write, [7], [0], [1], 4, 3, by_node)["proved"] == 1


def sum_of_what_comes(rank: _simulator.Rank) -> None:
    """A reduce that is right, and in reversed order."""
    if rank.id != rank.root:
        rank.send(rank.root, rank.input)
        return
    other = rank.scratch(rank.count)
    rank.copy(rank.output, rank.input)
    for peer in range(rank.p):
        if peer != rank.id:
            rank.recv(peer, other)
            rank.reduce(rank.output, other, other_first=True)


def test_calls_that_are_right_but_for_the_order_are_counted_apart() -> None:
    outcome = _simulator.check_written("reduce", sum_of_what_comes, [4], [0], commutative=[True, False])
    assert (outcome["proved"], outcome["commutative_only"], outcome["findings"]) == (1, 1, [])


def test_guaranteed_order_is_checked() -> None:
    outcome = _simulator.check_written(
        "reduce", sum_of_what_comes, [4], [0], commutative=[True, False], ordered=True
    )
    assert (outcome["proved"], outcome["commutative_only"]) == (0, 0)
    assert [finding[:4] for finding in outcome["findings"]] == [(4, 0, 1, True), (4, 0, 1, False)]
    assert outcome["findings"][0][4].endswith("which is not rank order")
    ordered_outcome = _simulator.check_written(
        "reduce", flat_reduce, [4], [], commutative=[True, False], ordered=True
    )
    assert ordered_outcome["proved"] == 8


def test_a_program_that_is_wrong_is_not_excused_by_its_order() -> None:
    def write(rank: _simulator.Rank) -> None:
        sum_of_what_comes(rank)
        if rank.id == 0:
            rank.reduce(rank.output, rank.input, other_first=True)

    outcome = _simulator.check_written("reduce", write, [4], [0], commutative=[True, False])
    assert (outcome["commutative_only"], len(outcome["findings"])) == (0, 2)


def test_scaling_programs_pass() -> None:
    outcome = _simulator.check_written("bcast", flat_bcast, [4], [0], [0, 1, 2, 50], scales=True)
    assert (outcome["proved"], outcome["findings"]) == (4, [])


def halves(rank: _simulator.Rank) -> None:
    half = rank.count // 2
    for piece in (rank.output[:half], rank.output[half:]):
        if rank.id == 0:
            rank.send(1, piece)
        else:
            rank.recv(0, piece)


def only_large_waits(rank: _simulator.Rank) -> None:
    if rank.id == 1:
        rank.recv(0, rank.output)
        return
    sent = rank.isend(1, rank.output)
    if rank.count > 9:
        rank.wait(sent)


def from_behind(rank: _simulator.Rank) -> None:
    """Through a buffer of a fixed length."""
    buffer = rank.scratch(100)
    if rank.id == 0:
        rank.copy(buffer[100 - rank.count :], rank.output)
        rank.send(1, buffer[100 - rank.count :])
    else:
        rank.recv(0, rank.output)


def tagged(rank: _simulator.Rank) -> None:
    (rank.send if rank.id == 0 else rank.recv)(1 - rank.id, rank.output, rank.count)


def more_for_many(rank: _simulator.Rank) -> None:
    (rank.send if rank.id == 0 else rank.recv)(1 - rank.id, rank.output)
    if rank.count > 9:
        (rank.send if rank.id == 0 else rank.recv)(1 - rank.id, [])


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (halves, "a send to rank 1 has 0 elements for 1 element and 5 for 10"),
        (only_large_waits, "waits differently for 1 element than for 10"),
        (from_behind, "piece 0 begins at element 99 of its scratch buffer 0 for 1 element and at element 90"),
        (tagged, "operation 0 is a send to rank 1 with tag 1 for 1 element and a send to rank 1 with tag 10"),
        (more_for_many, "has 1 operations for 1 element and 2 for 10"),
    ],
)
def test_programs_that_do_not_scale_are_reported(write: object, message: str) -> None:
    asked = ("bcast", write, [2], [0], [10])
    assert _simulator.check_written(*asked)["proved"] == 1  # type: ignore[arg-type]
    (finding,) = _simulator.check_written(*asked, scales=True)["findings"]  # type: ignore[arg-type,misc]
    assert message in finding[4]
    assert finding[4].endswith("and its algorithm promises to scale")


def test_a_call_is_refused_by_not_implemented_error_and_nothing_else() -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.p == 3:
            raise NotImplementedError("not three")
        if rank.p == 4:
            raise ValueError("a mistake")
        flat_bcast(rank)

    outcome = _simulator.check_written("bcast", write, [2, 3], [0], [1, 2])
    assert (outcome["proved"], outcome["refused"]) == (2, 2)
    assert outcome["refusals"] == [(3, 0, 1, True, "not three")]
    with pytest.raises(ValueError, match="a mistake"):
        _simulator.check_written("bcast", write, [4])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"p": [0]}, "p is 0; a call has at least 1 process"),
        ({"counts": [-1]}, "a count is -1"),
        ({"element_bytes": 0}, "an element has 0 bytes"),
        ({"ranks_per_node": -1}, "there are -1 ranks on a node"),
    ],
)
def test_ranges_that_make_no_sense_are_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _simulator.check_written("bcast", flat_bcast, **{"p": [2], **changed})  # type: ignore[arg-type]


@settings(max_examples=40)
@given(st.integers(1, 40), st.integers(0, 50), st.data())
def test_many_calls_give_the_outcomes_of_single_calls(p: int, count: int, data: st.DataObject) -> None:
    entries = [entry for entry in _simulator.algorithms() if entry["collective"] != "barrier"]
    entry = data.draw(st.sampled_from(entries))
    name = (entry["collective"], entry["family"], entry["name"], {})
    outcome = _simulator.check_range(*name, [p], [0], [count], 4)
    try:
        sentence = _simulator.check(*name, p, 0, count, 4)
    except ValueError as refusal:
        assert outcome["refusals"][0][4] == str(refusal)
        return
    assert sentence == "".join(finding[4] for finding in outcome["findings"])
    assert outcome["proved"] == (sentence == "")
