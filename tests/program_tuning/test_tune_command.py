"""What ``offbeat tune`` refuses before it runs anything."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from captured_command import execute


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("-- mpirun -n 1 sh", "one process, which has no other"),
        ("--budget 0s -- mpirun -n 2 sh", "--budget"),
        ("--budget soon -- mpirun -n 2 sh", "--budget"),
        ("--time ( -- mpirun -n 2 sh", "--time"),
        ("-- mpirun -n 2 sh : -n 1 sh", "several programs"),
        ("-- no-such-launcher -n 2", "no such program"),
        ("--script --bugdet 5min -- mpirun -n 2 sh", "'--script': the next word is another option, --bugdet"),
        ("--script slurm --bugdet 5min -- mpirun -n 2 sh", "No such option: --bugdet"),
        ("--script slurm --job-time 3 -- mpirun -n 2 sh", "--job-time '3'"),
        ("--script slurm --budget soon -- mpirun -n 2 sh", "--budget soon"),
        ("--script slurm --queue a/b -- mpirun -n 2 sh", "--partition (--queue) 'a/b'"),
    ],
)
def test_a_command_that_cannot_be_tuned_is_refused(tmp_path: Path, arguments: str, words: str) -> None:
    (tmp_path / "mpirun").write_text("#!/bin/sh\n")
    (tmp_path / "mpirun").chmod(0o755)
    environment = dict(os.environ) | {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    output = tmp_path / "out"
    done = execute([sys.executable, "-m", "offbeat", "tune", "-o", output, *arguments.split()], environment)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert not output.exists()


def test_a_job_script_runs_the_same_command() -> None:
    tune = [sys.executable, "-m", "offbeat", "tune", "--script"]
    words = ["slurm", "--setup=module load mpi", "--share", "0.5", "--", "mpirun", "-n", "64", "./app"]
    done = execute([*tune, *words])
    assert done.returncode == 0, done.stderr
    assert "#SBATCH --ntasks=64\n" in done.stdout
    assert "module load mpi\n" in done.stdout
    assert done.stdout.endswith("offbeat tune --share 0.5 -- mpirun -n 64 ./app\n")
    unknown = execute([*tune, "pbs", "--", "./run.sh"])
    assert unknown.returncode == 2
    assert "number of processes" in unknown.stderr
