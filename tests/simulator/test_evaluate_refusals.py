"""Calls that cannot be evaluated are refused with a sentence."""

from __future__ import annotations

import numpy as np
import pytest
from machines import LATENCY_S, exits, network, schedule, send
from pytest import approx

from offbeat import _simulator

ENGINES = ["best", "longest_path", "fluid"]


def ring(rank: _simulator.Rank) -> None:
    to, source = (rank.id + 1) % rank.p, (rank.id - 1) % rank.p
    rank.sendrecv(to, rank.scratch(10), source, rank.scratch(10))


def send_first(rank: _simulator.Rank) -> None:
    send(rank, 1 - rank.id, 1000)
    rank.recv(1 - rank.id, rank.scratch(1000))


@pytest.mark.parametrize("engine", ENGINES)
def test_deadlock_is_reported(engine: str) -> None:
    of = schedule(send_first, 2)
    with pytest.raises(RuntimeError, match="wait for each other"):
        exits(of, network([0, 1]), engine=engine)
    assert np.isfinite(exits(of, network([0, 1], detached_below_bytes=2000.0), engine=engine)).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.nan, "pattern 1: rank 2 arrives at nan; arrivals are seconds from 0 on"),
        (np.inf, "pattern 1: rank 2 arrives at inf"),
        (-np.inf, "pattern 1: rank 2 arrives at -inf"),
        (-1e-3, "pattern 1: rank 2 arrives at -0.001"),
    ],
)
def test_arrivals_are_seconds_from_zero_on(engine: str, wrong: float, message: str) -> None:
    arrivals = np.zeros((3, 4))
    arrivals[1, 2] = wrong
    with pytest.raises(ValueError, match=message):
        _simulator.evaluate(schedule(ring, 4), network(range(4)), arrivals, 1.0, engine)


@pytest.mark.parametrize("columns", [0, 3, 5])
def test_arrivals_have_a_column_for_each_rank(columns: int) -> None:
    with pytest.raises(ValueError, match=f"arrivals have {columns} columns; there are 4 ranks"):
        _simulator.evaluate(schedule(ring, 4), network(range(4)), np.zeros((2, columns)), 1.0)


def test_arrivals_have_two_axes() -> None:
    with pytest.raises(TypeError):
        _simulator.evaluate(schedule(ring, 4), network(range(4)), np.zeros(4), 1.0)


@pytest.mark.parametrize("engine", ENGINES)
def test_no_patterns_have_no_exits(engine: str) -> None:
    times, engines = _simulator.evaluate(schedule(ring, 4), network(range(4)), np.zeros((0, 4)), 1.0, engine)
    assert times.shape == (0, 4)
    assert engines == []


@pytest.mark.parametrize("engine", ENGINES)
def test_one_rank_that_does_nothing_leaves_when_it_arrives(engine: str) -> None:
    idle = schedule(lambda rank: None, 1)
    assert exits(idle, network([0]), [0.25], engine) == approx([0.25])


def test_network_needs_a_node_for_every_rank() -> None:
    with pytest.raises(ValueError, match="the network has no node for some rank"):
        exits(schedule(ring, 4), network(range(3)))
    assert exits(schedule(ring, 4), network(range(6))) == approx([LATENCY_S + 1e-8] * 4)


def test_networks_can_change_under_a_schedule() -> None:
    of = schedule(ring, 4)
    near, far = network([0] * 4), network(range(4))
    first = [exits(of, near), exits(of, far)]
    np.testing.assert_array_equal([exits(of, near), exits(of, far)], first)


@pytest.mark.parametrize("nonsense", [np.nan, np.inf, -1.0])
def test_invalid_bytes_are_refused(nonsense: float) -> None:
    of, on = schedule(ring, 4), network(range(4))
    with pytest.raises(ValueError, match=r"an element has .* bytes"):
        _simulator.evaluate(of, on, np.zeros((1, 4)), nonsense)


def test_unknown_evaluation_is_refused() -> None:
    with pytest.raises(ValueError, match="no evaluation 'exact'; there are best, longest_path and fluid"):
        exits(schedule(ring, 4), network(range(4)), engine="exact")


def test_unmatched_messages_are_refused() -> None:
    with pytest.raises(RuntimeError, match="1 sends, but 0 receives"):
        schedule(lambda rank: send(rank, 1, 1) if rank.id == 0 else None, 2)


def test_message_with_two_lengths_is_refused() -> None:
    def write(rank: _simulator.Rank) -> None:
        send(rank, 1, 1) if rank.id == 0 else rank.recv(0, rank.scratch(2))

    with pytest.raises(RuntimeError, match="from rank 0 to rank 1 has two lengths"):
        schedule(write, 2)
