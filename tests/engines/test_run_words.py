"""The messages of a run: progress, warnings, the closing message, the remaining time, and the dry run."""

from __future__ import annotations

import io
import time
from pathlib import Path

import debug_run
import pytest
from debug_engine import NAMES, DebugEngine, Script
from debug_run import LARGE, SMALL
from rich.console import Console

from offbeat.base.errors import BadInput
from offbeat.measurement.runs import dry_run, run, run_progress
from offbeat.measurement.runs.run_progress import Outcome, closing_message, failure_message, unproved_message

START_S = time.time()
END = str(int(START_S + 36_000))
JOBS = {
    "Slurm": {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "1", "SLURM_JOB_END_TIME": END},
    "job script": {"OFFBEAT_JOB_END": END},
}


def outcome(done, total, now, stopped=False, **more):
    return Outcome(finished_cases=done, total=total, measured_now=now, is_stopped=stopped, **more)


def test_the_closing_message_counts_cases_and_names_the_next_command(tmp_path):
    ended = outcome(24, 24, 5, statuses={"measured": 23, "quarantined": 1})
    text = closing_message(ended, {"measured": 4, "quarantined": 1}, tmp_path)
    assert text == (
        f"23 of 24 cases done; new: 4 measured, 1 quarantined; results in {tmp_path}\n"
        f"Next: offbeat select {tmp_path}"
    )


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (outcome(24, 24, 5, statuses={"measured": 21, "quarantined": 3}), "s.toml --output r --retry' tries"),
        (outcome(24, 24, 9, statuses={"incomplete": 24}, has_times=False), "(24 incomplete)"),
        (outcome(3, 24, 0, True, statuses={"measured": 3}, has_new_blocks=False), "a longer time limit"),
        (outcome(3, 24, 2, True, statuses={"measured": 3}), ""),
        (outcome(24, 24, 2, statuses={"measured": 24}), ""),
    ],
)
def test_what_was_asked_for_and_is_not_done_is_named_with_what_helps(ended, words):
    message = failure_message(ended, Path("s.toml"), Path("r"))
    assert words in message
    assert bool(message) == bool(words)
    if message:
        assert "Next: " not in closing_message(ended, {}, Path("r")) or "retry" in words


def test_a_run_with_nothing_to_do_says_so(tmp_path):
    text = closing_message(outcome(24, 24, 0), {}, tmp_path)
    assert text.splitlines()[0] == f"24 of 24 cases done; nothing to measure; results in {tmp_path}"


def test_the_closing_message_counts_the_verdicts_on_algorithms(tmp_path):
    script = Script(verdicts={"slow": "indistinguishable", "odd": "unproved"})
    ended = debug_run.go(debug_run.study(tmp_path), tmp_path / "results", DebugEngine(script))
    assert ended.unproved_collectives == []
    text = closing_message(ended, {}, tmp_path).splitlines()
    assert "reduce: 2 tests proved, 2 indistinguishable, 2 unproved" in text  # at two sizes each


@pytest.mark.parametrize("status", ["unproved", "indistinguishable", "refused"])
def test_a_run_without_a_proved_algorithm_of_a_collective_says_so_and_stores_its_cases(tmp_path, status):
    script = Script(verdicts=dict.fromkeys(NAMES, status))
    ended = debug_run.go(debug_run.study(tmp_path), tmp_path / "results", DebugEngine(script))
    assert ended.unproved_collectives == ["reduce"] and ended.finished_cases == ended.total > 0
    assert "no algorithm of reduce could be proved to run" in unproved_message(ended, tmp_path)


def test_a_run_that_reached_the_time_limit_says_how_to_resume(tmp_path):
    text = closing_message(outcome(7, 24, 2, stopped=True), {"measured": 2}, tmp_path)
    assert "7 of 24 cases" in text
    assert "the same command resumes" in text
    assert "select" not in text


def plain():
    stream = io.StringIO()
    return stream, Console(file=stream, force_terminal=False, width=200)


