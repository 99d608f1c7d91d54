"""The sentence on what to tune first names what a person would who knows the trace."""

from __future__ import annotations

from pathlib import Path

import trace_factory as factory

from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import open_trace
from offbeat.trace.recommendation import sentence
from offbeat.trace.summary import summarise

MS = 1_000_000


def said_of(folder: Path, ranks: list[factory.MadeFile], *, run_ms: float) -> str:
    for one in ranks:
        one.header["ended_ns"] = round(run_ms * MS)
    return sentence(summarise(open_trace(factory.write(folder, ranks))))


def test_the_collective_whose_operation_takes_most_time_is_recommended(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        one.call(1000, 2000, sequence=0)
        one.call(10_000, 90_000, sequence=1, function="MPI_Alltoall", bytes=32768)
    text = said_of(tmp_path / "t", ranks, run_ms=1)
    assert text.startswith(
        "Tune MPI_Alltoall at 32 KiB on 2 processes first: after the last arrival it takes 8.0% of the run"
        " time (1 call, 80 µs), and hardly any time is spent waiting"
    )


def test_waiting_does_not_count_for_the_choice(tmp_path: Path) -> None:
    ranks = factory.files(2)
    ranks[0].call(round(0.1 * MS), 9 * MS, sequence=0)  # 8.9 ms, nearly all of it waiting for rank 1
    ranks[1].call(round(8.9 * MS), 9 * MS, sequence=0)
    for one in ranks:
        one.call(10 * MS, 11 * MS, sequence=1, function="MPI_Alltoall", bytes=1024)
    text = said_of(tmp_path / "t", ranks, run_ms=12)
    assert text.startswith("Tune MPI_Alltoall at 1 KiB on 2 processes first")


def test_the_recommendation_says_if_waiting_takes_more_than_the_operation(tmp_path: Path) -> None:
    text = sentence(
        summarise(open_trace(factory.pattern_trace(tmp_path / "t", [[0, 100]] * 3, operation_us=40)))
    )
    assert "balance the work" in text
    assert "a skew of about 100 µs" in text


def test_short_calls_of_one_size_count_together(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        for number in range(100):
            one.call(MS + number * 10_000, MS + number * 10_000 + 5000, sequence=number, bytes=8)
        one.call(5 * MS, round(5.3 * MS), sequence=100, bytes=1 << 20)
    text = said_of(tmp_path / "t", ranks, run_ms=10)
    assert text.startswith("Tune MPI_Allreduce at 8 B on 2 processes first")
    assert "(100 calls, 5 µs each" in text


def test_numbers_of_processes_are_distinguished(tmp_path: Path) -> None:
    ranks = factory.files(4)
    for one in ranks:
        pair = [one.rank // 2 * 2, one.rank // 2 * 2 + 1]
        one.definitions.append(factory.communicator(3, pair, one.rank, parent=1))
        one.call(MS, round(1.2 * MS))
        one.call(2 * MS, round(2.3 * MS), communicator=3)
    assert said_of(tmp_path / "t", ranks, run_ms=10).startswith(
        "Tune MPI_Allreduce at 8 B on 2 processes first"
    )


def test_untunable_calls_are_mentioned_but_not_first(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        one.call(MS, 2 * MS, function="MPI_Iallreduce", flags=form.ISSUE)
        one.call(3 * MS, 4 * MS, function="MPI_Iallreduce", flags=form.COMPLETION | 1 << form.BY_SHIFT)
        one.call(5 * MS, round(5.5 * MS), sequence=1, function="MPI_Bcast", bytes=64)
    text = said_of(tmp_path / "t", ranks, run_ms=10)
    assert text.startswith(
        "Tune MPI_Bcast at 64 B on 2 processes first: after the last arrival it takes 5.0%"
    )
    assert "More time, 20.0%, is spent in MPI_Iallreduce at 8 B on 2 processes, which is nonblocking" in text


def test_without_tunable_calls_the_recommendation_says_so(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        one.call(MS, 2 * MS, function="MPI_Comm_split", address=factory.CODE + 0x40)
    assert said_of(tmp_path / "a", ranks, run_ms=10).startswith("There is nothing to tune")
    ranks = factory.files(2)
    for one in ranks:
        one.call(MS, 2 * MS, function="MPI_Iallreduce", flags=form.ISSUE)
        one.call(3 * MS, 4 * MS, function="MPI_Iallreduce", flags=form.COMPLETION | 1 << form.BY_SHIFT)
    text = said_of(tmp_path / "b", ranks, run_ms=10)
    assert "has no blocking collective" in text
    assert "More time, 20.0%, is spent in MPI_Iallreduce" in text


def test_calls_of_negligible_time_are_not_recommended(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        one.call(MS, MS + 5000)
    text = said_of(tmp_path / "t", ranks, run_ms=1000)
    assert text.startswith(
        "There is little to gain from tuning. MPI_Allreduce at 8 B on 2 processes would be"
    )
    assert "less than 0.1% of the run time" in text


def test_inaccurate_clocks_are_reported(tmp_path: Path) -> None:
    ranks = factory.files(2, points=False)
    for one in ranks:
        one.definitions.append(factory.point(1, 1, 70_000))
        one.call(MS, MS + 50_000)
    assert "The clock error of up to" in said_of(tmp_path / "t", ranks, run_ms=1)


def test_with_ignored_calls_the_recommendation_does_not_say_that_there_is_little_to_gain(
    tmp_path: Path,
) -> None:
    ranks = factory.files(2)
    for one in ranks:
        one.header["sampling"] = b"OFFBEAT_TRACE_EVERY=100"
        one.call(MS, MS + 5000)
    text = said_of(tmp_path / "t", ranks, run_ms=1000)
    assert text.startswith("Tune MPI_Allreduce at 8 B on 2 processes first")
    assert "in the whole run, these calls may take more" in text


def test_a_skew_is_recommended_only_if_ranks_wait(tmp_path: Path) -> None:
    ranks = factory.files(2)
    ranks[0].call(MS, 11 * MS)  # 10 ms of waiting in 2 s of both ranks
    ranks[1].call(11 * MS - 5000, 11 * MS)
    text = said_of(tmp_path / "t", ranks, run_ms=1000)
    assert text.endswith("and waiting for late ranks takes 0.5%.")
