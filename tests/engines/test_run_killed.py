"""A run is killed at random moments and resumes each time."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import debug_run
import pytest
from debug_run import LARGE

from offbeat.measurement.results.read import read_study

pytestmark = pytest.mark.slow

PROGRAM = str(Path(debug_run.__file__))
KILLS = 10


def start(study, directory, log):
    return subprocess.Popen(
        [sys.executable, PROGRAM, str(study), str(directory), str(log)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def lines_of(log):
    return log.read_text().splitlines() if log.exists() else []


def test_a_study_killed_ten_times_equals_an_uninterrupted_one_and_measures_nothing_twice(tmp_path):
    loaded = debug_run.study(tmp_path, LARGE)
    alone = start(loaded.path, tmp_path / "alone", tmp_path / "alone.log")
    assert alone.wait() == 0, alone.stderr.read()
    alone.stderr.close()
    whole = debug_run.cases(tmp_path / "alone")
    steps = len(lines_of(tmp_path / "alone.log"))

    directory, log = tmp_path / "killed", tmp_path / "killed.log"
    chance = random.Random(7)
    kills = 0
    for _ in range(KILLS):
        expected = len(lines_of(log)) + chance.randint(0, steps // (KILLS - 2))
        run = start(loaded.path, directory, log)
        while run.poll() is None and len(lines_of(log)) < expected:
            time.sleep(0.001)
        run.send_signal(signal.SIGKILL)
        run.wait()
        run.stderr.close()
        kills += run.returncode == -signal.SIGKILL
        if (directory / "provenance.json").exists():
            assert read_study(directory).notes == []
    assert kills >= KILLS // 2
    last = start(loaded.path, directory, log)
    assert last.wait() == 0, last.stderr.read()
    last.stderr.close()

    assert debug_run.cases(directory).equals(whole)
    measured: set[str] = set()
    for line in lines_of(log):
        verb, _, case = line.partition(" ")
        if verb == "finished":
            measured.add(case)
        elif verb == "measure":
            assert case not in measured
    tried = [line for line in lines_of(log) if line.startswith("measure")]
    assert len(tried) <= len(set(tried)) + kills
