"""The installed library for partitioned communication in other programs: C, C++ and Fortran."""

from __future__ import annotations

from pathlib import Path

import pytest
from plain_install import CONSUMERS, PlainInstall, succeed

EXPECTED = [
    "rank 0 received numbers with the sum 1266",
    "rank 1 received numbers with the sum 66",
]


def lines(printed: str) -> list[str]:
    """The lines without the spaces with which Fortran may begin them, in the order of the ranks."""
    return sorted(line.strip() for line in printed.splitlines() if line.strip())


@pytest.mark.parametrize(
    "name",
    [
        *("uses_partitioned", "uses_partitioned_static"),
        *("partitioned_cxx", "partitioned_f08", "partitioned_mpif"),
    ],
)
def test_a_program_finds_the_partitioned_library_by_cmake(plain_install: PlainInstall, name: str) -> None:
    done = plain_install.launch(plain_install.consumers / name)
    assert lines(done.stdout) == EXPECTED, done.stderr


@pytest.mark.parametrize(
    ("wrapper", "source", "package"),
    [
        ("mpicc", "partitioned.c", "offbeat-partitioned"),
        ("mpifort", "partitioned_f08.f90", "offbeat-partitioned-fortran"),
        ("mpifort", "partitioned_mpif.f", "offbeat-partitioned-fortran"),
    ],
)
def test_a_program_finds_the_partitioned_library_by_pkg_config(
    plain_install: PlainInstall, tmp_path: Path, wrapper: str, source: str, package: str
) -> None:
    (description,) = plain_install.prefix.rglob("offbeat-partitioned.pc")
    flags = succeed(
        ["pkg-config", "--cflags", "--libs", package],
        {"PKG_CONFIG_PATH": str(description.parent), "PATH": "/usr/bin"},
    )
    program = tmp_path / "program"
    rpath = f"-Wl,-rpath,{description.parents[1]}"
    compiler = str(plain_install.mpi.mpicc).replace("mpicc", wrapper)
    succeed([compiler, CONSUMERS / source, "-o", program, *flags.split(), rpath])
    done = plain_install.launch(program)
    assert lines(done.stdout) == EXPECTED, done.stderr
