"""The shared clock's estimators, which need no MPI, with address and thread sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from real_libraries import REPOSITORY, lacking

from offbeat.mpi import build
from offbeat.mpi.installation import Installation

pytestmark = pytest.mark.slow

TESTS = ("estimator_test", "bound_test")
SANITIZERS = ("address", "thread")


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(argument) for argument in arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


@pytest.fixture(scope="module")
def sanitized(some_mpi_installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build folder with the estimator tests, compiled with each sanitizer."""
    folder = tmp_path_factory.mktemp("sanitized")
    probe = folder / "probe.c"
    probe.write_text("int main(void) { return 0; }\n", encoding="utf-8")
    for sanitizer in ("address,undefined", "thread"):
        if run("cc", f"-fsanitize={sanitizer}", probe, "-o", folder / "probe").returncode:
            lacking(f"the compiler's runtime for -fsanitize={sanitizer}")
    hints = build.configure_options(some_mpi_installation)
    options = [
        "-DOFFBEAT_BUILD_TESTING=ON",
        "-DOFFBEAT_SANITIZERS=ON",
        "-DOFFBEAT_TEST_LAUNCHER=unused;NPROCS",
    ]
    done = run("cmake", "-S", REPOSITORY / "native", "-B", folder, *hints, *options)
    assert done.returncode == 0, done.stderr
    targets = [f"{test}_with_{sanitizer}_sanitizer" for test in TESTS for sanitizer in SANITIZERS]
    done = run("cmake", "--build", folder, "--parallel", "2", "--target", *targets)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_the_estimators_are_clean_with_the_sanitizers(sanitized: Path, test: str, sanitizer: str) -> None:
    done = run(sanitized / f"{test}_with_{sanitizer}_sanitizer")
    assert done.returncode == 0, done.stderr[-5000:]
    assert not done.stderr
