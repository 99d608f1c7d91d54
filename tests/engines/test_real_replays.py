"""A replay in a small study of a real library is measured call by call, selected by, and resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import real_studies
from real_studies import TINY

from offbeat.measurement.results.read import Results, read_study
from offbeat.model.pattern import pattern_file, replay_file
from offbeat.model.pattern.pattern_file import Pattern
from offbeat.model.pattern.replay_file import Replay
from offbeat.selection.choices.choose import choose

pytestmark = pytest.mark.slow

CALLS_S = np.array([[0.0, 2e-3], [4e-3, 0.0], [0.0, 0.0], [0.0, 6e-3], [1e-3, 0.0]])
SITE = {"calls": "MPI_Reduce of 64 B at app.c:7", "trace": "/traces/app"}
STUDY = TINY.replace(
    '["no_delay", "ascending"]',
    '["no_delay", "ascending"]\nfiles = ["app-mean.txt"]\nreplays = ["app calls.replay"]',
).replace("sizes = [64]", 'sizes = [64]\nalgorithms = ["default"]')
"""The file's name has a blank, and so has the folder: neither must reach the driver's worklist."""


def folder_of(tmp_path: Path) -> Path:
    folder = tmp_path / "results of mine"
    folder.mkdir()
    mean_s = CALLS_S.mean(axis=0)
    pattern_file.write(
        folder / "app-mean.txt", Pattern(name="m", delays_s=mean_s - mean_s.min(), header=SITE)
    )
    replay_file.write(folder / "app calls.replay", Replay(name="c", delays_s=CALLS_S, header=SITE))
    return folder


def arrivals_of(results: Results) -> tuple[np.ndarray, np.ndarray]:
    """The arrivals of each valid repetition of the replay, (repetitions, p), in seconds; and their calls."""
    case = results.cases.filter(pattern="app calls")["case"][0]
    valid = results.repetitions.filter(case=case, valid=True).sort("repetition")
    ranks = results.ranks().filter(case=case).join(valid.select("repetition"), on="repetition")
    times = ranks.sort("repetition", "rank")["arrival_s"].to_numpy().reshape(len(valid), -1)
    return times, valid["call"].to_numpy()


def test_a_study_with_a_scenario_and_a_replay_runs_through(some_mpi_installation, tmp_path):
    folder = folder_of(tmp_path)
    loaded = real_studies.study(folder, STUDY.replace('["default"]', '["all"]'))
    real_studies.measure(loaded, folder / "results", some_mpi_installation)
    results = read_study(folder / "results")
    assert set(results.cases["status"]) == {"measured"}
    rows = results.cases.filter(pattern="app calls")
    assert set(rows["pattern_kind"]) == {"replay"}
    assert rows["last_delay_s"].min() > 0
    assert (rows["last_delay_low_s"] <= rows["last_delay_s"]).all()
    times, calls = arrivals_of(results)
    assert calls.tolist() == list(range(5)) * 3
    assert (times >= CALLS_S[calls] - 1e-9).all()
    # A busy machine makes processes late, but hardly each one in each repetition.
    assert ((times - CALLS_S[calls]).min(axis=0) < 1e-3).all()

    for rule in ("no_delay", "average", "scenario:app-mean", "scenario:app calls"):
        assert len(choose(results, rule, bootstrap=50)) == 1
    (choice,) = choose(results, bootstrap=0, include_scenarios=True)
    assert any(
        "app-mean is not averaged: app calls is a replay of the same calls" in sentence
        for sentence in choice.warnings
    )


def cases_in(folder: Path) -> list[bytes]:
    path = folder / "results" / "cases.jsonl"
    return path.read_bytes().splitlines() if path.exists() else []


def test_a_run_killed_in_the_middle_of_a_replay_resumes_and_completes_it(some_mpi_installation, tmp_path):
    """Rounds of one second each: the kill comes while the replay, the last but one case, is measured. On a
    busy machine, many late starts must not use up the time before three rounds are complete."""
    folder = folder_of(tmp_path)
    slow = Replay(name="c", delays_s=np.tile(CALLS_S * 40, (3, 1)))
    replay_file.write(folder / "app calls.replay", slow)
    (folder / "study.toml").write_text(
        STUDY.replace(
            'shapes = ["no_delay", "ascending"]\nfiles = ["app-mean.txt"]', 'shapes = ["no_delay"]'
        ).replace("hang_after", "time_cap = 100\nhang_after")
    )
    arguments = [sys.executable, "-m", "offbeat", "run", "study.toml", "-o", "results"]
    arguments += ["--mpi", str(some_mpi_installation.mpirun)]
    run = subprocess.Popen(
        arguments, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ
    )
    give_up = time.monotonic() + 120
    while len(cases_in(folder)) < 1 or not list((folder / "results").glob("scratch/calls-*.ns")):
        assert time.monotonic() < give_up and run.poll() is None
        time.sleep(0.02)
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert len(cases_in(folder)) == 1
    before = cases_in(folder)[0]
    done = subprocess.run(
        arguments, cwd=folder, env=os.environ, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    assert cases_in(folder)[0] == before
    results = read_study(folder / "results")
    assert results.notes == []
    assert results.cases["status"].to_list() == ["measured"] * 2
    _, calls = arrivals_of(results)
    assert calls.tolist() == list(range(15)) * 3
    assert not (folder / "results" / "scratch").exists()


@pytest.mark.parametrize("lost", ["vanished", "cut"])
def test_a_missing_or_truncated_replay_is_refused_before_anything_is_launched(tmp_path, lost):
    folder = folder_of(tmp_path)
    path = folder / "app calls.replay"
    if lost == "vanished":
        path.unlink()
    else:
        path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    (folder / "study.toml").write_text(STUDY)
    arguments = [sys.executable, "-m", "offbeat", "run", "study.toml"]
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 2
    expected = "No such file" if lost == "vanished" else "but 4 calls follow; is the file cut off?"
    assert expected in done.stderr
    assert "study.toml:" in done.stderr
    assert "Traceback" not in done.stderr
