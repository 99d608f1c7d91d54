"""Programs of many iterations take as long as in SimGrid's SMPI."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from program_peers import Smpi, ours
from real_libraries import skip_without

from offbeat.engines.smpi_program import PACKAGE
from offbeat.platform.machine import load

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("size", [64, 8192, 200_000])
def test_a_ring_with_allreduces_takes_as_long_as_in_smpi(size: int, tmp_path: Path) -> None:
    if shutil.which("smpirun") is None:
        skip_without(f"SimGrid ({PACKAGE})")
    hydra = load("hydra")
    theirs = Smpi(tmp_path, hydra, 64).run(20, size).simulated_s
    assert ours(64, 20, size, hydra).simulated_s == pytest.approx(theirs, rel=1e-3)
