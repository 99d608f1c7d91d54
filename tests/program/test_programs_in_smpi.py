"""Programs of many iterations take as long as in SimGrid's SMPI: what the benchmark of both finds."""

from __future__ import annotations

import re
import shutil
import sys

import pytest
from captured_command import execute
from real_libraries import REPOSITORY, skip_without

from offbeat.measurement.engines.smpi_program import PACKAGE

pytestmark = pytest.mark.slow


def test_a_ring_with_allreduces_takes_as_long_as_in_smpi() -> None:
    if shutil.which("smpirun") is None:
        skip_without(f"SimGrid ({PACKAGE})")
    benchmark = REPOSITORY / "benchmarks" / "program_peers.py"
    done = execute([sys.executable, benchmark, "--p", 64, "--iterations", 10])
    assert done.returncode == 0, done.stdout + done.stderr
    differences = [float(text) for text in re.findall(r"([+-][0-9.]+)%", done.stdout)]
    assert len(differences) == 3 and max(map(abs, differences)) <= 0.1
