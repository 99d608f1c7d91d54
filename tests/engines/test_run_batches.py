"""A simulated study has many cases in progress, and results as if they had been computed one by one."""

from __future__ import annotations

import contextlib
import io
import os

import debug_run
import polars as pl
import pytest
from batch_engine import DebugBatchEngine
from debug_engine import Script
from debug_run import LARGE, SMALL, Silent
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from offbeat.base.errors import RunFailed
from offbeat.measurement.engines import batches
from offbeat.measurement.engines.engine import BatchEngine
from offbeat.measurement.results.read import read_study
from offbeat.measurement.runs.run_progress import RunProgress

pytestmark = pytest.mark.slow

SCRIPT = Script(failures={("odd", "no_delay"): "its ranks wait for each other for ever"})
STUDY = LARGE.replace('"last_delayed"]', '"last_delayed", "random", "descending"]')


class Interrupted(BaseException):
    """An interruption from outside of the run."""


@pytest.fixture(scope="module", autouse=True)
def disk_without_waiting():
    """These tests interrupt a process, not the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        patch.setattr(batches, "SECONDS_BETWEEN_WRITES", 0.002)
        yield


@pytest.fixture(scope="module", params=["mean", "own"])
def whole(request, tmp_path_factory):
    """An uninterrupted study: its file, its cases, and the number of requests to its engine."""
    folder = tmp_path_factory.mktemp("whole")
    loaded = debug_run.study(folder, STUDY + f'[skew]\npolicy = "{request.param}"\nfactors = [0.5, 2.0]\n')
    engine = DebugBatchEngine(SCRIPT)
    debug_run.go(loaded, folder / "results", engine)
    return loaded, debug_run.cases(folder / "results"), len(engine.events)


def cut_after(steps):
    count = 0

    def before(event):
        nonlocal count
        count += 1
        if count > steps:
            raise Interrupted

    return DebugBatchEngine(SCRIPT, before)


def test_the_debug_engine_is_a_batch_engine():
    assert isinstance(DebugBatchEngine(), BatchEngine)


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_a_study_interrupted_anywhere_and_resumed_equals_an_uninterrupted_one(whole, tmp_path_factory, data):
    loaded, cases, steps = whole
    directory = tmp_path_factory.mktemp("cut") / "results"
    committed: set[str] = set()
    for _ in range(data.draw(st.integers(1, 3), label="interruptions")):
        listener = Silent()
        engine = cut_after(data.draw(st.integers(0, steps), label="steps"))
        with contextlib.suppress(Interrupted):
            debug_run.go(loaded, directory, engine, listener=listener)
        engine.close()
        committed |= {case.id for case in listener.finished_cases}
    engine = DebugBatchEngine(SCRIPT)
    debug_run.go(loaded, directory, engine)
    assert not set(engine.simulated) & committed
    assert debug_run.cases(directory).equals(cases)
    results = read_study(directory)
    assert results.notes == []
    assert len(results.repetitions) == cases["repetitions"].sum()


@pytest.mark.parametrize(("threads", "ahead", "at_once"), [(1, 1, 1), (1, 3, 100), (8, 24, 3)])
def test_results_do_not_depend_on_the_number_of_workers(whole, tmp_path, threads, ahead, at_once):
    loaded, cases, _ = whole
    engine = DebugBatchEngine(SCRIPT, threads=threads, batches_ahead=ahead, at_once=at_once)
    debug_run.go(loaded, tmp_path / "results", engine)
    assert debug_run.cases(tmp_path / "results").equals(cases)
    assert engine.most_running <= ahead


def test_a_case_has_one_repetition_and_is_measured(whole):
    _, cases, _ = whole
    measured = cases.filter(pl.col("status") == "measured")
    assert set(measured["repetitions"]) == {1}
    assert measured["last_delay_low_s"].equals(measured["last_delay_s"].rename("last_delay_low_s"))
    assert set(cases.filter(pl.col("status") != "measured")["algorithm"]) == {"odd"}


def test_skews_are_multiples_of_no_delay_runtimes_in_any_order_of_completion(whole):
    loaded, cases, _ = whole
    policy = loaded.study.skew.policy
    for row in cases.filter((pl.col("skew_factor") == 2.0) & (pl.col("status") == "measured")).iter_rows(
        named=True
    ):
        same = (pl.col("collective") == row["collective"]) & (pl.col("bytes") == row["bytes"])
        there = cases.filter(same & (pl.col("p") == row["p"]) & (pl.col("pattern") == "no_delay"))
        if policy == "own":
            there = there.filter(pl.col("algorithm") == row["algorithm"])
        own = there.filter((pl.col("algorithm") != "default") | (policy == "own"))[
            "last_delay_s"
        ].drop_nulls()
        assert row["skew_s"] == pytest.approx(2.0 * own.mean())


def test_a_failing_algorithm_is_reported_with_its_cases(whole):
    _, cases, _ = whole
    lost = cases.filter((pl.col("algorithm") == "odd") & (pl.col("pattern") == "no_delay"))
    assert set(lost["reason"]) == {"its ranks wait for each other for ever"}


def test_at_a_time_limit_started_cases_are_stored_and_the_same_command_resumes(whole, tmp_path):
    loaded, cases, _ = whole
    asked: list[float] = []

    def out_of_time(longest_s):
        asked.append(longest_s)
        return len(asked) > 5

    engine = DebugBatchEngine(SCRIPT)
    first = debug_run.go(loaded, tmp_path / "results", engine, out_of_time)
    assert first.is_stopped
    assert first.measured_now == len(engine.simulated) == len(debug_run.cases(tmp_path / "results"))
    again = debug_run.go(loaded, tmp_path / "results", DebugBatchEngine(SCRIPT))
    assert not again.is_stopped
    assert debug_run.cases(tmp_path / "results").equals(cases)


def test_simulated_messages_are_reported_as_progress(whole, tmp_path):
    loaded, _, _ = whole
    listener = Silent()
    engine = DebugBatchEngine()
    debug_run.go(loaded, tmp_path / "results", engine, listener=listener)
    assert listener.messages == 7 * len(engine.simulated) > 0


def test_a_lost_worker_ends_the_run_with_a_sentence_and_nothing_is_lost(tmp_path):
    class Lost(DebugBatchEngine):
        def _simulate(self, batch):
            if len(self.simulated) > 10:
                raise RunFailed("a worker was lost")
            return super()._simulate(batch)

    loaded = debug_run.study(tmp_path, SMALL)
    with pytest.raises(RunFailed, match="a worker was lost"):
        debug_run.go(loaded, tmp_path / "results", Lost())
    debug_run.go(loaded, tmp_path / "results", DebugBatchEngine())
    debug_run.go(loaded, tmp_path / "alone", DebugBatchEngine())
    assert debug_run.cases(tmp_path / "results").equals(debug_run.cases(tmp_path / "alone"))


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_shows_the_rate_of_simulated_messages(tmp_path, terminal):
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=140)
    loaded = debug_run.study(tmp_path, SMALL)
    with RunProgress(console) as listener:
        debug_run.go(loaded, tmp_path / "results", DebugBatchEngine(), listener=listener)
    assert "messages/s" in listener.rate()
    if not terminal:
        assert "messages/s" in stream.getvalue().splitlines()[-1]


def test_progress_of_a_measuring_run_shows_no_messages(tmp_path):
    stream = io.StringIO()
    with RunProgress(Console(file=stream, force_terminal=False, width=140)) as listener:
        debug_run.go(debug_run.study(tmp_path, SMALL), tmp_path / "results", listener=listener)
    assert "messages" not in stream.getvalue()
