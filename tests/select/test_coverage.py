"""What measured sizes and process counts speak for: laws, and the rule at its edges."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.select.coverage import boundary, process_ranges, size_ranges

measured = st.sets(st.integers(0, 2**40), min_size=1, max_size=12).map(sorted)


@given(measured)
def test_everything_from_the_smallest_to_the_largest_is_covered_exactly_once(values):
    for ranges in (size_ranges(values), process_ranges(values)):
        assert ranges[0][0] == values[0]
        assert ranges[-1][1] == values[-1]
        assert all(after[0] == before[1] + 1 for before, after in pairwise(ranges))


@given(measured)
def test_every_measured_value_speaks_for_itself(values):
    assert all(low <= value <= high for value, (low, high) in zip(values, size_ranges(values), strict=True))


@given(st.integers(1, 2**40), st.integers(1, 2**40))
def test_between_two_values_the_nearer_by_ratio_decides(one, other):
    low, high = sorted({one, other}) if one != other else (one, one + 1)
    edge = boundary(low, high)
    assert low < edge <= high
    assert edge * edge >= low * high
    assert edge - 1 == low or (edge - 1) ** 2 < low * high


def test_the_boundary_of_8_bytes_and_1_kib_is_their_geometric_mean():
    assert size_ranges([8, 1024, 2**20]) == [(8, 90), (91, 32767), (32768, 2**20)]
    assert process_ranges([4, 16]) == [(4, 7), (8, 16)]


def test_a_single_measured_value_speaks_for_nothing_else():
    assert size_ranges([1024]) == [(1024, 1024)]
    assert process_ranges([]) == []


def test_the_empty_message_of_a_barrier_is_a_size_like_others():
    assert size_ranges([0]) == [(0, 0)]
    assert size_ranges([0, 8]) == [(0, 0), (1, 8)]


@pytest.mark.parametrize("values", [[8, 8], [16, 8], [-1, 8]])
def test_values_that_do_not_ascend_are_refused(values):
    with pytest.raises(ValueError, match="ascend"):
        size_ranges(values)
