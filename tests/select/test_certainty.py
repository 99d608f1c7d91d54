"""How sure a choice is: what the bootstrap over repetitions says, and when it says nothing."""

import pytest
from measured import case, matrix, results, scattered

from offbeat.select.choose import choose

CLEAR = matrix({"no_delay": {"a": 1.0, "b": 2.0}, "random": {"a": 1.0, "b": 3.0}})
CLOSE = matrix({"no_delay": {"a": 1.0, "b": 1.01}, "random": {"a": 1.02, "b": 1.0}})


def certainty(rows, samples, **options):
    (choice,) = choose(results(rows, samples), options.pop("rule", "average"), **options)
    return choice.certainty


def test_a_clear_winner_is_certain():
    assert certainty(CLEAR, scattered(CLEAR, 0.02)) == 1.0


def test_a_close_race_within_the_scatter_is_not():
    assert 0.05 < certainty(CLOSE, scattered(CLOSE, 0.2)) < 0.95


def test_the_share_is_that_of_resamples_with_the_same_choice():
    """b's median is 0.9 in the 20 of 27 draws of three that hold its outlier at most once."""
    rows = matrix({"no_delay": {"a": 1.0, "b": 0.9}})
    samples = {rows[0]["case"]: [1.0, 1.0, 1.0], rows[1]["case"]: [0.9, 0.9, 5.0]}
    assert certainty(rows, samples, rule="no_delay", bootstrap=8000) == pytest.approx(20 / 27, abs=0.02)


def test_the_draws_of_two_cases_are_independent():
    rows = matrix({"no_delay": {"a": 1.0, "b": 1.001}})
    a, b = (row["case"] for row in rows)
    samples = scattered(rows[:1], 0.2)
    assert 0.2 < certainty(rows, samples | {b: [1.001 * value for value in samples[a]]}) < 0.9


def test_exact_ties_are_always_the_same_choice():
    rows = matrix({"no_delay": {"b": 1.0, "a": 1.0}})
    assert certainty(rows, {row["case"]: [1.0, 1.0] for row in rows}) == 1.0


def test_one_repetition_a_case_makes_certainty_unknown_and_says_so():
    (choice,) = choose(results(CLEAR, {row["case"]: [row["last_delay_s"]] for row in CLEAR}))
    assert choice.certainty is None
    assert any("how sure" in warning for warning in choice.warnings)


def test_a_single_poor_case_among_many_good_ones_makes_certainty_unknown():
    samples = scattered(CLEAR, 0.02)
    samples[CLEAR[3]["case"]] = [3.0]
    assert certainty(CLEAR, samples) is None


def test_an_algorithm_that_is_not_compared_needs_no_repetitions():
    rows = [*CLEAR, case("unproved", "no_delay", 0.1, proof="unproved"), case("gappy", "no_delay", 0.1)]
    assert certainty(rows, scattered(CLEAR, 0.02)) == 1.0


def test_without_resamples_certainty_is_left_out_without_a_warning():
    (choice,) = choose(results(CLEAR, scattered(CLEAR, 0.02)), bootstrap=0)
    assert choice.certainty is None
    assert choice.warnings == []


def test_invalid_repetitions_do_not_count():
    measured = results(CLEAR, scattered(CLEAR, 0.02))
    measured.repetitions = measured.repetitions.with_columns(valid=measured.repetitions["repetition"] == 0)
    (choice,) = choose(measured)
    assert choice.certainty is None


def test_the_same_seed_gives_the_same_certainty_whatever_else_was_measured():
    samples = scattered(CLOSE, 0.2)
    alone = certainty(CLOSE, samples, seed=3)
    others = matrix({"no_delay": {"x": 1.0}}, collective="alltoall")
    more = choose(results(others + CLOSE[::-1], scattered(others, 0.1) | samples), seed=3)
    assert [choice.certainty for choice in more if choice.cell.collective == "reduce"] == [alone]
    assert certainty(CLOSE, samples, seed=4) != alone
