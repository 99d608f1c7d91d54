"""Shares of time are relative to the recorded part of the run, in drawn traces that were recorded in part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trace_factory as factory

from offbeat.trace.files import format as form

MS = 1_000_000
PERIOD, BUSY = 10 * MS, 6 * MS
"""Each rank is in an allreduce for the first 6 of every 10 ms: collectives take 60% of the run."""


def in_part(folder: Path, first: int, end: int, calls: int, header: dict[str, object]) -> factory.Summary:
    """The summary of a run of two ranks with ``calls`` allreduces, of which only some were recorded."""
    ranks = factory.files(2)
    for one in ranks:
        one.header |= {"began_ns": MS, "ended_ns": MS + calls * PERIOD} | header
        for number in range(first, end):
            one.call(MS + number * PERIOD, MS + number * PERIOD + BUSY, sequence=number)
    return factory.summary_of(factory.write(folder, ranks))


@pytest.mark.parametrize("seed", range(20))
def test_the_share_in_a_full_file_is_that_of_the_recorded_part(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    calls = int(rng.integers(50, 400))
    end = int(rng.integers(5, calls // 2))
    summary = in_part(tmp_path / "t", 0, end, calls, {"lost_count": calls - end, "lost_because": -1})
    recorded = (end - 1) * PERIOD + BUSY
    assert summary.run_s == pytest.approx(2e-9 * calls * PERIOD)
    assert summary.recorded_s == pytest.approx(2e-9 * recorded)
    assert summary.rows[0].share == pytest.approx(end * BUSY / recorded)
    (note,) = (note for note in summary.notes if "of the recorded part" in note)
    assert f"{recorded / (calls * PERIOD):.1%}, mean over ranks), as the files of 2 ranks were full" in note


@pytest.mark.parametrize("seed", range(20))
def test_the_share_in_a_window_is_that_of_the_window(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    calls = int(rng.integers(100, 400))
    first, end = sorted(rng.choice(np.arange(0, calls, 1), 2, replace=False).tolist())
    text = f"OFFBEAT_TRACE_WINDOW={first * PERIOD / 1e9}-{end * PERIOD / 1e9}"
    summary = in_part(tmp_path / "t", first, end, calls, {"sampling": text})
    assert summary.rows[0].share == pytest.approx(BUSY / PERIOD)
    assert summary.recorded_s == pytest.approx(2e-9 * (end - first) * PERIOD)


@pytest.mark.parametrize("has_end", [True, False])
def test_a_pause_is_not_part_of_the_recorded_time(tmp_path: Path, has_end: bool) -> None:
    """MPI_Pcontrol(0) after 30 of 100 periods, and MPI_Pcontrol(1) after 80 of them or never."""
    (one,) = factory.files(1)
    one.header |= {"began_ns": MS, "ended_ns": MS + 100 * PERIOD}
    for number in [*range(30), *(range(80, 100) if has_end else ())]:
        one.call(MS + number * PERIOD, MS + number * PERIOD + BUSY, sequence=number)
    for after, level in ((30, 0), (80, 1))[: 1 + has_end]:
        at = MS + after * PERIOD
        one.message(at, at, function="MPI_Pcontrol", kind=form.MARK, communicator=0, tag=level, peer=-1)
    summary = factory.summary_of(factory.write(tmp_path / "t", [one]))
    assert summary.recorded_s == pytest.approx((50 if has_end else 30) * PERIOD / 1e9)
    assert summary.rows[0].share == pytest.approx(BUSY / PERIOD)


def test_threads_of_a_full_file_count_to_their_own_last_records(tmp_path: Path) -> None:
    (one,) = factory.files(1)
    one.header |= {"began_ns": MS, "ended_ns": MS + 100 * PERIOD, "lost_count": 9, "lost_because": -1}
    for lane, calls in enumerate((10, 20)):
        for number in range(calls):
            one.call(
                *(MS + number * PERIOD + ns for ns in (0, PERIOD)),
                lane=lane,
                sequence=number,
                communicator=1 + lane,
            )
    summary = factory.summary_of(factory.write(tmp_path / "t", [one]))
    assert summary.spent_s == pytest.approx(summary.thread_run_s)


def test_a_whole_trace_has_no_note_on_its_recorded_part(tmp_path: Path) -> None:
    summary = in_part(tmp_path / "t", 0, 300, 300, {})
    assert summary.recorded_s == summary.run_s
    assert not [note for note in summary.notes if "recorded part" in note]
