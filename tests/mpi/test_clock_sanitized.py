"""The shared clock's estimators, which need no MPI, with address and thread sanitizers."""

from __future__ import annotations

from pathlib import Path

import pytest
from native_build import native_tests, need_sanitizer
from plain_install import run

from offbeat.mpi.installation import Installation

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("test", ["estimator_test", "bound_test"])
@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_the_estimators_are_clean_with_the_sanitizers(
    some_mpi_installation: Installation, tmp_path: Path, test: str, sanitizer: str
) -> None:
    need_sanitizer(sanitizer, tmp_path)
    program = f"{test}_with_{sanitizer}_sanitizer"
    done = run([native_tests(some_mpi_installation, program) / program])
    assert done.returncode == 0, done.stderr[-5000:]
    assert not done.stderr
