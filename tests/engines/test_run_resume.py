"""A study that is interrupted anywhere and resumed equals an uninterrupted one."""

from __future__ import annotations

import contextlib
import os

import debug_run
import polars as pl
import pytest
from debug_engine import DebugEngine, Script
from debug_run import LARGE, SMALL, Silent
from hypothesis import given, settings
from hypothesis import strategies as st

from offbeat.measurement.results.read import read_study
from offbeat.measurement.runs.resume import open_store
from offbeat.measurement.runs.run import run

pytestmark = pytest.mark.slow

SCRIPT = Script(
    named={"fast": "binomial_1", "slow": "ring_2"},
    failures={("odd", "ascending"): "hung", ("odd", "last_delayed"): "crashed", ("slow", "no_delay"): "died"},
    unpunctual={("fast", "last_delayed")},
    launches={"slow": "own"},
)
PATTERNS = SMALL.replace(
    '"last_delayed"]', '"last_delayed", "first_delayed", "descending"]\nfiles = ["trace.txt"]'
)


class Interrupted(BaseException):
    """An interruption from outside of the run."""


@pytest.fixture(scope="module", autouse=True)
def disk_without_waiting():
    """These tests interrupt a process, not the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="module", params=["mean", "own"])
def whole(request, tmp_path_factory):
    """An uninterrupted study: its file, its cases, and the number of requests to its engine."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "trace.txt").write_text("0\n1e-6\n3e-6\n")
    loaded = debug_run.study(folder, PATTERNS + f'[skew]\npolicy = "{request.param}"\n')
    engine = DebugEngine(SCRIPT)
    debug_run.go(loaded, folder / "results", engine)
    return loaded, debug_run.cases(folder / "results"), len(engine.events)


def cut_after(steps):
    """An engine that is interrupted before its step of this number."""
    count = 0

    def before(event):
        nonlocal count
        count += 1
        if count > steps:
            raise Interrupted

    return DebugEngine(SCRIPT, before)


def assert_equals(directory, whole_cases):
    assert debug_run.cases(directory).equals(whole_cases)
    results = read_study(directory)
    assert results.notes == []
    counted = dict(results.repetitions.group_by("case").len().iter_rows())
    expected = whole_cases.filter((pl.col("repetitions") + pl.col("invalid")) > 0)
    assert counted == {
        row["case"]: row["repetitions"] + row["invalid"] for row in expected.iter_rows(named=True)
    }


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_a_study_interrupted_anywhere_and_resumed_equals_an_uninterrupted_one(whole, tmp_path_factory, data):
    loaded, cases, steps = whole
    directory = tmp_path_factory.mktemp("cut") / "results"
    committed: list[str] = []
    for _ in range(data.draw(st.integers(1, 4), label="interruptions")):
        engine = cut_after(data.draw(st.integers(0, steps), label="steps"))
        listener = Silent()
        with contextlib.suppress(Interrupted):
            debug_run.go(loaded, directory, engine, listener=listener)
        assert not {case.id for case in engine.measured} & set(committed)
        committed += [case for case, _ in listener.ended]
    engine = DebugEngine(SCRIPT)
    debug_run.go(loaded, directory, engine)
    assert not {case.id for case in engine.measured} & set(committed)
    assert_equals(directory, cases)


def test_every_interruption_point_is_reached(whole, tmp_path):
    loaded, cases, steps = whole
    for step in range(0, steps, 3):
        directory = tmp_path / str(step)
        with pytest.raises(Interrupted):
            debug_run.go(loaded, directory, cut_after(step))
        debug_run.go(loaded, directory, DebugEngine(SCRIPT))
        assert_equals(directory, cases)


@pytest.mark.parametrize("stop_at", [0, 1, 7, 23])
def test_a_time_limit_stops_before_the_next_case_and_the_same_command_resumes(whole, tmp_path, stop_at):
    loaded, cases, _ = whole
    asked: list[float] = []

    def out_of_time(longest_s):
        asked.append(longest_s)
        return len(asked) > stop_at

    first = debug_run.go(loaded, tmp_path / "results", DebugEngine(SCRIPT), out_of_time)
    assert (first.finished_cases, first.measured_now, first.total, first.is_stopped) == (
        stop_at,
        stop_at,
        len(cases),
        True,
    )
    assert asked[0] == 0.0
    assert asked == sorted(asked)
    listener = Silent()
    second = debug_run.go(loaded, tmp_path / "results", DebugEngine(SCRIPT), listener=listener)
    assert (second.finished_cases, second.measured_now, second.is_stopped) == (
        len(cases),
        len(cases) - stop_at,
        False,
    )
    assert listener.begun == [(stop_at, len(cases))]
    assert_equals(tmp_path / "results", cases)


def test_a_finished_study_is_not_changed(whole, tmp_path):
    loaded, cases, _ = whole
    debug_run.go(loaded, tmp_path / "results", DebugEngine(SCRIPT))
    engine = DebugEngine(SCRIPT)
    again = debug_run.go(loaded, tmp_path / "results", engine)
    assert engine.events == []
    assert (again.finished_cases, again.measured_now, again.is_stopped) == (len(cases), 0, False)
    assert_equals(tmp_path / "results", cases)


def test_a_collective_with_some_verdicts_left_by_a_kill_is_proved_again(tmp_path):
    loaded = debug_run.study(tmp_path, LARGE)
    with pytest.raises(Interrupted):
        debug_run.go(loaded, tmp_path / "results", cut_after(4))
    path = tmp_path / "results" / "verdicts.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:20])
    engine = DebugEngine(SCRIPT)
    debug_run.go(loaded, tmp_path / "results", engine)
    assert [event for event in engine.events if event[0] == "prove"] == [("prove", 3, "reduce", 2 * 4)]
    assert len(read_study(tmp_path / "results").verdicts) == len(lines)


def test_names_given_by_proofs_are_reused_by_the_next_run(whole, tmp_path):
    loaded, cases, _ = whole
    with pytest.raises(Interrupted):
        debug_run.go(loaded, tmp_path / "results", cut_after(2))
    engine = DebugEngine(SCRIPT)
    with open_store(loaded, tmp_path / "results") as store:
        run(loaded, store, engine, Silent())
    assert {one.name for one in engine.algorithms("reduce")} == {"default", "binomial_1", "ring_2", "odd"}
    assert_equals(tmp_path / "results", cases)
