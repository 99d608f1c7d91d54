"""The cost of one message, compared with manual calculations."""

from __future__ import annotations

import numpy as np
import pytest
from machines import (
    BANDWIDTH,
    INSIDE_BANDWIDTH,
    INSIDE_LATENCY_S,
    LATENCY_S,
    exits,
    network,
    one_message,
    receive,
    schedule,
    send,
    switch,
)
from pytest import approx

from offbeat import _simulator

ENGINES = ["longest_path", "fluid"]


def transfer_s(length: float) -> float:
    return LATENCY_S + length / BANDWIDTH


def there_and_back(rank: _simulator.Rank) -> None:
    if rank.id == 0:
        send(rank, 1, 1000)
        receive(rank, 1, 3000)
    else:
        receive(rank, 0, 1000)
        send(rank, 0, 3000)


def test_a_message_takes_its_latency_and_its_bytes() -> None:
    assert one_message(1000) == approx([transfer_s(1000)] * 2)


def test_a_message_without_bytes_takes_its_latency() -> None:
    assert one_message(0) == approx([LATENCY_S] * 2)


@pytest.mark.parametrize("engine", ENGINES)
def test_messages_follow_each_other(engine: str) -> None:
    answer = exits(schedule(there_and_back, 2), network([0, 1]), engine=engine)
    assert answer == approx([transfer_s(1000) + transfer_s(3000)] * 2)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_message_inside_a_node_has_costs_of_its_own(engine: str) -> None:
    factors = {"inside_latency_factors": [(900, 3.0)], "inside_bandwidth_factors": [(900, 0.5)]}
    elsewhere = {"latency_factors": [(0, 7.0)], "bandwidth_factors": [(0, 0.1)], "flow_bandwidth": 1.0}
    on = network([1, 1], **factors, **elsewhere)  # type: ignore[arg-type]
    answer = exits(schedule(there_and_back, 2), on, engine=engine)
    assert answer == approx([6 * INSIDE_LATENCY_S + 4000 / 0.5 / INSIDE_BANDWIDTH] * 2)


def test_messages_inside_a_node_share_nothing() -> None:
    def write(rank: _simulator.Rank) -> None:
        send(rank, rank.id + 1, 1000) if rank.id % 2 == 0 else receive(rank, rank.id - 1, 1000)

    answer = exits(schedule(write, 8), network([0] * 8), engine="fluid")
    assert answer == approx([INSIDE_LATENCY_S + 1000 / INSIDE_BANDWIDTH] * 8)


def test_a_rank_sends_to_itself_inside_its_node() -> None:
    def write(rank: _simulator.Rank) -> None:
        rank.sendrecv(0, rank.scratch(1000), 0, rank.scratch(1000))

    assert exits(schedule(write, 1), network([0])) == approx([INSIDE_LATENCY_S + 1000 / INSIDE_BANDWIDTH])


@pytest.mark.parametrize(
    ("length", "latency_factor", "bandwidth_factor"),
    [(99, 1, 1), (100, 2, 0.5), (999, 2, 0.5), (1000, 2, 0.25), (50_000, 2, 0.25)],
)
def test_factors_hold_from_their_step_on(length: int, latency_factor: float, bandwidth_factor: float) -> None:
    costs = {"latency_factors": [(100, 2.0)], "bandwidth_factors": [(100, 0.5), (1000, 0.25)]}
    expected = LATENCY_S * latency_factor + length / bandwidth_factor / BANDWIDTH
    assert one_message(length, **costs) == approx([expected] * 2)


def test_the_header_is_transferred_and_counts_for_the_steps() -> None:
    costs = {"latency_factors": [(100, 2.0)], "header_bytes": 16.0}
    assert one_message(83, **costs) == approx([LATENCY_S + 99 / BANDWIDTH] * 2)
    assert one_message(84, **costs) == approx([2 * LATENCY_S + 100 / BANDWIDTH] * 2)


