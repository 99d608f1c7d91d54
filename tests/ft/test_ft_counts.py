"""What offbeat-ft says of its collective calls is what it calls: a tracer can be checked against it."""

from __future__ import annotations

from pathlib import Path

from ft_program import Ft, build_watcher, seen, stated, watch

from offbeat.pattern import file
from offbeat.pattern.file import shape_pattern


def test_the_stated_calls_and_bytes_are_those_that_every_rank_makes(ft: Ft, tmp_path: Path) -> None:
    pattern = tmp_path / "pattern.txt"
    file.write(pattern, shape_pattern("last_delayed", 3, 1e-4))
    words = ["--iterations", 3, "--repeat", 2, "--imbalance", pattern]
    result = ft.result(3, *words, variables=watch(build_watcher(ft.mpi, tmp_path), tmp_path))
    ranks = seen(tmp_path, 3)
    assert [rank.calls for rank in ranks] == [stated(result)] * 3


def test_there_is_one_transpose_an_iteration_and_one_more_of_equal_blocks(some_ft: Ft) -> None:
    for p, block in [(1, 64**3), (2, 32 * 2048), (4, 16 * 1024), (3, 22 * 1366)]:
        calls = stated(some_ft.result(p))
        assert calls["MPI_Alltoall", 16 * block] == 7
        assert calls["MPI_Reduce", 16] == 6
