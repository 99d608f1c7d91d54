"""Patterns of synthetic traces are the patterns from which the traces were generated."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import trace_factory as factory
from hypothesis import given
from hypothesis import strategies as st

from offbeat.base.errors import BadInput
from offbeat.model.pattern import pattern_file, replay_file
from offbeat.model.pattern.pattern_file import Pattern, recorded_from
from offbeat.model.pattern.replay_file import Replay
from offbeat.trace.calls.arrivals import Arrivals, collect
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import open_trace
from offbeat.trace.patterns import (
    call_pattern,
    cluster_patterns,
    clusters,
    mean_pattern,
    median_pattern,
    recorded_calls,
    scale,
)
from offbeat.trace.recommendation import choose_row
from offbeat.trace.summary import Summary, summarise

US = 1e-6


def collected(folder: Path, **options: Any) -> tuple[Summary, Arrivals]:
    trace = open_trace(folder)
    summary = summarise(trace)
    return summary, collect(trace, choose_row(summary, collective="allreduce"), **options)


def test_the_mean_is_the_papers_scenario(tmp_path: Path) -> None:
    summary, arrivals = collected(factory.pattern_trace(tmp_path / "t", [[0, 10, 30], [0, 20, 10]]))
    pattern = mean_pattern(summary, arrivals.row)
    assert pattern.delays_s == pytest.approx([0, 15 * US, 20 * US])
    assert "mean delay over 2 calls" in pattern.header["pattern"]


def test_a_pattern_of_a_trace_is_read_back_from_its_file(tmp_path: Path) -> None:
    summary, arrivals = collected(factory.pattern_trace(tmp_path / "t", [[0, 10, 30]]))
    path = tmp_path / "mine.txt"
    pattern = mean_pattern(summary, arrivals.row)
    pattern_file.write(path, pattern)
    assert pattern_file.read(path, 3).delays_s.tolist() == pattern.delays_s.tolist()


def test_the_median_ignores_one_outlying_call(tmp_path: Path) -> None:
    summary, arrivals = collected(factory.pattern_trace(tmp_path / "t", [[0, 10], [0, 10], [900, 0]]))
    assert median_pattern(summary, arrivals).delays_s == pytest.approx([0, 10 * US])
    assert mean_pattern(summary, arrivals.row).delays_s[0] > 200 * US


def test_a_single_call_is_taken_by_its_number(tmp_path: Path) -> None:
    summary, arrivals = collected(factory.pattern_trace(tmp_path / "t", [[0, 10], [40, 0], [0, 10]]))
    assert call_pattern(summary, arrivals, 1).delays_s == pytest.approx([40 * US, 0])
    with pytest.raises(BadInput, match=r"there is no call 3: .* 3 times, numbered from 0"):
        call_pattern(summary, arrivals, 3)


def test_calls_are_numbered_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        for turn in range(6):
            at = 10_000 * (turn + 1)
            chosen: dict[str, Any] = {
                "sequence": turn % 2,
                "round": turn // 2 + 1,
                "function": "MPI_Allreduce_init",
            }
            one.call(at + 100 * turn * one.rank, at + 1000, flags=form.START, **chosen)
            one.call(at + 2000, at + 3000, flags=form.COMPLETION | 1 << form.BY_SHIFT, **chosen)
    _, arrivals = collected(factory.write(tmp_path / "t", ranks))
    assert arrivals.delays_s[:, 1] == pytest.approx(np.arange(6) * 1e-7)
    assert arrivals.number.tolist() == list(range(6))
    assert (arrivals.began_ns - arrivals.began_ns[0]).tolist() == [10_000 * turn for turn in range(6)]


def test_a_replay_is_every_call_in_its_order(tmp_path: Path) -> None:
    delays = [[0, 10, 30], [40, 0, 5], [0, 0, 0]]
    summary, arrivals = collected(factory.pattern_trace(tmp_path / "t", delays))
    replay = recorded_calls(summary, arrivals)
    assert replay.delays_s == pytest.approx(np.array(delays) * US)
    assert replay.header["replay"] == "all 3 calls"
    replay_file.write(tmp_path / "r.replay", replay)
    assert replay_file.read(tmp_path / "r.replay", 3).delays_s.tolist() == replay.delays_s.tolist()


def test_a_replay_and_the_scenario_of_the_same_calls_say_so(tmp_path: Path) -> None:
    summary, arrivals = collected(factory.pattern_trace(tmp_path / "t", [[0, 10], [40, 0]]))
    scenario = recorded_from(scale(mean_pattern(summary, arrivals.row), 4).header)
    assert scenario == recorded_from(scale(recorded_calls(summary, arrivals, most_calls=1), 4).header)
    assert scenario.startswith("MPI_Allreduce of 8 B at ")


@given(count=st.integers(1, 60), most=st.integers(1, 80))
def test_fewer_calls_of_a_replay_are_evenly_spaced(count: int, most: int) -> None:
    with TemporaryDirectory() as folder:
        trace = factory.pattern_trace(Path(folder) / "t", [[0, call] for call in range(count)])
        replay = recorded_calls(*collected(trace), most_calls=most)
    chosen = np.round(replay.delays_s[:, 1] / US).astype(int)
    assert len(chosen) == min(count, most)
    assert chosen[0] == 0
    gaps = np.diff([*chosen, count])
    assert gaps.max() - gaps.min() <= 1
    which = "all" if most >= count else f"{most} of {count} calls, evenly chosen"
    assert replay.header["replay"].startswith(which)


def test_ranks_that_were_not_traced_have_the_nearest_ones_delays_in_each_call(tmp_path: Path) -> None:
    summary, arrivals = collected(factory.pattern_trace(tmp_path / "t", [[0, 10, 30, 5], [40, 0, 5, 1]]))
    arrivals.delays_s[:, 2] = np.nan
    replay = recorded_calls(summary, arrivals)
    assert replay.delays_s == pytest.approx(np.array([[0, 10, 10, 5], [40, 0, 0, 1]]) * US)
    assert replay.header["untraced"].startswith("1 of 4 ranks")


@given(calls=st.integers(1, 5), old=st.integers(1, 9), p=st.integers(1, 20), seed=st.integers(0, 2**31))
def test_a_replay_is_scaled_call_by_call_as_a_pattern_is(calls: int, old: int, p: int, seed: int) -> None:
    delays = np.random.default_rng(seed).integers(0, 4, (calls, old)).astype(float)
    delays -= delays.min(axis=1, keepdims=True)
    replay = scale(Replay(name="r", delays_s=delays), p)
    singly = [scale(Pattern(name="r", delays_s=call), p).delays_s for call in delays]
    assert replay.delays_s.tolist() == np.stack(singly).tolist()


def test_too_many_calls_are_thinned_evenly(tmp_path: Path) -> None:
    folder = factory.pattern_trace(tmp_path / "t", [[0, call] for call in range(3000)])
    summary, arrivals = collected(folder, most_values=2000, most_records=1)
    assert arrivals.step == 4
    assert arrivals.number.tolist() == list(range(0, 3000, 4))
    assert arrivals.delays_s[:, 1] == pytest.approx(arrivals.number * US)
    assert "every 4th of 3000 calls" in median_pattern(summary, arrivals).header["pattern"]


def test_two_patterns_that_alternate_are_two_clusters(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    calls = [([0, 0, 100, 0] if k % 3 else [80, 0, 0, 0]) + rng.uniform(0, 3, 4) for k in range(300)]
    summary, arrivals = collected(factory.pattern_trace(tmp_path / "t", [list(call) for call in calls]))
    made_patterns = cluster_patterns(summary, arrivals)
    assert [round(cluster.share, 3) for _, cluster in made_patterns] == [0.667, 0.333]
    assert np.argmax(made_patterns[0][0].delays_s) == 2
    assert np.argmax(made_patterns[1][0].delays_s) == 0
    assert all(cluster.variance_share > 0.99 for _, cluster in made_patterns)


def test_calls_that_are_similar_are_one_cluster() -> None:
    rng = np.random.default_rng(5)
    delays = np.array([0, 20, 50, 10]) + rng.uniform(0, 5, (500, 4))
    (one,) = clusters(delays)
    assert one.share == 1
    assert one.variance_share > 0.95


@pytest.mark.parametrize("p", [2, 4, 64])
def test_noise_gives_no_clusters(p: int) -> None:
    delays = np.random.default_rng(2).normal(50, 10, (600, p))
    cluster_list = clusters(delays - delays.min(axis=1, keepdims=True))
    assert len(cluster_list) == 1
    assert cluster_list[0].variance_share < 0.05


def test_one_outlying_call_makes_no_cluster() -> None:
    delays = np.random.default_rng(2).normal(50, 1, (600, 8)) + np.arange(8) * 10
    delays[17, 3] = 1e6
    assert len(clusters(delays)) == 1


def test_clusters_state_the_share_of_variance_that_they_explain() -> None:
    delays = np.array([[0.0, 10, 0], [10, 0, 0]] * 50)
    cluster_list = clusters(delays)
    assert len(cluster_list) == 2
    assert [one.variance_share for one in cluster_list] == pytest.approx([1.0, 1.0])


def pattern(delays: list[float]) -> Pattern:
    return Pattern(name="mine", delays_s=np.array(delays, dtype=np.float64))


def test_scaling_up_repeats_neighbours() -> None:
    assert scale(pattern([0, 1, 2]), 6).delays_s.tolist() == [0, 0, 1, 1, 2, 2]
    assert scale(pattern([0, 1]), 5).delays_s.tolist() == [0, 0, 0, 1, 1]


def test_scaling_down_keeps_the_latest_of_merged_ranks() -> None:
    assert scale(pattern([0, 0, 9, 0, 1, 0]), 3).delays_s.tolist() == [0, 9, 1]
    assert scale(pattern([0, 1, 2, 3]), 2).delays_s.tolist() == [0, 3]
    assert scale(pattern([3, 0, 4, 1]), 1).delays_s.tolist() == [0]


@pytest.mark.parametrize("p", [1, 2, 3, 5, 8, 9, 31, 33, 64, 1000])
def test_scaling_states_its_rule_and_keeps_the_skew(p: int) -> None:
    rng = np.random.default_rng(p)
    delays = rng.uniform(0, 1, 32)
    delays -= delays.min()
    made_pattern = scale(pattern(delays.tolist()), p)
    assert made_pattern.p == p
    assert made_pattern.header["scaled_from"] == "p = 32"
    assert made_pattern.skew_s == pytest.approx(delays.max() if p > 1 else 0)


def test_ranks_that_are_not_traced_have_the_delay_of_the_nearest(tmp_path: Path) -> None:
    folder = factory.pattern_trace(tmp_path / "t", [[0, 10, 20, 30, 40, 50]])
    for rank in (1, 2, 5):
        (folder / f"rank-{rank:06}.trace").unlink()
    summary, arrivals = collected(folder)
    made_pattern = mean_pattern(summary, arrivals.row)
    assert made_pattern.delays_s == pytest.approx([0, 0, 30 * US, 30 * US, 40 * US, 40 * US])
    assert made_pattern.header["untraced"].startswith("3 of 6 ranks")


def test_arguments_that_match_nothing_list_the_rows(tmp_path: Path) -> None:
    summary = summarise(open_trace(factory.pattern_trace(tmp_path / "t", [[0, 1]])))
    with pytest.raises(
        BadInput, match="no such calls; there are: MPI_Allreduce of 8 B at app\\+0x1010 on MPI_CO"
    ):
        choose_row(summary, collective="bcast")
    assert choose_row(summary, collective="allreduce", size=8).calls == 1


@pytest.mark.parametrize("p", [0, -1, 2**24 + 1, 10**12])
def test_an_impossible_number_of_processes_is_refused_for_scaling(p: int) -> None:
    text = f"between 1 and 16777216 processes, not p = {p}"
    with pytest.raises(BadInput, match=text):
        scale(Pattern(name="x", delays_s=np.array([0.0, 1.0])), p)
    with pytest.raises(BadInput, match=text):
        scale(Replay(name="x", delays_s=np.zeros((3, 2))), p)


def test_a_replay_that_is_too_large_is_refused_with_the_possible_number_of_calls() -> None:
    with pytest.raises(BadInput, match=r"100 calls on 16777216 processes .* use at most 4 calls with --most"):
        scale(Replay(name="x", delays_s=np.zeros((100, 2))), 2**24)
