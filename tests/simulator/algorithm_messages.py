"""The messages of an algorithm and the exits of its ranks on one node, for tests of algorithms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from offbeat import _simulator


def sent(collective: str, family: str, name: str, p: int, **how: object) -> list[tuple[int, int, int]]:
    """All messages: source, target, elements."""
    drawn = _simulator.messages(collective, family, name, p=p, **how)
    columns = (drawn[key].tolist() for key in ("source", "target", "elements"))
    return list(zip(*columns, strict=True))


def hops(collective: str, family: str, name: str, p: int, **how: object) -> list[Counter[tuple[int, int]]]:
    """Per rank, the number of messages by (distance in ranks, elements)."""
    counted: list[Counter[tuple[int, int]]] = [Counter() for _ in range(p)]
    for source, target, elements in sent(collective, family, name, p, **how):
        counted[source][(target - source) % p, elements] += 1
    return counted


def depth(collective: str, family: str, name: str, p: int, **how: object) -> int:
    """The longest chain of messages."""
    return int(_simulator.messages(collective, family, name, p=p, **how)["depth"].max(initial=0))


def exits(
    collective: str,
    family: str,
    name: str,
    arrivals_s: Sequence[float],
    *,
    parameters: dict[str, int] | None = None,
    count: int = 1,
) -> NDArray[np.float64]:
    """The exit of each rank in seconds, if a transfer takes 1 µs and 1 ns per byte without contention.
    Sends wait for the transfer."""
    p = len(arrivals_s)
    nodes = [0] * p
    network = _simulator.Network(
        _simulator.single_switch(1, (1e9, 1e-6), 0.0),
        np.zeros(p, dtype=np.int32),
        inside_latency_s=1e-6,
        inside_bandwidth=1e9,
        header_bytes=0.0,
        detached_below_bytes=0.0,
    )
    schedule = _simulator.Schedule(collective, family, name, parameters or {}, p, 0, count, 1, nodes)
    times, _ = _simulator.evaluate(schedule, network, np.array([arrivals_s], dtype=float), 1.0)
    return np.asarray(times[0])
