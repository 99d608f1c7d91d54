"""The real driver on several communicators at once: delays, results, and layouts that are impossible."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from raw_commands import ask_raw

from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.driver import CommandRefused, Driver
from offbeat.libraries.launch.launch_command import command
from offbeat.measurement.runs.repetition import read_samples
from offbeat.model.study.communicators import CommunicatorLayout

pytestmark = pytest.mark.slow

P = 4
FAR_S = 0.1
"""A delay that is far longer than a process waits for a core."""

ROWS = CommunicatorLayout(p=2, communicators=2, stride=1)
COLUMNS = CommunicatorLayout(p=2, communicators=2, stride=2)


@pytest.fixture(scope="module")
def samples(mpi_installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("driver") / "samples.bin"


@pytest.fixture(scope="module")
def driver(mpi_installation: Installation, mpi_driver: Path, samples: Path) -> Iterator[Driver]:
    """One launch for all tests of a library."""
    launch = command(mpi_installation, [str(mpi_driver), "--samples", str(samples)], P)
    started = Driver(launch.argv, launch.environment, samples.with_name("log"))
    yield started
    started.close()


def ask(driver: Driver, verb: str, layout: CommunicatorLayout, **values: object) -> dict[str, Any]:
    call = {"communicators": layout.communicators, "stride": layout.stride, "collective": "allreduce"}
    return ask_raw(driver, verb, timeout_s=60.0, **{"bytes": 64} | call | values)


@pytest.mark.parametrize("layout", [ROWS, COLUMNS], ids=["rows", "columns"])
def test_each_communicator_has_the_delays_and_waits_for_its_own_members_only(
    driver: Driver, samples: Path, layout: CommunicatorLayout
) -> None:
    delayed = {"delays": f"0,{round(FAR_S * 1e9)}", "repetitions": 5, "attempts": 50}
    ask(driver, "measure", layout, **delayed)
    read = read_samples(samples, P, layout=layout)
    late = layout.ranks[:, 1]
    arrivals = read.arrivals_s[read.valid]
    assert (arrivals[:, late] >= FAR_S).all()
    assert (np.delete(arrivals, late, axis=1) < FAR_S).all()
    assert (read.exits_s[read.valid] >= FAR_S).all(), "every member waits for the late one of its own"


def test_a_sequence_has_a_delay_for_each_member(driver: Driver, samples: Path) -> None:
    samples.with_name("calls").write_text(f"0 {round(FAR_S * 1e9)}\n{round(FAR_S * 1e9)} 0\n")
    answer = ask(driver, "measure", COLUMNS, sequence="calls", repetitions=2, attempts=50)
    assert answer["calls"] == 2
    read = read_samples(samples, P, layout=COLUMNS)
    first, second = read.arrivals_s[read.valid] >= FAR_S
    assert first.tolist() == [False, False, True, True]
    assert second.tolist() == [True, True, False, False]


@pytest.mark.parametrize("collective", ["reduce", "alltoall", "scan", "barrier", "reduce_scatter"])
def test_results_are_those_of_each_communicator(driver: Driver, collective: str) -> None:
    root = {"root": 1} if collective == "reduce" else {}
    size = {"bytes": 0} if collective == "barrier" else {}
    for layout in (ROWS, COLUMNS):
        answer = ask(driver, "check", layout, collective=collective, **root, **size)
        assert answer["wrong"] == 0 and not answer["error"]
        late = ask(driver, "fingerprint", layout, collective=collective, delay_ns=10**7, **root, **size)
        assert [row[0] for row in late["late"] if row] == [0, 1], "ranks are those of a communicator"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"communicators": 3}, "communicators must divide the number of processes"),
        ({"communicators": 2, "stride": 3}, "stride must divide the number of communicators"),
        ({"communicators": 0}, "communicators must be a whole number from 1"),
        ({"communicators": 2, "stride": -1}, "stride must be a whole number from 1"),
        ({"communicators": 2, "root": 2, "collective": "bcast"}, "root 2 is not a rank of 2 processes"),
    ],
)
def test_impossible_layouts_are_refused_and_the_launch_stays_usable(
    driver: Driver, values: dict[str, object], message: str
) -> None:
    for verb in ("check", "measure", "observe", "fingerprint"):
        with pytest.raises(CommandRefused, match=message):
            ask(driver, verb, ROWS, **values)
    assert ask(driver, "check", COLUMNS)["wrong"] == 0
