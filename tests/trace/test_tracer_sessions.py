"""Programs with MPI sessions only are recorded from their first communicator of all processes on."""

from __future__ import annotations

import pytest
from traced_program import FINALIZED, Traced, read

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mpi_installation", ["openmpi5", "mpich4", "mpich5", "intelmpi"], indirect=True)
def test_a_program_with_sessions_only_is_recorded(traced: Traced) -> None:
    program = traced.compile_c("sessions.c")
    alone = traced.run(program, 2, traced=False)
    done = traced.run(program, 2)
    assert (done.returncode, done.stdout, done.stderr) == (alone.returncode, alone.stdout, alone.stderr)
    if alone.returncode == 0:
        for trace in read(traced.folder / "trace"):
            assert (trace.size, trace.state) == (2, FINALIZED)
            sizes = [trace.communicators[int(record["communicator"])].size for record in trace.records]
            calls = [size for size, name in zip(sizes, trace.names, strict=True) if name == "MPI_Allreduce"]
            assert calls == [2] * 5 + [1] * 3
