"""The benchmark against SMPI on its sample: last delays and best algorithms agree as promised."""

from __future__ import annotations

import subprocess
import sys

import smpi_here
from real_libraries import REPOSITORY


def test_the_simulator_agrees_with_smpi_on_the_sample():
    smpi_here.program()
    done = subprocess.run(
        [sys.executable, REPOSITORY / "benchmarks/against_smpi.py", "--sample"],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "disagreements above 0.1%" in done.stdout
    assert "times less" in done.stdout
