"""Verdicts on random programs of every kind, against exhaustive simulation; what failed once is kept."""

from __future__ import annotations

import numpy as np
import pytest
from known_answers import COUNTS, answer
from known_programs import KINDS, known_program, platform

from offbeat.programs.advice.assess import LEAST_GAIN, Assessment, assess, helps, restores
from offbeat.programs.advice.gains import Interval
from offbeat.programs.description.program_file import Program, loads

SEED = 7

FAST = ("compute-bound", "memory-bound", "imbalance within domains", "complementary phases", "noise")
"""Kinds of programs whose simulation takes little time: benchmarks/async_assessment.py has all kinds."""


def text(*phases: str, ranks: int = 72) -> Program:
    return loads(
        f"ranks = {ranks}\niterations = 400\n" + "".join(map("[[phase]]\n{}\n".format, phases)), "p.toml"
    )


SLOW_ALLREDUCE = text(
    'kind = "work"\nflops = 6e8',
    'kind = "collective"\ncollective = "allreduce"\nalgorithm = "ring"\nbytes = ["64 KiB"]',
    ranks=36,
)
COMPLEMENTARY = text(
    'kind = "work"\nflops = 6e8\nweights = [1, 3]',
    'kind = "work"\nflops = 6e8\nweights = [3, 1]',
    'kind = "exchange"\nbytes = ["8 kB"]',
)
LARGE_MESSAGES = text('kind = "work"\nflops = 6e8', 'kind = "exchange"\nbytes = ["4 MB"]')
ONE_SLOW_RANK = text(
    f'kind = "work"\nmemory = "133 MB"\nweights = {[2] + 17 * [1]}', 'kind = "exchange"\nbytes = ["1 MB"]'
)


def assessed(one: Program) -> Assessment:
    return assess(one, platform(), iterations=160, seeds=3)


@pytest.mark.parametrize("kind", FAST)
def test_the_verdict_is_that_of_exhaustive_simulation(kind: str) -> None:
    number = KINDS.index(kind)
    one = known_program(np.random.default_rng([SEED, number]), number)
    said = assess(one, platform(), iterations=200, seeds=3).verdict
    assert said == answer(one.resized(iterations=400), platform()).verdict


def test_a_change_that_only_brings_a_program_back_to_lockstep_does_not_help() -> None:
    found = assessed(SLOW_ALLREDUCE)
    assert found.verdict != "helps"
    assert not any(helps(gain) for gain in found.gains)
    if found.first is not None:
        assert restores(found.first)


def test_complementary_phases_are_one_piece_of_work() -> None:
    found = assessed(COMPLEMENTARY)
    assert found.verdict == "does nothing"
    assert found.already.mean == pytest.approx(0, abs=1e-6)


def test_messages_that_share_bandwidth_let_a_compute_bound_program_gain() -> None:
    found = assessed(LARGE_MESSAGES)
    assert (found.verdict, found.first is not None) == ("helps", True)
    assert found.limit_s < found.iteration_s


def test_a_program_is_never_faster_than_its_limit() -> None:
    found = assessed(ONE_SLOW_RANK)
    assert found.verdict == "helps"
    assert found.limit_s <= found.iteration_s < found.lockstep_s


@pytest.mark.parametrize(
    ("mean", "low", "high", "counts"),
    [
        (0.006, 0.004, 0.008, True),  # narrower than the threshold: it is told, on both sides
        (0.004, 0.002, 0.006, False),
        (0.002, -0.0005, 0.0045, False),
        (0.003, -0.001, 0.007, None),  # none, or one that counts
        (-0.02, -0.03, -0.01, False),
        (0.0, 0.0, 0.0, False),
    ],
)
def test_a_verdict_follows_from_the_interval_and_the_threshold(
    mean: float, low: float, high: float, counts: bool | None
) -> None:
    assert Interval(mean=mean, low=low, high=high).exceeds(LEAST_GAIN) is counts
    assert LEAST_GAIN == COUNTS
