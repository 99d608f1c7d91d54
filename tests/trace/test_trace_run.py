"""``offbeat trace run`` on the real MPI libraries: the summary agrees with the FT example's own counts."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from traced_program import Traced

from offbeat.base.errors import BadInput
from offbeat.libraries.installations.build import driver_path
from offbeat.libraries.launch.launch_command import command
from offbeat.model.pattern import pattern_file
from offbeat.model.pattern.pattern_file import shape_pattern
from offbeat.trace.calls.arrivals import collect
from offbeat.trace.files.trace_folder import open_trace
from offbeat.trace.patterns import mean_pattern, recorded_calls
from offbeat.trace.recommendation import choose_row
from offbeat.trace.recording import prepare
from offbeat.trace.summary import summarise

pytestmark = pytest.mark.slow

COUNTED = re.compile(r"^ +(MPI_\w+) +(\d+) of (\d+) bytes", re.MULTILINE)


def run_traced(traced: Traced, p: int, program: list[str], *options: str) -> subprocess.CompletedProcess[str]:
    """``offbeat trace run`` with the launcher's arguments that a user of this machine would type; the trace
    is in ``t``."""
    launch = command(traced.mpi, program, p, steerable=False)
    arguments = [sys.executable, "-m", "offbeat", "trace", "run", "-o", str(traced.folder / "t")]
    arguments += ["--mpi", str(traced.mpi.mpirun), *options, "--", *launch.argv]
    return subprocess.run(
        arguments,
        env=launch.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def ft(traced: Traced, *arguments: str) -> list[str]:
    return [str(driver_path(traced.mpi).with_name("offbeat-ft")), "--class", "S", *arguments]


def test_the_summary_has_the_counts_and_bytes_that_the_application_counts(traced: Traced) -> None:
    done = run_traced(traced, 4, ft(traced))
    assert done.returncode == 0, done.stderr
    own = {name: (int(calls), int(size)) for name, calls, size in COUNTED.findall(done.stdout)}
    assert "Verified" in done.stdout
    assert "(4 ranks)" in done.stderr
    summary = summarise(open_trace(traced.folder / "t"))
    counted: dict[str, tuple[int, int]] = {}
    for row in summary.rows:  # a function has a row for each call path
        calls, size = counted.get(row.function, (0, 0))
        counted[row.function] = (calls + row.whole, max(size, row.most_bytes))
    assert counted == own
    assert {row.communicator for row in summary.rows} == {"MPI_COMM_WORLD"}
    assert summary.notes == []


def test_options_of_trace_run_reach_every_rank(traced: Traced) -> None:
    done = run_traced(traced, 4, ft(traced), "--ranks", "1-2", "--collectives", "alltoall")
    assert done.returncode == 0, done.stderr
    summary = summarise(open_trace(traced.folder / "t"))
    assert (summary.traced, summary.processes) == (2, 4)
    assert {row.function for row in summary.rows} == {"MPI_Alltoall"}
    assert any("2 of 4 ranks have no file (0, 3), by OFFBEAT_TRACE_RANKS" in one for one in summary.notes)


def test_the_exit_status_is_that_of_the_program(traced: Traced) -> None:
    done = run_traced(traced, 2, ft(traced, "--iterations", "0"))
    assert done.returncode != 0
    assert "Traceback" not in done.stderr


def test_an_injected_pattern_is_recovered(some_traced: Traced) -> None:
    path = some_traced.folder / "mine.txt"
    pattern_file.write(path, shape_pattern("last_delayed", 2, 0.2))
    done = run_traced(some_traced, 2, ft(some_traced, "--imbalance", str(path), "--delay-by", "sleep"))
    assert done.returncode == 0, done.stderr
    summary = summarise(open_trace(some_traced.folder / "t"))
    pattern = mean_pattern(summary, choose_row(summary, collective="alltoall"))
    assert pattern.delays_s[0] == 0
    # The program's own delays and the machine's are added.
    assert pattern.delays_s[1] == pytest.approx(0.2, rel=0.5)


def test_an_invalid_option_starts_nothing(some_traced: Traced) -> None:
    with pytest.raises(BadInput, match="--every 0 is invalid"):
        prepare(["true"], some_traced.folder / "t", {"EVERY": "0"}, some_traced.mpi, some_traced.library, {})
    assert not (some_traced.folder / "t").exists()


def test_communicators_recreated_in_every_time_step_are_one_site_each(some_traced: Traced) -> None:
    steps = 20
    done = run_traced(some_traced, 4, [str(some_traced.compile_c("steps.c")), str(steps)])
    assert done.returncode == 0, done.stderr
    trace = open_trace(some_traced.folder / "t")
    summary = summarise(trace)
    on_copies = choose_row(summary, collective="allreduce")
    assert (on_copies.communicators, on_copies.calls, on_copies.whole) == (steps, steps, steps)
    halves = [row for row in summary.rows if row.function == "MPI_Bcast"]
    assert [(row.communicators, row.calls) for row in halves] == [(steps, steps)] * 2
    (together,) = (row for row in summary.group_rows if row.function == "MPI_Bcast")
    assert (together.communicator, together.calls) == (f"{2 * steps} × MPI_Comm_split", 2 * steps)
    assert len([row for row in summary.group_rows if row.kind == "blocking"]) == 3
    arrivals = collect(trace, on_copies)
    assert arrivals.number.tolist() == list(range(steps))
    assert (np.diff(arrivals.began_ns) > 0).all()
    latest = recorded_calls(summary, arrivals).delays_s.argmax(axis=1)
    assert np.count_nonzero(latest == 3) > steps / 2


def test_ignored_calls_on_freed_communicators_are_counted(some_traced: Traced) -> None:
    program = [str(some_traced.compile_c("steps.c")), "20"]
    done = run_traced(some_traced, 4, program, "--every", "10", "--collectives", "bcast")
    assert done.returncode == 0, done.stderr
    rows = summarise(open_trace(some_traced.folder / "t")).rows
    assert [(row.function, row.calls, row.run_calls, row.run_calls_at_least) for row in rows] == [
        ("MPI_Bcast", 20, 20, 20)
    ] * 2
