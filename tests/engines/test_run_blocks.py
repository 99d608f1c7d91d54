"""Cases are measured in blocks: each round through the study has its own launches and order."""

from __future__ import annotations

import contextlib
import os
from collections import Counter

import debug_run
import msgspec
import numpy as np
import pytest
from debug_engine import DebugEngine, Script
from debug_run import SMALL, Silent
from hypothesis import example, given
from hypothesis import strategies as st

from offbeat.measurement.results.blocks import Block, Blocks, block_interval, hodges_lehmann
from offbeat.measurement.results.plausible import MAX_TIME_S, implausible_time, outside_interval
from offbeat.measurement.results.read import read_study
from offbeat.measurement.results.status import read_status
from offbeat.measurement.runs.repetition import BLOCKS_MULTIPLE, are_enough_blocks, block_rule
from offbeat.model.study.schema import RepetitionsSection

pytestmark = pytest.mark.slow

BLOCKS = SMALL.replace("blocks = 1\nminimum = 3\nmaximum = 3", "blocks = 3\nminimum = 9\nmaximum = 9")
SCRIPT = Script(
    failures={("odd", "ascending"): "hung"}, unpunctual={("fast", "last_delayed")}, launches={"slow": "own"}
)


class Interrupted(BaseException):
    """An interruption from outside of the run."""


@pytest.fixture(scope="module", autouse=True)
def disk_without_waiting():
    """These tests interrupt a process, not the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted study in three blocks: its file, directory and engine."""
    folder = tmp_path_factory.mktemp("whole")
    loaded = debug_run.study(folder, BLOCKS)
    engine = DebugEngine(SCRIPT)
    debug_run.go(loaded, folder / "results", engine)
    return loaded, folder / "results", engine


def test_each_round_measures_one_block_of_every_case(whole):
    _, directory, engine = whole
    cases = 2 * 4 * 3
    assert engine.rounds == [0, 1, 2]
    lost = {("odd", 8), ("odd", 1024)}
    rounds = [
        engine.measured[:cases],
        engine.measured[cases : 2 * cases - 2],
        engine.measured[2 * cases - 2 :],
    ]
    for number, measured in enumerate(rounds):
        observed = {(one.algorithm, one.bytes, one.pattern) for one in measured}
        missing = {(name, size, "ascending") for name, size in lost} if number else set()
        assert len(observed) == len(measured) == cases - len(missing)
        assert not observed & missing
    orders = [[one.id for one in measured if one.algorithm != "odd"] for measured in rounds]
    assert orders[0] != orders[1] != orders[2]
    rows = {row["case"]: row for row in debug_run.cases(directory).iter_rows(named=True)}
    assert Counter(row["blocks"] for row in rows.values()) == {3: cases - 2, 1: 2}
    measured = [row for row in rows.values() if row["status"] == "measured"]
    assert {row["repetitions"] for row in measured} == {9}


def test_the_delays_of_a_case_are_the_same_in_all_of_its_blocks(tmp_path):
    delays: dict[str, list[float]] = {}

    class Noting(DebugEngine):
        def measure(self, algorithm, case, delays_s, rule):
            delays.setdefault(case.id, []).append(float(np.max(delays_s)))
            return super().measure(algorithm, case, delays_s, rule)

        def runtime_s(self, name, case):
            return super().runtime_s(name, case) * (1 + len(self.rounds))

    debug_run.go(debug_run.study(tmp_path, BLOCKS), tmp_path / "results", Noting())
    assert all(len(skews) == 3 and len(set(skews)) == 1 for skews in delays.values())


@pytest.mark.parametrize("step", range(1, 75, 4))
def test_a_study_interrupted_in_any_block_and_resumed_equals_an_uninterrupted_one(whole, tmp_path, step):
    loaded, directory, _ = whole
    count = 0

    def before(event):
        nonlocal count
        count += 1
        if count > step:
            raise Interrupted

    with contextlib.suppress(Interrupted):
        debug_run.go(loaded, tmp_path / "results", DebugEngine(SCRIPT, before))
    rest = DebugEngine(SCRIPT)
    debug_run.go(loaded, tmp_path / "results", rest)
    assert debug_run.cases(tmp_path / "results").equals(debug_run.cases(directory))
    resumed, uninterrupted = read_study(tmp_path / "results"), read_study(directory)
    key = ["case", "repetition"]
    assert resumed.repetitions.sort(key).equals(uninterrupted.repetitions.sort(key))
    assert resumed.ranks().sort(*key, "rank").equals(uninterrupted.ranks().sort(*key, "rank"))


def test_an_unfinished_study_says_which_cases_lack_blocks_and_counts_them_apart(whole, tmp_path):
    loaded, _, _ = whole
    asked = []

    def out_of_time(longest_s):
        asked.append(longest_s)
        return len(asked) > 30

    listener = Silent()
    outcome = debug_run.go(loaded, tmp_path / "results", DebugEngine(SCRIPT), out_of_time, listener)
    assert (outcome.finished_cases, outcome.total, outcome.is_stopped) == (2, 24, True)
    status = read_status(tmp_path / "results")
    assert (status.done, status.counts["reduce"]["unfinished"]) == (2, 22)
    reasons = {row["reason"] for row in debug_run.cases(tmp_path / "results").iter_rows(named=True)}
    assert reasons == {"1 of 3 blocks", "2 of 3 blocks", "hung"}


