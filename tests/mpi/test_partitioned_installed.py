"""The installed library for partitioned communication in other programs: CMake and pkg-config."""

from __future__ import annotations

from pathlib import Path

import pytest
from plain_install import CONSUMERS, PlainInstall, succeed

EXPECTED = [
    "rank 0 received numbers with the sum 1266",
    "rank 1 received numbers with the sum 66",
]


@pytest.mark.parametrize("name", ["uses_partitioned", "uses_partitioned_static"])
def test_a_program_finds_the_partitioned_library_by_cmake(plain_install: PlainInstall, name: str) -> None:
    done = plain_install.launch(plain_install.consumers / name)
    assert sorted(done.stdout.splitlines()) == EXPECTED, done.stderr


def test_a_program_finds_the_partitioned_library_by_pkg_config(
    plain_install: PlainInstall, tmp_path: Path
) -> None:
    (description,) = plain_install.prefix.rglob("offbeat-partitioned.pc")
    flags = succeed(
        ["pkg-config", "--cflags", "--libs", "offbeat-partitioned"],
        {"PKG_CONFIG_PATH": str(description.parent), "PATH": "/usr/bin"},
    )
    program = tmp_path / "program"
    rpath = f"-Wl,-rpath,{description.parents[1]}"
    source = CONSUMERS / "partitioned.c"
    succeed([plain_install.mpi.mpicc, source, "-o", program, *flags.split(), rpath])
    done = plain_install.launch(program)
    assert sorted(done.stdout.splitlines()) == EXPECTED, done.stderr
