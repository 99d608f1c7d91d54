"""Max-min fair sharing of links, as simple as possible: the reference for the simulator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from offbeat import _simulator

Floats = NDArray[np.float64]
FULL = 1e-9
"""A link with less than this share of its capacity left is full."""


def rates(weights: Floats, capacities: Floats, most: float) -> Floats:
    """Rate of each flow. ``weights`` is (links × flows); no flow is faster than ``most``.

    All rates grow together; a flow stops at ``most``, or when one of its links is full (Bertsekas and
    Gallager, Data Networks, section 6.5.2).
    """
    rate = np.zeros(weights.shape[1])
    growing = np.ones(weights.shape[1], dtype=bool)
    while growing.any():
        demand = weights[:, growing].sum(axis=1)
        left = capacities - weights @ rate
        used = demand > 0
        step = min((left[used] / demand[used]).min(initial=np.inf), most - rate[growing].max())
        rate[growing] += step
        full = used & (capacities - weights @ rate <= FULL * capacities)
        growing &= ~(weights[full] > 0).any(axis=0) & (rate < most * (1 - FULL))
    return rate


def weights_of(messages: Sequence[tuple[int, int, int]], topology: _simulator.Topology) -> Floats:
    """(links × messages): the weight of each message on each link."""
    weights = np.zeros((len(topology.bandwidths), len(messages)))
    for number, (source, target, _) in enumerate(messages):
        for link, weight in topology.routes(source, target)[1]:
            weights[link, number] += weight
    return weights


def ends(
    messages: Sequence[tuple[int, int, int]],
    topology: _simulator.Topology,
    starts_s: Sequence[float],
    most: float = np.inf,
) -> Floats:
    """The end of each message (source node, target node, bytes), which starts after its latency."""
    weights = weights_of(messages, topology)
    capacities = np.array(topology.bandwidths)
    begins = np.array([s + topology.routes(a, b)[0] for s, (a, b, _) in zip(starts_s, messages, strict=True)])
    left = np.array([float(length) for _, _, length in messages])
    end = np.full(len(messages), np.inf)
    now = begins.min()
    while np.isinf(end).any():
        moves = (begins <= now) & np.isinf(end)
        rate = np.zeros(len(messages))
        rate[moves] = rates(weights[:, moves], capacities, most)
        through = now + np.divide(left, rate, out=np.full(len(messages), np.inf), where=moves)
        later = min(through.min(), begins[begins > now].min(initial=np.inf))
        left -= rate * (later - now)
        end[moves & (through <= later * (1 + 1e-15))] = later
        now = later
    return end
