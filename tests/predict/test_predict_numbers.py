"""Predictions equal manual calculations: computing time of the trace, and d̂ of the results."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import pytest
import results_factory
import trace_factory as factory
from hypothesis import given, settings
from hypothesis import strategies as st
from run_factory import RUN_S, US, alltoalls, predicted, times

from offbeat.base.errors import BadInput
from offbeat.tuning.prediction.measured_configuration import Estimate, total


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Five alltoalls of 32 KiB on four ranks, each with a d̂ of 70 µs, the third rank 30 µs late."""
    return alltoalls(tmp_path / "t", [[0, 10, 30, 0]] * 5)


def test_expected_run_times_are_computing_plus_calls_times_the_last_delay(
    trace: Path, tmp_path: Path
) -> None:
    cases = results_factory.rows(
        {
            "no_delay": {"linear": 40, "pairwise": 60},
            "ascending": {"linear": 90, "pairwise": 60},
            "alltoall-32KiB-mean": {"linear": 120, "pairwise": 65},
        },
        {"alltoall-32KiB-mean": "scenario"},
    )
    prediction = predicted(trace, results_factory.results(tmp_path / "r", cases))
    computing = RUN_S - 5 * 70 * US
    assert prediction.recorded.computing_s == pytest.approx(computing, abs=1e-9)
    assert prediction.conditions == ["no_delay", "average", "scenario"]
    assert times(prediction, "linear") == pytest.approx(
        {
            "no_delay": computing + 5 * 40 * US,
            "average": computing + 5 * 65 * US,
            "scenario": computing + 5 * 120 * US,
        },
        abs=1e-9,
    )
    assert [one.name for one in prediction.order("no_delay")] == ["linear", "pairwise"]
    assert [one.name for one in prediction.order("scenario")] == ["pairwise", "linear"]


@settings(max_examples=25, deadline=None)
@given(
    delays=st.lists(
        st.lists(st.integers(0, 500), min_size=3, max_size=3).map(lambda row: [d - min(row) for d in row]),
        min_size=1,
        max_size=5,
    ),
    operation=st.integers(1, 400),
    other=st.integers(1, 800),
)
def test_the_algorithm_whose_last_delay_is_the_recorded_one_gives_the_recorded_run_time(
    delays: list[list[int]], operation: int, other: int
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        trace = alltoalls(Path(scratch) / "t", delays, operation_us=operation)
        line: dict[str, float | tuple[float, float, float]] = {"same": operation, "other": other}
        cases = results_factory.rows({"no_delay": line, "bell": line}, p=3)
        prediction = predicted(trace, results_factory.results(Path(scratch) / "r", cases))
    assert times(prediction, "same") == pytest.approx(dict.fromkeys(prediction.conditions, RUN_S), abs=1e-9)
    saved = len(delays) * (operation - other) * US
    assert times(prediction, "other")["average"] == pytest.approx(RUN_S - saved, abs=1e-9)


def test_intervals_are_propagated_to_the_run_time(trace: Path, tmp_path: Path) -> None:
    cases = results_factory.rows(
        {"no_delay": {"linear": (40, 37, 46)}, "ascending": {"linear": (90, 86, 98)}}
    )
    prediction = predicted(trace, results_factory.results(tmp_path / "r", cases))
    run = prediction.expected[0].run_s
    assert run["no_delay"].time_s - run["no_delay"].low_s == pytest.approx(5 * 3 * US)
    assert run["no_delay"].high_s - run["no_delay"].time_s == pytest.approx(5 * 6 * US)
    assert run["average"].time_s - run["average"].low_s == pytest.approx(5 * math.hypot(3, 4) / 2 * US)
    assert run["average"].high_s - run["average"].time_s == pytest.approx(5 * math.hypot(6, 8) / 2 * US)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)).map(sorted), min_size=1, max_size=6)
)
def test_an_interval_of_a_sum_holds_the_sum_and_is_no_wider_than_that_of_the_ends(
    triples: list[list[float]],
) -> None:
    parts = [Estimate(low_s=low, time_s=middle, high_s=high) for low, middle, high in triples]
    whole = total(parts)
    assert sum(p.low_s for p in parts) - 1e-9 <= whole.low_s <= whole.time_s
    assert whole.time_s <= whole.high_s <= sum(p.high_s for p in parts) + 1e-9


def test_an_algorithm_that_lacks_a_pattern_has_no_average(trace: Path, tmp_path: Path) -> None:
    cases = results_factory.rows({"no_delay": {"linear": 40, "pairwise": 60}, "ascending": {"pairwise": 60}})
    prediction = predicted(trace, results_factory.results(tmp_path / "r", cases))
    assert set(times(prediction, "linear")) == {"no_delay"}
    assert [one.name for one in prediction.expected] == ["pairwise", "linear"]


