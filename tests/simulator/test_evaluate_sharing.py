"""Flows that share links, compared with manual calculations and with a simple progressive filling."""

from __future__ import annotations

import max_min
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import BANDWIDTH, LATENCY_S, Message, exits, flow_ends, flows, network, switch, topologies
from pytest import approx

from offbeat import _simulator


def test_two_flows_over_one_up_link_get_half_each() -> None:
    ends = flow_ends([(0, 1, 1000), (0, 2, 1000)], switch(3))
    assert ends == approx([LATENCY_S + 2000 / BANDWIDTH] * 2)


def test_two_flows_into_one_down_link_get_half_each() -> None:
    ends = flow_ends([(0, 2, 1000), (1, 2, 1000)], switch(3))
    assert ends == approx([LATENCY_S + 2000 / BANDWIDTH] * 2)


def test_remaining_bandwidth_goes_to_the_other_flow() -> None:
    """The short message has half a link for 2000 ns; then the long one has the link alone."""
    ends = flow_ends([(0, 1, 1000), (0, 2, 3000)], switch(3))
    assert ends == approx([LATENCY_S + 2000 / BANDWIDTH, LATENCY_S + 4000 / BANDWIDTH])


def test_later_flow_shares_from_its_start() -> None:
    """Alone for 10 µs, then half a link each until the first one ends."""
    ends = flow_ends([(0, 1, 20_000), (0, 2, 20_000)], switch(3), [0, 1e-5])
    assert ends == approx([LATENCY_S + 3e-5, LATENCY_S + 4e-5])


def test_flows_in_opposite_directions_share_nothing_without_cross_traffic() -> None:
    ends = flow_ends([(0, 1, 1000), (1, 0, 1000)], switch(2))
    assert ends == approx([LATENCY_S + 1000 / BANDWIDTH] * 2)


def test_flow_takes_five_percent_of_the_reverse_direction() -> None:
    """r + 0.05 r fills each link."""
    ends = flow_ends([(0, 1, 10_500), (1, 0, 10_500)], switch(2, 0.05))
    assert ends == approx([LATENCY_S + 1.05 * 10_500 / BANDWIDTH] * 2)


def test_single_flow_is_not_slowed_by_its_reverse_traffic() -> None:
    assert flow_ends([(0, 1, 1000)], switch(2, 0.05)) == approx([LATENCY_S + 1000 / BANDWIDTH])


def test_bandwidth_that_one_flow_cannot_use_goes_to_the_others() -> None:
    """Node 1 receives 3 flows, a third of its down link each; the other flow of node 0 has two thirds."""
    messages = [(0, 1, 1000), (2, 1, 1000), (3, 1, 1000), (0, 4, 2000)]
    assert flow_ends(messages, switch(5)) == approx([LATENCY_S + 3000 / BANDWIDTH] * 4)


def test_flows_below_capacity_do_not_slow_each_other() -> None:
    ends = flow_ends([(0, 1, 1000), (0, 2, 1000)], switch(3), flow_bandwidth=BANDWIDTH / 2)
    assert ends == approx([LATENCY_S + 2000 / BANDWIDTH] * 2)
    ends = flow_ends([(0, 1, 1000), (0, 2, 1000)], switch(3), flow_bandwidth=0.8 * BANDWIDTH)
    assert ends == approx([LATENCY_S + 2000 / BANDWIDTH] * 2)


def test_a_short_message_overtakes_a_long_one_of_the_same_nodes() -> None:
    for most in (BANDWIDTH / 4, BANDWIDTH / 2, BANDWIDTH):
        messages = [(0, 1, 100_000), (0, 1, 1000)]
        ends = flow_ends(messages, switch(2), [0, 1e-5], flow_bandwidth=most)
        assert ends[1] == approx(1e-5 + LATENCY_S + 1000 / min(most, BANDWIDTH / 2))


