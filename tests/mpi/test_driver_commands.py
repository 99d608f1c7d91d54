"""The real driver's answers to commands that are wrong, huge, or cannot be carried out."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

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
def start(
    some_mpi_installation: Installation, program: Path, samples: Path
) -> Iterator[Callable[..., Driver]]:
    """Starts a driver in this environment and more."""
    launch = command(some_mpi_installation, [str(program), "--samples", str(samples)], P)
    started: list[Driver] = []

    def begin(**environment: str) -> Driver:
        log = samples.with_name(f"log-{len(started)}")
        started.append(Driver(launch.argv, {**launch.environment, **environment}, log))
        return started[-1]

    yield begin
    for driver in started:
        driver.close()


@pytest.fixture
def driver(start: Callable[..., Driver]) -> Driver:
    return start()


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


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"members": "0,3"}, "members must be ranks of the launch"),
        ({"members": "1,0,1"}, "members must be different ranks"),
        ({"members": "0,1", "root": 2}, "root 2 is not a rank of 2 processes"),
        ({"collective": "bcast", "in_place": 1}, "MPI defines no call in place"),
        ({"counts": "odd"}, "counts must be even, uneven, reversed or none"),
    ],
)
def test_calls_that_no_program_can_make_are_refused_and_legal_ones_are_checked(
    driver: Driver, values: dict[str, object], sentence: str
) -> None:
    with pytest.raises(Refused, match=sentence):
        ask(driver, "check", **values)
    assert ask(driver, "check", members="2,0", root=1, in_place=1)["wrong"] == 0
    assert ask(driver, "check", members="2", root=0, counts="none")["wrong"] == 0


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


def starts_off_by(samples: Path) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """Of each repetition, in ns: how far the worst start may have been from its plan, whether it was called
    valid, and the largest error bound of a clock."""
    raw = np.fromfile(samples, dtype=np.int64)
    repetitions = raw.size // (4 * P + 1)
    times = raw[: 4 * P * repetitions].reshape(P, repetitions, 4)
    off = (times[:, :, 2] + times[:, :, 3]).max(axis=0)
    return off, raw[4 * P * repetitions :].astype(bool), times[:, :, 3].max(axis=0)


def test_a_repetition_is_valid_where_lateness_and_the_clock_s_error_are_within_the_tolerance_together(
    start: Callable[..., Driver], samples: Path
) -> None:
    bent = start(OFFBEAT_CLOCK_SOURCE="virtual:1:offset=5000000,drift=30;2:offset=-70000,drift=-10")
    ask(bent, "measure", repetitions=40, attempts=40)
    off, valid, bounds = starts_off_by(samples)
    assert valid.all()
    assert bounds.min() > 0
    for tolerance_ns in (int(np.median(off)), int(np.median(bounds)), 0):
        answer = ask(bent, "measure", repetitions=40, attempts=40, tolerance_ns=tolerance_ns)
        off, valid, _ = starts_off_by(samples)
        assert (valid == (off <= tolerance_ns)).all()
        assert answer["valid"] == valid.sum()


def test_a_tolerance_may_follow_what_the_clocks_can_do(start: Callable[..., Driver], samples: Path) -> None:
    bent = start(OFFBEAT_CLOCK_SOURCE="virtual:1:offset=5000000,drift=30")
    limits = {"repetitions": 10, "attempts": 10, "tolerance_ns": 0}
    assert ask(bent, "measure", **limits)["valid"] == 0
    assert ask(bent, "measure", **limits, tolerance_bounds=1000000)["valid"] == 10
    one = start()
    assert ask(one, "measure", **limits, tolerance_bounds=1000000)["valid"] == 0
    assert starts_off_by(samples)[2].max() == 0
