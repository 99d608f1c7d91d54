"""Properties of every algorithm on every machine."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from machines import network, topologies
from numpy.typing import NDArray

from offbeat import _simulator

pytestmark = pytest.mark.slow

Floats = NDArray[np.float64]
CATALOGUE = _simulator.algorithms()
ROUNDING_S = 1e-9
"""The largest difference between exits that would be equal without rounding; times that differ in their last
digits only are one event (docs/explanation/simulation.md)."""


class Case(NamedTuple):
    """A call on a network, under some patterns."""

    collective: str
    family: str
    name: str
    schedule: _simulator.Schedule
    on: _simulator.Network
    topology: _simulator.Topology
    nodes: list[int]
    costs: dict[str, Any]
    arrivals_s: Floats

    def evaluate(self, engine: str = "best", arrivals_s: Floats | None = None) -> tuple[Floats, list[str]]:
        arrivals = self.arrivals_s if arrivals_s is None else arrivals_s
        return _simulator.evaluate(self.schedule, self.on, np.ascontiguousarray(arrivals), 1.0, engine)

    def exits(self, engine: str = "best", arrivals_s: Floats | None = None) -> Floats:
        return self.evaluate(engine, arrivals_s)[0]


@st.composite
def cases(draw: st.DrawFn, charges: bool | None = None) -> Case:
    """``charges``: whether ranks take time for posts and local work; both where it is None."""
    known = draw(st.sampled_from(CATALOGUE))
    collective, family, name = known["collective"], known["family"], known["name"]
    p = draw(st.integers(1, 12))
    count = draw(st.sampled_from([0, 1, 100, 5000, 100_000]))
    root = draw(st.integers(0, p - 1))
    topology = draw(topologies())
    ppn = draw(st.integers(max(1, -(-p // topology.nodes)), max(4, p)))
    first = draw(st.integers(0, topology.nodes - (p - 1) // ppn - 1))
    nodes = [first + rank // ppn for rank in range(p)]
    if draw(st.booleans()):
        nodes = draw(st.permutations(nodes))
    if charges is None:
        charges = draw(st.booleans())
    try:
        schedule = _simulator.Schedule(
            collective, family, name, {}, p, root, count, 1, nodes, local_work=charges
        )
    except ValueError:
        assume(False)
    costs = draw(message_costs(charges))
    shape = draw(st.sampled_from(["together", "scattered", "far apart"]))
    spread = {"together": 0.0, "scattered": 1e-4, "far apart": 1.0}[shape]
    arrivals = np.random.default_rng(draw(st.integers(0, 99))).uniform(0, spread, (3, p))
    on = network(nodes, topology, **costs)
    return Case(collective, family, name, schedule, on, topology, nodes, costs, arrivals)


@st.composite
def message_costs(draw: st.DrawFn, charges: bool) -> dict[str, Any]:
    costs: dict[str, Any] = {
        "header_bytes": draw(st.sampled_from([0.0, 16.0])),
        "detached_below_bytes": draw(st.sampled_from([0.0, 65536.0])),
        "eager_below_bytes": draw(st.sampled_from([0.0, 4096.0])),
        "flow_bandwidth": draw(st.sampled_from([0.0, 3e7, 1.2e9])),
        "latency_factors": [(0, 2.0), (1000, 1.5)],
        "bandwidth_factors": [(0, 0.8), (1000, 0.5), (65536, 0.9)],
    }
    if charges:
        costs |= {"send_overhead_s": draw(st.sampled_from([0.0, 1e-6])), "receive_overhead_s": 3e-7}
        costs |= {"reduce_s_per_byte": 2e-10, "copy_s_per_byte": draw(st.sampled_from([0.0, 1e-10]))}
    return costs


def longest_paths(case: Case) -> Floats:
    """The exits by the longest path, which is not defined for every algorithm."""
    try:
        return case.exits("longest_path")
    except ValueError as refusal:
        assert "no fixed order" in str(refusal)
        assume(False)
        raise


@settings(max_examples=150, deadline=None)
@given(cases(), st.sampled_from([0.0, 1.0, 3600.0]), st.booleans())
def test_a_common_delay_of_all_arrivals_delays_all_exits_equally(
    case: Case, later_s: float, is_one_late: bool
) -> None:
    """Equally up to the last digit of the exits: the sums of arrivals and delay are exact. This holds also if
    one rank arrives a minute after the others."""
    arrivals = np.round(case.arrivals_s * 2.0**40) / 2.0**40
    arrivals[:, -1] += 60.0 * is_one_late
    for engine in ("best", "fluid"):
        exits = case.exits(engine, arrivals)
        assert (exits >= arrivals).all()
        shifted = case.exits(engine, arrivals + later_s)
        assert (np.abs(shifted - (exits + later_s)) <= 2 * np.spacing(shifted)).all()


@settings(max_examples=60, deadline=None)
@given(cases(), st.sampled_from([1.0, 3600.0]))
def test_a_long_wait_for_the_last_rank_does_not_change_what_follows(case: Case, later_s: float) -> None:
    """Once nothing is in progress but the wait, the rest of the call takes the same time after any wait."""
    arrivals = np.round(case.arrivals_s * 2.0**40) / 2.0**40
    calls = []
    for wait_s in (60.0, 60.0 + later_s):
        late = arrivals.copy()
        late[:, -1] += wait_s
        exits = case.exits("fluid", late)
        calls.append(np.where(exits > 30, exits - wait_s, exits))
    assert np.abs(calls[0] - calls[1]).max() <= 2 * np.spacing(3660.0)


@settings(max_examples=120, deadline=None)
@given(cases())
def test_patterns_evaluated_together_equal_patterns_evaluated_singly(case: Case) -> None:
    many = np.tile(case.arrivals_s, (6, 1))
    for engine in ("best", "fluid"):
        one_by_one = np.concatenate([case.exits(engine, pattern[None, :]) for pattern in case.arrivals_s])
        np.testing.assert_array_equal(case.exits(engine, many), np.tile(one_by_one, (6, 1)))


@settings(max_examples=120, deadline=None)
@given(cases())
def test_without_shared_links_the_longest_path_is_exact(case: Case) -> None:
    best, engines = case.evaluate()
    fluid = case.exits("fluid")
    for pattern, engine in enumerate(engines):
        exact = engine == "fluid"
        np.testing.assert_allclose(
            best[pattern], fluid[pattern], rtol=0 if exact else 1e-9, atol=0 if exact else ROUNDING_S
        )


@settings(max_examples=150, deadline=None)
@given(cases())
def test_longest_path_is_a_lower_bound(case: Case) -> None:
    assert (case.exits("fluid") >= longest_paths(case) - ROUNDING_S).all()


@settings(max_examples=120, deadline=None)
@given(cases())
def test_names_of_nodes_do_not_matter_behind_a_switch(case: Case) -> None:
    size = max(case.nodes) + 1
    order = np.random.default_rng(size).permutation(size)
    topology = _simulator.single_switch(size, (1e9, 1e-6), 0.05)
    answers = [
        _simulator.evaluate(case.schedule, network(nodes, topology, **case.costs), case.arrivals_s, 1.0)[0]
        for nodes in (case.nodes, [int(order[node]) for node in case.nodes])
    ]
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-9, atol=ROUNDING_S)


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_an_algorithm_that_scales_needs_one_schedule_for_all_sizes(data: st.DataObject) -> None:
    known = data.draw(st.sampled_from([entry for entry in CATALOGUE if entry["scales"]]))
    p = data.draw(st.integers(1, 12))
    count = data.draw(st.sampled_from([2, 1000, 80_000]))
    nodes = [rank // 3 for rank in range(p)]
    on = network(nodes, **data.draw(message_costs(True)))
    arrivals = np.random.default_rng(p).uniform(0, 1e-4, (2, p))
    try:
        large, small = (
            _simulator.Schedule(
                known["collective"], known["family"], known["name"], {}, p, 0, n, 1, nodes, local_work=True
            )
            for n in (count, 1)
        )
    except ValueError:
        assume(False)
    expected = _simulator.evaluate(large, on, arrivals, 1.0)[0]
    answer = _simulator.evaluate(small, on, arrivals, float(count))[0]
    np.testing.assert_allclose(answer, expected, rtol=1e-12)
