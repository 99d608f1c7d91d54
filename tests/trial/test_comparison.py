"""How sure it is that one choice is faster: what people are told follows from the run times."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.trial.comparison import compare
from offbeat.trial.trial import order
from offbeat.trial.wording import chance_words, verdict_sentences

TIMES = st.lists(st.floats(0.001, 1000), min_size=2, max_size=8)


def test_noise_that_rounds_share_hides_nothing() -> None:
    noise = [1.0, 3.0, 0.5, 2.0, 7.0]
    found = compare(
        {"default": noise, "average": [0.95 * one * (1 + 1e-3 * i) for i, one in enumerate(noise)]}
    )
    assert found is not None
    assert found.fastest == "average"
    assert found.is_certain
    assert found.comparisons[0].won == 5
    assert found.comparisons[0].low < found.comparisons[0].ratio < found.comparisons[0].high
    assert found.comparisons[0].ratio == pytest.approx(1 / 0.952, rel=1e-3)


def test_a_difference_that_comes_and_goes_is_not_certain() -> None:
    found = compare({"default": [1.0, 1.3, 0.9, 1.2], "average": [1.1, 1.0, 1.0, 1.1]})
    assert found is not None
    assert not found.is_certain
    assert verdict_sentences(found, {})[0].startswith("No choice is significantly the fastest:")


def test_equally_fast_choices_are_called_different_in_one_of_twenty_trials_at_most() -> None:
    generator = np.random.default_rng(1)
    wrong = 0
    for _ in range(600):
        noise = generator.lognormal(0, 0.5, 5)
        times = {name: (noise * generator.lognormal(0, 0.05, 5)).tolist() for name in "abc"}
        found = compare(times)
        wrong += found is not None and found.comparisons[0].is_certain
    assert wrong / 600 < 0.08


def test_of_more_choices_the_fastest_needs_more_to_be_certain() -> None:
    times = {"a": [1.0, 1.1, 0.9, 1.0], "b": [1.1, 1.15, 1.05, 1.06], "c": [3.0, 3.0, 3.0, 3.0]}
    two, three = compare({name: times[name] for name in "ab"}), compare(times)
    assert two is not None
    assert three is not None
    assert three.comparisons[0].chance == pytest.approx(2 * two.comparisons[0].chance)


@given(TIMES, TIMES)
def test_the_faster_is_never_slower_and_the_order_of_choices_does_not_matter(
    first: list[float], second: list[float]
) -> None:
    count = min(len(first), len(second))
    times = {"a": first[:count], "b": second[:count]}
    found, turned = compare(times), compare(dict(reversed(times.items())))
    assert found == turned
    assert found is not None
    one = found.comparisons[0]
    assert one.ratio >= 1 - 1e-12
    assert 0 <= one.chance <= 1
    assert one.low <= one.ratio * (1 + 1e-9)
    assert one.ratio <= one.high * (1 + 1e-9)


@given(TIMES, st.floats(0.01, 100))
def test_the_unit_of_time_changes_nothing(times: list[float], factor: float) -> None:
    other = [1.1 * one + 0.001 for one in times]
    found = compare({"a": times, "b": other})
    scaled = compare({"a": [factor * one for one in times], "b": [factor * one for one in other]})
    assert found is not None
    assert scaled is not None
    assert scaled.fastest == found.fastest
    assert scaled.comparisons[0].ratio == pytest.approx(found.comparisons[0].ratio)


@given(st.integers(1, 6), st.integers(0, 50), st.integers(0, 5))
def test_a_round_has_every_choice_once(count: int, number: int, seed: int) -> None:
    names = [f"choice{place}" for place in range(count)]
    assert sorted(order(names, number, seed)) == names


def test_one_round_says_nothing_of_chance() -> None:
    found = compare({"default": [2.0], "average": [1.0]})
    assert found is not None
    assert math.isnan(found.comparisons[0].chance)
    assert verdict_sentences(found, {}) == [
        "The choice average was the fastest in the only round: default takes 2 times as long. Significance"
        " needs several rounds; --rounds 5 resumes the trial."
    ]


@pytest.mark.parametrize(
    ("chance", "words"),
    [
        (0.9, "not significant: p ≥ 0.5"),
        (0.25, "by chance in 25% of trials if both were equally fast"),
        (0.0123, "by chance in 1.2% of trials if both were equally fast"),
        (0.000123, "by chance in 0.012% of trials if both were equally fast"),
        (0.0, "by chance in less than 0.0001% of trials if both were equally fast"),
    ],
)
def test_a_chance_is_reported_as_text(chance: float, words: str) -> None:
    assert chance_words(chance) == words
