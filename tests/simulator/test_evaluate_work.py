"""Local work of ranks, and completion queues, compared with manual calculations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import BANDWIDTH, LATENCY_S, exits, network, one_message, receive, schedule, send
from pytest import approx

from offbeat import _simulator

ENGINES = ["longest_path", "fluid"]
KILOBYTE_S = LATENCY_S + 1000 / BANDWIDTH
Write = Callable[[_simulator.Rank], None]


def both(
    write: Write,
    p: int,
    arrivals_s: list[float] | None = None,
    nodes: list[int] | None = None,
    **costs: float,
) -> list[float]:
    """Exits of a program with local work, which are the same in both evaluations."""
    on = network(nodes or list(range(p)), **costs)
    both_exits_s = [exits(schedule(write, p, local_work=True), on, arrivals_s, engine) for engine in ENGINES]
    np.testing.assert_allclose(both_exits_s[0], both_exits_s[1], rtol=1e-12)
    return both_exits_s[0].tolist()


def test_a_sender_is_busy_before_its_message_leaves() -> None:
    assert one_message(1000, send_overhead_s=1e-6) == approx([1e-6 + KILOBYTE_S] * 2)
    assert one_message(1000, send_overhead_s=1e-6, detached_below_bytes=2000.0) == approx(
        [1e-6, 1e-6 + KILOBYTE_S]
    )


def test_sends_posted_at_once_follow_each_other_by_the_overhead() -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.id == 0:
            rank.isend(1, rank.scratch(10))
            rank.isend(2, rank.scratch(10))
        else:
            receive(rank, 0, 10)

    short_s = LATENCY_S + 10 / BANDWIDTH
    answer = both(write, 3, send_overhead_s=1e-6)
    assert answer == approx([2e-6 + short_s, 1e-6 + short_s, 2e-6 + short_s])
    answer = both(write, 3, send_overhead_s=1e-6, detached_below_bytes=11.0)
    assert answer == approx([2e-6, 1e-6 + short_s, 2e-6 + short_s])


def test_a_receive_posted_after_a_send_waits_for_its_overhead() -> None:
    def write(rank: _simulator.Rank) -> None:
        other = 1 - rank.id
        if rank.id == 0:
            rank.isend(other, rank.scratch(1000))
            rank.irecv(other, rank.scratch(1000))
        else:
            rank.irecv(other, rank.scratch(1000))
            rank.isend(other, rank.scratch(1000))

    answer = both(write, 2, send_overhead_s=1e-6)
    assert answer == approx([1e-6 + KILOBYTE_S] * 2)


def test_a_receiver_is_busy_for_each_message_that_it_waits_for() -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.id < 2:
            return send(rank, 2, 1000)
        rank.wait([rank.irecv(source, rank.scratch(1000)) for source in range(2)])
        return None

    answer = both(write, 3, [0, 1e-3, 0], receive_overhead_s=1e-6)
    assert answer == approx([KILOBYTE_S, 1e-3 + KILOBYTE_S, 1e-3 + KILOBYTE_S + 2e-6])


def test_reductions_and_copies_take_time_by_the_byte() -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.id == 0:
            total, sent = rank.scratch(1000), rank.scratch(1000)
            rank.copy(sent, total)
            rank.copy(sent, total)
            rank.send(1, sent)
        else:
            total, came = rank.scratch(1000), rank.scratch(1000)
            rank.recv(0, came)
            rank.reduce(total, came, other_first=True)

    answer = both(write, 2, reduce_s_per_byte=2e-9, copy_s_per_byte=3e-9)
    assert answer == approx([6e-6 + KILOBYTE_S, 6e-6 + KILOBYTE_S + 2e-6])


def test_a_reduction_between_two_posts_delays_the_second_one_only() -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.id == 0:
            total, other = rank.scratch(1000), rank.scratch(1000)
            rank.isend(1, other)
            rank.reduce(total, other, other_first=True)
            rank.isend(2, total)
        else:
            receive(rank, 0, 1000)

    answer = both(write, 3, reduce_s_per_byte=1e-8)
    assert answer == approx([1e-5 + KILOBYTE_S, KILOBYTE_S, 1e-5 + KILOBYTE_S])


def test_schedule_without_local_work_has_no_local_cost() -> None:
    def write(rank: _simulator.Rank) -> None:
        rank.reduce(rank.scratch(1000), rank.scratch(1000), other_first=True)

    on = network([0], reduce_s_per_byte=1.0)
    assert exits(schedule(write, 1), on) == approx([0])
    assert exits(schedule(write, 1, local_work=True), on) == approx([1000])


def test_an_element_of_eight_bytes_is_reduced_for_eight_times_as_long() -> None:
    def write(rank: _simulator.Rank) -> None:
        rank.reduce(rank.scratch(1000), rank.scratch(1000), other_first=True)

    of, on = schedule(write, 1, local_work=True), network([0], reduce_s_per_byte=1e-9)
    assert _simulator.evaluate(of, on, np.ones((1, 1)), 8.0)[0][0] == approx([1 + 8e-6])


def test_local_operations_of_a_rank_are_sequential() -> None:
    """Two branches that are ready together: their reductions follow each other."""

    def write(rank: _simulator.Rank) -> None:
        if rank.id < 2:
            return send(rank, 2, 1000)
        received = [rank.vertex_after([rank.irecv(source, rank.scratch(1000))]) for source in range(2)]
        for vertex in received:
            rank.continue_at(vertex)
            rank.reduce(rank.scratch(1000), rank.scratch(1000), other_first=True)
        return None

    on = network([0, 1, 2], reduce_s_per_byte=1e-8)
    of = schedule(write, 3, local_work=True)
    assert exits(of, on, [0, 1e-3, 0], "fluid")[2] == approx(1e-3 + KILOBYTE_S + 1e-5)
    assert exits(of, on, [0, 1e-6, 0], "fluid")[2] == approx(KILOBYTE_S + 2e-5)
    with pytest.raises(ValueError, match="no fixed order of messages on this platform"):
        exits(of, on, engine="longest_path")


def first_come_first_served(rank: _simulator.Rank) -> None:
    """Rank 0 forwards 1,000 bytes to rank 3 for each message of rank 1 or rank 2, in order of arrival."""
    if rank.id in (1, 2):
        return send(rank, 0, 1000)
    if rank.id == 3:
        for _ in range(2):
            receive(rank, 0, 1000)
        return None
    queue = rank.completion_queue()
    for source in (1, 2):
        rank.enqueue(queue, rank.irecv(source, rank.scratch(1000)))
    for _ in range(2):
        rank.pop(queue)
        send(rank, 3, 1000)
    return None


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_first_arrival_is_forwarded_first(order: tuple[int, int]) -> None:
    arrivals = np.zeros(4)
    first, second = order
    arrivals[second] = 1e-3
    answer = exits(schedule(first_come_first_served, 4), network(range(4)), arrivals)
    assert answer[first] == approx(KILOBYTE_S)
    assert answer[second] == approx(1e-3 + KILOBYTE_S)
    assert answer[[0, 3]] == approx([1e-3 + 2 * KILOBYTE_S] * 2)


def test_second_completion_waits_for_the_first_pop() -> None:
    """Both arrive together over one down link; then they are forwarded one after the other."""
    answer = exits(schedule(first_come_first_served, 4), network(range(4)))
    both_came_s = LATENCY_S + 2000 / BANDWIDTH
    assert answer == approx(
        [both_came_s + 2 * KILOBYTE_S, both_came_s, both_came_s, both_came_s + 2 * KILOBYTE_S]
    )


def test_completion_queues_have_no_longest_path() -> None:
    of, on = schedule(first_come_first_served, 4), network(range(4))
    with pytest.raises(ValueError, match="no fixed order of messages"):
        exits(of, on, engine="longest_path")
    assert _simulator.evaluate(of, on, np.zeros((2, 4)), 1.0)[1] == ["fluid", "fluid"]


@st.composite
def chains(draw: st.DrawFn) -> tuple[Write, int]:
    """Rounds in which every rank does local work, then exchanges messages in one of several ways."""
    p = draw(st.integers(2, 6))
    rounds = draw(
        st.lists(
            st.tuples(
                st.integers(1, p - 1),
                st.sampled_from(["sendrecv", "posted", "synchronous"]),
                st.sampled_from([0, 10, 1000, 70_000]),
                st.sampled_from([0, 0, 500]),
            ),
            max_size=5,
        )
    )

    def write(rank: _simulator.Rank) -> None:
        for step, way, length, work in rounds:
            to, source = (rank.id + step) % p, (rank.id - step) % p
            out, into = rank.scratch(length), rank.scratch(length)
            if work and rank.id % 2:
                rank.reduce(rank.scratch(work), rank.scratch(work), other_first=True)
            if way == "sendrecv":
                rank.sendrecv(to, out, source, into)
                continue
            receive_request = rank.irecv(source, into)
            if work:
                rank.copy(rank.scratch(work), rank.scratch(work))
            (rank.isend if way == "posted" else rank.issend)(to, out)
            rank.wait(receive_request)

    return write, p


@settings(max_examples=150, deadline=None)
@given(
    chains(),
    st.sampled_from([0.0, 1e-6]),
    st.sampled_from([0.0, 3e-7]),
    st.sampled_from([0.0, 100.0]),
    st.data(),
)
def test_both_evaluations_agree_on_ranks_that_are_busy(
    chain: tuple[Write, int], send_s: float, receive_s: float, eager: float, data: st.DataObject
) -> None:
    """On one node, without contention."""
    write, p = chain
    costs = {"send_overhead_s": send_s, "receive_overhead_s": receive_s, "eager_below_bytes": eager}
    costs |= {"reduce_s_per_byte": 1e-9, "copy_s_per_byte": 2e-9, "detached_below_bytes": 65536.0}
    arrival = st.floats(0, 1e-4)
    arrivals = data.draw(st.lists(arrival, min_size=p, max_size=p))
    on, of = network([0] * p, **costs), schedule(write, p, local_work=True)
    path, fluid = (exits(of, on, arrivals, engine) for engine in ENGINES)
    np.testing.assert_allclose(path, fluid, rtol=1e-9, atol=2e-8)
