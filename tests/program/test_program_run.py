"""``offbeat program run`` and ``times`` with real MPI libraries."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

from offbeat.base.errors import BadInput, RunFailed
from offbeat.cli.program import app
from offbeat.libraries.installations.installation import Installation
from offbeat.programs.execution.times import completed, read
from offbeat.trace.files.record_table import message_pieces
from offbeat.trace.files.trace_folder import open_trace

pytestmark = pytest.mark.slow

EVERYTHING = """
name = "everything"
ranks = 3
iterations = 12
[[phase]]
kind = "work"
name = "sweep"
memory = "300 kB"
flops = 1e5
weights = [1, 2]
[[phase]]
kind = "exchange"
name = "halo"
bytes = [3000]
sends = "{sends}"
[[phase]]
kind = "work"
name = "core"
time = "10 us"
[[phase]]
kind = "collective"
name = "sum"
collective = "allreduce"
algorithm = "recursive_doubling"
family = "{family}"
bytes = [8]
every = 4
[[phase]]
kind = "collective"
name = "nothing"
collective = "barrier"
algorithm = "recursive_doubling"
every = 6
[[noise]]
phase = "halo"
time = "30 ms"
pick = "each_domain"
first = 5
last = 5
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=True)


def program_file(folder: Path, installation: Installation, sends: str = "nonblocking") -> Path:
    path = folder / "program.toml"
    family = "openmpi" if installation.family == "openmpi" else "mpich"
    path.write_text(EVERYTHING.format(sends=sends, family=family))
    return path


def test_each_library_runs_all_kinds_of_phases(mpi_installation: Installation, tmp_path: Path) -> None:
    table, folder = tmp_path / "iterations.parquet", tmp_path / "run"
    result = run(
        *("run", program_file(tmp_path, mpi_installation), "--mpi", mpi_installation.mpirun),
        *("--folder", folder, "-o", table, "--json", "-", "--buffer", "1 MiB"),
    )
    assert result.exit_code == 0, (result.output, result.exception)
    summary = json.loads(result.stdout)
    assert summary["run"]["what"] == "measured" and (summary["ranks"], summary["iterations"]) == (3, 12)
    assert 0 < summary["communication_share"] <= 1 and summary["lockstep"]["iteration_s"] > 0
    frame = pl.read_parquet(table)
    measured = read(folder)
    assert frame.height == 36 and (np.diff(measured.iteration_end_s, axis=0) > 0).all()
    assert (measured.communication_s <= measured.iteration_s() + 1e-6).all()
    delayed_s = measured.iteration_s()[4]
    assert delayed_s.max() >= 0.03  # the delay of iteration 5
    forced = [sentence for sentence in summary["basis"] if sentence.startswith("sum: allreduce")]
    is_known = mpi_installation.family in ("openmpi", "mpich")
    assert len(forced) == 1 and ("forced by" in forced[0]) == is_known
    if not is_known:
        assert "ran by the library's own choice" in forced[0]


def test_the_calls_of_an_iteration_are_those_that_are_simulated(
    some_mpi_installation: Installation, tmp_path: Path
) -> None:
    program, trace = program_file(tmp_path, some_mpi_installation, "synchronous"), tmp_path / "trace"
    result = run(
        *("run", program, "--mpi", some_mpi_installation.mpirun, "--trace", trace, "--buffer", "1 MiB")
    )
    assert result.exit_code == 0, (result.output, result.exception)
    calls = pl.concat(message_pieces(open_trace(trace)))
    marks = calls.filter((pl.col("kind") == "mark") & (pl.col("tag") == 2))
    assert sorted(marks.group_by("rank").len()["len"].to_list()) == [12, 12, 12]
    posted = calls.filter(pl.col("kind").is_in(["send", "receive"]) & (pl.col("moment") != "completion"))
    assert Counter(posted["function"]) == {"MPI_Irecv": 72, "MPI_Issend": 72}
    one = posted.filter(pl.col("rank") == 1).sort("enter_ns").head(4)
    assert one["function"].to_list() == ["MPI_Irecv", "MPI_Irecv", "MPI_Issend", "MPI_Issend"]
    assert one["peer"].to_list() == [0, 2, 2, 0]  # receives in the order of their senders, sends +1 and -1


