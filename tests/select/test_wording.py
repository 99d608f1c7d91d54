"""Numbers in tables, and shares as people write them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.base.errors import BadInput
from offbeat.selection.choices import wording


@pytest.mark.parametrize(
    ("text", "share"),
    [("5%", 0.05), ("0.05", 0.05), (" 2.5 % ", 0.025), ("0", 0.0), ("0%", 0.0), ("150%", 1.5)],
)
def test_a_share_is_a_percentage_or_a_plain_number(text, share):
    assert wording.parse_share(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["5", "1", "5.0", "500"])
def test_a_number_that_may_mean_percent_is_refused_with_both_meanings(text):
    with pytest.raises(BadInput, match=rf"'{text}' would be \d+%; write '{text}%'"):
        wording.parse_share(text)


@pytest.mark.parametrize("text", ["", "%", "five", "-1%", "nan", "inf%", "5 percent", "5%%", "1e999"])
def test_anything_else_is_refused_with_an_example(text):
    with pytest.raises(BadInput, match="such as '5%'"):
        wording.parse_share(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0123456, "0.0123"), (1.0, "1.00"), (12.34, "12.3"), (461.2, "461"), (342436.2, "342436"), (0, "0")],
)
def test_three_digits_are_kept_and_whole_numbers_are_not_rounded(value, text):
    assert wording.significant(value) == text


def test_unknown_values_are_dashes():
    assert {
        wording.significant(np.nan),
        wording.ratio(np.nan),
        wording.change(np.nan),
        wording.cost(None),
    } == {"–"}
    assert wording.confidence(None) == "unknown"


def test_confidence_is_rounded_to_100_percent_only_if_exact():
    assert [wording.confidence(x) for x in (1.0, 0.999, 0.994, 0.5, 0.0)] == [
        "100%",
        ">99%",
        "99%",
        "50%",
        "0%",
    ]


def test_slowdowns_have_a_sign_and_zero_is_none():
    assert [wording.cost(x) for x in (0.0, 1e-12, 0.0123, 0.5, -0.03, 7.62)] == [
        "none",
        "none",
        "+1.2%",
        "+50%",
        "-3.0%",
        "+762%",
    ]


def test_a_table_has_one_unit_in_which_its_median_is_readable():
    assert wording.common_unit(np.array([0.461, 1.322, np.nan]))[0] == "ms"
    assert wording.common_unit(np.array([2e-6, 8e-4, 9e-6]))[0] == "µs"
    assert wording.common_unit(np.array([np.nan, 0.0, -1.0]))[0] == "µs"
    assert wording.common_unit(np.array([1e-12]))[0] == "ns"


@given(st.floats(0, 10))
def test_a_share_reads_back_as_it_is_written(share):
    assert wording.parse_share(wording.share_label(share)) == pytest.approx(share, rel=1e-4, abs=1e-7)
