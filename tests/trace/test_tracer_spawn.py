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

from offbeat.libraries.launch.launch_command import command
from offbeat.trace.files.trace_folder import open_trace

pytestmark = pytest.mark.slow


# Of a process and those that it spawned by one command and by two commands.
PRINTED = {
    "one": ["first rank 0: sum 1, one", "spawned rank 1: sum 1, first command"],
    "multiple": [
        "first rank 0: sum 3, multiple",
        "spawned rank 1: sum 3, first command",
        "spawned rank 2: sum 3, second command",
    ],
}
MORE_PROCESSES_THAN_CORES = {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",  # Open MPI 4
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # Open MPI 5
}


def run(traced: Traced, program: Path, how: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Trace one process, which spawns others."""
    launch = command(traced.mpi, [str(program), how], 1, steerable=False)
    words = [word for word in launch.argv if word not in ("--bind-to", "-bind-to", "core")]
    offbeat = [sys.executable, "-m", "offbeat", "trace", "run", "-o", str(folder)]
    return subprocess.run(
        [*offbeat, "--mpi", str(traced.mpi.mpirun), "--", *words],
        env={**launch.environment, **MORE_PROCESSES_THAN_CORES},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.mark.parametrize("mpi_installation", ["openmpi4", "openmpi5", "mpich5"], indirect=True)
def test_spawned_processes_have_a_trace_of_their_own(traced: Traced) -> None:
    program = traced.compile_c("spawning.c")
    for how, printed in PRINTED.items():
        folder = traced.folder / how
        done = run(traced, program, how, folder)
        assert (done.returncode, sorted(done.stdout.splitlines())) == (0, printed), done.stderr
        (place,) = folder.glob("spawned-*")
        (first,), spawned = read(folder), read(place)
        assert first.names.count("MPI_Barrier") == 5
        assert [trace.names.count("MPI_Barrier") for trace in spawned] == [9] * (len(printed) - 1)
        function = {"one": "MPI_Comm_spawn", "multiple": "MPI_Comm_spawn_multiple"}[how]
        assert first.names.count(function) == 1
        trace = open_trace(folder)
        assert [file.header.run for file in trace.files] == [first.run]
        count = "1 rank" if how == "one" else "2 ranks"
        assert trace.notes == [f"{count} that MPI_Comm_spawn started: a trace of its own, {place}"]
        assert open_trace(place).notes == []
