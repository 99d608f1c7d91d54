"""Which share of the last delay of calls prolongs the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trace_factory import US, MadeFile, communicator, files, pattern_trace, write

from offbeat.trace.calls.critical_delays import critical_shares
from offbeat.trace.files.trace_folder import open_trace
from offbeat.trace.summary import summarise

COLUMNS = 3


def shares(folder: Path) -> dict[str, float]:
    """The share of each function."""
    trace = open_trace(folder)
    rows = summarise(trace).group_rows
    found = critical_shares(trace, rows)
    return {row.function: share for row, share in zip(rows, found, strict=True)}


def call(one: MadeFile, enter_us: float, leave_us: float, **values: object) -> None:
    one.call(round(enter_us * US) + 1000, round(leave_us * US) + 1000, **values)


@given(delays=st.lists(st.lists(st.integers(0, 900), min_size=3, max_size=3), min_size=1, max_size=5))
def test_the_whole_delay_of_calls_that_all_ranks_leave_together_prolongs_the_run(
    tmp_path_factory: pytest.TempPathFactory, delays: list[list[int]]
) -> None:
    trace = pattern_trace(tmp_path_factory.mktemp("trace"), delays, operation_us=50)
    assert shares(trace) == {"MPI_Allreduce": pytest.approx(1, rel=1e-6)}


def test_only_the_latest_column_counts_if_all_columns_meet_in_the_next_call(tmp_path: Path) -> None:
    made = files(4)
    for rank, one in enumerate(made):
        column = rank % 2
        one.definitions.append(communicator(COLUMNS, [column, column + 2], rank, parent=1))
        for sequence in range(3):
            begin_us = 10_000 * sequence
            arrives, leaves = (0, 1000) if column == 0 else (2000, 2100)
            on_column = {"function": "MPI_Alltoall", "communicator": COLUMNS}
            call(one, begin_us + arrives, begin_us + leaves, sequence=sequence, **on_column)
            call(one, begin_us + leaves + 1, begin_us + 2200, sequence=sequence)
    found = shares(write(tmp_path / "trace", made))
    assert found["MPI_Alltoall"] == pytest.approx(100 / 550), "100 us of the late column, 550 us on average"
    assert found["MPI_Allreduce"] == pytest.approx(1)


def test_the_delay_of_ranks_that_wait_in_the_next_call_does_not_count(tmp_path: Path) -> None:
    """The first rank leaves a bcast early, works longer than the others, and all wait for it."""
    made = files(3)
    for rank, one in enumerate(made):
        call(one, 0, 10 if rank == 0 else 500, function="MPI_Bcast")
        call(one, 2000 if rank == 0 else 900, 2050, sequence=1)
    found = shares(write(tmp_path / "trace", made))
    assert found["MPI_Bcast"] == pytest.approx(10 / 500)


def test_calls_of_threads_at_the_same_time_count_as_a_whole(tmp_path: Path) -> None:
    made = files(2)
    for one in made:
        one.definitions.append(communicator(COLUMNS, [0, 1], one.rank, ordinal=1, parent=1))
        call(one, 0, 500, function="MPI_Bcast")
        call(one, 100, 900, lane=1, communicator=COLUMNS)
    assert shares(write(tmp_path / "trace", made)) == {"MPI_Bcast": 1, "MPI_Allreduce": 1}
