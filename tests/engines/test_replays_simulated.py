"""A simulated study with replays gives for each call what its arrivals give alone."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import debug_run
import numpy as np
import polars as pl
import pytest
from batch_engine import DebugBatchEngine
from debug_engine import DebugEngine
from debug_run import SMALL, Silent
from hypothesis import given, settings
from hypothesis import strategies as st

from offbeat.base.errors import BadInput
from offbeat.measurement.engines.engine_choice import sim_engine_of
from offbeat.measurement.results.blocks import Samples
from offbeat.measurement.results.read import Results, read_study
from offbeat.measurement.runs.resume import open_store
from offbeat.measurement.runs.run import run
from offbeat.model.pattern import pattern_file, replay_file
from offbeat.model.pattern.pattern_file import Pattern
from offbeat.model.pattern.replay_file import Replay
from offbeat.model.study.study_file import load

pytestmark = pytest.mark.slow

HEAD = """
engine = "sim"
[[collective]]
names = [{names}]
sizes = [{size}]
[processes]
p = [{p}]
"""
NAMES = ("reduce", "alltoall", "allreduce", "bcast")


def simulated(folder: Path, text: str, at_once: int | None = None) -> Results:
    (folder / "study.toml").write_text(text)
    loaded = load(folder / "study.toml")
    with open_store(loaded, folder / "results") as store:
        engine = sim_engine_of(loaded)
        if at_once:
            engine.patterns_at_once = lambda case: at_once
        try:
            run(loaded, store, engine, Silent())
        finally:
            engine.close()
    return read_study(folder / "results")


def delays_of(results: Results, column: str = "last_delay_s") -> dict[str, dict[tuple[str, str], float]]:
    """Pattern → (collective, algorithm) → delay."""
    delays_by_pattern: dict[str, dict[tuple[str, str], float]] = {}
    for row in results.cases.iter_rows(named=True):
        delays_by_pattern.setdefault(row["pattern"], {})[row["collective"], row["algorithm"]] = row[column]
    return delays_by_pattern


@settings(max_examples=12, deadline=None)
@given(
    arrivals=st.lists(st.floats(0, 1e-3), min_size=2, max_size=9),
    calls=st.integers(1, 13),
    name=st.sampled_from(NAMES),
    size=st.sampled_from([8, 4096, 65536]),
)
def test_a_replay_of_the_same_call_over_and_over_has_exactly_the_pattern_s_delay(arrivals, calls, name, size):
    delays = np.array(arrivals) - min(arrivals)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        pattern_file.write(place / "one.txt", Pattern(name="one", delays_s=delays))
        replay_file.write(place / "many.replay", Replay(name="many", delays_s=np.tile(delays, (calls, 1))))
        text = HEAD.format(names=f'"{name}"', size=size, p=len(delays))
        text += '[patterns]\nshapes = []\nfiles = ["one.txt"]\nreplays = ["many.replay"]\n'
        results = simulated(place, text)
    assert len(delays_of(results)["one"]) > 0
    for column in ("last_delay_s", "last_delay_low_s", "last_delay_high_s", "total_delay_s"):
        delays_s = delays_of(results, column)
        assert delays_s["many"] == delays_s["one"]


@pytest.fixture(scope="module")
def calls() -> np.ndarray:
    drawn = np.random.default_rng(4).exponential(1e-4, (23, 12))
    return drawn - drawn.min(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def replayed(tmp_path_factory, calls) -> Results:
    """A replay, and a pattern file of each of its calls."""
    folder = tmp_path_factory.mktemp("replayed")
    header = {"calls": "MPI_Alltoall at ft.c:118", "trace": "/t"}
    replay_file.write(folder / "all.replay", Replay(name="all", delays_s=calls, header=header))
    for number, call in enumerate(calls):
        pattern_file.write(folder / f"call{number}.txt", Pattern(name="x", delays_s=call, header=header))
    names = ", ".join(f'"call{number}.txt"' for number in range(len(calls)))
    text = HEAD.format(names='"reduce", "alltoall"', size=1024, p=12)
    return simulated(folder, text + f'[patterns]\nfiles = [{names}]\nreplays = ["all.replay"]\n')


def test_the_mean_over_a_replay_is_the_mean_of_single_simulations(replayed, calls):
    for column in ("last_delay_s", "total_delay_s"):
        delays_s = delays_of(replayed, column)
        for key, mean_s in delays_s["all"].items():
            singly = [delays_s[f"call{number}"][key] for number in range(len(calls))]
            assert mean_s == pytest.approx(np.mean(singly), rel=1e-12)


def test_each_call_of_a_replay_is_on_record_with_its_number(replayed, calls):
    row = replayed.cases.filter(pattern="all").row(0, named=True)
    repetitions = replayed.repetitions.filter(case=row["case"]).sort("repetition")
    assert repetitions["call"].to_list() == list(range(len(calls)))
    others = replayed.repetitions.filter(pl.col("case") != row["case"]).join(
        replayed.cases.filter(pl.col("pattern") != "all"), on="case"
    )
    assert others["call"].null_count() == len(others)
    arrivals = replayed.ranks().filter(case=row["case"]).sort("repetition", "rank")["arrival_s"]
    assert arrivals.to_numpy().reshape(calls.shape).tolist() == calls.tolist()


def test_a_replay_has_its_kind_and_its_source(replayed, calls):
    row = replayed.cases.filter(pattern="all").row(0, named=True)
    assert (row["pattern_kind"], row["skew_policy"], row["shape"]) == ("replay", "replay", "all")
    assert row["skew_s"] == calls.max()
    assert (row["repetitions"], row["invalid"], row["status"]) == (23, 0, "measured")
    kinds = dict(replayed.cases.select("pattern", "source").iter_rows())
    assert kinds["all"] == kinds["call3"] == "MPI_Alltoall at ft.c:118 in /t"
    assert kinds["no_delay"] == ""


@pytest.mark.parametrize("at_once", [1, 5, 100])
def test_the_number_of_batches_of_a_replay_does_not_change_its_results(replayed, tmp_path, calls, at_once):
    replay_file.write(tmp_path / "all.replay", Replay(name="all", delays_s=calls))
    text = HEAD.format(names='"reduce", "alltoall"', size=1024, p=12)
    text += '[patterns]\nshapes = ["no_delay"]\nreplays = ["all.replay"]\n'
    again = simulated(tmp_path, text, at_once)
    assert delays_of(again)["all"] == delays_of(replayed)["all"]


def test_a_replay_that_changed_after_it_began_is_refused(tmp_path, calls):
    replay_file.write(tmp_path / "all.replay", Replay(name="all", delays_s=calls))
    text = HEAD.format(names='"reduce"', size=8, p=12) + '[patterns]\nreplays = ["all.replay"]\n'
    simulated(tmp_path, text)
    replay_file.write(tmp_path / "all.replay", Replay(name="all", delays_s=calls[:-1]))
    with pytest.raises(BadInput, match=r"with other settings \(all\.replay\)"):
        simulated(tmp_path, text)


class Interrupted(BaseException):
    """An interruption from outside of the run."""


@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(0, 60), max_size=3))
def test_a_study_with_replays_interrupted_anywhere_equals_an_uninterrupted_one(tmp_path_factory, cuts):
    def cut_after(steps: int) -> DebugBatchEngine:
        left = [steps]

        def before(event: tuple) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise Interrupted

        return DebugBatchEngine(before=before)

    folder = tmp_path_factory.mktemp("cut")
    (folder / "site.replay").write_text("0 1e-5 0\n2e-5 0 0\n0 0 3e-5\n0 0 0\n1e-5 0 0\n")
    loaded = debug_run.study(
        folder, SMALL.replace('"last_delayed"]', '"last_delayed"]\nreplays = ["site.replay"]')
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        for steps in cuts:
            engine = cut_after(steps)
            with contextlib.suppress(Interrupted):
                debug_run.go(loaded, folder / "results", engine)
            engine.close()
        debug_run.go(loaded, folder / "results", DebugBatchEngine())
        debug_run.go(loaded, folder / "alone", DebugBatchEngine())
    assert debug_run.cases(folder / "results").equals(debug_run.cases(folder / "alone"))
    rows = read_study(folder / "results").cases.filter(pattern="site")
    assert set(rows["repetitions"]) == {5}


def test_a_replay_whose_simulation_fails_is_quarantined_with_the_reason(tmp_path):
    (tmp_path / "site.replay").write_text("0 1e-5 0\n" * 5)
    text = SMALL.replace('"last_delayed"]', '"last_delayed"]\nreplays = ["site.replay"]')
    script = debug_run.Script(failures={("odd", "site"): "it waits for ever"})
    debug_run.go(debug_run.study(tmp_path, text), tmp_path / "results", DebugBatchEngine(script))
    status = debug_run.status_of(tmp_path / "results")
    assert status["odd", 8, "site"] == ("quarantined", "it waits for ever")
    assert status["fast", 8, "site"] == ("measured", "")


class PartialEngine(DebugEngine):
    """A measuring engine that measures only the first calls of a replay."""

    def measure(self, algorithm, case, delays_s, rule):
        if case.skew_policy != "replay":
            return super().measure(algorithm, case, delays_s, rule)
        calls = np.arange(3 if algorithm.name == "slow" else len(delays_s))
        return Samples(
            arrivals_s=delays_s[calls],
            exits_s=delays_s[calls] + 1e-3,
            valid=np.ones(len(calls), dtype=bool),
            calls=calls,
        )


def test_a_replay_with_calls_that_were_never_measured_is_incomplete_and_counts_them(tmp_path):
    (tmp_path / "site.replay").write_text("0 1e-5 0\n" * 5)
    text = SMALL.replace('"last_delayed"]', '"last_delayed"]\nreplays = ["site.replay"]')
    debug_run.go(debug_run.study(tmp_path, text), tmp_path / "results", PartialEngine())
    status = debug_run.status_of(tmp_path / "results")
    assert status["slow", 8, "site"] == ("incomplete", "time allowed 3 of its 5 calls")
    assert status["fast", 8, "site"] == ("measured", "")
