"""Processes that a program spawns have a trace of their own; the program's trace is that of the program."""

from __future__ import annotations

import pytest
from test_trace_run import run_traced
from traced_program import Traced, read

from offbeat.trace.read import open_trace

pytestmark = pytest.mark.slow


def test_spawned_processes_have_a_trace_of_their_own(traced: Traced) -> None:
    program = traced.compile_c("spawning.c")
    alone = traced.run(program, 1, "1", traced=False)
    if alone.returncode != 0:
        pytest.skip("this library's launcher cannot spawn processes here")
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
