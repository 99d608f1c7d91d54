"""Tests whose library or tool is missing are counted and named, and fail a run in CI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).resolve().parents[2] / "tools" / "pytest"

SUITE = """
import pytest

@pytest.mark.parametrize("size", [1, 2])
def test_of_a_library(size):
    pytest.skip("missing here: mpich5 (the wheel mpich)")

def test_that_runs():
    pass
"""


def run_suite(folder: Path, text: str, ci: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_suite.py").write_text(text, encoding="utf-8")
    arguments = [sys.executable, "-m", "pytest", "-p", "skipped_tests", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(PLUGIN), "CI": ci}
    return subprocess.run(
        arguments, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_skipped_tests_are_counted_and_named_under_what_is_missing(tmp_path: Path) -> None:
    done = run_suite(tmp_path, SUITE, ci="")
    assert done.returncode == 0
    after_count = done.stdout.split("2 skipped\n", 1)[1]
    assert after_count.startswith(
        "missing here: mpich5 (the wheel mpich):\n"
        "    test_suite.py::test_of_a_library[1]\n"
        "    test_suite.py::test_of_a_library[2]\n"
    )


def test_a_skipped_test_fails_the_run_in_ci(tmp_path: Path) -> None:
    done = run_suite(tmp_path, SUITE, ci="true")
    assert done.returncode == 6  # no test failed: a second run of the failed ones would not undo it
    assert "In CI nothing may be skipped" in done.stdout


def test_a_run_in_ci_without_skips_passes(tmp_path: Path) -> None:
    done = run_suite(tmp_path, "def test_that_runs(): pass\n", ci="true")
    assert done.returncode == 0
    assert "0 skipped" in done.stdout


def test_a_skipped_file_counts_too(tmp_path: Path) -> None:
    done = run_suite(tmp_path, "import pytest\npytest.importorskip('no_such_module')\n", ci="true")
    assert done.returncode != 0
    assert "no_such_module" in done.stdout


@pytest.mark.parametrize("ci", ["", "true"])
def test_pytests_own_summary_stays_the_last_line(tmp_path: Path, ci: str) -> None:
    last = run_suite(tmp_path, SUITE, ci).stdout.strip().splitlines()[-1]
    assert "1 passed, 2 skipped" in last
