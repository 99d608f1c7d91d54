"""The benchmark of 'offbeat tune' on random programs, with 16 ranks: what it finds, and killed runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from real_libraries import REPOSITORY

SEED = "3"


def benchmark(file: Path, *options: str, seed: str = SEED) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, REPOSITORY / "benchmarks/tuned_programs.py", "2", seed, file, "--side", "4"]
    return subprocess.run([*command, *options], capture_output=True, text=True, timeout=300)


def programs(file: Path) -> list[dict[str, object]]:
    """The lines of the file in the order of programs, without their CPU times and checksums."""
    found = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return sorted(
        [{key: one[key] for key in one if key not in ("cpu_s", "checksum")} for one in found],
        key=lambda one: one["number"],
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    file = tmp_path_factory.mktemp("tuned") / "programs.jsonl"
    done = benchmark(file)
    assert done.stdout.count("\n") >= 8, done.stderr
    return file, done.stdout


def test_no_setting_is_faster_than_the_best(finished: tuple[Path, str]) -> None:
    file, output = finished
    for one in programs(file):
        assert 0 < one["best_s"] <= one["recommended_s"] <= min(one["chosen_s"], one["default_s"])
        assert len(one["chosen"]) == len(one["recommended"]) == len(one["best"]) <= len(one["calls"])
    assert "best or within 2%: " in output
    assert " of 2 (target 1.9)" in output
    assert "worse than the default by more than 1%: " in output


def test_a_killed_run_goes_on(finished: tuple[Path, str], tmp_path: Path) -> None:
    file, _ = finished
    first, second = file.read_bytes().splitlines(keepends=True)
    again = tmp_path / "again.jsonl"
    again.write_bytes(first + second[: len(second) // 2])
    benchmark(again)
    assert again.read_bytes().startswith(first), "the first program is not simulated again"
    assert programs(again) == programs(file)


def test_workers_find_the_same(finished: tuple[Path, str], tmp_path: Path) -> None:
    file, _ = finished
    benchmark(tmp_path / "two.jsonl", "--workers", "2")
    assert programs(tmp_path / "two.jsonl") == programs(file)


def test_the_file_of_another_seed_is_refused(finished: tuple[Path, str]) -> None:
    file, _ = finished
    before = file.read_bytes()
    refused = benchmark(file, seed="4")
    assert refused.returncode != 0
    assert "has programs of seed 3, not 4" in refused.stderr
    assert file.read_bytes() == before
