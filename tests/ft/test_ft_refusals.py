"""What cannot be meant is refused in one sentence and with exit status 2, before anything is computed."""

from __future__ import annotations

from pathlib import Path

import pytest
from ft_program import Ft


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--class", "X"], "there is no class 'X'; there are S, W, A, B, C and D"),
        (["--class"], "--class needs a value"),
        (["--iterations", "0"], "--iterations must be a whole number of 1 or more, not '0'"),
        (["--iterations", "six"], "--iterations must be a whole number of 1 or more, not 'six'"),
        (["--repeat=1e3"], "--repeat must be a whole number of 1 or more, not '1e3'"),
        (["--repeat", "99999999999999999999"], "--repeat must be a whole number"),
        (["--seed", "-1"], "--seed must be a whole number from 0 to 2^64 - 1, not '-1'"),
        (["--ppn", "0"], "--ppn must be a whole number of 1 or more"),
        (["--delay-by", "magic"], "--delay-by must be spin or sleep, not 'magic'"),
        (["--imbalance", "ascending"], "the shape ascending needs a skew: write --imbalance ascending:TIME"),
        (["--imbalance", "ascending:soon"], "'soon' is not a time; write a number and a unit, such as 500us"),
        (["--imbalance", "ascending:2 days"], "'2 days' is not a time"),
        (["--imbalance", "zigzag:1ms"], "is neither SHAPE:TIME nor a pattern file that can be read"),
        (["--clas", "S"], "there is no option '--clas'; --help lists what there is"),
        (["S"], "there is no option 'S'"),
        (["--class", "D"], "class D on 1 process has blocks of 2147483648 elements"),
    ],
)
def test_a_command_that_cannot_be_meant_is_refused(some_ft: Ft, words: list[str], sentence: str) -> None:
    done = some_ft.alone(*words)
    assert done.returncode == 2
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("offbeat-ft: ")]
    assert sentence in line
    assert "checksum" not in done.stdout


def test_a_refusal_is_said_once_and_every_rank_ends(ft: Ft) -> None:
    done = ft.run(3, "--imbalance", "/nowhere/pattern.txt")
    assert done.returncode == 2
    assert done.stderr.count("offbeat-ft: ") == 1
    assert "No such file or directory" in done.stderr


def test_a_folder_is_no_pattern_file(some_ft: Ft, tmp_path: Path) -> None:
    done = some_ft.run(2, "--imbalance", tmp_path)
    assert done.returncode == 2
    assert f"{tmp_path}: the file cannot be read: Is a directory" in done.stderr


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
        "--imbalance",
        "--seed",
        "--ppn",
        "--delay-by",
        "--json",
    ):
        assert option in done.stdout
