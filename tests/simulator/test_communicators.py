"""Simulated collectives on several communicators at the same time, such as the rows of a process grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import network, switch
from numpy.typing import NDArray

from offbeat import _simulator
from offbeat.model.study.collectives import COLLECTIVES, ROOTED
from offbeat.model.study.communicators import CommunicatorLayout
from offbeat.simulation.calls.call_exits import SimulatedCall
from offbeat.simulation.calls.catalogue import algorithms

ALGORITHMS = [
    one
    for family in ("openmpi", "mpich", "simgrid")
    for name in COLLECTIVES
    for one in algorithms(name, family)
]
ELEMENT_BYTES = 8
LONG_AFTER_S = 10.0


def layouts(most_communicators: int = 6) -> st.SearchStrategy[CommunicatorLayout]:
    def with_stride(communicators: int) -> st.SearchStrategy[CommunicatorLayout]:
        divisors = [stride for stride in range(1, communicators + 1) if communicators % stride == 0]
        return st.builds(
            CommunicatorLayout,
            p=st.integers(1, 8),
            communicators=st.just(communicators),
            stride=st.sampled_from(divisors),
        )

    return st.integers(1, most_communicators).flatmap(with_stride)


def call(layout: CommunicatorLayout, one: Any, root: int, count: int, nodes: list[int]) -> SimulatedCall:
    return SimulatedCall(
        algorithm=one,
        layout=layout,
        root=root if one.collective in ROOTED else 0,
        elements=count,
        element_bytes=ELEMENT_BYTES,
        node_of_rank=nodes,
    )


def exits(
    built: _simulator.Schedule, on: _simulator.Network, arrivals_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    found, _ = _simulator.evaluate(built, on, np.ascontiguousarray(arrivals_s), float(ELEMENT_BYTES))
    return found


@settings(max_examples=150)
@given(st.data(), layouts(), st.sampled_from(ALGORITHMS), st.integers(0, 300))
def test_laws_of_any_algorithm(data: st.DataObject, layout: CommunicatorLayout, one: Any, count: int) -> None:
    """No rank leaves before it arrives, all communicators send their messages, one is the plain collective,
    and those that arrive after it has left do not delay it."""
    root = data.draw(st.integers(0, layout.p - 1))
    ppn = data.draw(st.integers(1, layout.total))
    nodes = [rank // ppn for rank in range(layout.total)]
    arguments = call(layout, one, root, count, nodes)
    reason, about = arguments.preview()
    if reason:
        with pytest.raises(ValueError):
            arguments.schedule(local_work=False)
        return
    built = arguments.schedule(local_work=False)
    alone = CommunicatorLayout(p=layout.p)
    each = [
        call(alone, one, root, count, [nodes[rank] for rank in ranks]).schedule(local_work=False)
        for ranks in layout.ranks.tolist()
    ]
    assert built.messages == sum(single.messages for single in each)
    assert about == sum(
        call(alone, one, root, count, [nodes[rank] for rank in ranks]).preview()[1]
        for ranks in layout.ranks.tolist()
    )
    arrivals = np.array(data.draw(st.lists(st.floats(0, 1e-4), min_size=layout.total, max_size=layout.total)))
    left = exits(built, network(nodes), arrivals[np.newaxis])[0]
    assert (left >= arrivals).all()
    first, own = layout.ranks[0], single_exits(each[0], nodes, layout.ranks[0], arrivals)
    if layout.communicators == 1:
        np.testing.assert_array_equal(left, own)
    arrivals[layout.ranks[1:]] += LONG_AFTER_S
    undisturbed = exits(built, network(nodes), arrivals[np.newaxis])[0, first]
    np.testing.assert_allclose(undisturbed, own, rtol=1e-9, atol=1e-15)


def single_exits(
    built: _simulator.Schedule, nodes: list[int], ranks: NDArray[np.int64], arrivals: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Exits of one communicator that has the machine for itself."""
    on = network([nodes[rank] for rank in ranks], switch(max(nodes) + 1))
    return exits(built, on, arrivals[ranks][np.newaxis])[0]


@settings(max_examples=60)
@given(st.data(), layouts(), st.sampled_from(ALGORITHMS), st.integers(1, 3))
def test_communicators_on_nodes_of_their_own_do_not_disturb_each_other(
    data: st.DataObject, layout: CommunicatorLayout, one: Any, ppn: int
) -> None:
    """On a switch, whose links belong to the nodes, each has the times of one that is alone."""
    per_communicator = -(-layout.p // ppn)
    nodes = np.zeros(layout.total, int)
    for communicator, ranks in enumerate(layout.ranks):
        nodes[ranks] = communicator * per_communicator + np.arange(layout.p) // ppn
    arguments = call(layout, one, layout.p - 1, 100, nodes.tolist())
    if arguments.preview()[0]:
        return
    delays = data.draw(st.lists(st.floats(0, 1e-4), min_size=layout.p, max_size=layout.p))
    arrivals = layout.for_all(np.array(delays))
    left = exits(arguments.schedule(local_work=False), network(nodes.tolist()), arrivals[np.newaxis])[0]
    alone = CommunicatorLayout(p=layout.p)
    for ranks in layout.ranks:
        own = call(alone, one, layout.p - 1, 100, nodes[ranks].tolist()).schedule(local_work=False)
        np.testing.assert_allclose(
            left[ranks], single_exits(own, nodes.tolist(), ranks, arrivals), rtol=1e-9, atol=1e-15
        )


def test_communicators_on_the_same_nodes_share_their_cables() -> None:
    """Columns of a grid whose rows are nodes: the more there are, the longer large messages take."""
    (ring,) = (one for one in ALGORITHMS if (one.collective, one.family, one.name) == RING)
    taken = []
    for columns in (1, 2, 4):
        layout = CommunicatorLayout(p=4, communicators=columns, stride=columns)
        nodes = [rank // columns for rank in range(layout.total)]
        built = call(layout, ring, 0, 10**6, nodes).schedule(local_work=False)
        taken.append(exits(built, network(nodes), np.zeros((1, layout.total))).max())
    assert taken[1] == pytest.approx(2 * taken[0], rel=0.01)
    assert taken[2] == pytest.approx(4 * taken[0], rel=0.01)


RING = ("allreduce", "openmpi", "ring")


@pytest.mark.parametrize(
    ("layout", "nodes", "sentence"),
    [
        (CommunicatorLayout(p=2, communicators=4, stride=3), [0] * 8, "it must divide the number of"),
        (CommunicatorLayout(p=2, communicators=4, stride=0), [0] * 8, "it must divide the number of"),
        (CommunicatorLayout(p=2, communicators=0), [], "both are at least 1"),
        (CommunicatorLayout(p=0, communicators=2), [], "both are at least 1"),
        (CommunicatorLayout(p=2**20, communicators=2**12), [], "their product a 32-bit integer"),
        (CommunicatorLayout(p=2, communicators=4), [0] * 2, "nodes for 2 ranks of 8"),
    ],
)
def test_impossible_layouts_are_refused(layout: CommunicatorLayout, nodes: list[int], sentence: str) -> None:
    (ring,) = (one for one in ALGORITHMS if (one.collective, one.family, one.name) == RING)
    with pytest.raises(ValueError, match=sentence):
        call(layout, ring, 0, 1, nodes).schedule(local_work=False)
    assert sentence in call(layout, ring, 0, 1, nodes).preview()[0]