def start(program: Path, folder: Path, installation: Installation) -> subprocess.Popen[str]:
    """The command in a process of its own, when some iterations are complete."""
    command = [
        *(sys.executable, "-m", "offbeat", "program", "run", str(program), "--mpi", str(installation.mpirun)),
        *("--folder", str(folder), "--iterations", "1000000"),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while completed(folder / "rank-0.times") < 20 and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process


def executors(folder: Path) -> list[int]:
    """The processes of a run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if Path(words[0].decode()).name == "offbeat-program" and str(folder).encode() in words:
            found.append(int(entry.name))
    return found


LONG = '[[phase]]\nkind = "work"\ntime = "1 ms"\n[[phase]]\nkind = "exchange"\nbytes = [8]\nsends = "{}"\n'


@pytest.mark.parametrize(
    ("library", "victim", "sends"),
    [
        ("openmpi5", "rank", "blocking"),
        ("mpich5", "command", "buffered"),
        ("openmpi4", "interrupt", "buffered"),
    ],
)
def test_a_run_that_is_killed_keeps_its_complete_iterations(
    library: str, victim: str, sends: str, tmp_path: Path
) -> None:
    from real_libraries import real_installation

    program, folder = tmp_path / "long.toml", tmp_path / "run"
    program.write_text("ranks = 2\n" + LONG.format(sends))
    process = start(program, folder, real_installation(library))
    if victim == "rank":
        os.kill(executors(folder)[0], signal.SIGKILL)
    else:
        process.send_signal(signal.SIGKILL if victim == "command" else signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == {"rank": 1, "command": -signal.SIGKILL, "interrupt": 130}[victim], errors
    if victim == "rank":
        assert "The run ended early" in output and "the run failed" in errors
    deadline = time.monotonic() + 30
    while executors(folder):
        assert time.monotonic() < deadline, "processes are left"
        time.sleep(0.05)
    shown = run("times", folder)
    assert shown.exit_code == 0 and "of 1000000 iterations are complete" in " ".join(shown.stdout.split())
    assert read(folder).iterations >= 20


def test_a_run_whose_picture_cannot_be_written_is_kept(
    some_mpi_installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise RunFailed("the disk is full")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("offbeat.presentation.pictures.program.picture", full)
    program = tmp_path / "short.toml"
    program.write_text('iterations = 3\nranks = 1\n[[phase]]\nkind = "work"\ntime = "1 us"\n')
    result = run("run", program, "--mpi", some_mpi_installation.mpirun, "--picture", "x.png")
    assert isinstance(result.exception, RunFailed)
    (kept,) = tmp_path.glob("offbeat-run-*")
    assert f"offbeat program times {kept.name}" in result.output
    assert "1 rank, 3 iterations" in run("times", kept).stdout


def test_a_run_without_progress_is_ended(some_mpi_installation: Installation, tmp_path: Path) -> None:
    program = tmp_path / "slow.toml"
    program.write_text('ranks = 2\n[[phase]]\nkind = "work"\ntime = "30 s"\n')
    result = run("run", program, "--mpi", some_mpi_installation.mpirun, "--hang-after", "1 s")
    assert isinstance(result.exception, RunFailed)
    assert "the run hung: rank 0 ended no iteration for 1 s after 0 of 1000" in str(result.exception)


def test_bad_input_is_refused_before_a_launch(some_mpi_installation: Installation, tmp_path: Path) -> None:
    program = program_file(tmp_path, some_mpi_installation)
    used = tmp_path / "used"
    used.mkdir()
    (used / "run.json").write_text("{")
    traced = tmp_path / "traced"
    traced.mkdir()
    (traced / "rank-000000.trace").touch()
    for arguments in (
        ("--folder", used),
        ("--buffer", "1 B"),
        ("--buffer", "much"),
        ("--hang-after", "0 s"),
        ("--ranks", 10**9),
        ("--iterations", 10**12),
        ("--nodes", 2),
        ("--mpi", "none-such"),
        ("--picture", "run.bmp"),
        ("--picture", tmp_path / "none" / "run.png"),
        ("--folder", program / "run"),
        ("--trace", traced),
    ):
        result = run("run", program, *arguments)
        assert isinstance(result.exception, BadInput), (arguments, result.output, result.exception)
    assert "give another folder with --trace" in str(result.exception)
    for folder in (used, tmp_path / "absent"):
        assert isinstance(run("times", folder).exception, BadInput)


def test_damaged_times_are_refused(some_mpi_installation: Installation, tmp_path: Path) -> None:
    program, folder = tmp_path / "short.toml", tmp_path / "run"
    program.write_text('iterations = 3\nranks = 1\n[[phase]]\nkind = "work"\ntime = "1 us"\n')
    done = run("run", program, "--mpi", some_mpi_installation.mpirun, "--folder", folder)
    assert done.exit_code == 0 and run("times", folder).exit_code == 0, done.exception
    times = folder / "rank-0.times"
    whole = times.read_bytes()
    for damaged in (b"", whole[:100], whole[:-1], b"x" + whole[1:], whole[:16] + b"\xff" * 8 + whole[24:]):
        times.write_bytes(damaged)
        assert isinstance(run("times", folder).exception, BadInput), len(damaged)
    times.unlink()
    assert isinstance(run("times", folder).exception, BadInput)
