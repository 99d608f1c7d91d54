"""Differences are called significant if noise does not explain them, and rarely else."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.tuning.comparison.differences import Measured, differences, measured_times

times = st.lists(st.floats(1e-6, 1e3), min_size=2, max_size=8)


def exact(time_s: float) -> Measured:
    return Measured(time_s=time_s, error=0.0, freedom=1)


@given(times, times)
def test_exchanging_both_inverts_the_ratio_and_keeps_the_chance(
    before: list[float], after: list[float]
) -> None:
    (one,) = differences([(measured_times(before), measured_times(after))])
    (other,) = differences([(measured_times(after), measured_times(before))])
    assert one.ratio == pytest.approx(1 / other.ratio)
    assert one.chance == pytest.approx(other.chance, abs=1e-9)
    assert one.low <= one.ratio * (1 + 1e-9) and one.ratio <= one.high * (1 + 1e-9)


@given(times, times, st.floats(1e-3, 1e3))
def test_the_unit_of_time_changes_nothing(before: list[float], after: list[float], factor: float) -> None:
    scaled = [measured_times([factor * time for time in values]) for values in (before, after)]
    (one,) = differences([(measured_times(before), measured_times(after))])
    (other,) = differences([(scaled[0], scaled[1])])
    assert other.ratio == pytest.approx(one.ratio, rel=1e-6)


def test_exact_times_differ_or_do_not() -> None:
    same, other = differences([(exact(1.0), exact(1.0)), (exact(1.0), exact(1.1))])
    assert (same.is_significant, other.is_significant) == (False, True)


def test_a_single_time_has_no_error_and_its_difference_no_significance() -> None:
    (one,) = differences([(measured_times([1.0]), measured_times([9.0]))])
    assert math.isnan(one.chance) and not one.is_significant


def test_among_many_equal_pairs_hardly_any_is_called_different() -> None:
    generator = np.random.default_rng(3)
    studies_with_a_false_alarm = 0
    for _ in range(100):
        pairs = [
            (measured_times(generator.lognormal(0, 0.1, 5)), measured_times(generator.lognormal(0, 0.1, 5)))
            for _ in range(40)
        ]
        studies_with_a_false_alarm += any(one.is_significant for one in differences(pairs))
    assert studies_with_a_false_alarm <= 10


def test_real_differences_among_many_are_found() -> None:
    generator = np.random.default_rng(4)
    shifts = [0.5] * 5 + [0.0] * 35
    pairs = [
        (measured_times(generator.lognormal(0, 0.05, 5)), measured_times(generator.lognormal(shift, 0.05, 5)))
        for shift in shifts
    ]
    assert sum(one.is_significant for one in differences(pairs)[:5]) == 5
