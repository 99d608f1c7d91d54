"""offbeat-ft computes the published checksums on any number of processes, and detects wrong ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ft_program import LAST_SUMS, Ft, build_recorder, built_for, record_calls
from real_libraries import real_installation

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_class_s_has_the_published_sums_on_every_library(ft: Ft, p: int) -> None:
    result = ft.result(p)
    (repetition,) = result["repetitions"]
    assert result["processes"] == p
    assert (result["verified"], result["checked"]) == (True, 6)
    assert repetition["checksums"][-1] == pytest.approx(LAST_SUMS["S"], rel=1e-12)


@pytest.mark.parametrize("grid", ["1x1", "1x3", "2x2", "3x2"])
def test_grids_of_processes_have_the_published_sums(some_ft: Ft, grid: str) -> None:
    rows, columns = map(int, grid.split("x"))
    result = some_ft.result(rows * columns, "--processes", grid, "--repeat", 2)
    assert (result["verified"], result["checked"]) == (True, 6)


@pytest.mark.parametrize("p", [1, 2, 4])
@pytest.mark.parametrize("library", ["openmpi4", "mpich4"])
def test_class_w_has_the_published_sums(library: str, p: int) -> None:
    result = built_for(real_installation(library)).result(p, "--class", "W")
    assert result["size"] == [128, 128, 32]
    assert result["verified"]
    assert result["repetitions"][0]["checksums"][-1] == pytest.approx(LAST_SUMS["W"], rel=1e-12)


def test_a_corrupted_alltoall_is_detected(ft: Ft, tmp_path: Path) -> None:
    recorder = build_recorder(ft.mpi, tmp_path)
    done = ft.run(2, "--json", variables=[*record_calls(recorder, tmp_path), "FT_CORRUPT=1"])
    assert done.returncode == 1
    assert json.loads(done.stdout)["verified"] is False
    assert "offbeat-ft: verification failed: not all checksums are the published ones" in done.stderr
    assert "NOT the published checksum" in done.stderr


def test_iterations_without_a_published_checksum_are_not_counted_as_checked(some_ft: Ft) -> None:
    result = some_ft.result(2, "--iterations", 8)
    assert (result["iterations"], result["checked"], result["verified"]) == (8, 6, True)
    assert len(result["repetitions"][0]["checksums"]) == 8


def test_fewer_iterations_give_the_same_first_sums(some_ft: Ft) -> None:
    few, all_six = some_ft.result(2, "--iterations=2"), some_ft.result(2)
    assert (few["checked"], few["verified"]) == (2, True)
    assert few["repetitions"][0]["checksums"] == all_six["repetitions"][0]["checksums"][:2]


def test_every_repetition_is_reported_separately(some_ft: Ft) -> None:
    result = some_ft.result(2, "--repeat", 3)
    first, second, third = result["repetitions"]
    assert first["checksums"] == second["checksums"] == third["checksums"]
    assert result["time_s"] == pytest.approx(sum(each["time_s"] for each in result["repetitions"]), abs=1e-8)
    means = [sum(each["alltoall_s"]) / 2 for each in result["repetitions"]]
    assert result["alltoall_s"] == pytest.approx(sum(means), abs=1e-8)
    assert 0 < result["alltoall_s"] < result["time_s"]


def test_the_text_output_has_iterations_calls_and_verification(some_ft: Ft) -> None:
    done = some_ft.run(2, "--iterations", 2, "--repeat", 2)
    assert done.returncode == 0
    assert "repetition 1 of 2, iteration 2 of 2: checksum 554.6385409190 +486.5304269511i, as published" in (
        done.stdout
    )
    assert "MPI_Alltoall       6 of 1048576 bytes (transpose of y and z)" in done.stdout
    assert "Verified: 4 checksums agree with the published ones." in done.stdout
