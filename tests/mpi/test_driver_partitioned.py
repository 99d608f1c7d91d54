"""The driver measures messages in partitions by every approach of each real library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from raw_commands import ask_raw

from offbeat.libraries.installations.build import build_native
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.driver import CommandRefused, Driver
from offbeat.libraries.launch.driver_protocol import ListApproaches, MeasurePartitioned
from offbeat.libraries.launch.launch_command import command
from offbeat.measurement.runs.repetition import read_samples

pytestmark = pytest.mark.slow

TIMEOUT_S = 60.0
P = 2
DELAYS_NS = [0, 2_000_000, 0, 5_000_000, 1_000_000, 0]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("samples") / "samples.bin"


@pytest.fixture(scope="module")
def driver(mpi_installation: Installation, own_cache: Path, samples: Path) -> Iterator[Driver]:
    words = [str(build_native(mpi_installation)), "--threads", "--samples", str(samples)]
    launch = command(mpi_installation, words, P)
    driver = Driver(launch.argv, launch.environment, samples.with_name("log"))
    yield driver
    driver.close()


def approaches(driver: Driver) -> list[str]:
    return driver.ask(ListApproaches(), timeout_s=TIMEOUT_S).approaches


def test_every_approach_moves_every_byte_and_marks_no_partition_early(driver: Driver, samples: Path) -> None:
    names = approaches(driver)
    assert {"single", "many", "rma_fence", "rma_active_single", "rma_passive_many"} <= set(names)
    for name in names:
        if name in ("library", "library_polled"):
            continue  # what the library's own calls do wrong is a result, not offbeat's fault
        request = MeasurePartitioned(
            approach=name,
            bytes=60_000,
            partitions=6,
            threads=2,
            repetitions=4,
            attempts=4,
            unrecorded=1,
            delays=DELAYS_NS,
        )
        answer = driver.ask(request, timeout_s=TIMEOUT_S)
        assert (answer.tried, answer.wrong) == (4, 0), name
        measured = read_samples(samples, P, partitions=6)
        assert measured.arrivals_s.shape == measured.exits_s.shape == (4, P, 6)
        sender, receiver = measured.arrivals_s[:, 0], measured.arrivals_s[:, 1]
        assert (sender >= np.array(DELAYS_NS) * 1e-9).all()
        assert (receiver >= 0).all() and (receiver == receiver[:, :1]).all()
        assert (sender.max(axis=1) <= measured.exits_s[:, 1].T).all(), (
            f"{name} ended before the last partition"
        )


def test_the_librarys_own_calls_are_measured_where_there_are_any(driver: Driver) -> None:
    if "library" not in approaches(driver):
        with pytest.raises(CommandRefused, match="this MPI library has no such approach"):
            driver.ask(MeasurePartitioned(approach="library", bytes=64), timeout_s=TIMEOUT_S)
        return
    request = MeasurePartitioned(approach="library", bytes=4096, partitions=4, repetitions=3, attempts=3)
    assert driver.ask(request, timeout_s=TIMEOUT_S).tried == 3


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"approach": "pigeon"}, "no such approach; the verb approaches lists"),
        ({"bytes": 10, "partitions": 3}, "bytes must be a multiple of partitions"),
        ({"partitions": 2, "threads": 3}, "threads must not exceed partitions"),
        ({"partitions": 0}, "partitions must be a whole number from 1"),
        ({"delays": "1,x"}, "delays must be whole numbers"),
        ({"bytes": 2**31}, "bytes must be a whole number"),
    ],
)
def test_what_cannot_be_sent_is_refused_and_the_launch_stays_usable(
    driver: Driver, values: dict[str, object], sentence: str
) -> None:
    with pytest.raises(CommandRefused, match=sentence):
        ask_raw(driver, "partitioned", timeout_s=TIMEOUT_S, **({"approach": "single", "bytes": 64} | values))
    assert driver.ask(MeasurePartitioned(approach="single", bytes=0), timeout_s=TIMEOUT_S).tried == 1


@pytest.mark.parametrize(
    ("p", "words", "sentence"),
    [
        (3, ["--threads"], "needs a launch of 2 processes"),
        (2, [], "several threads need MPI_THREAD_MULTIPLE: start the driver with --threads"),
    ],
)
def test_a_launch_that_cannot_send_partitions_says_so(
    some_mpi_installation: Installation,
    own_cache: Path,
    tmp_path: Path,
    p: int,
    words: list[str],
    sentence: str,
) -> None:
    launch = command(some_mpi_installation, [str(build_native(some_mpi_installation)), *words], p)
    driver = Driver(launch.argv, launch.environment, tmp_path / "log")
    try:
        with pytest.raises(CommandRefused, match=sentence):
            request = MeasurePartitioned(approach="many", bytes=64, partitions=2, threads=2)
            driver.ask(request, timeout_s=TIMEOUT_S)
    finally:
        driver.close()