def test_a_replay_precedes_a_scenario(trace: Path, tmp_path: Path) -> None:
    cases = results_factory.rows(
        {"no_delay": {"linear": 40}, "mine": {"linear": 50}, "calls": {"linear": 80}},
        {"mine": "scenario", "calls": "replay"},
    )
    prediction = predicted(trace, results_factory.results(tmp_path / "r", cases))
    assert prediction.main_condition == "replay"
    assert times(prediction, "linear")["replay"] == pytest.approx(RUN_S + 5 * 10 * US, abs=1e-9)


def test_the_scenario_recorded_from_these_calls_is_used(trace: Path, tmp_path: Path) -> None:
    delays: results_factory.Delays = {"no_delay": {"linear": 40}, "another": {"linear": 50}}
    delays["alltoall-32KiB-median"] = {"linear": 80}
    kinds = {"another": "scenario", "alltoall-32KiB-median": "scenario"}
    results = results_factory.results(tmp_path / "r", results_factory.rows(delays, kinds))
    prediction = predicted(trace, results)
    assert prediction.parts[0].conditions["scenario"].pattern == "alltoall-32KiB-median"
    assert any("select another one with --scenario: another" in note for note in prediction.notes)
    assert predicted(trace, results, scenario="another").parts[0].conditions["scenario"].pattern == "another"
    with pytest.raises(
        BadInput, match=r"--scenario third was not measured .* another, alltoall-32KiB-median"
    ):
        predicted(trace, results, scenario="third")


def test_a_scenario_recorded_from_these_calls_precedes_one_with_their_name(
    trace: Path, tmp_path: Path
) -> None:
    words = "MPI_Alltoall of 32 KiB at app+0x1010 on MPI_COMM_WORLD"
    cases = results_factory.rows(
        {"no_delay": {"linear": 40}, "alltoall-32KiB-mean": {"linear": 50}, "mine": {"linear": 80}},
        {"alltoall-32KiB-mean": "scenario", "mine": "scenario"},
    )
    for one in cases:
        one["source"] = f"{words} in /traces/t" if one["pattern"] == "mine" else ""
    prediction = predicted(trace, results_factory.results(tmp_path / "r", cases))
    assert prediction.parts[0].conditions["scenario"].pattern == "mine"


def test_a_scenario_of_other_calls_is_used_and_reported(trace: Path, tmp_path: Path) -> None:
    cases = results_factory.rows({"no_delay": {"linear": 40}, "other": {"linear": 50}}, {"other": "scenario"})
    for one in cases:
        one["source"] = "MPI_Bcast of 8 B at b.c:7 in /traces/b" if one["pattern"] == "other" else ""
    prediction = predicted(trace, results_factory.results(tmp_path / "r", cases))
    assert any("other was recorded from MPI_Bcast of 8 B at b.c:7 in" in note for note in prediction.notes)


def test_the_librarys_own_decision_is_predicted_and_never_selected(trace: Path, tmp_path: Path) -> None:
    cases = results_factory.rows({"no_delay": {"linear": 40, "default": 20}})
    prediction = predicted(trace, results_factory.results(tmp_path / "r", cases), ran="default")
    assert prediction.expected[0].name == "default"
    assert [one.name for one in prediction.order("no_delay")] == ["linear"]


def test_all_calls_that_the_results_cover_are_predicted_together(tmp_path: Path) -> None:
    files = factory.files(4)
    for one in files:
        for sequence in range(10):
            begin = (1 + sequence) * 1_000_000
            one.call(begin, begin + 70_000, sequence=2 * sequence, function="MPI_Alltoall", bytes=32768)
            one.call(
                begin + 200_000, begin + 220_000, sequence=2 * sequence + 1, function="MPI_Bcast", bytes=64
            )
            one.call(begin + 300_000, begin + 310_000, sequence=1000 + sequence, bytes=8)
    trace = factory.write(tmp_path / "t", files)
    cases = [
        *results_factory.rows(
            {
                "no_delay": {"linear": 40, "pairwise": 60, "default": 70},
                "bell": {"linear": 160, "pairwise": 60, "default": 70},
            }
        ),
        *results_factory.rows(
            {
                "no_delay": {"binary": 15, "chain": 25, "default": 20},
                "bell": {"binary": 16, "chain": 25, "default": 20},
            },
            collective="bcast",
            bytes=64,
        ),
    ]
    prediction = predicted(trace, results_factory.results(tmp_path / "r", cases), everything=True)
    assert len(prediction.parts) == 2  # allreduce was not measured: it stays in the computing time
    assert prediction.recorded.computing_s == pytest.approx(RUN_S - 10 * 90 * US, abs=1e-9)
    by_name = {one.name: one for one in prediction.expected}
    assert by_name["no_delay"].algorithms == ["linear", "binary"]
    assert by_name["average"].algorithms == ["pairwise", "binary"]
    assert times(prediction, "no_delay")["no_delay"] == pytest.approx(RUN_S - 10 * 35 * US, abs=1e-9)
    assert times(prediction, "no_delay")["average"] == pytest.approx(RUN_S + 10 * (30 - 4.5) * US, abs=1e-9)
    assert times(prediction, "default")["average"] == pytest.approx(RUN_S, abs=1e-9)