def test_the_seed_of_the_order_is_drawn_and_stored_if_the_study_names_none(tmp_path):
    text = BLOCKS.replace("seed = 3\n", "")
    orders, seeds = set(), set()
    for name in ("one", "two"):
        loaded = debug_run.study(tmp_path / name, text)
        engine = DebugEngine()
        debug_run.go(loaded, tmp_path / name / "results", engine)
        orders.add(tuple(case.id for case in engine.measured))
        seeds.add(read_study(tmp_path / name / "results").study["seed"])
        again = DebugEngine()
        debug_run.go(loaded, tmp_path / name / "results", again)
        assert again.events == []
    assert len(orders) == len(seeds) == 2
    assert all(isinstance(seed, int) for seed in seeds)


def test_a_study_that_names_its_seed_has_one_order(tmp_path):
    orders = set()
    for name in ("one", "two"):
        engine = DebugEngine()
        debug_run.go(debug_run.study(tmp_path / name, BLOCKS), tmp_path / name / "results", engine)
        orders.add(tuple(case.id for case in engine.measured))
    assert len(orders) == 1


def blocks_of(*delays_us):
    """Blocks of five equal repetitions each."""
    return Blocks(tuple(Block(np.full(5, delay * 1e-6), np.full(5, delay * 1e-6)) for delay in delays_us))


RULE = RepetitionsSection(blocks=5, minimum=10, maximum=100, confidence_width=0.05)


@pytest.mark.parametrize(
    ("delays_us", "is_enough"),
    [
        ((10,), False),
        ((10,) * 4, False),
        ((10,) * 5, True),
        ((10, 10.2, 9.9, 10.1, 10), True),
        ((10, 12, 9, 11, 10), False),
        ((10, 12, 9, 11, 10) * BLOCKS_MULTIPLE, True),
    ],
)
def test_blocks_are_added_until_the_interval_is_as_narrow_as_requested(delays_us, is_enough):
    assert are_enough_blocks(blocks_of(*delays_us), RULE) == is_enough


def test_no_block_is_added_after_the_maximum_of_repetitions():
    rule = RepetitionsSection(blocks=5, minimum=10, maximum=25)
    assert are_enough_blocks(blocks_of(10, 12, 9, 11, 10), rule)


def test_the_blocks_of_a_case_share_its_repetitions_and_its_time():
    part = block_rule(RULE)
    assert (part.minimum, part.maximum, part.time_cap) == (3, 20, 0.4)
    assert part.confidence_width == pytest.approx(0.05 * 5**0.5)
    assert block_rule(RepetitionsSection(blocks=1)) == RepetitionsSection(blocks=1)
    assert RepetitionsSection(blocks=5, minimum=1, maximum=2).planned_blocks == 2


def test_one_disturbed_block_hardly_moves_the_delay_and_widens_its_interval():
    quiet, disturbed = blocks_of(10, 10.1, 9.9, 10, 10.05), blocks_of(10, 10.1, 9.9, 10, 100)
    assert disturbed.last_delay_s() == pytest.approx(quiet.last_delay_s(), rel=0.01)
    low, high = disturbed.interval_s()
    assert low < quiet.interval_s()[0] < quiet.interval_s()[1] < high


def test_blocks_are_enough_sooner_with_a_lower_confidence():
    scattered = blocks_of(10, 10.5, 9.5, 10.4, 9.7)  # half intervals: 5.8% at 95%, 4.4% at 90%
    assert not are_enough_blocks(scattered, RULE)
    assert are_enough_blocks(scattered, msgspec.structs.replace(RULE, confidence=0.9))


def test_the_hodges_lehmann_estimate_is_the_median_of_the_means_of_pairs():
    assert hodges_lehmann([4.0]) == 4.0
    assert hodges_lehmann([1.0, 3.0]) == 2.0
    assert hodges_lehmann([1.0, 2.0, 9.0]) == np.median([1, 1.5, 5, 2, 5.5, 9])
    assert np.isnan(hodges_lehmann([]))


def test_the_interval_over_blocks_covers_the_truth_as_often_as_it_says():
    chance = np.random.default_rng(4)
    covered = 0
    for _ in range(2000):
        values = 1e-5 * np.exp(chance.normal(0, 0.05, 5))
        low, high = block_interval(values, hodges_lehmann(values))
        covered += low <= 1e-5 <= high
    assert covered / 2000 == pytest.approx(0.95, abs=0.015)


@given(st.lists(st.floats(0, MAX_TIME_S), min_size=2, max_size=10))
@example([1e-6, 1e-3])  # Student's t of two such blocks reaches 10^15 times the delay and more
def test_the_interval_of_any_blocks_is_plausible(values):
    middle = hodges_lehmann(values)
    low, high = block_interval(values, middle)
    row = {"last_delay_low_s": low, "last_delay_s": middle, "last_delay_high_s": high}
    assert outside_interval(row) == ""
    assert all(implausible_time(time_s) == "" for time_s in row.values())
