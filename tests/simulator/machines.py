"""Small machines and programs of single messages, for tests of the evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from offbeat import _simulator

Write = Callable[[_simulator.Rank], None]
Message = tuple[int, int, int]
"""Source node, target node, bytes."""

BANDWIDTH = 1e9
"""Bandwidth of every link of a switch: one byte per nanosecond."""
LATENCY_S = 2e-6
"""From node to node, over two cables."""
INSIDE_LATENCY_S = 5e-7
INSIDE_BANDWIDTH = 4e9


def switch(nodes: int, reverse_weight: float = 0.0) -> _simulator.Topology:
    return _simulator.single_switch(nodes, (BANDWIDTH, LATENCY_S / 2), reverse_weight)


def network(
    node_of_rank: Sequence[int], topology: _simulator.Topology | None = None, **costs: Any
) -> _simulator.Network:
    """By default, messages have no header and no factors, and senders wait."""
    usual = {"header_bytes": 0.0, "detached_below_bytes": 0.0}
    inside = {"inside_latency_s": INSIDE_LATENCY_S, "inside_bandwidth": INSIDE_BANDWIDTH}
    return _simulator.Network(
        topology or switch(max(node_of_rank) + 1),
        np.asarray(node_of_rank, dtype=np.int32),
        **{**usual, **inside, **costs},
    )


def schedule(write: Write, p: int, local_work: bool = False) -> _simulator.Schedule:
    """An element is a byte; the program needs no buffers but its own."""
    return _simulator.Schedule(_simulator.Programs("barrier", write, p), local_work)


def send(rank: _simulator.Rank, to: int, length: int) -> None:
    rank.send(to, rank.scratch(length))


def receive(rank: _simulator.Rank, source: int, length: int) -> None:
    rank.recv(source, rank.scratch(length))


def exits(
    of: _simulator.Schedule,
    on: _simulator.Network,
    arrivals_s: ArrayLike | None = None,
    engine: str = "best",
) -> NDArray[np.float64]:
    """The exit of each rank under one pattern."""
    arrivals = np.zeros((1, of.p)) if arrivals_s is None else np.array([arrivals_s], dtype=float)
    times, _ = _simulator.evaluate(of, on, arrivals, 1.0, engine)
    return np.asarray(times[0])


def one_message(length: int, arrivals_s: Sequence[float] = (0, 0), **costs: Any) -> list[float]:
    """The exits of sender and receiver of a message to another node, the same in both evaluations."""

    def write(rank: _simulator.Rank) -> None:
        send(rank, 1, length) if rank.id == 0 else receive(rank, 0, length)

    both = [
        exits(schedule(write, 2), network([0, 1], **costs), arrivals_s, engine).tolist()
        for engine in ("longest_path", "fluid")
    ]
    np.testing.assert_allclose(both[0], both[1], rtol=1e-12)
    return both[0]


def flows(messages: Sequence[Message]) -> tuple[_simulator.Schedule, list[int]]:
    """Each message between two ranks of its own, which do nothing else, and the nodes of the ranks: the
    receiver of message k is rank 2k + 1."""

    def write(rank: _simulator.Rank) -> None:
        length = messages[rank.id // 2][2]
        send(rank, rank.id + 1, length) if rank.id % 2 == 0 else receive(rank, rank.id - 1, length)

    nodes = [node for source, target, _ in messages for node in (source, target)]
    return schedule(write, 2 * len(messages)), nodes


def flow_ends(
    messages: Sequence[Message],
    topology: _simulator.Topology,
    starts_s: Sequence[float] | None = None,
    **costs: Any,
) -> NDArray[np.float64]:
    """The time when each message is received if it is sent at its start, by the fluid evaluation."""
    of, nodes = flows(messages)
    arrivals = np.repeat(np.zeros(len(messages)) if starts_s is None else starts_s, 2)
    return exits(of, network(nodes, topology, **costs), arrivals, "fluid")[1::2]


@st.composite
def topologies(draw: st.DrawFn) -> _simulator.Topology:
    """Switches, fat trees and dragonflies of up to 18 nodes, with links of several bandwidths."""
    bandwidths = st.sampled_from([1e8, 1e9, 1e9, 4e9])
    cable = st.tuples(bandwidths, st.sampled_from([1e-7, 1e-6]))
    weight = draw(st.sampled_from([0.0, 0.05, 0.05, 0.5]))
    kind = draw(st.sampled_from(["switch", "tree", "dragonfly"]))
    if kind == "switch":
        return _simulator.single_switch(draw(st.integers(2, 8)), draw(cable), weight)
    few = st.integers(1, 3)
    if kind == "tree":
        below = (draw(st.integers(2, 4)), 1, draw(st.integers(1, 2)), draw(cable))
        above = (draw(st.integers(2, 4)), draw(few), draw(st.integers(1, 2)), draw(cable))
        return _simulator.fat_tree(below[0] * above[0], [below, above], weight)
    sizes = (draw(st.integers(2, 3)), draw(few), draw(st.integers(1, 2)), draw(st.integers(1, 2)))
    return _simulator.dragonfly(*sizes, draw(cable), draw(cable), draw(cable), weight)
