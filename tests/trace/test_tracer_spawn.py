"""Processes that a program spawns have a trace of their own; the program's trace is that of the program.

Two libraries cannot spawn processes here, with or without the tracer: Debian's MPICH 4 ("Error in spawn
call", MPID_Comm_spawn_multiple), and Intel MPI (a segmentation fault in MPI_Comm_spawn). MPICH 5 can if its
launcher does not bind processes ("duplicate setting: binding").
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from traced_program import Traced, read

from offbeat.mpi.launch import command
from offbeat.trace.read import open_trace

pytestmark = pytest.mark.slow


def run(traced: Traced, program: Path, *before: str) -> subprocess.CompletedProcess[str]:
    """Launch one process that spawns one, by the words ``before`` the launcher's."""
    launch = command(traced.mpi, [str(program), "1"], 1, steerable=False)
    words = [word for word in launch.argv if traced.mpi.family != "mpich" or word not in ("-bind-to", "core")]
    return subprocess.run(
        [*before, *words],
        env=launch.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.mark.parametrize("mpi_installation", ["openmpi4", "openmpi5", "mpich5"], indirect=True)
def test_spawned_processes_have_a_trace_of_their_own(traced: Traced) -> None:
    program = traced.compile_c("spawning.c")
    alone = run(traced, program)
    assert alone.returncode == 0, alone.stderr
    folder = traced.folder / "t"
    offbeat = [sys.executable, "-m", "offbeat", "trace", "run", "-o", str(folder)]
    done = run(traced, program, *offbeat, "--mpi", str(traced.mpi.mpirun), "--")
    assert (done.returncode, sorted(done.stdout.splitlines())) == (0, sorted(alone.stdout.splitlines()))
    (spawned,) = folder.glob("spawned-*")
    (first,), (second,) = read(folder), read(spawned)
    assert (first.names.count("MPI_Barrier"), second.names.count("MPI_Barrier")) == (5, 9)
    trace = open_trace(folder)
    assert [file.header.run for file in trace.files] == [first.run]
    assert trace.notes == [f"1 rank that MPI_Comm_spawn started: a trace of its own, {spawned}"]
    assert open_trace(spawned).notes == []
