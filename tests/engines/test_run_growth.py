"""A finished study grows by blocks: only further blocks are measured, as if they had been planned."""

from __future__ import annotations

import contextlib
import io
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import debug_run
import pytest
from debug_engine import DebugEngine, Script
from debug_run import LARGE, SMALL
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from offbeat.base.errors import BadInput
from offbeat.measurement.results.read import read_study
from offbeat.measurement.results.status import read_status
from offbeat.measurement.runs import resume
from offbeat.measurement.runs.dry_run import describe

pytestmark = pytest.mark.slow

SCRIPT = Script(
    failures={("odd", "ascending"): "hung"}, unpunctual={("fast", "last_delayed")}, launches={"slow": "own"}
)
CASES, LOST = 24, 2


class Interrupted(BaseException):
    """An interruption from outside of the run."""


class Scattered(DebugEngine):
    """The runtimes of a case differ between its blocks, by up to 20%."""

    def runtime_s(self, name, case):
        count = sum(one.id == case.id for one in self.measured)
        return super().runtime_s(name, case) * (1 + (count % 3) / 10)


@pytest.fixture(scope="module", autouse=True)
def disk_without_waiting():
    """These tests interrupt a process, not the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def rule(blocks, text=SMALL, **keys):
    """A study whose blocks have three repetitions each, whatever their number; ``keys`` replace its rule."""
    values = {"blocks": blocks, "minimum": 3 * blocks, "maximum": 3 * blocks} | keys
    lines = "\n".join(f"{name} = {value}" for name, value in values.items())
    return text.replace("blocks = 1\nminimum = 3\nmaximum = 3", lines)


def go(tmp_path, text, engine=None, said=None):
    """Run a study in ``tmp_path``; returns the outcome and the engine."""
    engine = engine or DebugEngine(SCRIPT)
    loaded = debug_run.study(tmp_path, text)
    say = said.append if said is not None else lambda sentence: None
    with resume.open_store(loaded, tmp_path / "results", say) as store:
        outcome = debug_run.run(loaded, store, engine, debug_run.Silent())
    return outcome, engine


def assert_same(directory, other):
    """The same cases with the same numbers, whatever their order."""
    assert debug_run.cases(directory).sort("case").equals(debug_run.cases(other).sort("case"))
    one, two = read_study(directory), read_study(other)
    key = ["case", "repetition"]
    assert one.notes == []
    assert one.repetitions.sort(key).equals(two.repetitions.sort(key))
    assert one.ranks().sort(*key, "rank").equals(two.ranks().sort(*key, "rank"))
    assert one.study == two.study


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_a_study_grown_by_blocks_equals_one_that_was_planned_so(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("grown")
    steps = sorted(data.draw(st.sets(st.integers(1, 5), min_size=2, max_size=3), label="blocks"))
    for blocks in steps:
        for _ in range(data.draw(st.integers(0, 2), label="interruptions")):
            left = data.draw(st.integers(0, 60), label="steps")

            def before(event, left=iter(range(left))):
                if next(left, None) is None:
                    raise Interrupted

            with contextlib.suppress(Interrupted):
                go(folder, rule(blocks), DebugEngine(SCRIPT, before))
        go(folder, rule(blocks))
    go(folder / "whole", rule(steps[-1]))
    assert_same(folder / "results", folder / "whole" / "results")


def test_only_the_further_blocks_are_measured_in_launches_of_their_own(tmp_path):
    said = []
    go(tmp_path, rule(2))
    outcome, engine = go(tmp_path, rule(5), said=said)
    assert engine.rounds == [2, 3, 4]
    assert set(Counter(case.id for case in engine.measured).values()) == {3}
    assert len(engine.measured) == 3 * (CASES - LOST)
    assert (outcome.finished_cases, outcome.total) == (CASES, CASES)
    assert said == [
        "[repetitions] has changed: 22 finished cases need further blocks. What was measured is kept, and is"
        " not measured again."
    ]
    said.clear()
    assert go(tmp_path, rule(5), said=said)[1].events == []
    assert said == []


def test_more_blocks_give_narrower_intervals(tmp_path):
    widths = []
    engine = Scattered()
    for blocks in (3, 9):
        go(tmp_path, rule(blocks, confidence_width=0.9), engine)
        rows = debug_run.cases(tmp_path / "results")
        widths.append((rows["last_delay_high_s"] / rows["last_delay_low_s"]).to_numpy())
    assert (widths[1] < widths[0]).all()


def test_fewer_blocks_remove_nothing_and_a_sentence_says_so(tmp_path):
    said = []
    go(tmp_path, rule(5))
    whole = debug_run.cases(tmp_path / "results")
    _, engine = go(tmp_path, rule(2), said=said)
    assert engine.events == []
    assert said == [
        f"22 cases have more than the 2 blocks of {tmp_path / 'study.toml'}: up to 5 are measured already."
        " All of them are kept and count."
    ]
    assert debug_run.cases(tmp_path / "results").equals(whole)


def test_fewer_blocks_finish_cases_that_have_as_many(tmp_path):
    count = iter(range(1000))
    loaded = debug_run.study(tmp_path, rule(5))
    debug_run.go(loaded, tmp_path / "results", out_of_time=lambda longest_s: next(count) == 2 * CASES + 3)
    outcome, engine = go(tmp_path, rule(2), DebugEngine())
    assert engine.events == []
    assert outcome.finished_cases == outcome.total == CASES


def test_a_narrower_interval_adds_blocks_only_to_cases_that_exceed_it(tmp_path):
    wide = {"minimum": 9, "maximum": 90}

    class SlowScattered(Scattered):
        def runtime_s(self, name, case):
            scattered = super().runtime_s(name, case)
            return scattered if name == "slow" else DebugEngine.runtime_s(self, name, case)

    engine = SlowScattered()
    go(tmp_path, rule(3, confidence_width=0.9, **wide), engine)
    first = len(engine.measured)
    go(tmp_path, rule(3, confidence_width=0.1, **wide), engine)
    assert {case.algorithm for case in engine.measured[first:]} == {"slow"}
    rows = debug_run.cases(tmp_path / "results")
    assert set(rows.filter(algorithm="slow")["blocks"]) <= set(range(4, 7))
    assert set(rows["status"]) == {"measured"}


def test_a_larger_minimum_adds_blocks_until_it_is_reached(tmp_path):
    go(tmp_path, rule(3, maximum=90), DebugEngine())
    go(tmp_path, rule(3, minimum=30, maximum=90), DebugEngine())
    rows = debug_run.cases(tmp_path / "results")
    assert rows["repetitions"].min() >= 30
    assert set(rows["status"]) == {"measured"}


def test_a_single_block_is_not_continued_and_the_refusal_names_the_remedy(tmp_path):
    go(tmp_path, rule(1))
    with pytest.raises(BadInput, match=r"\(repetitions.maximum\).*single block.*raise repetitions.blocks"):
        go(tmp_path, rule(1, maximum=9))
    _, engine = go(tmp_path, rule(3, maximum=9))
    assert engine.rounds == [1, 2]


def test_a_study_grows_by_cases_and_blocks_at_the_same_time(tmp_path):
    more = SMALL.replace("1024]", "1024, 4096]")
    go(tmp_path, rule(2))
    go(tmp_path, rule(3, more))
    go(tmp_path / "whole", rule(3, more))
    assert_same(tmp_path / "results", tmp_path / "whole" / "results")
    proofs = [read_status(folder / "results").proofs for folder in (tmp_path, tmp_path / "whole")]
    assert proofs[0] == proofs[1] == ["reduce: 9 tests proved"]


def test_quarantined_cases_stay_so_until_they_are_retried_and_then_get_all_blocks(tmp_path):
    go(tmp_path, rule(2))
    go(tmp_path, rule(3))
    assert set(debug_run.cases(tmp_path / "results").filter(status="quarantined")["blocks"]) == {1}
    loaded = debug_run.study(tmp_path, rule(3, hang_after=120))
    with resume.open_store(loaded, tmp_path / "results") as store:
        assert store.retry_quarantined() == LOST
        debug_run.run(loaded, store, DebugEngine(), debug_run.Silent())
    rows = debug_run.cases(tmp_path / "results")
    assert set(rows["blocks"]) == {3}
    assert "quarantined" not in set(rows["status"])


def dry_run(tmp_path, text):
    console = Console(file=io.StringIO(), width=80)
    describe(debug_run.study(tmp_path, text), DebugEngine(SCRIPT), console, tmp_path / "results")
    return console.file.getvalue()


def test_a_dry_run_and_the_status_show_what_remains(tmp_path):
    assert "holds" not in dry_run(tmp_path, rule(2))
    go(tmp_path, rule(2))
    before = debug_run.cases(tmp_path / "results")
    larger = rule(5, SMALL.replace("1024]", "1024, 4096]"))
    printed = dry_run(tmp_path, larger)
    assert f"{tmp_path / 'results'} holds 24 of them:" in printed
    assert "  22 cases: 2 of 5 blocks are measured\n" in printed
    assert "  2 cases: quarantined; --retry measures them again\n" in printed
    assert "  12 cases: not measured\n" in printed
    assert "estimate of the whole study: " in printed
    assert debug_run.cases(tmp_path / "results").equals(before)
    assert "will refuse this study" in dry_run(tmp_path, rule(2, SMALL.replace("[8, ", "[")))

    with contextlib.suppress(Interrupted):
        go(tmp_path, rule(5), DebugEngine(SCRIPT, interrupted_after(30)))
    assert read_status(tmp_path / "results").unfinished == {"3 of 5 blocks": 14, "4 of 5 blocks": 8}
    printed = dry_run(tmp_path, rule(5))
    assert "  14 cases: 3 of 5 blocks are measured\n  8 cases: 4 of 5 blocks are measured\n" in printed


def interrupted_after(steps):
    left = iter(range(steps))

    def before(event):
        if next(left, None) is None:
            raise Interrupted

    return before


def test_a_study_killed_while_it_grows_equals_one_that_was_planned_so(tmp_path):
    log, directory = tmp_path / "log", tmp_path / "results"
    program = [sys.executable, str(Path(debug_run.__file__)), str(tmp_path / "study.toml"), str(directory)]
    debug_run.study(tmp_path, rule(1, LARGE))
    subprocess.run([*program, str(log)], check=True)
    debug_run.study(tmp_path, rule(3, LARGE))
    chance = random.Random(5)
    for _ in range(6):
        expected = len(log.read_text().splitlines()) + chance.randint(0, 60)
        run = subprocess.Popen([*program, str(log)], stderr=subprocess.DEVNULL)
        while run.poll() is None and len(log.read_text().splitlines()) < expected:
            time.sleep(0.001)
        run.send_signal(signal.SIGKILL)
        run.wait()
        assert read_study(directory).notes == []
    subprocess.run([*program, str(log)], check=True)
    debug_run.study(tmp_path / "whole", rule(3, LARGE))
    whole = [*program[:2], str(tmp_path / "whole" / "study.toml"), str(tmp_path / "whole" / "results")]
    subprocess.run([*whole, str(tmp_path / "whole.log")], check=True)
    assert_same(directory, tmp_path / "whole" / "results")
    finished = Counter(line for line in log.read_text().splitlines() if line.startswith("finished"))
    blocks = debug_run.cases(directory)["blocks"]
    assert sum(finished.values()) <= blocks.sum() + 6
