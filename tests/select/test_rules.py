"""The selection rules: their scores, the compared algorithms, and equal scores."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from measured import case, frame, matrix

from offbeat.base.errors import BadInput
from offbeat.selection.choices import selection_rules
from offbeat.selection.choices.delay_table import delay_tables

PATTERNS = {
    "no_delay": {"a": 1.0, "b": 2.0, "c": 1.5},
    "ascending": {"a": 6.0, "b": 2.0, "c": 3.0},
    "random": {"a": 3.0, "b": 3.0, "c": 3.3},
}
SCENARIO = {"ft": {"a": 1.0, "b": 20.0, "c": 10.0}}


def table_of(rows):
    (table,) = delay_tables(frame(rows))
    return table


def with_scenario():
    return table_of(matrix(PATTERNS) + matrix(SCENARIO, pattern_kind="scenario"))


def test_average_is_the_mean_of_row_normalised_delays_without_scenarios():
    scores = selection_rules.parse("average").scores(with_scenario())
    assert scores == pytest.approx({"a": (1 + 3 + 1) / 3, "b": (2 + 1 + 1) / 3, "c": (1.5 + 1.5 + 1.1) / 3})


def test_average_includes_scenarios_on_request():
    scores = selection_rules.parse("average", include_scenarios=True).scores(with_scenario())
    assert scores == pytest.approx({"a": 6 / 4, "b": 24 / 4, "c": 14.1 / 4})


def test_worst_is_the_largest_row_normalised_delay():
    assert selection_rules.parse("worst").scores(with_scenario()) == pytest.approx({"a": 3, "b": 2, "c": 1.5})
    everything = selection_rules.parse("worst", include_scenarios=True).scores(with_scenario())
    assert everything == pytest.approx({"a": 3, "b": 20, "c": 10})


def test_a_scenario_rule_uses_only_that_scenario():
    assert selection_rules.parse("scenario:ft").scores(with_scenario()) == pytest.approx(
        {"a": 1, "b": 20, "c": 10}
    )
    assert selection_rules.parse("no_delay").scores(with_scenario()) == pytest.approx(
        {"a": 1, "b": 2, "c": 1.5}
    )


def test_a_scenario_at_several_skews_is_named_as_a_whole_or_by_one_skew():
    rows = matrix(PATTERNS)
    for factor, slow in ((0.5, 3.0), (1.5, 5.0)):
        label = {"pattern_kind": "scenario", "shape": "ft", "skew_factor": factor}
        rows += [case("a", f"ft×{factor}", 1.0, **label), case("b", f"ft×{factor}", slow, **label)]
    rows += [case("c", f"ft×{factor}", 9.0, pattern_kind="scenario", shape="ft") for factor in (0.5, 1.5)]
    table = table_of(rows)
    assert selection_rules.parse("scenario:ft").scores(table)["b"] == pytest.approx(4)
    assert selection_rules.parse("scenario:ft×1.5").scores(table)["b"] == pytest.approx(5)
    assert selection_rules.scenarios(table) == ["ft"]


def test_an_algorithm_that_lacks_a_row_is_not_compared_and_does_not_scale_the_others():
    rows = [*matrix(PATTERNS), case("fast", "no_delay", 0.01), case("fast", "random", 0.01)]
    scores = selection_rules.parse("average").scores(table_of(rows))
    assert scores == selection_rules.parse("average").scores(table_of(matrix(PATTERNS)))


def test_a_missing_scenario_affects_only_rules_that_use_it():
    rows = [*matrix(PATTERNS), case("a", "ft", 1.0, pattern_kind="scenario")]
    table = table_of(rows)
    assert set(selection_rules.parse("average").scores(table)) == {"a", "b", "c"}
    assert set(selection_rules.parse("average", include_scenarios=True).scores(table)) == {"a"}


def test_references_have_scores_relative_to_the_candidates():
    rows = matrix({p: row | {"default": min(row.values()) / 2} for p, row in PATTERNS.items()})
    rule = selection_rules.parse("average")
    assert "default" not in rule.scores(table_of(rows))
    assert rule.reference_scores(table_of(rows)) == pytest.approx({"default": 0.5})


def test_equal_scores_are_ordered_by_name_whatever_the_case_and_the_hyphens():
    assert selection_rules.within_share({"L-Sync": 1.0, "lin": 1.0, "Pair": 1.0 + 1e-12, "Z": 1.1}, 0) == [
        "lin",
        "L-Sync",
        "Pair",
    ]
    assert selection_rules.winners_of(np.array([[2.0, 1.0 + 1e-13, 1.0], [1.0, 1.0, 3.0]])).tolist() == [1, 0]


@pytest.mark.parametrize(
    "text", ["", "mean", "scenario", "scenario:", "average:ft", "worst:", "no_delay:x", "Average"]
)
def test_an_unknown_rule_is_refused_with_the_known_ones(text):
    with pytest.raises(BadInput, match="average, worst, scenario:NAME, no_delay, recorded"):
        selection_rules.parse(text)


def test_rules_read_back_as_they_are_written():
    for text in ("average", "worst", "no_delay", "scenario:ft", "scenario:a:b"):
        assert str(selection_rules.parse(text)) == text


delays = st.floats(1e-7, 1e2)
matrices = st.tuples(st.integers(1, 5), st.integers(1, 6)).flatmap(
    lambda shape: st.lists(
        st.lists(delays, min_size=shape[1], max_size=shape[1]), min_size=shape[0], max_size=shape[0]
    )
)
SHAPES = ["no_delay", "ascending", "descending", "random", "last_delayed"]


def rows_of(values):
    return matrix({SHAPES[i]: {f"a{j}": d for j, d in enumerate(row)} for i, row in enumerate(values)})


@given(matrices)
def test_scores_are_at_least_one_and_the_worst_is_never_below_the_average(values):
    table = table_of(rows_of(values))
    average, worst = (
        selection_rules.parse("average").scores(table),
        selection_rules.parse("worst").scores(table),
    )
    assert all(1 - 1e-12 <= average[name] <= worst[name] * (1 + 1e-12) for name in average)


@given(matrices, st.randoms(use_true_random=False))
def test_scores_do_not_depend_on_the_order_of_measurement(values, random):
    rows = rows_of(values)
    expected = selection_rules.parse("average").scores(table_of(rows))
    random.shuffle(rows)
    assert selection_rules.parse("average").scores(table_of(rows)) == pytest.approx(expected)


@given(matrices, st.lists(st.floats(0.1, 10), min_size=5, max_size=5))
def test_a_pattern_in_which_everything_takes_longer_weighs_the_same(values, factors):
    longer = [[d * factor for d in row] for row, factor in zip(values, factors, strict=False)]
    for rule in map(selection_rules.parse, ("average", "worst")):
        assert rule.scores(table_of(rows_of(longer))) == pytest.approx(rule.scores(table_of(rows_of(values))))


@given(matrices)
def test_an_algorithm_that_is_fastest_everywhere_is_chosen_by_every_rule(values):
    best = [[*row, min(row) / 2] for row in values]
    assume(all(row[-1] >= 1e-9 for row in best))
    for rule in map(selection_rules.parse, ("average", "worst", "no_delay")):
        assert selection_rules.within_share(rule.scores(table_of(rows_of(best))), 0) == [f"a{len(values[0])}"]


def test_recorded_uses_scenarios_and_replays_and_without_any_the_shapes():
    shapes = table_of(matrix(PATTERNS))
    assert selection_rules.parse("recorded").scores(shapes) == selection_rules.parse("average").scores(shapes)
    assert selection_rules.parse("recorded").scores(with_scenario()) == pytest.approx(
        {"a": 1, "b": 20, "c": 10}
    )


def test_recorded_counts_a_scenario_and_a_replay_of_the_same_calls_once_as_the_replay():
    calls = {"source": "reduce at ft.c:118 of trace"}
    replay = matrix({"calls": {"a": 2.0, "b": 1.0, "c": 1.0}}, pattern_kind="replay", **calls)
    table = table_of(matrix(PATTERNS) + matrix(SCENARIO, pattern_kind="scenario", **calls) + replay)
    assert selection_rules.parse("recorded").scores(table) == pytest.approx({"a": 2, "b": 1, "c": 1})
