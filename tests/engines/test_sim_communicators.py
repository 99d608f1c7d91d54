"""Simulated studies of the rows and columns of a process grid, from the file to the report."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from offbeat.base.errors import BadInput
from offbeat.measurement.results.read import Results, read_study
from offbeat.model.platform.machine import load
from offbeat.model.study.communicators import CommunicatorLayout
from offbeat.model.study.study_file import loads
from offbeat.simulation.calls.call_exits import Job, run_job

pytestmark = pytest.mark.slow

GRID = """
name = "grid"
engine = "sim"
[[collective]]  # rows: a node each
names = ["allreduce", "bcast"]
sizes = [8, 65536]
communicators = 4
[[collective]]  # columns
names = ["allreduce", "bcast"]
sizes = [8, 65536]
communicators = 8
stride = 8
[[collective]]  # as rows, but over two nodes
names = ["allreduce", "bcast"]
sizes = [8, 65536]
communicators = 4
stride = 2
[processes]
nodes = [4]
ppn = [8]
[patterns]
shapes = ["no_delay", "ascending", "random"]
[skew]
factors = [1.0]
"""

LAYOUTS = (
    CommunicatorLayout(p=8, communicators=4),
    CommunicatorLayout(p=4, communicators=8, stride=8),
    CommunicatorLayout(p=8, communicators=4, stride=2),
)


def offbeat(*arguments: object, status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "offbeat", *map(str, arguments)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grid")
    (folder / "study.toml").write_text(GRID)
    offbeat("run", folder / "study.toml", "--output", folder / "results")
    return folder / "results"


@pytest.fixture(scope="module")
def study(results: Path) -> Results:
    return read_study(results)


def test_every_case_of_every_layout_is_simulated(study: Results) -> None:
    cases = study.cases
    assert set(cases["status"]) == {"measured"}
    layouts = set(cases.select("p", "communicators", "stride").iter_rows())
    assert layouts == {(8, 4, 1), (4, 8, 8), (8, 4, 2)}
    per_layout = cases.group_by("communicators", "stride", "algorithm", "collective").len()["len"]
    assert set(per_layout) == {2 * 3}


def test_all_processes_have_the_delays_and_the_exits_of_a_simulation_of_all_communicators(
    study: Results,
) -> None:
    ranks = study.ranks()
    for layout in LAYOUTS:
        row = study.cases.filter(
            (pl.col("p") == layout.p)
            & (pl.col("stride") == layout.stride)
            & (pl.col("collective") == "allreduce")
            & (pl.col("algorithm") == "ring")
            & (pl.col("bytes") == 65536)
            & (pl.col("shape") == "ascending")
        ).row(0, named=True)
        own = ranks.filter(pl.col("case") == row["case"]).sort("rank")
        arrivals = own["arrival_s"].to_numpy()
        np.testing.assert_array_equal(arrivals, layout.for_all(arrivals[layout.ranks[0]]))
        machine = load(study.provenance["library"]["platform"]["name"])
        job = Job(
            platform=machine.file,
            node_of_rank=machine.node_of_rank(32, nodes=4, ppn=8),
            collective="allreduce",
            family="openmpi",
            algorithm="ring",
            root=0,
            bytes=65536,
            element_bytes=8,
            arrivals_s=arrivals[np.newaxis],
            layout=layout,
        )
        np.testing.assert_array_equal(run_job(job).exits_s[0], own["exit_s"].to_numpy())
        last = (own["exit_s"].to_numpy()[layout.ranks].max(axis=1) - arrivals.max()).max()
        assert row["last_delay_s"] == pytest.approx(last, rel=1e-12)


def test_choices_and_reports_are_by_layout(results: Path) -> None:
    chosen = offbeat("select", results)
    for text in ("p=8 of 32 (4×8), stride 1", "p=4 of 32 (4×8), stride 8"):
        assert text in " ".join(chosen.split()), chosen
    page = results.parent / "report.html"
    offbeat("report", results, "--output", page)
    assert "p = 4 of 32 (4×8), stride 8" in page.read_text()


def test_a_killed_study_resumes_and_ends_as_an_uninterrupted_one(results: Path, tmp_path: Path) -> None:
    study, folder = results.parent / "study.toml", tmp_path / "killed"
    process = subprocess.Popen(
        [sys.executable, "-m", "offbeat", "run", str(study), "--output", str(folder)],
        stderr=subprocess.DEVNULL,
    )
    log = folder / "cases.jsonl"
    patience = time.monotonic() + 60
    while (
        process.poll() is None and not (log.exists() and log.stat().st_size) and time.monotonic() < patience
    ):
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    offbeat("run", study, "--output", folder)
    assert read_study(folder).cases.equals(read_study(results).cases)


def test_smpi_refuses_several_communicators_with_their_line(tmp_path: Path) -> None:
    text = GRID.replace('"sim"', '"smpi"')
    with pytest.raises(
        BadInput, match=r"study.toml:7: .*smpi simulates one communicator at a time; take the"
    ):
        loads(text, tmp_path / "study.toml")
