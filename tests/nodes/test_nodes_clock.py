"""The shared clock on nodes whose clocks differ by offsets that are known to a nanosecond."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from msgspec import Struct
from real_libraries import real_installation
from several_nodes import OFFSETS, ONE_OF_THEM, WHOLE, compiled, hostfile, launch, offbeat, on_nodes

from offbeat.libraries.installations.installation import Installation
from offbeat.measurement.clock_check.check_plan import METHODS

pytestmark = pytest.mark.slow

LINE = re.compile(r"rank (\d+) age_ms (\d+) low (-?\d+) high (-?\d+) bound (\d+) shared (\d)")
READINGS = 15
"""Of each rank but 0: five syncs, three ages each (clock_truth.c)."""


class Reading(Struct, frozen=True):
    """One line of clock_truth.c: the error is from ``low_ns`` to ``high_ns``."""

    rank: int
    age_ms: int
    low_ns: int
    high_ns: int
    bound_ns: int
    is_shared: int

    @property
    def error_ns(self) -> float:
        """The middle of the interval that contains the error."""
        return (self.low_ns + self.high_ns) / 2


def readings(
    installation: Installation, offset: str, folder: Path, environment: dict[str, str] | None = None
) -> list[Reading]:
    """The output of clock_truth.c on two nodes."""
    program = compiled(installation, "clock_truth", folder)
    started = launch(installation, [program], folder, environment=environment)
    done = on_nodes(started.argv, folder, f"--offsets=0,{offset}", environment=started.environment)
    clock_readings = [Reading(*map(int, match)) for match in LINE.findall(done.stdout)]
    assert done.returncode == 0 and len(clock_readings) == READINGS, done.stdout + done.stderr
    return clock_readings


def expect_right(label: str, clock_readings: list[Reading]) -> None:
    """The error of no reading certainly exceeds its bound; prints how large errors and bounds were."""
    worst = max(clock_readings, key=lambda reading: abs(reading.error_ns))
    print(f"{label}: worst error {worst.error_ns / 1000:.2f} µs, its bound {worst.bound_ns / 1000:.1f} µs")
    assert all(not reading.is_shared for reading in clock_readings)
    assert all(
        reading.low_ns <= reading.bound_ns and reading.high_ns >= -reading.bound_ns
        for reading in clock_readings
    )
    assert all(0 < reading.bound_ns < 10**9 for reading in clock_readings)


@pytest.mark.parametrize("offset", list(OFFSETS.values())[:3] if WHOLE else [""])
def test_no_clock_is_beyond_its_bound(
    library: str, offset: str, installation: Installation, tmp_path: Path
) -> None:
    offset = offset or OFFSETS[library]
    expect_right(f"{library}, {offset} s ahead", readings(installation, offset, tmp_path))


@pytest.mark.parametrize("method", METHODS if WHOLE else METHODS[:1])
def test_no_drifting_clock_is_beyond_its_bound(method: str, tmp_path: Path) -> None:
    drifting = {
        "OFFBEAT_CLOCK_METHOD": method,
        "OFFBEAT_CLOCK_SOURCE": f"virtual:epoch={time.monotonic_ns()};1:drift=80",
    }
    clock_readings = readings(real_installation("openmpi4"), OFFSETS["openmpi4"], tmp_path, drifting)
    expect_right(f"{method}, drift of 80 ppm", clock_readings)


@pytest.mark.alone
@pytest.mark.parametrize("name", ONE_OF_THEM)
def test_the_check_of_the_clock_finds_none_beyond_its_bound(name: str, tmp_path: Path) -> None:
    """With the users' command, which determines errors by messages alone."""
    arguments: list[object] = [
        "clock",
        "check",
        "--mpi",
        real_installation(name).mpirun,
        "--nodes",
        2,
        "-n",
        2,
    ]
    arguments += ["--hostfile", hostfile(tmp_path), "--repetitions", 4, "--longest-age", "30 ms"]
    arguments += ["--method", "constraints", "--algorithm", "default", "--no-pictures", "-o", "check"]
    done = offbeat(arguments, tmp_path, f"--offsets=0,{OFFSETS[name]}")
    assert "certainly exceeded its bound in 0 of " in " ".join(done.stdout.split())
