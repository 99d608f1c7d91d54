"""The significance of the difference between choices, and the sentences about it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.tuning.trial.comparison import compare
from offbeat.tuning.trial.trial import order
from offbeat.tuning.trial.wording import chance_words, verdict_sentences

TIMES = st.lists(st.floats(0.001, 1000), min_size=2, max_size=8)


def test_noise_common_to_a_round_does_not_hide_differences() -> None:
    noise = [1.0, 3.0, 0.5, 2.0, 7.0]
    verdict = compare(
        {"default": noise, "average": [0.95 * one * (1 + 1e-3 * i) for i, one in enumerate(noise)]}
    )
    assert verdict is not None
    assert verdict.fastest == "average"
    assert verdict.is_certain
    assert verdict.comparisons[0].won == 5
    assert verdict.comparisons[0].low < verdict.comparisons[0].ratio < verdict.comparisons[0].high
    assert verdict.comparisons[0].ratio == pytest.approx(1 / 0.952, rel=1e-3)


def test_an_inconsistent_difference_is_not_significant() -> None:
    verdict = compare({"default": [1.0, 1.3, 0.9, 1.2], "average": [1.1, 1.0, 1.0, 1.1]})
    assert verdict is not None
    assert not verdict.is_certain
    assert verdict_sentences(verdict, {})[0].startswith("No choice is significantly the fastest:")


def test_equally_fast_choices_are_called_different_in_one_of_twenty_trials_at_most() -> None:
    generator = np.random.default_rng(1)
    wrong = 0
    for _ in range(600):
        noise = generator.lognormal(0, 0.5, 5)
        times = {name: (noise * generator.lognormal(0, 0.05, 5)).tolist() for name in "abc"}
        verdict = compare(times)
        wrong += verdict is not None and verdict.comparisons[0].is_certain
    assert wrong / 600 < 0.08


def test_more_choices_need_stronger_evidence_for_significance() -> None:
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
    verdict, turned = compare(times), compare(dict(reversed(times.items())))
    assert verdict == turned
    assert verdict is not None
    one = verdict.comparisons[0]
    assert one.ratio >= 1 - 1e-12
    assert 0 <= one.chance <= 1
    assert one.low <= one.ratio * (1 + 1e-9)
    assert one.ratio <= one.high * (1 + 1e-9)


@given(TIMES, st.floats(0.01, 100))
def test_the_unit_of_time_changes_nothing(times: list[float], factor: float) -> None:
    other = [1.1 * one + 0.001 for one in times]
    verdict = compare({"a": times, "b": other})
    scaled = compare({"a": [factor * one for one in times], "b": [factor * one for one in other]})
    assert verdict is not None
    assert scaled is not None
    assert scaled.fastest == verdict.fastest
    assert scaled.comparisons[0].ratio == pytest.approx(verdict.comparisons[0].ratio)


@given(st.integers(1, 6), st.integers(0, 50), st.integers(0, 5))
def test_a_round_has_every_choice_once(count: int, number: int, seed: int) -> None:
    names = [f"choice{place}" for place in range(count)]
    assert sorted(order(names, number, seed)) == names


def test_one_round_gives_no_p_value() -> None:
    verdict = compare({"default": [2.0], "average": [1.0]})
    assert verdict is not None
    assert math.isnan(verdict.comparisons[0].chance)
    assert verdict_sentences(verdict, {}) == [
        "The choice average was the fastest in the only round: default takes 2 times as long. Significance"
        " needs several rounds; --rounds 5 resumes the trial."
    ]


@pytest.mark.parametrize(
    ("chance", "message"),
    [
        (0.9, "not significant: p ≥ 0.5"),
        (0.25, "by chance in 25% of trials if both were equally fast"),
        (0.0123, "by chance in 1.2% of trials if both were equally fast"),
        (0.000123, "by chance in 0.012% of trials if both were equally fast"),
        (0.0, "by chance in less than 0.0001% of trials if both were equally fast"),
    ],
)
def test_a_p_value_is_reported_as_text(chance: float, message: str) -> None:
    assert chance_words(chance) == message
