"""The checker reports unmatched messages, deadlocks, and pieces outside of their buffers."""

from __future__ import annotations

import pytest
from small_programs import (
    block,
    checked,
    dissemination_barrier,
    flat_bcast,
    flat_reduce,
    pairwise_alltoall,
    posted_allgather,
)

from offbeat import _simulator


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("p", [1, 2, 5, 8, 65, 130])
def test_correct_programs_pass(p: int, count: int) -> None:
    assert checked("alltoall", pairwise_alltoall, p, count=count) == ""
    assert checked("allgather", posted_allgather, p, count=count) == ""
    assert checked("barrier", dissemination_barrier, p, count=0) == ""
    for root in {0, p // 2, p - 1}:
        assert checked("bcast", flat_bcast, p, root=root, count=count) == ""
        assert checked("reduce", flat_reduce, p, root=root, count=count, commutative=False) == ""


def test_unmatched_send_is_reported() -> None:
    def write(rank: _simulator.Rank) -> None:
        flat_bcast(rank)
        if rank.id == 2:
            rank.isend(3, rank.output, tag=7)

    assert checked("bcast", write) == "rank 2 sends rank 3 a message with tag 7 that is never received"


def test_unmatched_receive_is_reported() -> None:
    def write(rank: _simulator.Rank) -> None:
        flat_bcast(rank)
        if rank.id == 2:
            rank.irecv(1, rank.scratch(3))

    assert checked("bcast", write) == "rank 2 receives a message with tag 0 from rank 1 that is never sent"


def test_tags_must_match() -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.id == 0:
            rank.send(1, rank.output, tag=1)
        else:
            rank.recv(0, rank.output, tag=2)

    assert "rank 0 sends rank 1 a message with tag 1" in checked("bcast", write, 2)


def test_messages_with_the_same_tag_match_in_posting_order() -> None:
    def write(rank: _simulator.Rank) -> None:
        halves = [rank.output[:1], rank.output[1:]]
        if rank.id == 0:
            for half in halves:
                rank.send(1, half)
        else:
            for half in halves:
                rank.recv(0, half)

    def crossed(rank: _simulator.Rank) -> None:
        if rank.id == 0:
            rank.send(1, rank.output[:1])
            rank.send(1, rank.output[1:2])
        else:
            rank.recv(0, rank.output[1:2])
            rank.recv(0, rank.output[:1])

    assert checked("bcast", write, 2) == ""
    assert (
        checked("bcast", crossed, 2, count=2)
        == "rank 1: element 0 of its output is element 1 of rank 0; it should be element 0 of rank 0"
    )


def test_both_ends_of_a_message_have_the_same_length() -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.id == 0:
            rank.send(1, rank.output[:2])
        else:
            rank.recv(0, rank.output)

    assert checked("bcast", write, 2) == "rank 0 sends 2 elements to rank 1, which receives 3 (tag 0)"


def test_receiving_before_sending_deadlocks() -> None:
    def write(rank: _simulator.Rank) -> None:
        rank.copy(block(rank.output, rank, rank.id), rank.input)
        rank.recv(1 - rank.id, block(rank.output, rank, 1 - rank.id))
        rank.send(1 - rank.id, rank.input)

    assert checked("allgather", write, 2) == (
        "deadlock: rank 0 waits for a receive from rank 1, rank 1 waits for a receive from rank 0, "
        "which waits for rank 0"
    )


def test_relying_on_eager_sends_deadlocks() -> None:
    def write(rank: _simulator.Rank) -> None:
        following, before = (rank.id + 1) % rank.p, (rank.id - 1) % rank.p
        rank.send(following, [], tag=1)
        rank.recv(before, [], tag=1)

    sentence = checked("barrier", write, 3, count=0)
    assert sentence.startswith("deadlock: rank 0 waits for a send to rank 1 with tag 1, rank 1 waits")
    assert sentence.endswith("which waits for rank 0 (where a send waits for its receive)")


def test_ring_with_one_rank_in_opposite_order_does_not_deadlock() -> None:
    def write(rank: _simulator.Rank) -> None:
        following, before = (rank.id + 1) % rank.p, (rank.id - 1) % rank.p
        if rank.id == 0:
            rank.recv(before, [])
            rank.send(following, [])
        else:
            rank.send(following, [])
            rank.recv(before, [])

    sentence = checked("barrier", write, 3, count=0)
    assert "deadlock" not in sentence
    assert "can leave the barrier before" in sentence  # one lap is not enough


def test_deadlock_report_names_the_cycle() -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.id == 0:
            rank.recv(1, [])
        elif rank.id < 3:
            other = 3 - rank.id
            rank.recv(other, [])
            rank.send(other, [])
            if rank.id == 1:
                rank.send(0, [])

    assert checked("barrier", write, 3, count=0) == (
        "deadlock: rank 1 waits for a receive from rank 2, rank 2 waits for a receive from rank 1, "
        "which waits for rank 1"
    )


@pytest.mark.parametrize(
    ("offset", "length", "element"), [(2, 2, "element 3"), (-1, 2, "element -1"), (7, 1, "element 7")]
)
def test_piece_outside_of_its_buffer_is_reported(offset: int, length: int, element: str) -> None:
    def write(rank: _simulator.Rank) -> None:
        flat_bcast(rank)
        rank.copy(rank.scratch(length), rank.output.part(offset, length))

    assert checked("bcast", write) == f"rank 0: a copy accesses {element} of its output, which has 3 elements"


def test_writing_into_an_input_is_reported() -> None:
    def write(rank: _simulator.Rank) -> None:
        pairwise_alltoall(rank)
        rank.copy(rank.input[1:2], rank.output[1:2])

    assert checked("alltoall", write) == "rank 0: a copy writes into element 1 of its input"


def test_barrier_exit_depends_on_every_arrival() -> None:
    def write(rank: _simulator.Rank) -> None:
        rank.sendrecv((rank.id + 1) % rank.p, [], (rank.id - 1) % rank.p, [])

    assert checked("barrier", write, 3, count=0) == "rank 0 can leave the barrier before rank 1 arrives"


def test_only_a_synchronous_send_depends_on_its_receiver() -> None:
    def gathered(rank: _simulator.Rank, synchronous: bool) -> None:
        if rank.id == 0:
            rank.recv(1, [])
        else:
            (rank.ssend if synchronous else rank.send)(0, [])

    def plain(rank: _simulator.Rank) -> None:
        gathered(rank, False)

    def synchronous(rank: _simulator.Rank) -> None:
        gathered(rank, True)

    assert checked("barrier", plain, 2, count=0) == "rank 1 can leave the barrier before rank 0 arrives"
    assert checked("barrier", synchronous, 2, count=0) == ""


def test_messages_are_listed_by_depth() -> None:
    drawn = _simulator.Programs("reduce", flat_reduce, 4, root=1, count=5).messages()
    assert drawn["source"].tolist() == [3, 2, 0]
    assert drawn["target"].tolist() == [1, 1, 1]
    assert drawn["elements"].tolist() == [5, 5, 5]
    assert drawn["depth"].tolist() == [1, 2, 3]


def test_messages_of_deadlocked_programs_are_refused() -> None:
    def write(rank: _simulator.Rank) -> None:
        rank.recv(1 - rank.id, [])
        rank.send(1 - rank.id, [])

    with pytest.raises(ValueError, match="deadlock"):
        _simulator.Programs("barrier", write, 2, count=0).messages()