def test_without_a_terminal_progress_is_plain_lines(tmp_path):
    stream, console = plain()
    with run_progress.RunProgress(console) as listener:
        debug_run.go(debug_run.study(tmp_path), tmp_path / "results", listener=listener)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "warning: the debug engine measures nothing"
    assert "24 of 24 cases to measure" in lines
    assert lines[-1] == "24 of 24 cases"
    assert len(lines) < 10
    assert listener.counts == {"measured": 24}


def test_a_terminal_shows_a_bar_that_is_removed_at_the_end(tmp_path):
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100)
    with run_progress.RunProgress(console) as listener:
        listener.say("proving [reduce]")
        debug_run.go(debug_run.study(tmp_path), tmp_path / "results", listener=listener)
    assert "warning: the debug engine measures nothing" in stream.getvalue()
    assert listener.counts == {"measured": 24}


def test_a_resumed_run_counts_the_finished_cases(tmp_path):
    loaded = debug_run.study(tmp_path)
    count = iter(range(100))
    debug_run.go(loaded, tmp_path / "results", out_of_time=lambda longest_s: next(count) == 10)
    stream, console = plain()
    with run_progress.RunProgress(console) as listener:
        debug_run.go(loaded, tmp_path / "results", listener=listener)
    assert "14 of 24 cases to measure" in stream.getvalue()
    assert listener.counts == {"measured": 14}


def test_outside_a_job_there_is_no_limit():
    assert not run.time_limit(5.0, environ={})(1e9)


@pytest.mark.parametrize("job", JOBS)
def test_a_case_that_would_end_after_the_limit_is_not_begun(job):
    """The limit is in ten hours; the test may take one."""
    now_s = [START_S]
    out_of_time = run.time_limit(60.0, environ=JOBS[job], now_s=lambda: now_s[0])
    assert not out_of_time(0.0)
    assert not out_of_time(7 * 3600.0)
    assert out_of_time(10 * 3600.0)
    now_s[0] += 6 * 3600.0
    assert not out_of_time(1 * 3600.0)
    assert out_of_time(4 * 3600.0)


def described(loaded, engine):
    stream, console = plain()
    dry_run.describe(loaded, engine, console)
    return stream.getvalue()


def test_a_dry_run_shows_cases_commands_estimate_and_warnings_and_measures_nothing(tmp_path):
    engine = DebugEngine()
    text = described(debug_run.study(tmp_path, LARGE), engine)
    assert "default, fast, slow, odd" in text
    assert "96 cases at most" in text
    assert "4 launch commands:" in text
    assert "  debug fast" in text
    assert "estimate: " in text
    assert "warning: the debug engine measures nothing" in text
    assert engine.events == [("close",)]


def test_a_dry_run_of_a_study_with_an_unknown_algorithm_is_refused_and_closed(tmp_path):
    text = SMALL.replace("sizes = [8, 1024]", 'sizes = [8, 1024]\nalgorithms = ["slwo"]')
    engine = DebugEngine()
    with pytest.raises(BadInput, match="slwo"):
        described(debug_run.study(tmp_path, text), engine)
    assert engine.events == [("close",)]


@pytest.mark.parametrize(
    ("placement", "said_of_odd"),
    [
        ("p = [4]", 0),
        ("nodes = [1]\nppn = [4]", 0),
        ("nodes = [4]\nppn = [1]", 0),
        ("nodes = [2]\nppn = [2]", 2),
    ],
)
def test_hierarchical_algorithms_are_candidates_on_several_nodes_with_several_processes(
    tmp_path, placement, said_of_odd
):
    engine = DebugEngine(Script(hierarchical=("odd",)))
    text = described(debug_run.study(tmp_path, SMALL.replace("p = [3]", placement)), engine)
    assert text.count("default, fast, slow, odd") == said_of_odd
    assert text.count("default, fast, slow") == 2


def test_a_hierarchical_algorithm_that_suits_no_placement_is_refused_by_name(tmp_path):
    text = SMALL.replace("sizes = [8, 1024]", 'sizes = [8, 1024]\nalgorithms = ["fast", "odd"]')
    with pytest.raises(BadInput, match=r"'odd' divides reduce by nodes; it needs .* nodes of 2 or more"):
        described(debug_run.study(tmp_path, text), DebugEngine(Script(hierarchical=("odd",))))
