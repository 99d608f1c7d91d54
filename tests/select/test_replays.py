"""Replays in selection: the mean over calls decides, and one recording counts once."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measured import case, frame, matrix, results, scattered

from offbeat.base.errors import BadInput
from offbeat.selection.choices import selection_rules
from offbeat.selection.choices.choose import choose
from offbeat.selection.choices.delay_table import delay_tables

SHAPES = matrix({"no_delay": {"a": 1.0, "b": 2.0}, "random": {"a": 1.0, "b": 2.0}})
SITE = "MPI_Alltoall of 32 KiB at ft.c:118 in /traces/ft"


def row(kind: str, name: str, a: float, b: float, source: str = SITE) -> list[dict]:
    other = {"pattern_kind": kind, "source": source, "skew_policy": "replay" if kind == "replay" else "file"}
    return matrix({name: {"a": a, "b": b}}, **other)


MEAN = row("scenario", "ft-mean", 3.0, 1.0)
CALLS = row("replay", "ft-calls", 4.0, 2.0)


def table_of(rows):
    (table,) = delay_tables(frame(rows))
    return table


def test_rows_are_shapes_then_scenarios_then_replays():
    table = table_of(CALLS + MEAN + SHAPES)
    assert table.patterns == ["no_delay", "random", "ft-mean", "ft-calls"]
    assert table.kinds == ["shape", "shape", "scenario", "replay"]
    assert table.sources == ["", "", SITE, SITE]
    assert selection_rules.scenarios(table) == ["ft-mean", "ft-calls"]


def test_averages_without_scenarios_ignore_replays():
    for rule in ("average", "worst", "no_delay"):
        alone = selection_rules.parse(rule).scores(table_of(SHAPES))
        assert selection_rules.parse(rule).scores(table_of(SHAPES + MEAN + CALLS)) == alone


def test_a_replay_can_be_chosen_for_by_its_name():
    (choice,) = choose(results(SHAPES + CALLS), "scenario:ft-calls")
    assert choice.algorithm == "b"
    assert choice.scores == {"a": 2.0, "b": 1.0}
    with pytest.raises(BadInput, match="the scenarios are ft-mean, ft-calls"):
        choose(results(SHAPES + MEAN + CALLS), "scenario:ft")


def included(rows):
    return selection_rules.parse("average", include_scenarios=True).scores(table_of(rows))


def test_recordings_of_the_same_calls_count_once_as_the_replay():
    assert included(SHAPES + MEAN + CALLS) == included(SHAPES + CALLS)
    assert included(SHAPES + CALLS)["a"] == pytest.approx((1 + 1 + 2) / 3)
    assert included(SHAPES + MEAN)["a"] == pytest.approx((1 + 1 + 3) / 3)


def test_recordings_of_other_calls_or_of_unknown_origin_count_beside_a_replay():
    for source in ("", "MPI_Alltoall of 8 B at ft.c:7 in /traces/ft"):
        other = row("scenario", "ft-mean", 3.0, 1.0, source)
        assert included(SHAPES + other + CALLS)["a"] == pytest.approx((1 + 1 + 3 + 2) / 4)
    without = [row("scenario", "x", 3.0, 1.0, ""), row("replay", "y", 2.0, 1.0, "")]
    assert included(SHAPES + without[0] + without[1])["a"] == pytest.approx((1 + 1 + 3 + 2) / 4)


def test_of_two_replays_of_the_same_calls_the_first_counts():
    few = row("replay", "ft-few", 6.0, 2.0)
    assert included(SHAPES + CALLS + few + MEAN) == included(SHAPES + CALLS)


def test_several_scenarios_of_the_same_calls_all_count_where_no_replay_is():
    typical = row("scenario", "ft-cluster2", 5.0, 1.0)
    assert included(SHAPES + MEAN + typical)["a"] == pytest.approx((1 + 1 + 3 + 5) / 4)


def test_superseded_rows_are_named():
    (choice,) = choose(results(SHAPES + MEAN + CALLS), include_scenarios=True)
    assert "ft-mean is not averaged: ft-calls is a replay of the same calls." in choice.warnings
    (choice,) = choose(results(SHAPES + MEAN + CALLS))
    assert not any("is not averaged" in sentence for sentence in choice.warnings)


def test_results_without_sources_are_read():
    rows = [{name: value for name, value in one.items() if name != "source"} for one in SHAPES + MEAN]
    assert table_of(rows).sources == ["", "", ""]


def certainty(samples, calls, rows=CALLS, **options):
    every = scattered(SHAPES, 0.01) | samples
    study_results = results(SHAPES + rows, every)
    numbers = [number for one, rows in every.items() for number in calls.get(one, [None] * len(rows))]
    study_results.repetitions = study_results.repetitions.with_columns(
        pl.Series("call", numbers, dtype=pl.Int64)
    )
    (choice,) = choose(study_results, "scenario:ft-calls", **options)
    return choice.certainty


def test_differing_calls_do_not_lower_the_confidence_in_a_choice_that_wins_each():
    """Call by call b is 1% faster; the calls themselves differ by a factor of a thousand."""
    a, b = (one["case"] for one in CALLS)
    each = np.tile(np.geomspace(1, 1000, 30), 5)
    calls = {a: list(range(30)) * 5, b: list(range(30)) * 5}
    assert certainty({a: each.tolist(), b: (0.99 * each).tolist()}, calls).same_choice == 1.0


def test_the_confidence_of_a_repeated_replay_depends_on_its_noise():
    a, b = (one["case"] for one in CALLS)
    calls = np.tile(np.arange(10), 5).tolist()
    chance = np.random.default_rng(1)
    base = np.geomspace(1, 1000, 10)[np.array(calls)]
    pair = ((a, 1.001), (b, 1.0))
    noisy = {name: (base * scale + chance.normal(0, 30, 50)).tolist() for name, scale in pair}
    close = row("replay", "ft-calls", 1.001, 1.0)
    assert 0.05 < certainty(noisy, {a: calls, b: calls}, close).same_choice < 0.95
    clear = {name: (base * scale + chance.normal(0, 1, 50)).tolist() for name, scale in ((a, 1.2), (b, 1.0))}
    assert certainty(clear, {a: calls, b: calls}).same_choice > 0.99


def test_calls_that_were_not_measured_get_a_caveat():
    partial = [one | {"status": "incomplete"} if one["algorithm"] == "a" else one for one in CALLS]
    (choice,) = choose(results(SHAPES + partial), "scenario:ft-calls")
    assert any("a could not be measured in every call of ft-calls:" in one for one in choice.warnings)


def caveats(samples, calls, rule="scenario:ft-calls", **study):
    """The caveats of a choice; ``samples`` maps names of algorithms to d̂ of repetitions."""
    measured = results(SHAPES + CALLS, {one["case"]: samples[one["algorithm"]] for one in CALLS})
    numbers = [number for one in CALLS for number in calls[: len(samples[one["algorithm"]])]]
    measured.repetitions = measured.repetitions.with_columns(pl.Series("call", numbers, dtype=pl.Int64))
    measured.study = study
    (choice,) = choose(measured, rule)
    return choice.warnings


def outliers(samples, calls, rule="scenario:ft-calls"):
    every = caveats(samples, calls, rule)
    return [one for one in every if one.startswith("single calls of ft-calls dominate")]


EVEN = [1e-3] * 40
ONCE = list(range(40))


def test_a_call_that_may_have_been_interrupted_gets_a_caveat_with_its_share():
    interrupted = [*EVEN[:17], 39e-3, *EVEN[18:]]
    (caveat,) = outliers({"a": EVEN, "b": interrupted}, ONCE)
    assert "the mean of b (49% of all: call 17, 39 ms):" in caveat
    assert "All calls are included" in caveat
    assert not outliers({"a": EVEN, "b": interrupted}, ONCE, "average")


def test_a_call_that_takes_long_with_every_algorithm_is_no_outlier():
    long = [*EVEN[:17], 39e-3, *EVEN[18:]]
    assert not outliers({"a": long, "b": long}, ONCE)


def test_a_call_that_took_long_in_each_of_three_repetitions_is_no_outlier():
    long = [*EVEN[:17], 39e-3, *EVEN[18:]]
    assert outliers({"a": EVEN * 2, "b": long * 2}, ONCE * 2)
    assert not outliers({"a": EVEN * 3, "b": long * 3}, ONCE * 3)
    assert not outliers({"a": EVEN * 3, "b": long + EVEN * 2}, ONCE * 3)


def test_a_call_that_was_interrupted_in_two_of_three_repetitions_gets_a_caveat():
    long = [*EVEN[:17], 39e-3, *EVEN[18:]]
    (caveat,) = outliers({"a": EVEN * 3, "b": long * 2 + EVEN}, ONCE * 3)
    assert "the mean of b (49% of all: call 17, 39 ms):" in caveat


def test_a_mean_with_a_wider_interval_than_requested_gets_a_caveat():
    wide = [one | {"last_delay_low_s": 1.0, "last_delay_high_s": 3.0} for one in CALLS]
    measured = results(SHAPES + wide)
    for study, said in (({"repetitions": {"confidence_width": 0.1}}, True), ({}, False)):
        measured.study = study
        (choice,) = choose(measured, "scenario:ft-calls")
        sentences = [one for one in choice.warnings if "requested ±10%" in one]
        assert bool(sentences) == said
        assert not said or "for b ±50%, a ±25%;" in sentences[0]


def test_simulated_replays_are_exact_and_their_intervals_get_no_caveat():
    wide = [one | {"last_delay_low_s": 1.0, "last_delay_high_s": 3.0} for one in CALLS]
    study_results = results(SHAPES + wide)
    study_results.study, study_results.provenance = (
        {"repetitions": {"confidence_width": 0.1}},
        {"deterministic": True},
    )
    assert not any(
        "wider than the requested" in one for one in choose(study_results, "scenario:ft-calls")[0].warnings
    )


KINDS = st.lists(
    st.tuples(st.sampled_from(["shape", "scenario", "replay"]), st.sampled_from(["", "x", "y"])),
    min_size=1,
    max_size=8,
)


@given(kinds=KINDS)
def test_every_source_counts_and_none_with_a_replay_counts_twice(kinds):
    rows = [
        case("a", f"p{i}", 1.0, pattern_kind=kind, source="" if kind == "shape" else source)
        for i, (kind, source) in enumerate(kinds)
    ]
    table = table_of(rows)
    counted = selection_rules.parse("average", include_scenarios=True).rows(table)
    assert {i for i, kind in enumerate(table.kinds) if kind == "shape"} <= set(counted)
    for source in set(table.sources) - {""}:
        same_source = [i for i, one in enumerate(table.sources) if one == source]
        replays = [i for i in same_source if table.kinds[i] == "replay"]
        expected = replays[:1] or same_source
        assert [i for i in counted if i in same_source] == expected
