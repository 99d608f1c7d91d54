"""Invalid commands are refused with one message and exit status 2, before anything is computed."""

from __future__ import annotations

from pathlib import Path

import pytest
from ft_program import Ft


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--class", "X"], "there is no class 'X'; there are S, W, A, B, C and D"),
        (["--class"], "--class needs a value"),
        (["--iterations", "0"], "--iterations must be a whole number of 1 or more, not '0'"),
        (["--iterations", "six"], "--iterations must be a whole number of 1 or more, not 'six'"),
        (["--repeat=1e3"], "--repeat must be a whole number of 1 or more, not '1e3'"),
        (["--repeat", "99999999999999999999"], "--repeat must be a whole number"),
        (["--delay-by", "magic"], "--delay-by must be spin or sleep, not 'magic'"),
        (["--imbalance", "ascending:1ms"], "write one with offbeat pattern make SHAPE --p 1 --skew TIME"),
        (["--seed", "1"], "there is no option '--seed'"),
        (["--clas", "S"], "there is no option '--clas'; see --help"),
        (["S"], "there is no option 'S'"),
        (["--processes", "2"], "--processes must be rows x columns, such as 2x4, not '2'"),
        (["--processes", "0x1"], "--processes must be rows x columns, such as 2x4, not '0x1'"),
        (["--processes", "1x1x1"], "--processes must be rows x columns, such as 2x4, not '1x1x1'"),
        (["--processes", "2x2"], "--processes 2x2 needs 4 processes, but 1 was started"),
        (["--processes", "999999999x999999999"], "needs 999999998000000001 processes"),
        (["--class", "D"], "class D on 1 process has blocks of 2147483648 elements"),
    ],
)
def test_invalid_options_are_refused(some_ft: Ft, options: list[str], message: str) -> None:
    done = some_ft.alone(*options)
    assert done.returncode == 2
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("offbeat-ft: ")]
    assert message in line
    assert "checksum" not in done.stdout


def test_one_rank_reports_the_error_and_all_ranks_exit(ft: Ft) -> None:
    done = ft.run(3, "--imbalance", "/nowhere/pattern.txt")
    assert done.returncode == 2
    assert done.stderr.count("offbeat-ft: ") == 1
    assert "No such file or directory" in done.stderr


def test_a_directory_is_refused_as_pattern_file(some_ft: Ft, tmp_path: Path) -> None:
    done = some_ft.run(2, "--imbalance", tmp_path)
    assert done.returncode == 2
    assert f"{tmp_path}: the file cannot be read: Is a directory" in done.stderr


@pytest.mark.slow
def test_more_processes_than_planes_are_refused(some_ft: Ft) -> None:
    done = some_ft.run(33, "--class", "W")
    assert done.returncode == 2
    assert "class W has 32 planes, so that at most 32 processes can share them, not 33" in done.stderr


def test_the_help_lists_every_option(some_ft: Ft) -> None:
    done = some_ft.run(2, "--help")
    assert done.returncode == 0
    assert done.stdout.count("Usage:") == 1
    for option in (
        "--class",
        "--iterations",
        "--repeat",
        "--processes",
        "--imbalance",
        "--delay-by",
        "--json",
    ):
        assert option in done.stdout
