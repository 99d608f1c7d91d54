"""``offbeat try`` with the FT example on the real MPI libraries, with two ranks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from offbeat.libraries.installations.build import driver_path
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_command import LaunchCommand, command

pytestmark = pytest.mark.slow

STUDY = """\
name = "ft"
[[collective]]
names = ["alltoall"]
sizes = ["1 MiB"]
algorithms = {algorithms}
[processes]
p = [2]
[patterns]
shapes = ["no_delay", "last_delayed"]
[repetitions]
minimum = 5
maximum = 5
time_cap = "200 ms"
"""

ALGORITHMS = {
    "openmpi": ["default", "linear", "pairwise"],
    "mpich": ["default", "pairwise", "scattered"],
    "intelmpi": ["default", "preset_1", "preset_2"],
}
"""Three algorithms of alltoall for each family of libraries, as each one is proved, measured and tried."""


def offbeat(launch: LaunchCommand, folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "offbeat", *map(str, arguments)],
        cwd=folder,
        env=launch.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize("mpi_installation", ["openmpi5", "mpich5", "intelmpi"], indirect=True)
def test_ft_is_verified_with_every_choice_and_every_rank_gets_its_variables(
    mpi_installation: Installation, mpi_driver: Path, tmp_path: Path
) -> None:
    ft = driver_path(mpi_installation).with_name("offbeat-ft")
    launch = command(mpi_installation, [str(ft), "--class", "S"], 2, steerable=False)
    study = STUDY.format(algorithms=json.dumps(ALGORITHMS[mpi_installation.family]))
    (tmp_path / "study.toml").write_text(study, encoding="utf-8")
    where = ("--mpi", mpi_installation.mpirun)
    done = offbeat(launch, tmp_path, "run", "study.toml", *where)
    assert done.returncode == 0, done.stderr

    time = r"processes: ([\d.]+) s"
    done = offbeat(launch, tmp_path, "try", "--rounds", 1, "--time", time, *where, "--", *launch.argv)
    assert done.returncode == 0, done.stderr
    runs = [json.loads(line) for line in (tmp_path / "offbeat-try" / "runs.jsonl").read_text().splitlines()]
    assert {run["status"] for run in runs} == {0}
    assert "default" in {run["choice"] for run in runs}
    for run in runs:
        assert "Verified: 6 checksums" in (tmp_path / "offbeat-try" / run["output"]).read_text()
        assert 0 < run["time_s"] < run["wall_s"]

    printing = [*launch.argv[: launch.argv.index(str(ft))], "printenv"]
    done = offbeat(launch, tmp_path, "try", "--rounds", 1, "-o", "seen", *where, "--", *printing)
    assert done.returncode == 0, done.stderr
    for run in map(json.loads, (tmp_path / "seen" / "runs.jsonl").read_text().splitlines()):
        manifest = tmp_path / "seen" / "tuning" / run["choice"] / "tuning.json"
        expected = variables(manifest) if manifest.exists() else {}
        assert bool(expected) == manifest.exists()
        lines = (tmp_path / "seen" / run["output"]).read_text().splitlines()
        for name, value in expected.items():
            assert lines.count(f"{name}={value}") == 2, name


def variables(manifest: Path) -> dict[str, str]:
    """The variables that the tuning files' own instructions set for two processes."""
    tuning = json.loads(manifest.read_text(encoding="utf-8"))["tuning"]
    own: dict[str, str] = dict(tuning["environment"])
    for entry in tuning["by_processes"]:
        if entry["p_low"] <= 2 <= entry["p_high"]:
            own |= entry["environment"]
    return own
