"""Nothing that a study asks for disappears, whichever of its processes is killed at whichever moment."""

from __future__ import annotations

import subprocess
import sys

import drawn_kills
import pytest
import real_studies
from drawn_kills import Kill, drawn

from offbeat.libraries.installations.build import build_native

pytestmark = pytest.mark.slow

STUDY = real_studies.TINY.replace("sizes = [64]", 'sizes = [64]\nalgorithms = ["default", "binomial"]')
CASES = 4
KILLS = [*drawn("prove", 2, 2.0), *drawn("measure", 2, 0.5)]


@pytest.mark.parametrize("kill", KILLS, ids=str)
def test_totals_and_status_are_right_after_a_kill(kill: Kill, some_mpi_installation, own_cache, tmp_path):
    """A killed launch is repeated: all is measured, or the status is 1 and the named command measures it."""
    build_native(some_mpi_installation)
    (tmp_path / "study.toml").write_text(STUDY)
    run = [sys.executable, "-m", "offbeat", "run", "study.toml", "-o", "results"]
    run += ["--mpi", str(some_mpi_installation.mpirun)]
    cases, proofs = tmp_path / "results" / "cases.jsonl", tmp_path / "results" / "logs"

    def has_begun() -> bool:
        if kill.phase == "prove":
            return proofs.exists() and any(proofs.iterdir())
        return cases.exists() and cases.stat().st_size > 0

    ended = drawn_kills.killed(run, tmp_path, kill, has_begun)
    if ended.status == 0:
        assert f"{CASES} of {CASES} cases done" in ended.output
    elif kill.target == "front end" and ended.has_killed:
        assert ended.status in (-kill.signal, 128 + kill.signal), ended.output
    else:
        assert ended.status == 1, ended.output
        assert "--retry' tries them again" in ended.output or "run the study again" in ended.output
    again = subprocess.run([*run, "--retry"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 0, (ended, again)
    assert f"{CASES} of {CASES} cases done" in again.stdout
    assert set(real_studies.cases(tmp_path / "results")["status"]) == {"measured"}
