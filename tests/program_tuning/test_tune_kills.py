"""Whichever process of 'offbeat tune' is killed at whichever moment: the status says so, and the same command
finishes the rest.

With OFFBEAT_TEST_KILLS=100, as many kills in each stage (hours); without it, one while the program is traced.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import drawn_kills
import pytest
from drawn_kills import Kill, drawn
from exchanges import BRUCK, built

from offbeat.libraries.installations.build import build_native
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_command import LaunchCommand, command

pytestmark = pytest.mark.slow

FIRST_FILES = {
    "trace": "trace",
    "measure": "results/cases.jsonl",
    "compare": "compare",
    "verify": "tuning/tuned",
    "try": "trial",
}
"""What a stage creates first in the directory."""

IS_CAMPAIGN = "OFFBEAT_TEST_KILLS" in os.environ
KILLS = [kill for stage in FIRST_FILES for kill in drawn(stage, 1 if stage == "trace" else 0, 2.0)]


@pytest.mark.parametrize("kill", KILLS, ids=str)
def test_the_same_command_finishes_what_a_kill_left(
    kill: Kill, some_mpi_installation: Installation, own_cache: Path, tmp_path: Path
) -> None:
    build_native(some_mpi_installation)
    program = built(some_mpi_installation, tmp_path).rename(tmp_path / "app")
    arguments = [str(program), "300" if IS_CAMPAIGN else "20", "1048576"]
    launch = command(some_mpi_installation, arguments, 2, steerable=False, environment=BRUCK)
    tune = [sys.executable, "-m", "offbeat", "tune", "--mpi", str(some_mpi_installation.mpirun)]
    whole = [*tune, "--json", "verdict.json", "--", *launch.argv]
    first = tmp_path / "offbeat-tune" / FIRST_FILES[kill.phase]
    ended = drawn_kills.killed(whole, tmp_path, kill, first.exists, launch.environment)
    if kill.target == "front end" and ended.has_killed:
        assert ended.status in (-kill.signal, 128 + kill.signal), ended.output
    else:
        assert ended.status in (0, 1), ended.output
    if not IS_CAMPAIGN:
        _check_kept_trace([*tune, "--budget", "1 ms", "--", *launch.argv], launch, tmp_path)
        return
    again = _run(whole, launch, tmp_path)
    assert again.returncode == 0, (ended, again)
    verdict = json.loads((tmp_path / "verdict.json").read_text(encoding="utf-8"))
    rounds = {len(times_s) for times_s in verdict["times_s"].values()}
    assert len(rounds) <= 1, verdict["times_s"]
    assert "Traceback" not in ended.output + again.stderr


def _check_kept_trace(argv: list[str], launch: LaunchCommand, folder: Path) -> None:
    """A budget that is too small for the trial ends with status 2 after the trace, which is kept whole."""
    done = _run(argv, launch, folder)
    assert (done.returncode, "The trace is kept" in done.stderr) == (2, True), done
    assert len(list((folder / "offbeat-tune" / "trace").glob("*.trace"))) == 2


def _run(argv: list[str], launch: LaunchCommand, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        cwd=folder,
        env=launch.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
