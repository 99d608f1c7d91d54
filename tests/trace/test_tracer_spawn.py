"""Processes that a program spawns have a trace of their own; the program's trace is that of the program.

The launchers of MPICH and Intel MPI cannot spawn processes here. Open MPI 5 does not give spawned processes
the variables with which its launcher starts the tracer.
"""

from __future__ import annotations

import pytest
from test_trace_run import run_traced
from traced_program import Traced, read

from offbeat.trace.read import open_trace

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mpi_installation", ["openmpi4"], indirect=True)
def test_spawned_processes_have_a_trace_of_their_own(traced: Traced) -> None:
    program = traced.compile_c("spawning.c")
    alone = traced.run(program, 1, "1", traced=False)
    assert alone.returncode == 0, alone.stderr
    done = run_traced(traced, 1, [str(program), "1"])
    assert (done.returncode, sorted(done.stdout.splitlines())) == (0, sorted(alone.stdout.splitlines()))
    folder = traced.folder / "t"
    (spawned,) = folder.glob("spawned-*")
    (first,), (second,) = read(folder), read(spawned)
    assert (first.names.count("MPI_Barrier"), second.names.count("MPI_Barrier")) == (5, 9)
    trace = open_trace(folder)
    assert [file.header.run for file in trace.files] == [first.run]
    assert trace.notes == [f"1 rank that MPI_Comm_spawn started: a trace of its own, {spawned}"]
    assert open_trace(spawned).notes == []
