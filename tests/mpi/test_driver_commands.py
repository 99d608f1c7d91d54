"""The real driver's answers to commands that are wrong, huge, or cannot be carried out."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from offbeat.engines.repeat import read_samples
from offbeat.mpi import build
from offbeat.mpi.driver import Driver, Refused
from offbeat.mpi.installation import Installation
from offbeat.mpi.launch import command

P = 3
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def program(some_mpi_installation: Installation, own_cache: Path) -> Path:
    return build.build_native(some_mpi_installation)


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    return tmp_path / "samples.bin"


@pytest.fixture
def driver(some_mpi_installation: Installation, program: Path, samples: Path) -> Iterator[Driver]:
    launch = command(some_mpi_installation, [str(program), "--samples", str(samples)], P)
    driver = Driver(launch.argv, launch.environment, samples.with_name("log"))
    yield driver
    driver.close()


def ask(driver: Driver, verb: str, **values: object) -> dict[str, object]:
    return driver.ask(verb, timeout_s=PATIENCE_S, **{"collective": "reduce", "bytes": 8} | values)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"delays": "0,99999999999999999999"}, "delays must be whole numbers"),
        ({"delays": "0,-5"}, "delays must be whole numbers"),
        ({"bytes": "8k"}, "bytes must be a whole number"),
        ({"attempts": -4}, "attempts must be a whole number from 1"),
        ({"root": 2**32}, "root must be a whole number"),
        ({"root": 7}, "root 7 is not a rank of 3 processes"),
        ({"bytes": 9}, "give a multiple of 8"),
    ],
)
def test_what_cannot_be_measured_is_refused_and_the_launch_goes_on(
    driver: Driver, values: dict[str, object], sentence: str
) -> None:
    with pytest.raises(Refused, match=sentence):
        ask(driver, "measure", **values)
    assert ask(driver, "check")["wrong"] == 0


def test_any_number_of_attempts_may_be_allowed(driver: Driver, samples: Path) -> None:
    answer = ask(driver, "measure", repetitions=600, attempts=2**62, delays="0,1000,2000")
    taken = read_samples(samples, P)
    assert answer["tried"] == len(taken.valid) == 600
    assert (taken.arrivals_s[:, 2] >= 2e-6).all()


def test_an_arrival_after_the_tolerance_is_invalid_and_its_lateness_is_told(
    driver: Driver, samples: Path
) -> None:
    ask(driver, "measure", repetitions=5, attempts=50, tolerance_ns=10**9, delays="0,1000,2000")
    taken = read_samples(samples, P)
    late_s = (taken.arrivals_s - [0.0, 1e-6, 2e-6]).max()
    assert taken.valid.all() and late_s >= 0
    assert taken.overshoot_s == pytest.approx(late_s)


def test_a_sample_file_that_cannot_be_written_is_a_refusal(
    some_mpi_installation: Installation, program: Path, tmp_path: Path
) -> None:
    for place in ("/dev/full", str(tmp_path / "nowhere/samples")):
        launch = command(some_mpi_installation, [str(program), "--samples", place], P)
        driver = Driver(launch.argv, launch.environment, tmp_path / "log")
        with pytest.raises(Refused, match=r"^the sample file could not be written$"):
            ask(driver, "measure", repetitions=5, attempts=50)
        driver.close()


def test_a_regular_expression_that_is_none_is_refused(driver: Driver) -> None:
    with pytest.raises(Refused, match="regular expression"):
        ask(driver, "variables", regex="(")


def test_a_fingerprint_delays_each_process_or_as_many_as_are_allowed(driver: Driver) -> None:
    answer = ask(driver, "fingerprint", collective="gather", delay_ns=20_000_000)
    rows = [row for row in answer["late"] if row]  # type: ignore[attr-defined]
    assert [row[0] for row in rows] == [0, 1, 2]
    assert all(row[0] in row[1:] for row in rows)
    few = ask(driver, "fingerprint", collective="gather", delay_ns=1_000_000, most=2)["late"]
    assert [row[0] for row in few if row] == [0, 2]  # type: ignore[attr-defined]


@pytest.mark.parametrize("words", [["--nonsense"], ["--samples"]])
def test_wrong_arguments_are_named_and_end_with_status_2(program: Path, words: list[str]) -> None:
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 2
    assert f"unknown argument '{words[0]}'" in done.stderr and "--samples FILE" in done.stderr
