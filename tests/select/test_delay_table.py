"""Delay tables: the order of rows and columns, gaps, normalisation, robustness."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measured import case, frame, matrix

from offbeat.base.errors import BadInput
from offbeat.model.study.algorithm import Algorithm, Verdict
from offbeat.selection.choices.delay_table import Configuration, delay_tables


def one_table(rows, **provenance):
    (table,) = delay_tables(frame(rows), **provenance)
    return table


def test_rows_come_as_no_delay_then_shapes_then_scenarios():
    rows = [
        case("a", "ft", 1.0, pattern_kind="scenario"),
        case("a", "last_delayed", 1.0),
        case("a", "ascending×1.5", 1.0, shape="ascending", skew_factor=1.5),
        case("a", "own_shape", 1.0),
        case("a", "ascending×0.5", 1.0, shape="ascending", skew_factor=0.5),
        case("a", "no_delay", 1.0),
    ]
    table = one_table(rows)
    assert table.patterns == ["no_delay", "ascending×0.5", "ascending×1.5", "last_delayed", "own_shape", "ft"]
    assert table.kinds == ["shape"] * 5 + ["scenario"]


def test_columns_follow_the_library_with_its_default_last():
    rows = matrix({"no_delay": {"default": 1.0, "extra": 1.0, "binomial": 1.0, "chain": 1.0}})
    names = ["default", "chain", "binomial", "not measured here"]
    known = [Algorithm(collective="reduce", name=name) for name in names]
    assert one_table(rows, algorithms=known).algorithms == ["chain", "binomial", "extra", "default"]
    assert one_table(rows).algorithms == ["extra", "binomial", "chain", "default"]


def test_each_configuration_has_a_table_of_its_own_in_order_of_size():
    rows = [case("a", "no_delay", 1.0, bytes=size, p=p) for p in (16, 4) for size in (1024, 8)]
    tables = delay_tables(frame(rows))
    assert [(table.configuration.p, table.configuration.bytes) for table in tables] == [
        (4, 8),
        (4, 1024),
        (16, 8),
        (16, 1024),
    ]
    assert tables[0].configuration == Configuration("Open MPI 5.0", 4, 0, 0, "reduce", 8, "sum", "double", 0)


def test_cases_without_a_delay_are_gaps_with_a_reason():
    rows = [
        case("a", "no_delay", 1.0),
        case("a", "random", None, status="quarantined", reason="hung for 60 s"),
        case("b", "no_delay", 2.0, status="incomplete"),
        case("b", "random", 3.0),
        case("crashes", "random", None, status="quarantined", reason="crashed"),
    ]
    table = one_table(rows)
    assert table.algorithms == ["a", "b"]
    np.testing.assert_array_equal(table.last_delay_s, [[1.0, 2.0], [np.nan, 3.0]])
    assert table.gap_reasons["random", "a"] == "hung for 60 s"
    np.testing.assert_array_equal(table.incomplete, [[False, True], [False, False]])


def test_a_configuration_with_nothing_measured_has_no_table():
    assert delay_tables(frame([case("a", "no_delay", None, status="quarantined")])) == []
    assert delay_tables(frame([case("a", "no_delay", float("nan"))])) == []
    assert delay_tables(frame([])) == []


def test_a_case_measured_twice_is_refused_by_name():
    rows = [case("binomial", "random", 1.0), case("binomial", "random", 2.0)]
    with pytest.raises(BadInput, match="'binomial' under 'random'"):
        delay_tables(frame(rows))


def test_default_unproved_and_wrong_algorithms_are_no_candidates():
    rows = matrix({"no_delay": {"a": 1.0, "wrong": 0.1, "default": 0.1}})
    rows.append(case("guessed", "no_delay", 0.1, proof="unproved"))
    verdicts = [Verdict(collective="reduce", algorithm="wrong", p=4, bytes=8, status="wrong")]
    table = one_table(rows, verdicts=verdicts)
    assert dict(zip(table.algorithms, table.candidates, strict=True)) == {
        "a": True,
        "wrong": False,
        "guessed": False,
        "default": False,
    }
    assert set(table.exclusions) == {"wrong", "guessed"}


def test_an_unproved_default_is_a_reference_like_any_default():
    table = one_table([case("a", "no_delay", 1.0), case("default", "no_delay", 0.5, proof="unproved")])
    assert table.exclusions == {}
    assert table.candidates.tolist() == [True, False]


def test_a_verdict_at_another_size_or_p_excludes_nothing():
    rows = matrix({"no_delay": {"a": 1.0}})
    elsewhere = [
        Verdict(collective="reduce", algorithm="a", p=8, bytes=8, status="wrong"),
        Verdict(collective="reduce", algorithm="a", p=4, bytes=16, status="wrong"),
        Verdict(collective="bcast", algorithm="a", p=4, bytes=8, status="wrong"),
    ]
    assert one_table(rows, verdicts=elsewhere).exclusions == {}


def test_rows_are_normalised_by_their_fastest_candidate_so_that_a_faster_default_shows_below_one():
    table = one_table(matrix({"no_delay": {"a": 2.0, "b": 3.0, "default": 1.0}}))
    np.testing.assert_allclose(table.normalised_delays(), [[1.0, 1.5, 0.5]])


def test_a_gap_leaves_the_rest_of_its_row_comparable():
    table = one_table([*matrix({"no_delay": {"a": 2.0, "b": 1.0, "c": 3.0}, "random": {"a": 2.0, "c": 3.0}})])
    np.testing.assert_allclose(table.normalised_delays(), [[2, 1, 3], [1, np.nan, 1.5]])
    np.testing.assert_array_equal(table.good(), [[False, True, False], [True, False, False]])


def test_a_row_of_references_alone_has_no_fastest():
    rows = [*matrix({"no_delay": {"a": 2.0}}), case("default", "random", 1.0)]
    np.testing.assert_allclose(one_table(rows).normalised_delays(), [[1, np.nan], [np.nan, np.nan]])


def test_algorithms_at_most_five_percent_slower_are_good_but_never_the_default():
    table = one_table(matrix({"no_delay": {"a": 100.0, "b": 105.0, "c": 105.1, "default": 100.0}}))
    np.testing.assert_array_equal(table.good(), [[True, True, False, False]])
    np.testing.assert_array_equal(table.good(0), [[True, False, False, False]])


def test_a_share_holds_exactly_in_whatever_unit_the_times_were_written():
    for percent, scale in itertools.product(range(1, 30), (1e-6, 1e-3, 1.0)):
        table = one_table(matrix({"no_delay": {"a": 100 * scale, "b": (100 + percent) * scale}}))
        assert table.good(percent / 100).all()


def test_robustness_is_the_change_against_the_same_algorithms_no_delay():
    table = one_table(matrix({"no_delay": {"a": 4.0, "b": 4.0}, "random": {"a": 2.0, "b": 6.0}}))
    np.testing.assert_allclose(table.robustness(), [[0, 0], [-0.5, 0.5]])
    np.testing.assert_array_equal(table.robustness_class(), [["same", "same"], ["faster", "slower"]])


def test_exactly_a_quarter_more_or_less_is_still_the_same():
    table = one_table(matrix({"no_delay": {"a": 0.012, "b": 0.012}, "random": {"a": 0.015, "b": 0.009}}))
    np.testing.assert_array_equal(table.robustness_class()[1], ["same", "same"])
    np.testing.assert_array_equal(table.robustness_class(limit=0.2)[1], ["slower", "faster"])


def test_without_no_delay_there_is_no_robustness():
    table = one_table(matrix({"random": {"a": 1.0}}))
    assert np.isnan(table.robustness()).all()
    np.testing.assert_array_equal(table.robustness_class(), [[""]])


def test_an_algorithm_that_lacks_no_delay_has_no_robustness_class():
    table = one_table([case("a", "random", 1.0), *matrix({"no_delay": {"b": 1.0}, "random": {"b": 2.0}})])
    np.testing.assert_array_equal(table.robustness_class(), [["", "same"], ["", "slower"]])


@pytest.mark.parametrize("tiny", [0.0, -2e-7, 1e-12])
def test_delays_at_or_below_the_clocks_resolution_give_finite_ratios(tiny):
    table = one_table(matrix({"no_delay": {"a": tiny, "b": 1e-6}, "random": {"a": 1e-6, "b": tiny}}))
    np.testing.assert_allclose(table.normalised_delays(), [[1, 1000], [1000, 1]])
    np.testing.assert_allclose(table.robustness()[1], [999, -0.999])


delays = st.floats(1e-8, 1e3)
tables = st.integers(1, 5).flatmap(
    lambda columns: st.lists(st.lists(delays, min_size=columns, max_size=columns), min_size=1, max_size=5)
)


@given(tables, st.floats(0, 2))
def test_every_row_has_a_fastest_of_one_and_a_larger_share_only_adds_good_ones(values, share):
    rows = matrix({f"shape{i}": {f"a{j}": d for j, d in enumerate(row)} for i, row in enumerate(values)})
    table = one_table(rows)
    assert (table.normalised_delays().min(axis=1) == 1).all()
    assert table.good(share).any(axis=1).all()
    assert (table.good(share) <= table.good(share + 0.1)).all()
