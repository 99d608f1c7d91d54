"""The shared clock's estimator, which needs no MPI, under the sanitizers of addresses and threads."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from real_libraries import REPOSITORY, lacking

from offbeat.mpi import build
from offbeat.mpi.installation import Installation

SUBJECTS = ("parts_test", "coverage_test")
SANITIZERS = ("addresses", "threads")


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


@pytest.fixture(scope="module")
def sanitized(some_mpi_installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build folder with the estimator's tests, compiled for each sanitizer."""
    folder = tmp_path_factory.mktemp("sanitized")
    probe = folder / "probe.c"
    probe.write_text("int main(void) { return 0; }\n", encoding="utf-8")
    for sanitizer in ("address,undefined", "thread"):
        if run("cc", f"-fsanitize={sanitizer}", probe, "-o", folder / "probe").returncode:
            lacking(f"the compiler's runtime for -fsanitize={sanitizer}")
    words = build.configure_options(some_mpi_installation)
    options = [
        "-DOFFBEAT_BUILD_TESTING=ON",
        "-DOFFBEAT_SANITIZERS=ON",
        "-DOFFBEAT_TEST_LAUNCHER=unused;NPROCS",
    ]
    done = run("cmake", "-S", REPOSITORY / "native", "-B", folder, *words, *options)
    assert done.returncode == 0, done.stderr
    targets = [f"{subject}_of_{sanitizer}" for subject in SUBJECTS for sanitizer in SANITIZERS]
    done = run("cmake", "--build", folder, "--parallel", "2", "--target", *targets)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_the_estimator_is_clean_under_the_sanitizers(sanitized: Path, subject: str, sanitizer: str) -> None:
    done = run(sanitized / f"{subject}_of_{sanitizer}")
    assert done.returncode == 0, done.stderr[-5000:]
    assert not done.stderr
