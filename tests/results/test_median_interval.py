import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import quantile_test

from offbeat.measurement.results.statistics import median_interval

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


@given(values=VALUES)
def test_the_median_is_in_its_interval_and_the_interval_in_the_range_of_the_values(values):
    low, high = median_interval(values)
    assert min(values) <= low <= np.median(values) <= high <= max(values)


@given(values=VALUES, order=st.randoms())
def test_the_order_of_the_values_does_not_matter(values, order):
    shuffled = order.sample(values, len(values))
    assert median_interval(shuffled) == median_interval(values)


@given(values=VALUES)
def test_more_confidence_never_narrows_the_interval(values):
    low, high = median_interval(values, 0.8)
    wider_low, wider_high = median_interval(values, 0.99)
    assert wider_low <= low
    assert high <= wider_high


@pytest.mark.parametrize("count", [*range(6, 40), 100, 1000])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_the_interval_is_the_one_of_the_quantile_test(count, confidence):
    values = np.random.default_rng(count).random(count)
    scipy_interval = quantile_test(values, p=0.5).confidence_interval(confidence)
    if not math.isnan(scipy_interval.low + scipy_interval.high):
        assert median_interval(values, confidence) == (scipy_interval.low, scipy_interval.high)


def test_one_value_is_its_own_interval():
    assert median_interval([2.5]) == (2.5, 2.5)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_with_few_values_the_interval_is_their_range(count):
    assert median_interval(range(count)) == (0, count - 1)


def test_no_values_have_no_interval():
    assert all(math.isnan(end) for end in median_interval([]))


def test_the_interval_holds_the_true_median_as_often_as_promised():
    generator = np.random.default_rng(1)
    samples = generator.exponential(size=(2000, 25))
    held = [low <= math.log(2) <= high for low, high in map(median_interval, samples)]
    assert 0.95 <= np.mean(held) <= 0.97  # the exact coverage for 25 values is 0.957
