"""The checker: buffers in flight, branches that access the same data, and completion queues."""

from __future__ import annotations

import pytest
from small_programs import block, checked, posted_allgather

from offbeat import _simulator


def test_send_buffer_is_not_written_before_the_wait() -> None:
    def write(rank: _simulator.Rank, wait_first: bool) -> None:
        if rank.id == 1:
            rank.recv(0, rank.output)
            return
        buffer = rank.scratch(3)
        rank.copy(buffer, rank.output)
        sent = rank.isend(1, buffer)
        if wait_first:
            rank.wait(sent)
        rank.copy(buffer[1:2], rank.output[:1])

    assert checked("bcast", lambda rank: write(rank, True), 2) == ""
    assert checked("bcast", lambda rank: write(rank, False), 2) == (
        "rank 0: a copy accesses element 1 of its scratch buffer 0 while a send to rank 1 still reads it"
    )


@pytest.mark.parametrize("wait_first", [True, False])
def test_receive_buffer_is_not_read_before_the_wait(wait_first: bool) -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.id == 0:
            rank.send(1, rank.output)
            return
        received = rank.irecv(rank.id - 1, rank.output)
        if wait_first:
            rank.wait(received)
        if rank.id + 1 < rank.p:
            rank.isend(rank.id + 1, rank.output)

    sentence = checked("bcast", write, 3)
    assert sentence == (
        ""
        if wait_first
        else "rank 1: a send to rank 2 accesses element 0 of its output while a receive from rank 0 still "
        "writes it"
    )


def test_waiting_for_another_request_is_not_enough() -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.id == 0:
            for peer in (1, 2):
                rank.send(peer, rank.output)
            return
        if rank.id == 1:
            rank.recv(0, rank.output)
            rank.send(2, [])
            return
        late = rank.irecv(0, rank.output)
        rank.recv(1, [])
        rank.copy(rank.scratch(1), rank.output[2:])
        rank.wait(late)

    assert checked("bcast", write, 3) == (
        "rank 2: a copy accesses element 2 of its output while a receive from rank 0 still writes it"
    )


def test_two_receives_into_one_buffer_conflict() -> None:
    def write(rank: _simulator.Rank) -> None:
        posted_allgather(rank)
        if rank.id == 0:
            rank.irecv(1, rank.output[4:5], tag=1)
        if rank.id == 1:
            rank.isend(0, rank.input[:1], tag=1)

    assert checked("allgather", write).startswith(
        "rank 0: a receive from rank 1 with tag 1 accesses element 4"
    )


def test_receive_that_uses_an_element_twice_is_reported() -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.id == 0:
            rank.send(1, [rank.output, rank.output[:1]])
        else:
            rank.recv(0, [rank.output, rank.output[:1]])

    assert checked("bcast", write, 2) == ("rank 1: a receive from rank 0 uses element 0 of its output twice")


def test_copy_onto_itself_is_reported() -> None:
    def write(rank: _simulator.Rank) -> None:
        rank.copy(rank.output[1:], rank.output[:2])

    assert checked("bcast", write, 1) == "rank 0: a copy from and into element 1 of its output"


def test_many_sends_may_read_the_same_data_at_once() -> None:
    assert checked("allgather", posted_allgather, 40) == ""


def test_waiting_for_the_last_send_does_not_wait_for_the_first() -> None:
    def write(rank: _simulator.Rank, first: bool) -> None:
        if rank.id != 0:
            rank.recv(0, rank.output)
            return
        buffer = rank.scratch(3)
        rank.copy(buffer, rank.output)
        sent = [rank.isend(peer, buffer) for peer in (1, 2)]
        rank.wait(sent if first else sent[1])
        rank.copy(buffer, rank.output)

    assert checked("bcast", lambda rank: write(rank, True), 3) == ""
    assert "while a send to rank 1 still reads it" in checked("bcast", lambda rank: write(rank, False), 3)


def halves_bcast(rank: _simulator.Rank, *, joined: bool = True, apart: bool = True) -> None:
    """A chain as a task graph, in which both halves are forwarded independently.

    apart: each half is forwarded when it arrives; joined: only the end waits for both."""
    halves = [rank.output[:1], rank.output[1:]]
    if rank.id == 0:
        for tag, half in enumerate(halves):
            rank.isend(1, half, tag)
        return
    start = rank.current_vertex()
    for tag, half in enumerate(halves):
        rank.continue_at(start)
        received = rank.irecv(rank.id - 1, half, tag)
        rank.continue_at(rank.vertex_after([received]) if apart else rank.current_vertex())
        if rank.id + 1 < rank.p:
            rank.isend(rank.id + 1, half, tag)
    if joined:
        rank.wait_all()
        rank.copy(rank.scratch(rank.count), rank.output)


