"""The mean over the calls of a replay, and its interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.measurement.results.statistics import mean_interval, mean_over_calls, resampled_means

pytestmark = pytest.mark.slow

DELAYS = st.lists(st.floats(0, 1e3), min_size=1, max_size=8)


@given(values=DELAYS)
def test_the_mean_over_calls_measured_once_is_the_plain_mean(values):
    assert mean_over_calls(values, np.arange(len(values))) == pytest.approx(np.mean(values))


def test_one_lost_core_does_not_change_the_mean_over_calls():
    values = np.tile([1.0, 2.0, 6.0], 5)
    values[4] = 1000.0
    assert mean_over_calls(values, np.tile(np.arange(3), 5)) == 3.0


@given(each=st.lists(DELAYS, min_size=1, max_size=6))
def test_repeated_calls_have_the_same_weight(each):
    values = np.concatenate(each)
    calls = np.concatenate([np.full(len(row), call) for call, row in enumerate(each)])
    order = np.random.default_rng(len(values)).permutation(len(values))
    expected = np.mean([np.median(row) for row in each])
    assert mean_over_calls(values[order], calls[order]) == pytest.approx(expected)


@given(each=st.lists(DELAYS, min_size=1, max_size=6))
def test_resampled_means_are_around_the_mean_and_within_the_measured_range(each):
    values = np.concatenate(each)
    calls = np.concatenate([np.full(len(row), call) for call, row in enumerate(each)])
    drawn = resampled_means(values, calls, 200, np.random.default_rng(1))
    spread = np.ptp(values) * np.sqrt(2) + 1e-9
    assert drawn.shape == (200,)
    assert np.abs(drawn - mean_over_calls(values, calls)).max() <= spread


@given(each=st.lists(DELAYS, min_size=1, max_size=6))
def test_the_interval_holds_the_mean(each):
    values = np.concatenate(each)
    calls = np.concatenate([np.full(len(row), call) for call, row in enumerate(each)])
    low, high = mean_interval(values, calls)
    assert low <= mean_over_calls(values, calls) <= high


def test_differences_between_repeated_calls_do_not_widen_the_interval():
    """The calls are fixed: a call that takes a thousand times longer than another adds no uncertainty."""
    noise = np.random.default_rng(2).normal(0, 0.01, (4, 50))
    values = (np.geomspace(1, 1000, 50) + noise).ravel()
    calls = np.tile(np.arange(50), 4)
    low, high = mean_interval(values, calls)
    assert high - low < 0.01
    low, high = mean_interval(values[:50], calls[:50])
    assert high - low > 50


@pytest.mark.parametrize("rounds", [1, 2, 3, 6])
def test_the_interval_contains_the_true_mean_about_as_often_as_stated(rounds):
    chance = np.random.default_rng(rounds)
    calls = np.tile(np.arange(30), rounds)
    held = 0
    for _ in range(200):
        true = chance.exponential(1.0, 30) + 1 if rounds > 1 else np.full(30, 2.0)
        low, high = mean_interval(np.tile(true, rounds) + chance.normal(0, 0.5, len(calls)), calls)
        held += low <= true.mean() <= high
    assert held >= 0.88 * 200


def test_one_value_is_its_own_interval_and_none_has_none():
    assert mean_interval([3.0], np.array([0])) == (3.0, 3.0)
    assert np.isnan(mean_interval([], np.array([], dtype=np.int64))).all()
    assert np.isnan(mean_over_calls([], np.array([], dtype=np.int64)))


def test_the_same_seed_draws_the_same_calls_for_every_case():
    calls, first = np.arange(20), np.random.default_rng(1).exponential(1, 20)
    drawn = [resampled_means(v, calls, 100, np.random.default_rng(5)) for v in (first, 2 * first + 1)]
    assert drawn[1] == pytest.approx(2 * drawn[0] + 1)


def test_memory_is_bounded_however_many_repetitions_there_are():
    values = np.random.default_rng(1).random(3_000_000)
    assert resampled_means(values, np.arange(len(values)) // 2, 3, np.random.default_rng(1)).shape == (3,)
