"""The benchmark against SMPI on its sample: last delays and best algorithms agree within the limits."""

from __future__ import annotations

import subprocess
import sys

import local_smpi
import pytest
from real_libraries import REPOSITORY

pytestmark = pytest.mark.slow


def test_the_simulator_agrees_with_smpi_on_the_sample():
    local_smpi.program()
    done = subprocess.run(
        [sys.executable, REPOSITORY / "benchmarks/against_smpi.py", "--sample"],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "disagreements above 0.1%" in done.stdout
    assert "speedup over all algorithms" in done.stdout
