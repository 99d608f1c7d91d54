"""``offbeat partitioned fit`` and ``advise``: what they advise, what that rests on, and what they refuse."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from captured_command import invoke
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st
from made_cells import COSTS, cells, fitted, measured
from msgspec.structs import replace

from offbeat.base.errors import BadInput
from offbeat.base.toml.write import toml_text
from offbeat.cli.partitioned import app
from offbeat.partitioned import tables
from offbeat.partitioned.cells import Cell
from offbeat.partitioned.cost_fit import fit, fitted_platform
from offbeat.partitioned.costs import approach_time_s, message_counts
from offbeat.partitioned.gain_model import Times
from offbeat.partitioned.recommendation import (
    Adviser,
    Message,
    Option,
    Recommendation,
    advise,
    adviser_of_platform,
    message_of,
    ranked,
    settings,
    with_gain,
)

NO_NOISE = (0.0, 0.0)

ONE_MESSAGE = Option(
    approach="single",
    setting=0,
    messages=1,
    partitions_per_thread=1,
    delay_s=0.0,
    time_s=1.0,
    low_s=1.0,
    high_s=1.0,
    rests_on="model",
)


def adviser(**changes: float) -> Adviser:
    costs = replace(COSTS, **changes)
    fits = [fitted(name, costs) for name in ("single", "many", "offbeat", "offbeat_learned")]
    return Adviser(fits, None, NO_NOISE, "a made-up machine")


def message(size: int, ready_s: list[float], threads: int = 1) -> Message:
    return Message(total_bytes=size, threads=threads, ready_s=np.array([ready_s]))


def run(*arguments: object) -> Result:
    return invoke(app, *arguments)


@pytest.fixture
def platform(tmp_path: Path) -> Path:
    """A platform file with costs of four approaches."""
    study = measured(cells("single"))
    path = tmp_path / "machine.toml"
    path.write_text(toml_text(fitted_platform(list(adviser().fits.values()), study, None)))
    return path


def sentences(recommendation: Recommendation) -> str:
    return " ".join(tables.recommendation_sentences(recommendation))


def test_a_large_message_with_a_late_partition_is_sent_in_parts() -> None:
    recommendation = advise(adviser(), [(4, message(2**22, [0, 0, 0, 1e-3]))])
    assert recommendation.best.approach != "single" and recommendation.best.messages > 1
    assert recommendation.best.gain > 2 and recommendation.best.is_gain
    assert "Expected gain over a single message" in sentences(recommendation)


def test_a_small_message_is_sent_whole() -> None:
    recommendation = advise(adviser(), [(16, message(2**10, [0.0] * 16))])
    assert recommendation.best.messages == 1 and recommendation.best.gain <= 1.001
    assert "Expected gain" not in sentences(recommendation)


def test_a_library_that_sends_nothing_early_gets_a_single_message() -> None:
    recommendation = advise(
        adviser(rendezvous_progress=0.0, eager_progress=0.0), [(4, message(2**22, [0, 0, 0, 1e-3]))]
    )
    assert recommendation.best.messages == 1
    assert "No way of sending in partitions is expected to be faster" in sentences(recommendation)


@given(
    size=st.integers(4, 2**24),
    ready=st.lists(st.floats(0, 2e-3), min_size=1, max_size=8),
    progress=st.floats(0, 1),
)
def test_no_recommendation_calls_a_loss_a_gain(size: int, ready: list[float], progress: float) -> None:
    recommendation = advise(adviser(rendezvous_progress=progress), [(len(ready), message(size, ready))])
    best = recommendation.best
    assert best.gain >= 1 / 1.011  # a single message is an option, and a tie may be 1% slower
    assert best.gain_low <= best.gain <= best.gain_high
    if best.gain <= 1:
        assert not best.is_gain and "Expected gain" not in sentences(recommendation)
    for one in recommendation.options:
        assert one.low_s <= one.time_s <= one.high_s


@given(first=st.floats(0, 1e-3), further=st.floats(0, 1e-3))
def test_a_longer_delay_never_lowers_the_gain(first: float, further: float) -> None:
    gains = [
        advise(adviser(), [(4, message(2**22, [0, 0, 0, delay_s]))]).best.gain
        for delay_s in (first, first + further)
    ]
    assert gains[1] >= gains[0] / 1.011


def test_a_measured_message_counts_before_the_model() -> None:
    made = [*cells("single"), *cells("many")]
    slow = made[-1]  # 4 MiB in 16 partitions, ascending: the model says that many gains
    made[-1] = replace(slow, time_s=1.0, low_s=0.9, high_s=1.1)
    fits = [fitted("single"), fitted("many")]
    known = Adviser(fits, measured(made), NO_NOISE, "a study")
    same = Message(total_bytes=slow.total_bytes, threads=slow.threads, ready_s=slow.ready_s[None])
    many = known.option(same, "many", 0, 8)
    assert (many.time_s, many.rests_on) == (1.0, "measured")
    other = replace(same, ready_s=same.ready_s * 0.5)
    assert known.option(other, "many", 0, 8).rests_on == "model"
    larger = replace(same, total_bytes=2**25)
    assert known.option(larger, "many", 0, 8).rests_on == "extrapolated"


@pytest.mark.parametrize(
    ("shapes", "delay_s", "rests_on"),
    [
        ("no_delay last_delayed", 0.0, "model"),
        ("no_delay last_delayed", 4e-4, "model"),
        ("no_delay last_delayed", 6.2e-4, "model"),  # measured with 600 µs: the same within 5%
        ("no_delay last_delayed", 1.2e-3, "extrapolated"),
        ("last_delayed", 0.0, "extrapolated"),
        ("no_delay", 1e-6, "model"),
        ("no_delay", 1e-3, "extrapolated"),
    ],
)
def test_a_delay_that_was_not_measured_is_an_extrapolation(
    shapes: str, delay_s: float, rests_on: str
) -> None:
    late = {"no_delay": 5e-6, "last_delayed": 0.0}  # threads that are late where no delay was asked for
    studied = [
        replace(cell, pattern=shape, ready_s=cell.ready_s + late[shape] * np.arange(cell.partitions))
        for cell in cells("single")
        if (shape := cell.pattern.split()[0]) in shapes.split()
    ]
    platform = fitted_platform(fit(measured(studied)), measured(studied), None)
    known = adviser_of_platform(platform)
    asked = Message(total_bytes=2**18, threads=1, ready_s=np.array([[0, 0, 0, 0, 0, 0, 0, delay_s]]))
    assert known.option(asked, "single", 0, 8).rests_on == rests_on
    # The machine's threads are late: this changes the times, not what was asked for.
    noisy = replace(asked, ready_s=asked.ready_s + 1e-3 * np.arange(8), planned_s=asked.ready_s)
    assert known.option(noisy, "single", 0, 8).rests_on == rests_on


def twice_as_slow(approach: str) -> list[Cell]:
    """Cells with twice the times of the model."""
    return [
        replace(one, time_s=2 * one.time_s, low_s=1.9 * one.time_s, high_s=2.1 * one.time_s)
        for one in cells(approach)
    ]


def test_what_cells_differ_from_the_model_corrects_messages_near_them() -> None:
    made = twice_as_slow("many")
    wrong = replace(fitted("many"), error=1.0)
    known = Adviser([fitted("single"), wrong], measured(made), NO_NOISE, "a study")
    plain = Adviser([fitted("single"), wrong], None, NO_NOISE, "a study")
    near = message(2**17, [0, 0, 0, 0, 0, 0, 0, 0])
    corrected, uncorrected = (one.option(near, "many", 0, 8) for one in (known, plain))
    predicted_s = approach_time_s(COSTS, "many", near.ready_s, near.total_bytes, near.threads)
    assert math.sqrt(corrected.low_s * corrected.high_s) == pytest.approx(2 * predicted_s[0], rel=0.2)
    assert corrected.high_s / corrected.low_s < uncorrected.high_s / uncorrected.low_s


def test_cells_with_another_number_of_partitions_correct_a_message() -> None:
    """A library that takes twice as long as the model says does so for all numbers of partitions."""
    made = [one for one in twice_as_slow("offbeat") if one.partitions == 4]
    wrong = replace(fitted("offbeat"), error=0.7)
    known = Adviser([fitted("single"), wrong], measured(made), NO_NOISE, "a study")
    finer = message(2**18, [0.0] * 16)
    corrected = known.option(finer, "offbeat", 4, 16)
    predicted_s = approach_time_s(COSTS, "offbeat", finer.ready_s, 2**18, 1, 4)[0]
    assert math.sqrt(corrected.low_s * corrected.high_s) == pytest.approx(2 * predicted_s, rel=0.25)
    assert corrected.low_s < 2 * predicted_s < corrected.high_s


def test_a_long_delay_tells_the_time_after_another_long_delay() -> None:
    """All early messages have arrived after both."""
    made = [one for one in twice_as_slow("many") if one.ready_s[-1] == 6e-4]
    known = Adviser([fitted("single"), replace(fitted("many"), error=1.0)], measured(made), NO_NOISE, "")
    spreads = []
    for delay_s in (6e-5, 6e-3):
        late = message(2**14, [0.0, 0.0, 0.0, delay_s])
        option = known.option(late, "many", 0, 4)
        predicted_s = approach_time_s(COSTS, "many", late.ready_s, 2**14, 1)[0]
        assert math.sqrt(option.low_s * option.high_s) == pytest.approx(2 * predicted_s, rel=0.1)
        spreads.append(option.high_s / option.low_s)
    at_once = known.option(message(2**14, [0.0] * 4), "many", 0, 4)
    assert at_once.high_s / at_once.low_s > 2 * max(spreads)


def test_the_time_of_an_option_is_its_expectation() -> None:
    certain, uncertain = (
        Adviser([fitted("single"), replace(fitted("many"), error=error)], None, NO_NOISE, "").option(
            message(2**17, [0, 0, 0, 0]), "many", 0, 4
        )
        for error in (0.03, 1.0)
    )
    assert uncertain.time_s == pytest.approx(certain.time_s * math.exp((1.0 - 0.03**2) / 2))
    assert uncertain.low_s * uncertain.high_s == pytest.approx(certain.low_s * certain.high_s)
    single = replace(certain, approach="single", low_s=certain.time_s, high_s=certain.time_s)
    better = with_gain(uncertain, single)
    assert better.gain == pytest.approx(certain.time_s / uncertain.time_s)
    assert better.gain_low == pytest.approx(single.time_s / uncertain.high_s)
    assert better.gain_high == pytest.approx(single.time_s / uncertain.low_s)


def test_of_equally_fast_options_the_one_with_fewer_messages_is_advised() -> None:
    few = replace(ONE_MESSAGE, time_s=1.005, high_s=1.01)
    lots = replace(few, approach="many", messages=16, time_s=1.0)
    assert [one.approach for one in ranked([lots, few])] == ["single", "many"]
    guessed = replace(lots, time_s=0.5, rests_on="extrapolated")
    assert [one.approach for one in ranked([guessed, few])] == ["single", "many"]
    assert with_gain(lots, few).gain == pytest.approx(1.005)


def test_without_a_single_message_there_is_no_gain_to_predict() -> None:
    with pytest.raises(BadInput, match="there are no costs of a single message"):
        Adviser([fitted("many")], None, NO_NOISE, "")
    with pytest.raises(BadInput, match=r"the approach single has 3 measured cases, so .*; measure 4 cases"):
        Adviser([fitted("many")], measured([*cells("many"), *cells("single")[:3]]), NO_NOISE, "")


def test_approaches_with_too_few_cells_are_named() -> None:
    made = measured([*cells("single"), *cells("many")[:2]])
    known = Adviser([fitted("single")], made, NO_NOISE, "a study")
    recommendation = advise(known, [(4, message(2**20, [0, 0, 0, 1e-3]))])
    assert "Left out, with fewer than 4 measured cases: many (2)." in sentences(recommendation)


@pytest.mark.parametrize(("threads", "alternative"), [(6, ""), (8, ", or offbeat_message_bytes = 1572864")])
def test_a_message_size_is_advised_where_one_gives_the_number_of_messages(
    threads: int, alternative: str
) -> None:
    """6 partitions of 1 MiB in messages of any size are never 4 messages."""
    only = replace(ONE_MESSAGE, approach="offbeat", setting=4, messages=4)
    recommendation = Recommendation(
        total_bytes=6 * 2**20, threads=threads, source="", options=[only], too_few={}
    )
    assert f"Set offbeat_messages = 4{alternative}." in sentences(recommendation)


def test_a_message_is_measured_only_if_all_of_its_calls_were() -> None:
    """The partitions of a replay are late in turn: on average, all are ready at the same time."""
    known = Adviser([fitted("single"), fitted("many")], measured(cells("many")), NO_NOISE, "a study")
    in_turn = Message(total_bytes=2**18, threads=1, ready_s=6e-4 * np.eye(4))
    assert known.option(in_turn, "many", 0, 4).rests_on == "model"
    together = replace(in_turn, ready_s=np.zeros((3, 4)))
    assert known.option(together, "many", 0, 4).rests_on == "measured"


class Together:
    """All partitions are ready at the start."""

    def ready_s(self, threads: int, partitions_per_thread: int, partition_bytes: float) -> Times:
        return np.zeros((1, threads * partitions_per_thread))


def test_threads_are_late_with_all_of_their_partitions_and_the_message_is_still_that_of_the_study() -> None:
    late = message_of(Together(), 2**18, 2, 2, (1e-4, 1e-4))
    assert np.array_equal(late.ready_s[:, [0, 2]], late.ready_s[:, [1, 3]])
    assert np.ptp(late.ready_s) > 1e-4
    known = Adviser([fitted("single"), fitted("many")], measured(cells("many")), (1e-4, 1e-4), "a study")
    assert known.option(late, "many", 0, 2).rests_on == "measured"


def test_a_learned_number_of_messages_is_the_same_in_all_trials() -> None:
    ready_s = np.random.default_rng(1).random((20, 16)) * 2e-4
    random = Message(total_bytes=2**20, threads=1, ready_s=ready_s)
    learned = adviser().option(random, "offbeat_learned", 0, 16).time_s
    fixed = [adviser().option(random, "offbeat", count, 16).time_s for count in (1, 2, 4, 16)]
    assert learned == pytest.approx(min(fixed))


def test_an_extrapolated_single_message_is_no_baseline() -> None:
    messages = [(count, message(2**20, [0.0] * count)) for count in (4, 64)]
    recommendation = advise(adviser(latency_s=1e-5, partition_s=0.0), messages)
    single = [one for one in recommendation.options if one.approach == "single"]
    assert {one.rests_on: one.gain for one in single}["model"] == 1.0


def test_extrapolated_options_that_are_faster_are_mentioned() -> None:
    best = ONE_MESSAGE
    guessed = replace(best, approach="many", messages=16, time_s=0.5, gain=2.0, rests_on="extrapolated")
    close = replace(best, approach="many", messages=2, time_s=0.995, gain=1.005)
    for others, sentence in (
        ([guessed], "Only extrapolated ways of sending are expected to be faster"),
        ([close], "faster than a single message by more than 1%"),
        ([guessed, close], "faster than a single message by more than 1%"),
    ):
        options = ranked([best, *others])
        made = Recommendation(total_bytes=2**20, threads=1, source="", options=options, too_few={})
        assert made.best.approach == "single" and sentence in sentences(made)


@pytest.mark.parametrize("partitions", [1, 5, 1024, 1025, 4096])
def test_each_number_of_messages_is_an_option_once(partitions: int) -> None:
    many = message(2**24, [0.0] * partitions)
    counts = [message_counts("offbeat", partitions, 2**24, one)[0] for one in settings("offbeat", many)]
    assert len(counts) == len(set(counts)) and max(counts) <= 1024


def test_the_command_advises_from_a_platform_file(platform: Path) -> None:
    arguments = ("advise", platform, "--size", "4 MiB", "--threads", 2, "--delay-rate", 1000)
    text = run(*arguments).stdout
    assert all(len(line) <= 80 for line in text.splitlines())
    words = " ".join(text.split())
    assert "Recommendation:" in words and "1 partition a thread" in words
    assert "This rests on" in words and "a made-up library on a host, 2026-01-01" in words
    record = json.loads(run(*arguments, "--json", "-").stdout)
    assert record["recommendation"] == record["options"][0]
    assert {one["partitions_per_thread"] for one in record["options"]} == {1}
    assert record["recommendation"]["gain"] > 1


@pytest.mark.parametrize(
    "delays",
    [("--compute-rate", 1000, "--deviation", 0.1), ("--pattern", "ascending", "--skew", "1 ms")],
)
def test_delays_can_be_computing_times_or_a_pattern(platform: Path, delays: tuple[object, ...]) -> None:
    record = json.loads(run("advise", platform, "--size", "4 MiB", *delays, "--json", "-").stdout)
    assert {one["partitions_per_thread"] for one in record["options"]} == {1, 2, 4, 8, 16}
    assert record["recommendation"]["gain"] > 1


def test_the_deviation_of_computing_times_is_that_of_the_platform_unless_it_is_given(
    platform: Path, tmp_path: Path
) -> None:
    noisy = tmp_path / "noisy.toml"
    noisy.write_text(f"flop_noise = 0.3\n{platform.read_text(encoding='utf-8')}", encoding="utf-8")

    def recommended(machine_file: Path, *options: object) -> str:
        arguments = ("--size", "4 MiB", "--threads", 4, "--compute-rate", 100)
        return run("advise", machine_file, *arguments, *options, "--json", "-").stdout

    assert recommended(noisy) == recommended(platform, "--deviation", 0.3) != recommended(platform)
    assert recommended(platform) == recommended(noisy, "--deviation", 0.02)


def test_ready_times_of_a_file_decide_the_number_of_partitions(platform: Path, tmp_path: Path) -> None:
    path = tmp_path / "ready.txt"
    path.write_text("# partitions: 4\n0 0 0 1e-3\n")
    record = json.loads(run("advise", platform, "--size", "4 MiB", "--pattern", path, "--json", "-").stdout)
    assert {one["partitions_per_thread"] for one in record["options"]} == {4}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("paper", "--size", "1 MiB"), "has no costs in .*'offbeat partitioned fit' writes them"),
        (("paper", "islands", "--size", "1 MiB"), "give either one platform or result directories"),
        (("PLATFORM", "--size", "7"), None),
        (("PLATFORM", "--size", "7", "--threads", 2), "7 B cannot be divided into 2 equal partitions"),
        (("PLATFORM", "--size", "big"), "--size: 'big' is not a size"),
        (("PLATFORM", "--size", "1 MiB", "--delay-rate", 1, "--compute-rate", 1), "give one of --delay-rate"),
        (("PLATFORM", "--size", "1 MiB", "--compute-rate", 0), "--compute-rate 0: give a number from 1e-09"),
        (("PLATFORM", "--size", "1 MiB", "--compute-rate", 1, "--deviation", -1), "--deviation -1: give"),
        (("PLATFORM", "--size", "1 MiB", "--deviation", 0.1), "give --compute-rate, too"),
        (("no_such.toml", "--size", "1 MiB"), "no_such.toml"),
        (("PLATFORM", "--size", "4 MiB", "--partitions", 3, "--partitions", 4), "into 3 equal partitions"),
        (("PLATFORM", "--size", "4 MiB", "--pattern", "node_delayed"), "delays processes, not partitions"),
    ],
)
def test_what_means_nothing_is_refused(
    platform: Path, arguments: tuple[object, ...], sentence: str | None
) -> None:
    given_arguments = [platform if one == "PLATFORM" else one for one in arguments]
    if sentence is None:
        assert "Recommendation" in run("advise", *given_arguments).stdout
        return
    with pytest.raises(BadInput, match=sentence):
        run("advise", *given_arguments)


def test_fit_refuses_to_overwrite_a_file(platform: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=str(platform)):
        run("fit", tmp_path, "-o", platform)
