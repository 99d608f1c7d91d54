"""``offbeat run`` is killed while a real library measures: no process is left, and the study resumes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import polars as pl
import pytest
import real_studies
from real_studies import TINY

from offbeat.libraries.installations.build import build_native
from offbeat.measurement.results.read import read_study

pytestmark = pytest.mark.slow

STUDY = (
    TINY.replace("sizes = [64]", 'sizes = [64, 1024]\nalgorithms = ["default"]')
    .replace('["no_delay", "ascending"]', '["no_delay", "ascending", "descending", "random", "last_delayed"]')
    .replace("minimum = 3\nmaximum = 3", "minimum = 25\nmaximum = 25")
    .replace("[start]", '[skew]\npolicy = "fixed"\ntimes = ["10 ms"]\n[start]')
)
"""Ten cases of a quarter of a second each."""

PARTITIONED = (
    STUDY.replace("[[collective]]", "[[partitioned]]\npartitions = [2]")
    .replace('names = ["reduce"]\n', "")
    .replace('algorithms = ["default"]', 'approaches = ["many"]')
)

OFFBEAT = [sys.executable, "-c", "from offbeat.cli.app import main; main()"]
PATIENCE_S = 120.0


def start(folder, installation):
    arguments = [*OFFBEAT, "run", "study.toml", "-o", "results", "--mpi", str(installation.mpirun)]
    return subprocess.Popen(
        arguments, cwd=folder, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def wait_until(condition):
    give_up = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def lines_of(folder):
    path = folder / "results" / "cases.jsonl"
    return path.read_bytes().splitlines() if path.exists() else []


def lateness_s(directory, pattern):
    """The median delay of rank 1 after rank 0."""
    results = read_study(directory)
    ids = results.cases.filter(pattern=pattern)["case"].to_list()
    arrivals = results.ranks().filter(pl.col("case").is_in(ids))
    median_s = dict(arrivals.group_by("rank").agg(pl.col("arrival_s").median()).iter_rows())
    return median_s[1] - median_s[0]


@pytest.mark.parametrize("mpi_installation", ["openmpi4", "openmpi5", "mpich5"], indirect=True)
def test_a_killed_run_leaves_no_process_and_resumes(mpi_installation, mpi_driver, tmp_path):
    kill_and_resume(STUDY, mpi_installation, mpi_driver, tmp_path)
    assert lateness_s(tmp_path / "results", "ascending") > 5e-3
    assert lateness_s(tmp_path / "results", "descending") < -5e-3


def test_a_killed_study_of_partitioned_messages_resumes(some_mpi_installation, tmp_path):
    kill_and_resume(PARTITIONED, some_mpi_installation, build_native(some_mpi_installation), tmp_path)


def kill_and_resume(study, mpi_installation, mpi_driver, tmp_path):
    (tmp_path / "study.toml").write_text(study)
    first = start(tmp_path, mpi_installation)
    wait_until(lambda: len(lines_of(tmp_path)) >= 2 or first.poll() is not None)
    assert len(real_studies.running(mpi_driver)) == 2, first.stdout.read()
    first.send_signal(signal.SIGKILL)
    first.wait()
    first.stdout.close()
    wait_until(lambda: real_studies.running(mpi_driver) == [])
    before = lines_of(tmp_path)
    assert 2 <= len(before) < 10

    second = start(tmp_path, mpi_installation)
    output, _ = second.communicate(timeout=PATIENCE_S)
    assert second.returncode == 0, output
    assert f"{10 - len(before)} of 10 cases to measure" in output
    assert "10 of 10 cases done" in output
    assert lines_of(tmp_path)[: len(before)] == before
    cases = real_studies.cases(tmp_path / "results")
    assert len(cases) == cases["case"].n_unique() == 10
    assert set(cases["status"]) == {"measured"}
    assert real_studies.running(mpi_driver) == []
