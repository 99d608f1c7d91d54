"""The time of each algorithm relative to the library's default, with its interval."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measured import case, frame

from offbeat.selection.choices.against_default import RelativeTime, against_default
from offbeat.selection.choices.delay_table import DelayTable, delay_tables
from offbeat.selection.choices.selection_rules import parse

PATTERNS = ("no_delay", "ascending")


def table_of(rows: list[dict[str, Any]]) -> DelayTable:
    (table,) = delay_tables(frame(rows))
    return table


def measured(name: str, pattern: str, delay_s: float, width: float = 0.0, **other: Any) -> dict[str, Any]:
    ends = {"last_delay_low_s": delay_s * (1 - width), "last_delay_high_s": delay_s * (1 + width)}
    return case(name, pattern, delay_s, **(ends | other))


def test_the_ratio_is_that_of_the_scores_of_the_rule() -> None:
    delays = {"default": (2.0, 4.0), "a": (1.0, 4.0), "b": (2.0, 2.0)}
    table = table_of(
        [
            measured(name, pattern, d)
            for name, row in delays.items()
            for pattern, d in zip(PATTERNS, row, strict=True)
        ]
    )
    average = against_default(table, parse("average"))
    assert {name: one.ratio for name, one in average.items()} == pytest.approx({"a": 1.5 / 2, "b": 1.5 / 2})
    no_delay = against_default(table, parse("no_delay"))
    assert {name: one.ratio for name, one in no_delay.items()} == pytest.approx({"a": 0.5, "b": 1.0})
    worst = against_default(table, parse("worst"))
    assert worst["a"].ratio == pytest.approx(2.0 / 2.0)


def test_half_widths_are_combined_over_rows_and_with_those_of_the_default() -> None:
    rows = [measured("default", pattern, 2.0, 0.1) for pattern in PATTERNS]
    rows += [measured("a", pattern, 1.0, 0.1) for pattern in PATTERNS]
    one = against_default(table_of(rows), parse("average"))["a"]
    each = 0.1 / math.sqrt(2)
    assert one.half_width == pytest.approx(0.5 * math.hypot(each, each))


def test_without_the_default_or_an_interval_nothing_is_shown() -> None:
    assert against_default(table_of([measured("a", "no_delay", 1.0)]), parse("no_delay")) == {}
    missing = [case("default", "no_delay", 2.0), case("a", "no_delay", 1.0)]
    one = against_default(table_of(missing), parse("no_delay"))["a"]
    assert (one.ratio, one.half_width) == (0.5, math.inf)
    assert not one.is_faster and not one.is_slower


def test_excluded_algorithms_have_no_relative_time() -> None:
    rows = [measured("default", "no_delay", 2.0), measured("a", "no_delay", 1.0, proof="unproved")]
    rows.append(measured("b", "no_delay", 1.5))
    assert list(against_default(table_of(rows), parse("no_delay"))) == ["b"]


@given(st.floats(0.01, 100), st.floats(0, 10))
def test_nothing_is_both_faster_and_slower(ratio: float, half_width: float) -> None:
    one = RelativeTime(ratio, half_width)
    assert not (one.is_faster and one.is_slower)