def test_flow_bandwidth_limits_a_flow() -> None:
    assert one_message(1000, flow_bandwidth=BANDWIDTH / 4) == approx([transfer_s(4000)] * 2)
    assert one_message(1000, flow_bandwidth=BANDWIDTH * 4) == approx([transfer_s(1000)] * 2)


@pytest.mark.parametrize("arrivals_s", [(0, 3e-4), (3e-4, 0)])
def test_a_transfer_begins_when_both_sides_are_ready(arrivals_s: tuple[float, float]) -> None:
    assert one_message(1000, arrivals_s) == approx([3e-4 + transfer_s(1000)] * 2)


def test_a_detached_sender_leaves_at_once_and_the_transfer_still_waits_for_the_receiver() -> None:
    answer = one_message(999, (1e-5, 3e-4), detached_below_bytes=1000.0)
    assert answer == approx([1e-5, 3e-4 + transfer_s(999)])


def test_at_the_threshold_the_sender_waits() -> None:
    answer = one_message(1000, (1e-5, 3e-4), detached_below_bytes=1000.0)
    assert answer == approx([3e-4 + transfer_s(1000)] * 2)


def test_the_usual_threshold_is_64_kib_of_data() -> None:
    for length, sender_s in ((65535, 0.0), (65536, LATENCY_S + (65536 + 16) / BANDWIDTH)):

        def write(rank: _simulator.Rank, length: int = length) -> None:
            send(rank, 1, length) if rank.id == 0 else receive(rank, 0, length)

        nodes = np.arange(2, dtype=np.int32)
        usual = _simulator.Network(switch(2), nodes, inside_latency_s=1e-6, inside_bandwidth=1e9)
        assert exits(schedule(write, 2), usual)[0] == approx(sender_s)


def test_an_eager_message_leaves_when_it_is_sent() -> None:
    under_way = one_message(999, (0, LATENCY_S), eager_below_bytes=1000.0)
    assert under_way == approx([0, transfer_s(999)])
    there_already = one_message(999, (0, 3e-4), eager_below_bytes=1000.0)
    assert there_already == approx([0, 3e-4])
    receiver_first = one_message(999, (3e-4, 0), eager_below_bytes=1000.0)
    assert receiver_first == approx([3e-4, 3e-4 + transfer_s(999)])


def test_at_the_threshold_a_message_is_not_eager() -> None:
    answer = one_message(1000, (0, 3e-4), eager_below_bytes=1000.0)
    assert answer == approx([3e-4 + transfer_s(1000)] * 2)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_synchronous_send_waits_at_any_size(engine: str) -> None:
    def write(rank: _simulator.Rank) -> None:
        rank.ssend(1, rank.scratch(10)) if rank.id == 0 else receive(rank, 0, 10)

    on = network([0, 1], detached_below_bytes=1e6, eager_below_bytes=1e6)
    answer = exits(schedule(write, 2), on, (0, 3e-4), engine)
    assert answer == approx([3e-4 + transfer_s(10)] * 2)


@pytest.mark.parametrize("engine", ENGINES)
def test_exit_waits_for_open_requests(engine: str) -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.id == 0:
            rank.isend(1, rank.scratch(5000))
            rank.isend(2, rank.scratch(10))
        else:
            receive(rank, 0, [0, 5000, 10][rank.id])

    answer = exits(schedule(write, 3), network([0, 1, 1]), (0, 0, 1e-3), engine)
    assert answer == approx([1e-3 + transfer_s(10), transfer_s(5000), 1e-3 + transfer_s(10)])


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_tag_is_received_in_the_order_of_sending(engine: str) -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.id == 0:
            rank.isend(1, rank.scratch(100), tag=1)
            rank.isend(1, rank.scratch(200), tag=2)
            rank.isend(1, rank.scratch(300), tag=1)
        else:
            for length, tag in ((200, 2), (100, 1), (300, 1)):
                rank.recv(0, rank.scratch(length), tag=tag)

    answer = exits(schedule(write, 2), network([0, 1]), engine=engine)
    assert answer == approx([3 * LATENCY_S + 600 / BANDWIDTH] * 2)