def test_branches_with_different_data_are_correct() -> None:
    assert checked("bcast", lambda rank: halves_bcast(rank, joined=False)) == ""


def test_branch_without_wait_is_reported() -> None:
    assert checked("bcast", lambda rank: halves_bcast(rank, joined=False, apart=False)) == (
        "rank 1: a send to rank 2 accesses element 0 of its output"
        " while a receive from rank 0 still writes it"
    )


def test_branches_that_write_the_same_data_are_reported() -> None:
    def write(rank: _simulator.Rank, one_after_the_other: bool) -> None:
        if rank.id != 0:
            rank.send(0, rank.input)
            return
        rank.copy(rank.output, rank.input)
        start = last = rank.current_vertex()
        for peer in range(1, rank.p):
            rank.continue_at(start)
            arrived = rank.scratch(rank.count)
            received = rank.irecv(peer, arrived)
            last = rank.vertex_after([received], [last] if one_after_the_other else [])
            rank.continue_at(last)
            rank.reduce(rank.output, arrived, other_first=False)

    assert checked("reduce", lambda rank: write(rank, True), commutative=False) == ""
    assert checked("reduce", lambda rank: write(rank, False)) == (
        "rank 0: a reduction and a reduction access element 0 of its output in an undefined order"
    )


def test_messages_with_undefined_order_are_reported() -> None:
    def write(rank: _simulator.Rank) -> None:
        halves = [rank.output[:1], rank.output[1:2]]
        if rank.id == 0:
            for half in halves:
                rank.isend(1, half)
            return
        gates = [rank.irecv(0, [], 1 + k) for k in range(2)]
        for half, gate in zip(halves, gates, strict=True):
            rank.continue_at(rank.vertex_after([gate]))
            rank.irecv(0, half)

    def whole(rank: _simulator.Rank) -> None:
        if rank.id == 0:
            for k in range(2):
                rank.isend(1, [], 1 + k)
        write(rank)

    assert checked("bcast", whole, 2, count=2) == (
        "rank 1: a receive from rank 0 is posted twice in an undefined order"
    )


def waitany_reduce(rank: _simulator.Rank, *, pops: int | None = None, first: bool = False) -> None:
    """The root combines data in order of arrival."""
    if rank.id != 0:
        rank.send(0, rank.input)
        return
    rank.copy(rank.output, rank.input)
    queue = rank.completion_queue()
    arrived = []
    for peer in range(1, rank.p):
        arrived.append(rank.scratch(rank.count))
        rank.enqueue(queue, rank.irecv(peer, arrived[-1]))
    for k in range(rank.p - 1 if pops is None else pops):
        if not first:
            rank.pop(queue)
        rank.reduce(rank.output, arrived[k], other_first=False)
        if first:
            rank.pop(queue)


def test_completion_queue_combines_in_order_of_arrival() -> None:
    assert checked("reduce", waitany_reduce, 6) == ""


def test_order_of_arrival_is_not_rank_order() -> None:
    assert checked("reduce", waitany_reduce, 6, commutative=False).endswith("which is not rank order")
    assert checked("reduce", waitany_reduce, 2, commutative=False) == ""


def test_data_is_not_combined_before_it_arrives() -> None:
    assert "while a receive from rank" in checked("reduce", lambda rank: waitany_reduce(rank, first=True), 4)


def test_queue_has_as_many_pops_as_requests() -> None:
    assert checked("reduce", lambda rank: waitany_reduce(rank, pops=2), 4) == (
        "rank 0: completion queue 0 gets 3 requests and is popped 2 times"
    )


def test_only_the_last_pop_guarantees_a_given_message() -> None:
    def write(rank: _simulator.Rank, after: int) -> None:
        """Rank 0 forwards the first message after this many pops."""
        if rank.id == rank.p - 1:
            rank.send(0, rank.input)
            rank.recv(0, rank.scratch(rank.count))
        if rank.id not in (0, rank.p - 1):
            rank.send(0, rank.input)
        if rank.id != 0:
            return
        rank.copy(block(rank.output, rank, 0), rank.input)
        queue = rank.completion_queue()
        for peer in range(1, rank.p):
            rank.enqueue(queue, rank.irecv(peer, block(rank.output, rank, peer)))
        for k in range(1, rank.p):
            rank.pop(queue)
            if k == after:
                gate = rank.isend(rank.p - 1, block(rank.output, rank, rank.p - 1))
        rank.wait(gate)

    assert checked("gather", lambda rank: write(rank, 3), 4) == ""
    assert "still writes it" in checked("gather", lambda rank: write(rank, 1), 4)