def test_best_detects_sharing_and_longest_path_ignores_it() -> None:
    of, nodes = flows([(0, 1, 1000), (0, 2, 1000)])
    on = network(nodes)
    assert exits(of, on, engine="longest_path") == approx([LATENCY_S + 1000 / BANDWIDTH] * 4)
    assert exits(of, on, engine="best") == approx([LATENCY_S + 2000 / BANDWIDTH] * 4)
    one_after_the_other = np.array([[0, 0, 1e-3, 1e-3], [0, 0, 5e-7, 5e-7]])
    assert _simulator.evaluate(of, on, one_after_the_other, 1.0)[1] == ["longest_path", "fluid"]


def test_reverse_traffic_can_fill_a_link() -> None:
    """Both come back over the cable from the third leaf to the first spine, which neither passes forward:
    60% of it each."""
    tree = _simulator.fat_tree(6, [(2, 1, 1, (4e9, 1e-7)), (3, 2, 1, (1e9, 1e-7))], 0.6)
    messages = [(0, 4, 6000), (2, 5, 6000)]
    of, nodes = flows(messages)
    answer = exits(of, network(nodes, tree), engine="best")
    assert answer == approx([4e-7 + 1.2 * 6000 / 1e9] * 4)


def test_flow_is_slowed_by_reverse_traffic_on_its_link() -> None:
    """Only the cable from the third leaf to the first spine is shared: by 1 and 0.6 of two equal rates."""
    tree = _simulator.fat_tree(6, [(2, 1, 1, (4e9, 1e-7)), (3, 2, 1, (1e9, 1e-7))], 0.6)
    of, nodes = flows([(0, 4, 6000), (5, 2, 6000)])
    answer = exits(of, network(nodes, tree), [0, 0, 1e-6, 1e-6], engine="best")
    assert answer[1::2] == approx([4e-7 + 9e-6, 4e-7 + 1e-5])


def messages_on(nodes: int) -> st.SearchStrategy[list[Message]]:
    ends = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(
        lambda pair: pair[0] != pair[1]
    )
    length = st.sampled_from([100_000, 1_000_000, 1_000_000, 3_000_000])
    return st.lists(st.builds(lambda pair, n: (*pair, n), ends, length), min_size=1, max_size=24)


@settings(max_examples=80, deadline=None)
@given(st.data(), st.sampled_from([0.0, 3e7, 1.2e9]))
def test_flows_that_start_together_share_max_min_fairly(data: st.DataObject, most: float) -> None:
    topology = data.draw(topologies())
    messages = data.draw(messages_on(topology.nodes))
    expected = max_min.ends(messages, topology, [0.0] * len(messages), most or np.inf)
    np.testing.assert_allclose(flow_ends(messages, topology, flow_bandwidth=most), expected, rtol=1e-6)


@settings(max_examples=80, deadline=None)
@given(st.data(), st.sampled_from([0.0, 3e7, 1.2e9]))
def test_flows_that_start_one_by_one_share_max_min_fairly(data: st.DataObject, most: float) -> None:
    topology = data.draw(topologies())
    messages = data.draw(messages_on(topology.nodes))
    start = st.integers(0, 40).map(lambda step: step * 2.3e-4)
    starts = data.draw(st.lists(start, min_size=len(messages), max_size=len(messages)))
    expected = max_min.ends(messages, topology, starts, most or np.inf)
    np.testing.assert_allclose(
        flow_ends(messages, topology, starts, flow_bandwidth=most), expected, rtol=1e-6
    )


@pytest.mark.parametrize("nodes_of_leaf", [4, 16])
def test_hundreds_of_flows_share_a_tree_max_min_fairly(nodes_of_leaf: int) -> None:
    draw = np.random.default_rng(nodes_of_leaf)
    nodes = 4 * nodes_of_leaf
    levels = [(nodes_of_leaf, 1, 1, (1e9, 1e-6)), (4, 2, 2, (3e9, 1e-6))]
    topology = _simulator.fat_tree(nodes, levels, 0.05)
    ways = [draw.choice(nodes, 2, replace=False).tolist() for _ in range(300)]
    messages = [(a, b, int(draw.integers(100_000, 1_000_000))) for a, b in ways]
    starts = draw.uniform(0, 5e-3, len(messages)).tolist()
    ends = flow_ends(messages, topology, starts)
    np.testing.assert_allclose(ends, max_min.ends(messages, topology, starts), rtol=1e-6)
