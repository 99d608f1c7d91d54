"""All commands on two nodes with each library: measure, select, export, verify; trace; try; calibrate."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from decided_results import decide
from real_libraries import real_installation
from several_nodes import (
    NODES,
    OFFSETS,
    ONE_OF_THEM,
    WHOLE,
    hostfile,
    launch,
    offbeat,
    on_nodes,
    the_same_everywhere,
)

from offbeat.libraries.installations.build import driver_path
from offbeat.libraries.installations.installation import Installation
from offbeat.measurement.results.read import read_study
from offbeat.selection.verification.proofs import read_proofs
from offbeat.selection.verification.rule_probes import OBEYED

pytestmark = pytest.mark.slow

STUDY = """\
[processes]
nodes = [2]
ppn = [{ppn}]
[[collective]]
names = ["{collective}"]
sizes = {sizes}
algorithms = {algorithms}
[patterns]
shapes = ["no_delay", "last_delayed"]
[repetitions]
minimum = 2
maximum = {maximum}
time_cap = "2 s"
hang_after = "{hang_after}"
[start]
tolerance = "1 s"
[mpi]
hostfile = "hosts.txt"
"""

FEW = {
    "openmpi": ["linear", "in_order_binary"],
    "mpich": ["binomial", "reduce_scatter_gather"],
    "intelmpi": ["preset_1", "preset_7"],
}
"""Two algorithms of reduce per library with different code, which show whether a file is obeyed."""


def write_study(
    folder: Path,
    installation: Installation,
    *,
    ppn: int = 1,
    sizes: str = "[64, 2048]",
    maximum: int = 2,
    hang_after: str = "60 s",
) -> None:
    """A study file with a host file beside it, named by a relative path."""
    hostfile(folder)
    text = STUDY.format(
        collective="reduce",
        algorithms=json.dumps(FEW[installation.family]),
        ppn=ppn,
        sizes=sizes,
        maximum=maximum,
        hang_after=hang_after,
    )
    (folder / "study.toml").write_text(text, encoding="utf-8")


# With several processes on each node Open MPI 5 runs han, which test_nodes_hierarchical.py tests.
@pytest.mark.parametrize("ppn", [1, 2] if WHOLE else [1])
def test_a_library_obeys_its_files_on_two_nodes(
    library: str, ppn: int, installation: Installation, tmp_path: Path
) -> None:
    clocks = f"--offsets=0,{OFFSETS[library]}"
    write_study(tmp_path, installation, ppn=ppn)
    offbeat(["run", "study.toml", "--mpi", installation.mpirun], tmp_path, clocks)
    results = tmp_path / "study-results"
    measured = read_study(results).cases
    assert set(measured["status"]) == {"measured"} and set(measured["nodes"]) == {2}
    decide(results, lambda case: 10.0 if case["algorithm"] == "default" else None)
    offbeat(["export", "study-results"], tmp_path)
    offbeat(["verify", "study-results"], tmp_path, clocks)
    proofs = read_proofs(results / "tuning")
    assert proofs is not None
    changed = [proof for proof in proofs.proofs if proof.expected != "default"]
    print(f"{library}, 2 × {ppn}: {len(measured)} cases; obeyed {len(changed)} of {len(changed)} cells")
    assert {64, 2048} <= {proof.case.bytes for proof in changed}, "both measured sizes, and edges of rules"
    assert all(proof.outcome == OBEYED for proof in changed)
    if library == "openmpi5" and ppn > 1:
        outside = [proof for proof in proofs.proofs if proof.expected == "default"]
        assert outside and all("coll_han" in proof.evidence for proof in outside), (
            "han keeps what is not tuned"
        )
    the_same_everywhere(results, tmp_path, clocks)
    if library in ONE_OF_THEM:
        try_on_a_program(library, ppn, installation, tmp_path)


def try_on_a_program(library: str, ppn: int, installation: Installation, folder: Path) -> None:
    """``offbeat try`` runs a program with each choice of the results in ``folder``."""
    ft = driver_path(installation).with_name("offbeat-ft")
    started = launch(installation, [ft, "--class", "S"], folder, ppn)
    arguments = [sys.executable, "-m", "offbeat", "try", "--rounds", 1, "--mpi", installation.mpirun]
    arguments += ["--time", r"processes: ([\d.]+) s", "--", *started.argv]
    clocks = f"--offsets=0,{OFFSETS[library]}"
    done = on_nodes(arguments, folder, clocks, environment=started.environment)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (folder / "offbeat-try" / "runs.jsonl").read_text(encoding="utf-8").splitlines()
    runs = [json.loads(line) for line in lines]
    assert {run["status"] for run in runs} == {0} and len(runs) >= 2
    for run in runs:
        assert "Verified: 6 checksums" in (folder / "offbeat-try" / run["output"]).read_text(encoding="utf-8")


def test_a_program_is_traced_on_two_nodes(library: str, installation: Installation, tmp_path: Path) -> None:
    clocks = f"--offsets=0,{OFFSETS[library]}"
    ft = driver_path(installation).with_name("offbeat-ft")
    started = launch(installation, [ft, "--class", "S"], tmp_path)
    here = [sys.executable, "-m", "offbeat"]
    arguments = [*here, "trace", "run", "--mpi", installation.mpirun, "-o", "trace", "--", *started.argv]
    done = on_nodes(arguments, tmp_path, clocks, environment=started.environment)
    assert done.returncode == 0 and "Verified: 6 checksums" in done.stdout, done.stdout + done.stderr
    summary = offbeat(["trace", "summary", "trace"], tmp_path).stdout
    assert "alltoall" in summary and "2 nodes" in summary, summary


@pytest.mark.parametrize("name", ONE_OF_THEM)
def test_messages_between_nodes_make_a_platform_file(name: str, tmp_path: Path) -> None:
    arguments: list[object] = ["platform", "calibrate", "--mpi", real_installation(name).mpirun, "--nodes", 2]
    arguments += ["--ppn", 1, "--hostfile", hostfile(tmp_path), "--largest", "1 KiB", "-o", "platform.toml"]
    done = offbeat(arguments, tmp_path, f"--offsets=0,{OFFSETS[name]}")
    assert "between two nodes" in done.stdout
    assert (tmp_path / "platform.toml").is_file()


if WHOLE:

    @pytest.mark.parametrize("name", ONE_OF_THEM)
    def test_a_link_that_goes_down_quarantines_nothing_and_the_study_resumes(
        name: str, tmp_path: Path
    ) -> None:
        installation = real_installation(name)
        write_study(tmp_path, installation, sizes="[8, 64, 512, 4096, 32768]", maximum=2000, hang_after="5 s")
        script = f"""
            run() {{ {sys.executable} -m offbeat run study.toml --mpi {installation.mpirun}; }}
            run & until test $(cat study-results/cases.jsonl 2>/dev/null | wc -l) -ge 4; do sleep 0.1; done
            {NODES}/link node2 down; wait $!; echo "down: $?"
            {NODES}/link node2 up; run; echo "up: $?"
        """
        done = on_nodes(["sh", "-c", script], tmp_path)
        cases = read_study(tmp_path / "study-results").cases
        print(done.stdout)
        assert "down: 1" in done.stdout and "up: 0" in done.stdout, done.stdout + done.stderr
        assert set(cases["status"]) == {"measured"}


CHECKED = [
    (name, of)
    for name in (OFFSETS if WHOLE else ["mpich5"])
    for of in (("offbeat", "preload") if WHOLE else ("offbeat",))
    if (name, of) != ("openmpi4", "preload")  # which has no partitioned functions
]


@pytest.mark.parametrize(("name", "of"), CHECKED)
def test_partitioned_communication_is_right_on_two_nodes(name: str, of: str, tmp_path: Path) -> None:
    mpirun = real_installation(name).mpirun
    hostfile(tmp_path)
    command = ["partitioned", "check", "--mpi", mpirun, "--of", of, "--nodes", 2, "--hostfile", "hosts.txt"]
    done = offbeat(command, tmp_path)
    assert re.search(r"on two nodes: (\d+) of \1 cases right\.", done.stdout), done.stdout


def test_no_process_is_left_afterwards() -> None:
    """Launched programs end with their nodes."""
    output = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    running = [line for line in output.splitlines() if str(NODES) in line]
    assert not [line for line in running if "offbeat run" in line or "partitioned check" in line]
