"""The study of a traced program measures its heaviest calls under the arrivals that were recorded."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from captured_command import execute
from hypothesis import given
from hypothesis import strategies as st
from trace_factory import files, pattern_trace, summary_of, write

from offbeat.libraries.launch.user_command import user_command
from offbeat.model.pattern import pattern_file, replay_file
from offbeat.model.study.case_expansion import groups, pattern_rows
from offbeat.model.study.study_file import LoadedStudy, from_structure, load
from offbeat.trace.files.trace_folder import open_trace
from offbeat.trace.recommendation import sentence, tuning_order
from offbeat.tuning.pipeline.conclusion import unmeasured_note
from offbeat.tuning.pipeline.traced_calls import Selected, counts_of, select_calls
from offbeat.tuning.pipeline.traced_study import Launch, write_patterns, write_study

LAUNCH = Launch(mpi="auto", command=user_command(["mpirun", "--bind-to", "core", "-n", "3", "sh"]))
DELAYS = [[0, 30, 10], [0, 10, 50]]


def selected_from(folder: Path, share: float = 0.95) -> Selected:
    return select_calls(open_trace(folder), summary_of(folder), share)


def study_of(trace: Path, folder: Path) -> LoadedStudy:
    selected = selected_from(trace)
    summary = summary_of(trace)
    sections = write_patterns(open_trace(trace), summary, selected.calls, folder)
    path = folder / "study.toml"
    study = from_structure(write_study(sections, summary.program, LAUNCH, path), path)
    assert load(path).study == study.study
    return study


def test_the_study_has_the_traced_call_its_arrivals_its_skew_and_the_launch(tmp_path: Path) -> None:
    trace = pattern_trace(tmp_path / "trace", DELAYS, bytes=1000, operation_us=100)
    loaded = study_of(trace, tmp_path / "study")
    (group,) = groups(loaded.study)
    assert (group.collective, group.p, group.bytes, group.datatype) == ("allreduce", 3, 1000, "double")
    rows = {row.label: (row.policy.key, row.factor) for row in pattern_rows(loaded.study, group)}
    assert rows == {
        "no_delay": ("none", 0.0),
        "last_delayed": ("fixed", 40e-6),
        "random": ("fixed", 40e-6),
        "allreduce-1kB-p3-mean": ("file", 1.0),
        "allreduce-1kB-p3-calls": ("replay", 1.0),
    }
    assert loaded.study.mpi.options == ["--bind-to", "core"]


@given(delays=st.lists(st.lists(st.integers(0, 900), min_size=3, max_size=3), min_size=1, max_size=5))
def test_the_replay_has_the_recorded_delays(
    tmp_path_factory: pytest.TempPathFactory, delays: list[list[int]]
) -> None:
    folder = tmp_path_factory.mktemp("replay")
    study_of(pattern_trace(folder / "trace", delays, bytes=8, operation_us=50), folder / "study")
    expected_s = np.array([[delay - min(row) for delay in row] for row in delays]) * 1e-6
    replay = replay_file.read(folder / "study" / "allreduce-8B-p3-calls.replay")
    assert replay.delays_s == pytest.approx(expected_s, abs=2e-9)
    mean_s = pattern_file.read(folder / "study" / "allreduce-8B-p3-mean.txt").delays_s
    assert mean_s == pytest.approx(expected_s.mean(axis=0) - expected_s.mean(axis=0).min(), abs=2e-9)


def test_pattern_files_of_an_interrupted_run_are_kept(tmp_path: Path) -> None:
    """A version of offbeat that sampled other calls began it."""
    trace = pattern_trace(tmp_path / "trace", DELAYS, bytes=8, operation_us=50)
    study_of(trace, tmp_path / "study")
    calls = tmp_path / "study" / "allreduce-8B-p3-calls.replay"
    written = calls.read_text()
    other = written.replace("5e-05", "6e-05")
    assert other != written
    calls.write_text(other)
    opened, selected = open_trace(trace), selected_from(trace)
    write_patterns(opened, summary_of(trace), selected.calls, tmp_path / "study", keep=True)
    assert calls.read_text() == other
    write_patterns(opened, summary_of(trace), selected.calls, tmp_path / "study")
    assert calls.read_text() == written


def test_the_heaviest_calls_that_reach_the_share_are_selected(tmp_path: Path) -> None:
    trace_files = files(2)
    for one in trace_files:
        one.header["ended_ns"] = 10_000_000
        for sequence, (size, duration_ns) in enumerate([(8, 600_000), (4096, 300_000), (1 << 20, 50_000)]):
            begin = (1 + sequence) * 1_000_000
            one.call(begin, begin + duration_ns, sequence=sequence, bytes=size)
    trace = write(tmp_path / "trace", trace_files)
    assert [one.measured_bytes for one in selected_from(trace, 0.6).calls] == [8]
    assert [one.measured_bytes for one in selected_from(trace, 0.9).calls] == [8, 4096]
    every = selected_from(trace, 1.0)
    assert [one.measured_bytes for one in every.calls] == [8, 4096, 1 << 20]
    assert every.covered == pytest.approx(1.0)


def test_ranks_that_leave_early_do_not_make_a_call_light(tmp_path: Path) -> None:
    """A bcast that one rank leaves late delays all in the next call, as much as an allreduce of this time."""
    trace_files = files(4)
    for rank, one in enumerate(trace_files):
        one.header["ended_ns"] = 10_000_000
        late_ns = 900_000 if rank == 3 else 100_000
        one.call(1_000_000, 1_000_000 + late_ns, sequence=0, bytes=8, function="MPI_Bcast")
        one.call(5_000_000 + late_ns, 6_300_000, sequence=1, bytes=8)
    selected = selected_from(write(tmp_path / "trace", trace_files), 0.6)
    (bcast,) = selected.calls
    assert (bcast.collective, bcast.share) == ("bcast", pytest.approx(0.09)), "its last delay is 0.9 ms"
    assert selected.tunable_share == pytest.approx(0.13)
    assert unmeasured_note([bcast], 2).startswith(
        "The budget did not suffice for 1 of 2 kinds of calls, 9.0% of the run time: the same command"
    )


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["MPI_Bcast", "MPI_Allreduce", "MPI_Alltoall"]),
            st.sampled_from([8, 4096]),
            st.lists(st.integers(150_000, 400_000), min_size=6, max_size=6),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_calls_are_ranked_alike_by_the_summary_by_tune_and_by_predict(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[str, int, list[int]]]
) -> None:
    """Three ranks arrive and leave at drawn times; the order is that of calls × ranks × last delay."""
    trace_files = files(3)
    expected: dict[tuple[str, int], int] = {}
    for sequence, (function, size, times_ns) in enumerate(calls):
        begins = [(1 + sequence) * 1_000_000 + time_ns for time_ns in times_ns[:3]]
        ends = [max(begins) + time_ns for time_ns in times_ns[3:]]
        for one, begin, end in zip(trace_files, begins, ends, strict=True):
            one.header["ended_ns"] = 10_000_000
            one.call(begin, end, sequence=sequence, function=function, bytes=size)
        key = (function, size)
        expected[key] = expected.get(key, 0) + max(ends) - max(begins)
    trace = write(tmp_path_factory.mktemp("trace") / "t", trace_files)
    summary = summary_of(trace)
    longest = max(expected.values())
    heaviest = {key for key, last_delays_ns in expected.items() if last_delays_ns == longest}
    (selected, *_) = selected_from(trace, 0.01).calls
    first = tuning_order(summary)[0]
    assert (selected.candidate.collective, selected.measured_bytes) in heaviest
    assert (first.collective, first.least_bytes) in heaviest
    assert f"Tune {selected.name} first" in sentence(summary) or len(heaviest) > 1
    assert selected.share == pytest.approx(longest / 10_000_000)


@pytest.mark.parametrize(
    ("library", "collectives"),
    [("Open MPI v4.1.4", ["alltoallv", "alltoallv"]), ("another", ["alltoallv"])],
)
def test_all_sizes_of_a_collective_with_one_rule_are_selected(
    tmp_path: Path, library: str, collectives: list[str]
) -> None:
    trace_files = files(4)
    for one in trace_files:
        one.header |= {"ended_ns": 10_000_000, "library": library}
        one.call(1_000_000, 3_000_000, sequence=0, bytes=8, function="MPI_Alltoallv")
        one.call(4_000_000, 4_200_000, sequence=1, bytes=8)
        one.call(5_000_000, 5_100_000, sequence=2, bytes=65536, function="MPI_Alltoallv")
    selected = selected_from(write(tmp_path / "trace", trace_files), 0.5)
    assert [one.collective for one in selected.calls] == collectives


def test_calls_without_bytes_are_left_out_with_a_reason(tmp_path: Path) -> None:
    selected = selected_from(pattern_trace(tmp_path / "trace", DELAYS, bytes=0, operation_us=100))
    assert not selected.calls
    assert selected.notes[0].startswith("not measured: ")
    assert selected.notes[0].endswith(" processes, because their messages are empty")


def test_hosts_are_counted_in_their_order() -> None:
    assert counts_of(["b", "a", "b", "b"]) == [3, 1]


def test_init_writes_the_study_of_a_trace(tmp_path: Path) -> None:
    trace = pattern_trace(tmp_path / "trace", DELAYS, bytes=8, operation_us=100)
    path = tmp_path / "new" / "study.toml"
    path.parent.mkdir()
    init = [sys.executable, "-m", "offbeat", "init", path, "--from-trace", trace]
    done = execute(init)
    assert done.returncode == 0, done.stderr
    assert "MPI_Allreduce at 8 B on 3 processes:" in done.stdout
    assert groups(load(path).study)[0].replays == ["allreduce-8B-p3-calls.replay"]
    again = execute(init)
    assert again.returncode == 2
    assert "--force" in again.stderr


def test_init_refuses_a_trace_without_calls_to_measure(tmp_path: Path) -> None:
    trace = write(tmp_path / "trace", files(2))
    done = execute([sys.executable, "-m", "offbeat", "init", tmp_path / "study.toml", "--from-trace", trace])
    assert done.returncode == 2
    assert "no calls to measure" in done.stderr
    assert not (tmp_path / "study.toml").exists()
