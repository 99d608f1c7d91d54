"""``offbeat async inject`` with the programs in examples/proxies on the real MPI libraries."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from proxy_program import Proxy, built, built_for

from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_command import LaunchCommand, command

pytestmark = pytest.mark.slow

SMALL = ("--nx", "8", "--ny", "8", "--nz", "8")


def launch_of(proxy: Proxy, *options: str) -> LaunchCommand:
    """A small run of a program on two processes, as a user would start it."""
    return command(proxy.mpi, [str(proxy.program), *SMALL, *options], 2, steerable=False)


def words(proxy: Proxy, launch: LaunchCommand, options: Sequence[object]) -> list[str]:
    argv = [sys.executable, "-m", "offbeat", "async", "inject", "--mpi", proxy.mpi.mpirun, *options]
    return [*map(str, argv), "--", *launch.argv]


def inject(
    proxy: Proxy, launch: LaunchCommand, folder: Path, *options: object
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words(proxy, launch, options),
        cwd=folder,
        env=launch.environment | {"OFFBEAT_TRACE_DIR": str(folder / "unwanted")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def records(folder: Path) -> list[dict[str, Any]]:
    """The finished runs of an experiment."""
    path = folder / "offbeat-inject" / "runs.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def regions(some_mpi_installation: Installation) -> Proxy:
    """A program on one library, for what does not depend on the library."""
    return built(some_mpi_installation, "regions")


@pytest.mark.parametrize(
    ("library", "name", "options"),
    [
        ("openmpi4", "regions", ("--steps", "20")),
        ("openmpi5", "cavity", ("--steps", "20")),
        ("mpich4", "multigrid", ("--levels", "2", "--iterations", "20")),
        ("mpich5", "regions", ("--steps", "20")),
        ("intelmpi", "cavity", ("--steps", "20")),
    ],
)
def test_the_marked_iterations_of_a_program_are_delayed(
    library: str, name: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    proxy = built_for(library, name)
    what = ("--call", "MPI_Pcontrol", "--every", "5", "--delay", "2 ms", "--rounds", "1", "--json", "j")
    done = inject(proxy, launch_of(proxy, *options), tmp_path, *what)
    assert done.returncode == 0, done.stderr
    assert "every 5: 2 ms after every 5th call of MPI_Pcontrol with level 2 on 1 random rank" in done.stdout
    document = json.loads((tmp_path / "j").read_text(encoding="utf-8"))
    assert not (tmp_path / "unwanted").exists()  # the user's setting of the tracer
    (delays,) = document["delays"]
    assert delays["calls"] == 20
    assert delays["occasions"] == delays["delays"] == 4
    assert delays["delayed_s"] >= 4 * 0.002
    assert {key: len(times) for key, times in document["times_s"].items()} == {"none": 1, "every 5": 1}
    for run in records(tmp_path):
        output = (tmp_path / "offbeat-inject" / run["output"]).read_text(encoding="utf-8")
        assert "verified" in output
        assert bool(run["effect"]["delays"]) == (run["choice"] == "every 5")


def test_more_rounds_resume_an_experiment_with_several_variants(regions: Proxy, tmp_path: Path) -> None:
    launch = launch_of(regions, "--steps", "10")
    what = ("--call", "MPI_Pcontrol", "--every", "1,5", "--delay", "50 ms", "--seed", 3)
    assert inject(regions, launch, tmp_path, *what, "--rounds", 1).returncode == 0
    first = records(tmp_path)
    done = inject(regions, launch, tmp_path, *what, "--rounds", 2, "--json", "-")
    assert done.returncode == 0, done.stderr
    runs = records(tmp_path)
    assert runs[:3] == first
    assert Counter(run["choice"] for run in runs) == {"none": 2, "every 1": 2, "every 5": 2}
    document = json.loads(done.stdout)
    assert document["verdict"]["rounds"] == 2
    for run in runs:  # of two ranks, one has at least half of the delays
        assert run["wall_s"] >= run["effect"]["delayed_s"] / 2
    often, rarely = document["delays"]
    assert (often["delays"], rarely["delays"]) == (10, 2)

    other = inject(regions, launch, tmp_path, *what[:-4], "--delay", "1 ms", "--rounds", 1)
    assert other.returncode == 2
    assert "other settings" in other.stderr


def test_a_killed_experiment_resumes_without_repeating_runs(regions: Proxy, tmp_path: Path) -> None:
    launch = launch_of(regions, "--steps", "10")
    what = ("--call", "MPI_Waitall", "--ranks", "0", "--every", "2", "--delay", "20 ms", "--rounds", 2)
    process = subprocess.Popen(
        words(regions, launch, what), cwd=tmp_path, env=launch.environment, stdout=subprocess.DEVNULL
    )
    path, until = tmp_path / "offbeat-inject" / "runs.jsonl", time.monotonic() + 120
    while not (path.exists() and path.stat().st_size) and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    before = records(tmp_path)
    assert before
    done = inject(regions, launch, tmp_path, *what)
    assert done.returncode == 0, done.stderr
    runs = records(tmp_path)
    assert runs[: len(before)] == before
    assert Counter((run["round"], run["choice"]) for run in runs) == Counter(
        (number, name) for number in range(2) for name in ("none", "every 2")
    )


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        (("--call", "MPI_Alltoall"), r"never calls MPI_Alltoall; it calls MPI_Irecv ("),
        (("--call", "MPI_Pcontrol", "--every", "1000"), "the first delay is at call 1000"),
    ],
)
def test_delays_that_never_happen_fail_the_experiment(
    regions: Proxy, what: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    done = inject(regions, launch_of(regions, "--steps", "5"), tmp_path, *what, "--delay", "1 ms")
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_program_without_mpi_fails_the_experiment(regions: Proxy, tmp_path: Path) -> None:
    launch = command(regions.mpi, ["/usr/bin/env", "true"], 2, steerable=False)
    done = inject(regions, launch, tmp_path, "--call", "MPI_Barrier", "--delay", "1 ms")
    assert done.returncode == 1
    assert "the program did not call MPI_Init" in done.stderr


@pytest.mark.parametrize(
    "what",
    [
        ("--call", "MPI_Recieve", "--delay", "1 ms"),
        ("--call", "MPI_Recv", "--delay", "-1 ms"),
        ("--call", "MPI_Recv", "--delay", "1 ms", "--every", "0"),
        ("--call", "MPI_Recv", "--delay", "1 ms", "--ranks", "0,2"),
    ],
)
def test_invalid_options_start_no_run(regions: Proxy, what: tuple[str, ...], tmp_path: Path) -> None:
    done = inject(regions, launch_of(regions), tmp_path, *what)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
