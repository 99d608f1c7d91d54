"""The steps of a check, and their order."""

from __future__ import annotations

from itertools import pairwise

import pytest
from check_factory import checked_algorithms, plan

from offbeat.base.errors import BadInput
from offbeat.measurement.clock_check.check_plan import (
    ROUNDS,
    CheckSettings,
    Step,
    check,
    choose,
    processes_of,
    repetitions_of,
    steps,
)
from offbeat.measurement.clock_check.measure import distorted_source, order_steps, start_command
from offbeat.measurement.clock_check.rows import HARMONIZE

BARRIERS, ALGORITHMS = (
    checked_algorithms().algorithms_to_measure("barrier"),
    checked_algorithms().algorithms_to_measure("reduce"),
)


def all_steps(asked: CheckSettings, *, distorted: bool = True) -> list[Step]:
    return steps(asked, BARRIERS, ALGORITHMS, is_distorted=distorted)


def test_every_start_is_measured_in_every_round_alone_and_before_every_algorithm() -> None:
    listed = [step for step in all_steps(plan(sizes=[8, 1024])) if step.kind == "start"]
    kinds = [(step.round, step.start, step.algorithm, step.bytes) for step in listed]
    expected = {
        (number, start, algorithm, size)
        for number in range(ROUNDS)
        for start in (HARMONIZE, "default", "tree", "double_ring")
        for algorithm, size in [
            ("", 0),
            *((name, size) for name in ("default", "binomial", "linear") for size in (8, 1024)),
        ]
    }
    assert len(kinds) == len(set(kinds)) and set(kinds) == expected
    assert [step.round for step in listed] == sorted(step.round for step in listed)


def test_rounds_are_shuffled_and_the_same_with_the_same_seed() -> None:
    first, again, other = (all_steps(plan(seed=seed)) for seed in (1, 1, 2))
    assert first == again and first != other
    assert {step.id for step in first} == {step.id for step in other}
    of_round = [
        [(step.start, step.algorithm) for step in first if step.kind == "start" and step.round == number]
        for number in (0, 1)
    ]
    assert of_round[0] != of_round[1] and sorted(of_round[0]) == sorted(of_round[1])


def test_step_ids_are_unique() -> None:
    ids = [step.id for step in all_steps(plan(p=16, sizes=[8, 64]))]
    assert len(ids) == len(set(ids))


def test_syncs_are_measured_on_powers_of_two_and_on_all_processes() -> None:
    assert processes_of(2) == [2] and processes_of(3) == [2, 3]
    assert processes_of(8) == [2, 4, 8] and processes_of(12) == [2, 4, 8, 12]


@pytest.mark.parametrize("distorted", [True, False])
def test_methods_are_compared_on_distorted_clocks_if_all_processes_read_one_clock(distorted: bool) -> None:
    listed = all_steps(plan(), distorted=distorted)
    syncs = {(step.method, step.is_distorted) for step in listed if step.kind == "sync"}
    expected = {("constraints", distorted), ("offset", distorted), ("constraints", False)}
    assert syncs == expected
    assert [step.is_distorted for step in listed if step.kind == "accuracy"] == [distorted]


@pytest.mark.parametrize("repetitions", [4, 5, 7, 100])
def test_rounds_share_the_repetitions(repetitions: int) -> None:
    asked = plan(repetitions=repetitions)
    each = [repetitions_of(asked, number) for number in range(ROUNDS)]
    assert sum(each) == repetitions and max(each) - min(each) <= 1


def test_steps_of_one_launch_are_consecutive_within_a_round() -> None:
    listed = all_steps(plan())
    order = order_steps(listed, lambda step: step.start == "default")
    assert sorted(step.id for step in order) == sorted(step.id for step in listed)
    for number in range(ROUNDS):
        launches = [
            step.start == "default" for step in order if step.kind == "start" and step.round == number
        ]
        assert sum(a != b for a, b in pairwise(launches)) == 1
    kinds = [step.kind for step in order]
    assert kinds == sorted(kinds, key=("start", "sync", "accuracy").index)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"p": 1}, "-n 1: a start needs at least 2 processes"),
        ({"repetitions": 3}, "give at least 4"),
        ({"collective": "barrier"}, "--collective barrier: known are allreduce"),
        ({"collective": "reduced"}, "--collective reduced"),
        ({"p": 5, "nodes": 2}, "cannot be spread evenly"),
        ({"sizes": [12]}, "--size 12 B: elements are doubles"),
        ({"sizes": [0]}, "--size 0 B"),
    ],
)
def test_invalid_plans_are_refused(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        check(plan(**changes))


def test_valid_plans_are_accepted() -> None:
    check(plan())
    check(plan(p=6, nodes=2, sizes=[8, 2**20], collective="allreduce"))


def test_only_sound_algorithms_are_measured() -> None:
    assert [one.name for one in checked_algorithms("tree").algorithms_to_measure("barrier")] == [
        "default",
        "double_ring",
    ]


def test_an_algorithm_that_the_library_lacks_is_refused() -> None:
    assert [one.name for one in choose(ALGORITHMS, ["linear"])] == ["linear"]
    assert choose(ALGORITHMS, []) == ALGORITHMS
    with pytest.raises(BadInput, match="--algorithm nothing: the library has default, binomial, linear"):
        choose(ALGORITHMS, ["nothing"])


def test_requests_to_the_driver_have_the_arguments_of_the_collective() -> None:
    def words(collective: str) -> dict[str, object]:
        step = Step(id="x", kind="start", start="tree", collective=collective, algorithm="linear", bytes=8)
        return start_command(step, 5).values()

    assert words("")["by"] == "barrier" and "bytes" not in words("")
    assert words("reduce") | {"root": 0, "op": "sum"} == words("reduce")
    assert "op" not in words("bcast") and "root" in words("bcast")
    assert "op" in words("allreduce") and "root" not in words("allreduce")


def test_distorted_clocks_differ_on_every_process_but_the_first_and_are_reproducible() -> None:
    text = distorted_source(4, seed=3, epoch_ns=17)
    parts = text.removeprefix("virtual:").split(";")
    assert text.startswith("virtual:") and parts[0] == "epoch=17" and len(parts) == 4
    assert [part.split(":")[0] for part in parts[1:]] == ["1", "2", "3"]
    assert len({part.split(":")[1] for part in parts[1:]}) == 3
    assert " " not in text
    assert text == distorted_source(4, seed=3, epoch_ns=17) != distorted_source(4, seed=4, epoch_ns=17)