def test_calls_on_some_ranks_count_in_proportion(tmp_path: Path) -> None:
    files = factory.files(4)
    for one in files[:2]:
        one.definitions.append(factory.communicator(3, [0, 1], one.rank, parent=1))
        for sequence in range(10):
            begin = (1 + sequence) * 1_000_000
            one.call(
                begin, begin + 70_000, sequence=sequence, function="MPI_Alltoall", bytes=32768, communicator=3
            )
    trace = factory.write(tmp_path / "t", files)
    cases = results_factory.rows({"no_delay": {"linear": 40}}, p=2)
    prediction = predicted(trace, results_factory.results(tmp_path / "r", cases))
    assert times(prediction, "linear")["no_delay"] == pytest.approx(RUN_S - 10 * 30 * US / 2, abs=1e-9)


def test_if_every_kth_call_was_recorded_each_represents_k(tmp_path: Path) -> None:
    files = factory.files(4)
    for one in files:
        one.header["period"] = 10
        for sequence in range(5):
            begin = (1 + sequence) * 1_000_000
            one.call(begin, begin + 70_000, sequence=10 * sequence, function="MPI_Alltoall", bytes=32768)
    trace = factory.write(tmp_path / "t", files)
    cases = results_factory.rows({"no_delay": {"linear": 40}})
    prediction = predicted(trace, results_factory.results(tmp_path / "r", cases))
    assert prediction.recorded.calls[0].number == 50
    assert times(prediction, "linear")["no_delay"] == pytest.approx(RUN_S - 50 * 30 * US, abs=1e-9)
    assert any("every 10th call was recorded: each represents 10 calls" in note for note in prediction.notes)
    assert any("was called 41 to 50 times; 50 is assumed" in note for note in prediction.notes)


def sampled_steps(folder: Path, recorded: list[int], *, freed: int | None) -> Path:
    """In each of twenty time steps, four ranks create a communicator and call on it; each tenth call on each
    is recorded, and the communicator is freed after some calls, or never."""
    files = factory.files(4)
    for one in files:
        one.header["period"] = 10
        for step in range(20):
            again = factory.communicator(3 + step, range(4), one.rank, ordinal=1 + step, parent=1)
            one.definitions += [again, *([] if freed is None else [factory.freed(3 + step, freed)])]
            for place, sequence in enumerate(recorded):
                begin = (1 + step * len(recorded) + place) * 1_000_000
                values = {"communicator": 3 + step, "function": "MPI_Alltoall", "bytes": 32768}
                one.call(begin, begin + 70_000, sequence=sequence, **values)
    return factory.write(folder, files)


@pytest.mark.parametrize(("recorded", "freed"), [([0], 1), ([0], 4), ([0, 10], 17), ([0, 10], 20)])
def test_a_recorded_call_represents_no_more_calls_than_its_communicator_had(
    tmp_path: Path, recorded: list[int], freed: int
) -> None:
    cases = results_factory.results(tmp_path / "r", results_factory.rows({"no_delay": {"linear": 40}}))
    prediction = predicted(sampled_steps(tmp_path / "t", recorded, freed=freed), cases)
    assert prediction.recorded.calls[0].number == 20 * freed
    assert not any("is assumed" in note for note in prediction.notes)


def test_the_number_of_calls_on_unfreed_communicators_is_reported_as_uncertain(
    tmp_path: Path,
) -> None:
    cases = results_factory.results(tmp_path / "r", results_factory.rows({"no_delay": {"linear": 40}}))
    prediction = predicted(sampled_steps(tmp_path / "t", [0], freed=None), cases)
    assert prediction.recorded.calls[0].number == 200
    assert any("was called 20 to 200 times; 200 is assumed" in note for note in prediction.notes)
