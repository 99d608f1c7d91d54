"""``offbeat tune`` on real libraries: from a program with a bad default to files that repair it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from exchanges import BRUCK, built
from msgspec import structs

from offbeat.base.campaign.checksum import document_with_checksum
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_command import LaunchCommand, command
from offbeat.measurement.results.layout import PROVENANCE, read_provenance

pytestmark = pytest.mark.slow


def words(launch: LaunchCommand, mpi: Installation, *options: object) -> list[str]:
    argv = [sys.executable, "-m", "offbeat", "tune", "--mpi", str(mpi.mpirun), "--json", "verdict.json"]
    return [*argv, *map(str, options), "--", *launch.argv]


def tune(
    launch: LaunchCommand, mpi: Installation, folder: Path, *options: object
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words(launch, mpi, *options),
        cwd=folder,
        env=launch.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


def printed(launch: LaunchCommand, mpi: Installation, folder: Path, *options: object) -> str:
    done = tune(launch, mpi, folder, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tuned(launch: LaunchCommand, mpi: Installation, folder: Path, *options: object) -> dict[str, Any]:
    text = printed(launch, mpi, folder, *options)
    return dict(json.loads((folder / "verdict.json").read_text())) | {"printed": text}


def refused(launch: LaunchCommand, mpi: Installation, folder: Path) -> str:
    """What a command with another number of processes than its trace prints."""
    program = launch.argv[launch.argv.index(str(folder / "exchanges")) :]
    other = command(mpi, program, 3, steerable=False)
    done = tune(other, mpi, folder, "-o", "other", "--trace", "offbeat-tune/trace")
    assert done.returncode == 2
    return done.stderr


def as_an_older_version(folder: Path) -> None:
    """It sampled other calls of the trace for the replay."""
    (replay,) = (folder / "study").glob("*.replay")
    lines = replay.read_text().splitlines(keepends=True)
    assert lines[-1] != lines[-2]
    replay.write_text("".join([*lines[:-2], lines[-1], lines[-2]]))
    provenance = read_provenance(folder / "results")
    provenance["files"][replay.name] = hashlib.sha256(replay.read_bytes()).hexdigest()
    (folder / "results" / PROVENANCE).write_bytes(document_with_checksum(provenance))


@contextmanager
def another_study(folder: Path) -> Iterator[None]:
    """The older version wrote another study file."""
    study = folder / "results" / "study.toml"
    text = study.read_text()
    study.write_text(text.replace('tolerance = "auto"', "tolerance = 0.001"))
    assert study.read_text() != text
    yield
    study.write_text(text)


@pytest.mark.parametrize("mpi_installation", ["openmpi4"], indirect=True)
def test_a_bad_setting_of_the_user_is_found_and_taken_back_and_a_killed_run_is_resumed(
    mpi_installation: Installation, tmp_path: Path
) -> None:
    program = built(mpi_installation, tmp_path)
    launch = command(
        mpi_installation, [str(program), "400", "1048576"], 2, steerable=False, environment=BRUCK
    )
    assert "program runs once with the tracer" in printed(launch, mpi_installation, tmp_path, "--dry-run")
    assert not (tmp_path / "offbeat-tune").exists()
    process = subprocess.Popen(
        words(launch, mpi_installation),
        cwd=tmp_path,
        env=launch.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    cases = tmp_path / "offbeat-tune" / "results" / "cases.jsonl"
    while process.poll() is None and not (cases.exists() and cases.stat().st_size):
        time.sleep(0.05)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert "2 processes, and the command starts 3" in refused(launch, mpi_installation, tmp_path)
    measured = cases.read_bytes()
    as_an_older_version(tmp_path / "offbeat-tune")
    with another_study(tmp_path / "offbeat-tune"):
        done = tune(launch, mpi_installation, tmp_path)
        assert done.returncode == 2
        assert "was measured with another study" in done.stderr
        assert "(start.tolerance)" in done.stderr
        assert "in another directory with --output" in done.stderr

    verdict = tuned(launch, mpi_installation, tmp_path)
    assert cases.read_bytes().startswith(measured.rpartition(b"\n")[0])
    (gain,) = verdict["expected"]
    assert gain["algorithm"] != "modified_bruck"
    assert "OMPI_MCA_coll_tuned_alltoall_algorithm=3 (launcher options)" in verdict["printed"]
    assert "alltoall of 1 MiB on p=2: " in verdict["printed"]
    assert "in the program itself" in verdict["printed"]
    assert {"default", "as_started"} <= set(verdict["times_s"])
    page = (tmp_path / "offbeat-tune" / "report.html").read_text(encoding="utf-8")
    if chosen := verdict["verdict"]["choice"]:  # else the machine was too noisy to show it
        assert verdict["verdict"]["low"] > 0
        assert "What was tried" in page
        assert not any("coll_tuned_alltoall_algorithm 3" in line for line in verdict["usage"])
        if chosen != "default":
            assert all(f"tuning/{chosen}/" in line for line in verdict["usage"])
            assert all(word in page for word in ("mca-params.conf", "setenv("))
    else:
        assert "no choice is significantly faster" in page

    (journal,) = (tmp_path / "offbeat-tune" / "trial").glob("*/runs.jsonl")
    runs = journal.read_bytes()
    dry = printed(launch, mpi_installation, tmp_path, "--dry-run")
    assert all(word in dry for word in ("MPI_Alltoall at 1 MiB", "launch command", "estimate:", "rounds"))
    again = tuned(launch, mpi_installation, tmp_path)
    assert again["times_s"] == verdict["times_s"]
    assert journal.read_bytes() == runs


@pytest.mark.parametrize("mpi_installation", ["mpich5"], indirect=True)
def test_a_small_budget_is_kept_and_named(mpi_installation: Installation, tmp_path: Path) -> None:
    program = built(mpi_installation, tmp_path)
    launch = command(mpi_installation, [str(program), "400", "65536"], 2, steerable=False)
    done = tune(launch, mpi_installation, tmp_path, "--budget", "1 s")  # the trial takes longer
    assert done.returncode == 2
    assert "a trial of 5 rounds need" in done.stderr and "only -" not in done.stderr
    assert re.search(r"--budget \d+min suffices", done.stderr)
    assert "The trace is kept" in done.stderr
    assert not (tmp_path / "offbeat-tune" / "trial").exists()


@pytest.mark.parametrize("mpi_installation", ["openmpi4"], indirect=True)
def test_a_command_without_a_launcher_is_named(mpi_installation: Installation, tmp_path: Path) -> None:
    program = built(mpi_installation, tmp_path)
    launch = command(mpi_installation, [str(program), "4", "64"], 2, steerable=False)
    alone = structs.replace(launch, argv=[str(program), "4", "64"])
    done = tune(alone, mpi_installation, tmp_path)
    assert done.returncode == 2
    assert "the command started one process" in done.stderr
    assert "'offbeat tune -- mpirun -n 2 ./app'" in done.stderr


@pytest.mark.parametrize("mpi_installation", ["mpich4"], indirect=True)
def test_a_program_that_fails_is_named_with_its_output(
    mpi_installation: Installation, tmp_path: Path
) -> None:
    launch = command(mpi_installation, ["sh", "-c", "echo no licence; exit 3"], 2, steerable=False)
    done = tune(launch, mpi_installation, tmp_path)
    assert done.returncode == 1
    assert "no licence" in done.stderr
    assert "trace-output.txt" in done.stderr


@pytest.mark.parametrize("mpi_installation", ["openmpi4"], indirect=True)
def test_rows_and_columns_of_a_grid_are_measured_at_the_same_time_and_share_a_rule(
    mpi_installation: Installation, tmp_path: Path
) -> None:
    program = built(mpi_installation, tmp_path, "grid")
    launch = command(
        mpi_installation, [str(program), "60", "65536", "2"], 4, steerable=False, environment=BRUCK
    )
    verdict = tuned(launch, mpi_installation, tmp_path)
    (gain,) = verdict["expected"]
    layouts = {(one["p"], one["communicators"], one["stride"]) for one in gain["configurations"]}
    assert layouts == {(2, 2, 1), (2, 2, 2)}
    assert gain["algorithm"] != "modified_bruck"
    tried = set(verdict["times_s"])
    assert {"default", "as_started"} < tried and tried & {"tuned", "in_program"}
