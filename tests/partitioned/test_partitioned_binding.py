"""Partitioned messages from Python, under every MPI library that mpi4py can load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_command import command

PROGRAM = Path(__file__).with_name("mpi4py_program.py")


def test_python_programs_send_partitions_with_every_library(
    mpi_installation: Installation, mpi_driver: Path, mpi4py_environment: dict[str, str]
) -> None:
    words = [sys.executable, str(PROGRAM)]
    launch = command(mpi_installation, words, 3, environment=mpi4py_environment, steerable=False)
    done = subprocess.run(
        launch.argv, env=launch.environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout.count("arrived") == 3, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.returncode == 0, done.stderr[-2000:]
