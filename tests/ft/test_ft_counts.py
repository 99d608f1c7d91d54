"""offbeat-ft reports its own collective calls exactly, so that tracers can be checked against it."""

from __future__ import annotations

from pathlib import Path

from ft_program import Ft, build_recorder, record_calls, recorded_calls, reported_calls

from offbeat.model.pattern import pattern_file
from offbeat.model.pattern.pattern_file import shape_pattern


def test_reported_calls_and_bytes_equal_those_of_every_rank(ft: Ft, tmp_path: Path) -> None:
    pattern = tmp_path / "pattern.txt"
    pattern_file.write(pattern, shape_pattern("last_delayed", 3, 1e-4))
    options = ["--iterations", 3, "--repeat", 2, "--imbalance", pattern]
    recorder = build_recorder(ft.mpi, tmp_path)
    result = ft.result(3, *options, variables=record_calls(recorder, tmp_path))
    ranks = recorded_calls(tmp_path, 3)
    assert [rank.calls for rank in ranks] == [reported_calls(result)] * 3


def test_transposes_have_equal_blocks_and_number_one_more_than_iterations(some_ft: Ft) -> None:
    for p, block in [(1, 64**3), (2, 32 * 2048), (4, 16 * 1024), (3, 22 * 22 * 64)]:
        calls = reported_calls(some_ft.result(p))
        assert calls["MPI_Alltoall", 16 * block] == 7
        assert calls["MPI_Reduce", 16] == 6


def test_a_grid_of_processes_transposes_within_rows_and_within_columns(ft: Ft, tmp_path: Path) -> None:
    recorder = build_recorder(ft.mpi, tmp_path)
    result = ft.result(4, "--processes", "2x2", variables=record_calls(recorder, tmp_path))
    assert (result["rows"], result["columns"]) == (2, 2)
    sites = {site["purpose"]: (site["calls"], site["bytes"]) for site in result["calls"]}
    assert sites["transpose of x and y"] == sites["transpose of y and z"] == (7, 16 * 32**3)
    assert [rank.calls for rank in recorded_calls(tmp_path, 4)] == [reported_calls(result)] * 4


def test_blocks_of_an_uneven_grid_are_those_of_the_largest_parts(some_ft: Ft) -> None:
    result = some_ft.result(3, "--processes", "1x3", "--iterations", 1)
    (site,) = (site for site in result["calls"] if site["call"] == "MPI_Alltoall")
    assert (site["purpose"], site["bytes"]) == ("transpose of x and y", 16 * 64 * 22 * 22)
