"""The benchmark of exactness on few draws, and on the draws that once broke its promises."""

from __future__ import annotations

import subprocess
import sys

import pytest
from real_libraries import REPOSITORY

pytestmark = pytest.mark.slow


def test_simulated_times_depend_neither_on_the_number_of_messages_nor_on_the_origin_of_time():
    done = subprocess.run(
        [sys.executable, REPOSITORY / "benchmarks/simulator_exactness.py", "--draws=15", "--messages=3000"],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr  # stdout has the seed
    assert ": 0 broken promises" in done.stdout
