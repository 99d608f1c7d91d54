"""Times of trace records on the shared clock, with all kinds of clock points and without any."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trace_factory as factory

from offbeat.trace.files.format import ClockPoint
from offbeat.trace.files.rank_file import open_file
from offbeat.trace.files.shared_time import RankClock


def clock(*points: tuple, drift: float = 4e-4, wander: float = 5e-17) -> RankClock:
    return RankClock([ClockPoint(*one) for one in points], drift, wander)


def test_times_between_clock_points_are_interpolated() -> None:
    line = clock((1000, 5000, 10, 0.0, False), (2000, 6002, 30, 0.0, False))
    assert line.shared_ns(np.array([1000, 1500, 2000])).tolist() == [5000, 5501, 6002]
    assert line.bound_ns(np.array([1000, 1500, 2000])) == pytest.approx([10, 20, 30])


def test_beyond_the_clock_points_the_rate_holds_and_the_bound_grows() -> None:
    line = clock((0, 0, 10, -1e-3, False), (10**6, 10**6, 20, 1e-3, False))
    assert line.shared_ns(np.array([-1000, 10**6 + 1000])).tolist() == [-999, 10**6 + 1001]
    bounds = line.bound_ns(np.array([-(10**6), 3 * 10**6]))
    assert bounds == pytest.approx([10 + 400, 20 + 800])


def test_between_points_far_apart_the_bound_grows_by_the_wander() -> None:
    line = clock((0, 0, 10, 0.0, False), (10**10, 10**10, 10, 0.0, False))
    assert line.bound_ns(np.array([5 * 10**9])) == pytest.approx([10 + 5e-17 * 1e20 / 8])


def test_one_physical_clock_is_exact_and_stays_so() -> None:
    line = clock((0, 0, 0, 0.0, True), (10**10, 10**10, 0, 0.0, True))
    times = np.array([-5, 2**62, 10**15 + 1])
    assert line.shared_ns(times).tolist() == times.tolist()
    assert line.bound_ns(times).tolist() == [0, 0, 0]


def test_the_error_of_time_stamps_is_added_to_every_bound() -> None:
    shared = RankClock([ClockPoint(0, 0, 0, 0.0, True)], 4e-4, 5e-17, stamps_wrong_ns=40)
    assert shared.bound_ns(np.array([-5, 10**9])).tolist() == [40, 40]
    apart = RankClock([ClockPoint(0, 7, 100, 0.0, False)], 4e-4, 5e-17, stamps_wrong_ns=40)
    assert apart.bound_ns(np.array([0])).tolist() == [140]


def test_the_last_of_simultaneous_clock_points_counts_and_their_order_does_not_matter() -> None:
    line = clock((2000, 2000, 1, 0.0, False), (1000, 1000, 1, 0.0, False), (2000, 2500, 1, 0.0, False))
    assert line.shared_ns(np.array([1500, 2000])).tolist() == [1750, 2500]


def test_large_times_lose_nothing() -> None:
    begin = 10**18 + 7
    line = clock((begin, begin + 3, 0, 0.0, False), (begin + 10**9, begin + 10**9 + 5, 0, 0.0, False))
    assert line.shared_ns(np.array([begin + 1])).tolist() == [begin + 4]


def test_a_point_that_replaces_makes_earlier_ones_invalid(tmp_path: Path) -> None:
    (one,) = factory.files(1, points=False)
    one.definitions += [
        factory.point(1, 10**12),
        factory.point(5, 5, replaces=True),
        factory.point(1000, 1010),
    ]
    points = open_file(one.write(tmp_path)).definitions.points
    assert [point.local_ns for point in points] == [5, 1000]


def test_without_clock_points_one_node_is_compared_as_it_is(tmp_path: Path) -> None:
    ranks = factory.files(2, points=False)
    for one in ranks:
        one.call(1000 + 7 * one.rank, 2000)
        one.header = {"began_unix_ns": 10**18 + 12345 * one.rank}
    summary = factory.summary_of(factory.write(tmp_path / "t", ranks))
    assert summary.rows[0].delays_s[1] == pytest.approx(7e-9)
    assert "no clock points; all its processes read the clock" in factory.notes_of(summary)


def test_without_clock_points_nodes_are_compared_by_calendar_and_reported(tmp_path: Path) -> None:
    ranks = factory.files(2, points=False)
    ranks[1].header = {"host": b"node1", "began_ns": 500_001}
    ranks[0].call(1000, 2000)
    ranks[1].call(501_000 + 40, 502_000)
    summary = factory.summary_of(factory.write(tmp_path / "t", ranks))
    assert summary.rows[0].delays_s[1] == pytest.approx(40e-9)
    assert "compared by wall clock time" in factory.notes_of(summary)


def test_a_rank_without_points_takes_those_of_its_node_or_is_ignored(tmp_path: Path) -> None:
    ranks = factory.files(3, points=False)
    ranks[0].definitions.append(factory.point(1, 101))
    ranks[2].header = {"host": b"node1"}
    for one in ranks:
        one.call(1000 + one.rank, 2000)
    summary = factory.summary_of(factory.write(tmp_path / "t", ranks))
    assert "Rank 2 has no clock points" in factory.notes_of(summary)
    assert summary.rows[0].delays_s == pytest.approx([0, 1e-9, np.nan], nan_ok=True)
    assert [late.name for late in summary.rows[0].latest_nodes] == ["node0"]
    assert summary.rows[0].whole == 1
