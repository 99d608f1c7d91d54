"""Native tests that need no launch, with sanitizers of address and threads."""

from __future__ import annotations

from pathlib import Path

import pytest
from native_build import native_tests, need_sanitizer
from plain_install import run

from offbeat.libraries.installations.installation import Installation

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("test", ["estimator_test", "bound_test", "partitioned_owner_test"])
@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_what_needs_no_launch_is_clean_with_the_sanitizers(
    some_mpi_installation: Installation, tmp_path: Path, test: str, sanitizer: str
) -> None:
    need_sanitizer(sanitizer, tmp_path)
    program = f"{test}_with_{sanitizer}_sanitizer"
    done = run([native_tests(some_mpi_installation, program) / program])
    assert done.returncode == 0, done.stderr[-5000:]
    assert not done.stderr
