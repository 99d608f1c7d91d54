"""``offbeat clock check`` and ``report``, with real libraries and with synthetic checks."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_factory import keep, rows
from real_libraries import real_installation
from typer.testing import CliRunner, Result

from offbeat.base.errors import BadInput
from offbeat.cli.clock import app
from offbeat.libraries.launch import cores
from offbeat.measurement.clock_check.directory import read
from offbeat.measurement.clock_check.rows import HARMONIZE, Accuracy, Start, Sync
from offbeat.measurement.clock_check.summary import summary

pytestmark = pytest.mark.slow


def run(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "250"}).invoke(app, list(arguments), catch_exceptions=True)


@pytest.mark.alone
def test_a_real_library_is_checked_and_a_second_check_measures_nothing(
    own_cache: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "check"
    arguments = ["check", "--mpi", str(real_installation("mpich4").mpirun), "-n", "3", "--repetitions", "8"]
    arguments += ["--longest-age", "30 ms", "-o", str(directory)]
    done = run(*arguments)
    assert done.exit_code == 0, done.exception or done.output
    check = read(directory)
    summed_up = summary(check.rows, 3)

    assert summed_up.failures == []
    starts = {row.start for row in check.rows if isinstance(row, Start)}
    assert HARMONIZE in starts and "default" in starts and len(starts) > 2
    assert all(skew.starts == 8 and 0 <= skew.median_s < 10 for skew in summed_up.skews)
    assert len(summed_up.ratios) == 1 and len(summed_up.ratios[0].algorithms) > 1
    assert {row.processes for row in check.rows if isinstance(row, Sync)} == {2, 3}
    accuracy = [row for row in check.rows if isinstance(row, Accuracy)]
    assert len(accuracy) == 1 and accuracy[0].is_distorted and accuracy[0].physical
    assert sum(aged.broken for aged in summed_up.aged) == 0
    assert {aged.method for aged in summed_up.aged} == set(check.head.settings.methods)

    assert check.head.machine is not None and check.head.machine.p == 3
    assert ("share" in done.stdout) == (cores.available().logical < 3)
    verdicts = (
        "95th percentile of start skew",
        "Harmonised starts are not reliable here",
    )  # 3 processes on 2 cores
    assert any(verdict in done.stdout for verdict in verdicts)
    assert (directory / "report.html").stat().st_size > 10_000
    assert len(list((directory / "pictures").iterdir())) == 18

    before = (directory / "rows.jsonl").read_bytes()
    again = run(*arguments)
    assert again.exit_code == 0 and (directory / "rows.jsonl").read_bytes() == before
    assert again.stdout.splitlines()[-2:] == done.stdout.splitlines()[-2:]


def test_a_check_is_shown_again_without_measuring(tmp_path: Path) -> None:
    directory = keep(tmp_path / "check")
    output = run("report", str(directory))
    assert output.exit_code == 0, output.exception
    for words in (
        "harmonised",
        "double_ring",
        "0.05",
        "95th percentile of start skew: 240 ns",
        "refused",
    ):
        assert words in output.stdout, words
    assert (directory / "pictures" / "skew.png").exists()


def test_a_report_alone_is_written_without_pictures(tmp_path: Path) -> None:
    directory = keep(tmp_path / "check", rows()[:3])
    assert run("report", str(directory), "--no-pictures").exit_code == 0
    assert (directory / "report.html").exists() and not (directory / "pictures").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-n", "1"], "a start needs at least 2 processes"),
        (["--collective", "barrier"], "--collective barrier: known are"),
        (["--size", "12"], "elements are doubles"),
        (["--size", "many"], "is not a size"),
        (["--repetitions", "2"], "give at least 4"),
        (["--method", "guess"], "--method guess: known are constraints"),
        (["--longest-age", "1 ms"], "give a time from 10 ms to 1 h"),
        (["--longest-age", "long"], "--longest-age: 'long' is not a time"),
        (["--nodes", "2", "-n", "3"], "cannot be spread evenly"),
        (["--mpi", "no-such-library"], "no MPI installation of that name"),
    ],
)
def test_invalid_options_are_refused_before_anything_is_created(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = run("check", *arguments)
    assert isinstance(refused.exception, BadInput) and sentence in str(refused.exception)
    assert list(tmp_path.iterdir()) == []


def test_an_algorithm_that_the_library_lacks_is_refused(own_cache: Path, tmp_path: Path) -> None:
    prefix = str(real_installation("openmpi5").mpirun)
    refused = run("check", "--mpi", prefix, "-n", "2", "--algorithm", "guess", "-o", str(tmp_path / "check"))
    assert isinstance(refused.exception, BadInput)
    assert "--algorithm guess: the library has default, linear" in str(refused.exception)


def test_a_directory_without_a_check_is_refused(tmp_path: Path) -> None:
    refused = run("report", str(tmp_path))
    assert isinstance(refused.exception, BadInput) and "check.json" in str(refused.exception)
