"""Where entries disagree, the smallest weighted time wins, and no entry becomes slower."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from offbeat.model.study.algorithm import DEFAULT
from offbeat.selection.choices.against_default import RelativeTime
from offbeat.selection.choices.delay_table import Configuration
from offbeat.tuning.site.decide import Decision, Vote, decisions, divided

NAMES = ("a", "b", "c")


def vote(
    entry: str,
    weight: float,
    width: float = 0.01,
    size: int = 64,
    excluded: dict[str, str] | None = None,
    **ratios: float,
) -> Vote:
    return Vote(
        entry=entry,
        configuration=Configuration("openmpi-5.0.11", 4, 0, 0, "reduce", size),
        weight=weight,
        times={name: RelativeTime(ratio, width) for name, ratio in ratios.items()},
        excluded=excluded or {},
    )


def decide(*votes: Vote) -> Decision:
    (decision,) = decisions(votes)
    return decision


def test_the_heavier_entry_decides_a_conflict() -> None:
    small, large = {"a": 0.5, "b": 0.9}, {"a": 0.9, "b": 0.6}
    assert decide(vote("x", 100, **small), vote("y", 1, **large)).algorithm == "a"
    decided = decide(vote("x", 1, **small), vote("y", 100, **large))
    assert decided.algorithm == "b"
    assert decided.own == ["a", "b"] and decided.is_conflict
    assert decided.times["b"].ratio == pytest.approx((0.9 + 100 * 0.6) / 101)


def test_what_matters_is_the_time_that_is_saved_not_the_number_of_entries() -> None:
    many = [vote(f"x{i}", 1, a=0.98, b=0.97) for i in range(5)]
    assert decide(*many, vote("y", 1, a=0.5, b=0.97)).algorithm == "a"


def test_an_algorithm_that_is_slower_for_one_entry_is_not_used_for_any_weight() -> None:
    decided = decide(vote("x", 1e6, a=0.5, b=0.8), vote("y", 1, a=1.2, b=0.95))
    assert decided.algorithm == "b"
    assert decided.refused["a"] == "20.0% slower than the default for y"


def test_a_difference_within_the_interval_is_no_slowdown() -> None:
    assert decide(vote("x", 9, a=0.5), vote("y", 1, width=0.3, a=1.2)).algorithm == "a"


def test_what_is_not_shown_to_be_faster_is_left_to_the_library() -> None:
    decided = decide(vote("x", 1, width=0.2, a=0.9))
    assert decided.algorithm == DEFAULT
    assert decided.refused["a"] == "not significantly faster than the default"


def test_unknown_intervals_show_nothing() -> None:
    assert decide(vote("x", 1, width=float("inf"), a=0.1)).algorithm == DEFAULT


def test_an_algorithm_that_an_entry_did_not_measure_or_found_wrong_is_not_used() -> None:
    decided = decide(
        vote("x", 9, a=0.3, b=0.4, c=0.8), vote("y", 1, excluded={"b": "computes a wrong result"}, c=0.9)
    )
    assert decided.algorithm == "c"
    assert decided.refused == {"a": "not measured by y", "b": "computes a wrong result (y)"}


def test_an_entry_of_weight_0_has_no_vote() -> None:
    assert decide(vote("x", 1, a=0.5), vote("y", 0, a=2.0)).algorithm == "a"
    assert decisions([vote("y", 0, a=0.5)]) == []


def test_different_sizes_are_different_decisions() -> None:
    both = decisions([vote("x", 1, a=0.5), vote("y", 1, size=128, b=0.5)])
    assert [(one.calls[2], one.algorithm, one.is_conflict) for one in both] == [
        (64, "a", False),
        (128, "b", False),
    ]


def test_a_weight_is_divided_by_shares_and_among_configurations_of_the_same_calls() -> None:
    votes = [vote("x", 100, a=0.5), vote("x", 100, a=0.6), vote("x", 100, size=128, a=0.5)]
    shares = {("reduce", 4, 64): 0.2, ("reduce", 4, 128): 0.05}
    assert [one.weight for one in divided(votes, shares)] == pytest.approx([10, 10, 5])
    assert [one.weight for one in divided(votes, None)] == [50, 50, 100]
    assert [one.weight for one in divided(votes, {("reduce", 4, 64): 0.2})] == pytest.approx([10, 10, 0])


VOTES = st.lists(
    st.builds(
        lambda weight, width, ratios: vote("x", weight, width, **dict(zip(NAMES, ratios, strict=False))),
        st.floats(0.01, 1e6),
        st.floats(0, 0.5),
        st.lists(st.floats(0.1, 3), min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=5,
)


@given(VOTES)
def test_what_is_used_is_slower_for_nobody_and_saves_the_most(votes: list[Vote]) -> None:
    decided = decide(*votes)
    for name, time in decided.times.items():
        assert time.is_faster
        assert not any(one.times[name].is_slower for one in votes)
        assert decided.times[decided.algorithm].ratio <= time.ratio
    assert set(decided.times) | set(decided.refused) == {name for one in votes for name in one.times}
    if decided.algorithm == DEFAULT:
        assert not decided.times


@given(VOTES, st.sampled_from([2.0**-10, 2.0, 1024.0]))
def test_the_unit_of_the_weights_does_not_matter(votes: list[Vote], unit: float) -> None:
    scaled = [replace(one, weight=one.weight * unit) for one in votes]
    assert decide(*scaled).algorithm == decide(*votes).algorithm
