"""The ranges covered by measured sizes and process counts."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.selection.choices.coverage import (
    EXTENSION,
    boundary,
    covering_size,
    is_overtaken,
    process_ranges,
    size_ranges,
)

measured = st.sets(st.integers(0, 2**40), min_size=1, max_size=12).map(sorted)


@given(measured)
def test_sizes_from_the_smallest_to_the_largest_are_covered_exactly_once(values):
    for ranges in (size_ranges(values, 1, 1), process_ranges(values)):
        assert ranges[0][0] == values[0]
        assert ranges[-1][1] == values[-1]
        assert all(after[0] == before[1] + 1 for before, after in pairwise(ranges))


@given(measured)
def test_every_measured_value_covers_itself(values):
    assert all(low <= value <= high for value, (low, high) in zip(values, size_ranges(values), strict=True))


@given(st.integers(1, 2**40), st.integers(1, 2**40))
def test_between_two_values_the_nearer_by_ratio_decides(one, other):
    low, high = sorted({one, other}) if one != other else (one, one + 1)
    edge = boundary(low, high)
    assert low < edge <= high
    assert edge * edge >= low * high
    assert edge - 1 == low or (edge - 1) ** 2 < low * high


def test_the_boundary_of_8_bytes_and_1_kib_is_their_geometric_mean():
    assert size_ranges([8, 1024, 2**20], 1, 1) == [(8, 90), (91, 32767), (32768, 2**20)]
    assert process_ranges([4, 16]) == [(4, 7), (8, 16)]


@given(measured)
def test_beyond_the_ends_sizes_within_the_factor_are_covered_and_no_others(values):
    ranges = size_ranges(values)
    low, high = ranges[0][0], ranges[-1][1]
    assert low * EXTENSION >= values[0] * (1 - 1e-12)
    assert values[0] == 0 or (low - 1) * EXTENSION < values[0] * (1 + 1e-12)
    assert high <= values[-1] * EXTENSION < high + 1
    for size in {max(low - 1, 0), low, *values, high, high + 1}:
        assert (covering_size(values, size) is not None) == (low <= size <= high)


def test_an_end_covers_as_much_as_with_a_neighbour_of_twice_the_size():
    (_, high), (low, _) = size_ranges([1024])[0], size_ranges([1024, 2048])[1]
    assert low - 1 == high == 1448
    assert size_ranges([1024], 2, 2) == [(512, 2048)]


def test_a_single_process_count_covers_nothing_else():
    assert process_ranges([4]) == [(4, 4)]
    assert process_ranges([]) == []


@pytest.mark.parametrize(
    ("at_end", "before", "over"),
    [
        ({"a": 1.0, "b": 1.5}, {"a": 1.0, "b": 2.0}, False),  # the lead shrinks but lasts beyond the factor
        ({"a": 1.0, "b": 1.05}, {"a": 1.0, "b": 1.6}, True),  # the lead vanishes within the factor
        ({"a": 1.0, "b": 1.05}, {"a": 1.3, "b": 1.0}, False),  # the lead grows
        ({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0}, False),  # equal scores remain equal
        ({"a": 1.0}, {"b": 1.0}, False),  # no common algorithm
    ],
)
def test_a_winner_is_overtaken_if_its_lead_vanishes_within_the_factor(at_end, before, over):
    assert is_overtaken("a", (2048, at_end), (1024, before), EXTENSION) is over
    assert is_overtaken("a", (512, at_end), (1024, before), EXTENSION) is over
    assert not is_overtaken("a", (8, at_end), (0, before), EXTENSION)


def test_the_empty_message_of_a_barrier_is_a_size_like_others():
    assert size_ranges([0]) == [(0, 0)]
    assert size_ranges([0, 8]) == [(0, 0), (1, 11)]


@pytest.mark.parametrize("factor", [0.5, 0, float("inf"), float("nan")])
def test_a_factor_below_one_is_refused(factor):
    with pytest.raises(ValueError, match="factors must be 1 or more"):
        size_ranges([8], factor, 1)


@pytest.mark.parametrize("values", [[8, 8], [16, 8], [-1, 8]])
def test_values_that_do_not_ascend_are_refused(values):
    with pytest.raises(ValueError, match="ascend"):
        size_ranges(values)
