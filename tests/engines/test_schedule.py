"""The order of cases that need several launches."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from offbeat.measurement.runs.run import schedule
from offbeat.model.study.case import Case
from offbeat.model.study.case_expansion import group_of, order

ALGORITHMS = ("a", "b", "c", "d")


def case(p, size, algorithm, pattern):
    return Case(
        collective="reduce",
        algorithm=algorithm,
        bytes=size,
        pattern=pattern,
        shape=pattern,
        skew_policy="none" if pattern == "no_delay" else "mean",
        skew_factor=1.0,
        p=p,
        nodes=0,
        ppn=0,
    )


CASES = st.lists(
    st.builds(
        case,
        st.sampled_from([2, 3, 8]),
        st.sampled_from([8, 1024]),
        st.sampled_from(ALGORITHMS),
        st.sampled_from(["no_delay", "x", "y"]),
    ),
    unique_by=lambda one: one.id,
    max_size=60,
)
LAUNCHES = st.fixed_dictionaries({name: st.sampled_from(["one", "two", "three"]) for name in ALGORITHMS})


@settings(max_examples=150)
@given(CASES, LAUNCHES, st.integers(0, 1000), st.randoms())
def test_the_schedule_has_every_case_once_grouped_by_p_and_launch(cases, launches, seed, chance):
    def launch_of(one):
        return one.p, launches[one.algorithm]

    scheduled = schedule(cases, seed, launch_of)
    assert sorted(one.id for one in scheduled) == sorted(one.id for one in cases)
    shuffled = list(cases)
    chance.shuffle(shuffled)
    assert schedule(shuffled, seed, launch_of) == scheduled

    counts = [one.p for one in scheduled]
    assert counts == sorted(counts)
    keys = [launch_of(one) for one in scheduled]
    starts = [key for place, key in enumerate(keys) if place == 0 or keys[place - 1] != key]
    assert all(starts.count(key) <= 2 for key in starts)

    for group in {repr(group_of(one)) for one in scheduled}:
        late = [one.skew_policy != "none" for one in scheduled if repr(group_of(one)) == group]
        assert late == sorted(late)


@given(CASES, st.integers(0, 1000))
def test_with_one_launch_for_all_the_shuffled_order_stays(cases, seed):
    assert schedule(cases, seed, lambda one: one.p) == order(cases, seed)


@given(CASES, LAUNCHES, st.integers(0, 1000))
def test_within_a_launch_and_a_kind_the_shuffled_order_stays(cases, launches, seed):
    scheduled = schedule(cases, seed, lambda one: (one.p, launches[one.algorithm]))
    place = {one.id: number for number, one in enumerate(order(cases, seed))}
    for p in {one.p for one in cases}:
        for launch in set(launches.values()):
            for is_late in (False, True):
                part = [
                    place[one.id]
                    for one in scheduled
                    if one.p == p
                    and launches[one.algorithm] == launch
                    and (one.skew_policy != "none") == is_late
                ]
                assert part == sorted(part)


def test_another_seed_gives_another_order():
    cases = [case(2, 8, name, pattern) for name in ALGORITHMS for pattern in ("x", "y", "z", "w")]
    random.Random(1).shuffle(cases)
    orders = {tuple(one.id for one in schedule(cases, seed, lambda one: one.p)) for seed in range(5)}
    assert len(orders) == 5
