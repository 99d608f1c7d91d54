"""The real driver's answers to commands that are invalid, very large, or cannot be executed."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from raw_commands import ask_raw

from offbeat.libraries.installations import build
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.driver import CommandRefused, Driver
from offbeat.libraries.launch.launch_command import command
from offbeat.measurement.runs.repetition import read_samples

pytestmark = pytest.mark.slow

P = 3
TIMEOUT_S = 60.0


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
    """Starts a driver with additional environment variables."""
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


def ask(driver: Driver, verb: str, **values: object) -> dict[str, Any]:
    return ask_raw(driver, verb, timeout_s=TIMEOUT_S, **{"collective": "reduce", "bytes": 8} | values)


@pytest.mark.parametrize(
    ("values", "message"),
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
def test_invalid_measurements_are_refused_and_the_launch_stays_usable(
    driver: Driver, values: dict[str, object], message: str
) -> None:
    with pytest.raises(CommandRefused, match=message):
        ask(driver, "measure", **values)
    assert ask(driver, "check")["wrong"] == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"members": "0,3"}, "members must be ranks of the launch"),
        ({"members": "1,0,1"}, "members must be different ranks"),
        ({"members": "0,1", "root": 2}, "root 2 is not a rank of 2 processes"),
        ({"collective": "bcast", "in_place": 1}, "MPI defines no call in place"),
        ({"counts": "odd"}, "counts must be even, uneven, reversed or none"),
    ],
)
def test_illegal_calls_are_refused_and_legal_ones_are_checked(
    driver: Driver, values: dict[str, object], message: str
) -> None:
    with pytest.raises(CommandRefused, match=message):
        ask(driver, "check", **values)
    assert ask(driver, "check", members="2,0", root=1, in_place=1)["wrong"] == 0
    assert ask(driver, "check", members="2", root=0, counts="none")["wrong"] == 0


def test_bits_are_the_same_again_and_of_all_processes_and_only_of_sums_of_double(driver: Driver) -> None:
    first, again = (ask(driver, "bits", collective="allreduce", bytes=4096) for _ in range(2))
    assert first == again and len(set(first["digests"])) == 1
    parts = ask(driver, "bits", collective="scan", bytes=4096)["digests"]
    assert len(set(parts)) == len(parts)
    for values in ({"collective": "bcast"}, {"collective": "allreduce", "datatype": "int"}):
        with pytest.raises(CommandRefused, match="only the bits of reductions of double"):
            ask(driver, "bits", **values)


def test_the_number_of_attempts_may_be_very_large(driver: Driver, samples: Path) -> None:
    answer = ask(driver, "measure", repetitions=600, attempts=2**62, delays="0,1000,2000")
    read = read_samples(samples, P)
    assert answer["tried"] == len(read.valid) == 600
    assert (read.arrivals_s[:, 2] >= 2e-6).all()


def test_lateness_is_recorded_with_each_repetition(driver: Driver, samples: Path) -> None:
    ask(driver, "measure", repetitions=5, attempts=50, tolerance_ns=10**9, delays="0,1000,2000")
    read = read_samples(samples, P)
    late_s = (read.arrivals_s - [0.0, 1e-6, 2e-6]).max()
    assert read.valid.all() and late_s >= 0
    assert read.overshoot_s == pytest.approx(late_s)


def test_a_sample_file_that_cannot_be_written_is_reported(
    some_mpi_installation: Installation, program: Path, tmp_path: Path
) -> None:
    for path in ("/dev/full", str(tmp_path / "nowhere/samples")):
        launch = command(some_mpi_installation, [str(program), "--samples", path], P)
        driver = Driver(launch.argv, launch.environment, tmp_path / "log")
        with pytest.raises(CommandRefused, match=r"^the sample file could not be written$"):
            ask(driver, "measure", repetitions=5, attempts=50)
        driver.close()


def test_an_invalid_regular_expression_is_refused(driver: Driver) -> None:
    with pytest.raises(CommandRefused, match="regular expression"):
        ask_raw(driver, "variables", timeout_s=TIMEOUT_S, regex="(")


def test_a_fingerprint_delays_each_process_or_at_most_the_given_number(driver: Driver) -> None:
    answer = ask(driver, "fingerprint", collective="gather", delay_ns=20_000_000)
    rows = [row for row in answer["late"] if row]
    assert [row[0] for row in rows] == [0, 1, 2]
    assert all(row[0] in row[1:] for row in rows)
    limited = ask(driver, "fingerprint", collective="gather", delay_ns=1_000_000, most=2)["late"]
    assert [row[0] for row in limited if row] == [0, 2]


@pytest.mark.parametrize("arguments", [["--nonsense"], ["--samples"]])
def test_invalid_arguments_are_named_with_exit_status_2(program: Path, arguments: list[str]) -> None:
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, timeout=TIMEOUT_S
    )
    assert done.returncode == 2
    assert f"unknown argument '{arguments[0]}'" in done.stderr and "--samples FILE" in done.stderr


def start_errors(samples: Path) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """Of each repetition: the largest possible distance of a start from its plan in ns (lateness plus error
    bound), whether the repetition is valid, and the largest error bound of a clock in ns."""
    raw = np.fromfile(samples, dtype=np.int64)
    repetitions = raw.size // (4 * P + 1)
    times = raw[: 4 * P * repetitions].reshape(P, repetitions, 4)
    errors = (times[:, :, 2] + times[:, :, 3]).max(axis=0)
    return errors, raw[4 * P * repetitions :].astype(bool), times[:, :, 3].max(axis=0)


def test_a_repetition_is_valid_if_lateness_plus_clock_error_is_within_the_tolerance(
    start: Callable[..., Driver], samples: Path
) -> None:
    drifting = start(OFFBEAT_CLOCK_SOURCE="virtual:1:offset=5000000,drift=30;2:offset=-70000,drift=-10")
    ask(drifting, "measure", repetitions=40, attempts=40)
    errors, valid, bounds = start_errors(samples)
    assert valid.all()
    assert bounds.min() > 0
    for tolerance_ns in (int(np.median(errors)), int(np.median(bounds)), 0):
        answer = ask(drifting, "measure", repetitions=40, attempts=40, tolerance_ns=tolerance_ns)
        errors, valid, _ = start_errors(samples)
        assert (valid == (errors <= tolerance_ns)).all()
        assert answer["valid"] == valid.sum()


def test_a_tolerance_may_be_given_in_error_bounds_of_the_clocks(
    start: Callable[..., Driver], samples: Path
) -> None:
    drifting = start(OFFBEAT_CLOCK_SOURCE="virtual:1:offset=5000000,drift=30")
    limits = {"repetitions": 10, "attempts": 10, "tolerance_ns": 0}
    assert ask(drifting, "measure", **limits)["valid"] == 0
    assert ask(drifting, "measure", **limits, tolerance_bounds=1000000)["valid"] == 10
    shared = start()
    assert ask(shared, "measure", **limits, tolerance_bounds=1000000)["valid"] == 0
    assert start_errors(samples)[2].max() == 0
