"""The preload library replaces barriers of unmodified programs by harmonised starts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from plain_install import PlainInstall, succeed

PROGRAMS = {
    "program.c": """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank;
    MPI_Comm half, duplicate;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Comm_set_name(half, "half");
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    for (int i = 0; i < 100; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 10; i++)
        MPI_Barrier(half);
    MPI_Barrier(duplicate);
    MPI_Comm_free(&half);
    MPI_Finalize();
    if (rank == 0)
        puts("done");
    return 0;
}
""",
    "program.f90": """
program barriers
    use mpi_f08
    integer :: i, rank, ierror
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    do i = 1, 50
        call MPI_Barrier(MPI_COMM_WORLD)
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
    end do
    call MPI_Finalize()
    if (rank == 0) print '(a)', "done"
end program
""",
    "program.f": """
      PROGRAM BARRIERS
      INCLUDE 'mpif.h'
      INTEGER I, RANK, IERROR
      CALL MPI_INIT(IERROR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, RANK, IERROR)
      DO I = 1, 100
        CALL MPI_BARRIER(MPI_COMM_WORLD, IERROR)
      END DO
      CALL MPI_FINALIZE(IERROR)
      IF (RANK .EQ. 0) PRINT '(A)', 'done'
      END
""",
}


def preloaded(install: PlainInstall, folder: Path, source: str, barriers: str | None) -> tuple[int, int]:
    """The numbers of starts and of barriers in the report of a run with three processes."""
    (folder / source).write_text(PROGRAMS[source], encoding="utf-8")
    wrapper = "mpicc" if source.endswith(".c") else "mpifort"
    program = folder / "program"
    succeed([str(install.mpi.mpicc).replace("mpicc", wrapper), folder / source, "-o", program])
    (library,) = install.prefix.rglob("liboffbeat-preload.so")
    filtered = {} if barriers is None else {"OFFBEAT_HARMONIZE_BARRIERS": barriers}
    done = install.launch(program, 3, wrapper=["env", f"LD_PRELOAD={library}"], environment=filtered)
    assert "done" in done.stdout, done.stderr
    (report,) = re.findall(r"offbeat: (\d+) harmonised starts .*\(3 processes\).*; (\d+) calls", done.stderr)
    return int(report[0]), int(report[1])


@pytest.mark.parametrize("source", ["program.f90", "program.f"])
def test_barriers_of_fortran_programs_become_starts(
    plain_install: PlainInstall, tmp_path: Path, source: str
) -> None:
    assert preloaded(plain_install, tmp_path, source, None) == (300, 0)


@pytest.mark.parametrize(
    ("barriers", "starts"),
    [
        (None, 303),
        ("", 303),
        ("world", 303),
        ("all", 333),
        ("half", 30),
        ("h*,MPI_COMM_WORLD", 330),
        ("none", 0),
    ],
)
def test_barriers_become_starts_on_the_selected_communicators(
    plain_install: PlainInstall, tmp_path: Path, barriers: str | None, starts: int
) -> None:
    assert preloaded(plain_install, tmp_path, "program.c", barriers) == (starts, 333 - starts)
