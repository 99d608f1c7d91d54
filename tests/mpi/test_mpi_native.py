"""The C parts alone: their tests on each library, plain CMake, and linking against them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from native_build import launch_command, native_tests
from plain_install import SOURCES, succeed

from offbeat.libraries.installations import build, check
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_command import command

pytestmark = pytest.mark.slow

PROGRAM = """
#include <offbeat/harmonize.h>
#include <stdio.h>
int main(void) {
    offbeat_clock *clock;
    offbeat_start_context *context;
    offbeat_start start;
    int rank;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    offbeat_clock_create(MPI_COMM_WORLD, &clock);
    offbeat_start_context_create(clock, MPI_COMM_WORLD, 0, &context);
    offbeat_harmonize(context, 1000 * rank, &start);
    printf("rank %d waits %d ns\\n", rank, (int)(start.planned_ns - start.deadline_ns));
    offbeat_start_context_free(&context);
    offbeat_clock_free(&clock);
    MPI_Finalize();
    return 0;
}
"""


def run_native_tests(mpi: Installation, *selection: str) -> None:
    """Build the C tests for a library, and run those that ctest's words select."""
    folder = native_tests(mpi)
    output = succeed(
        ["ctest", "--test-dir", folder, "--output-on-failure", *selection], launch_command(mpi).environment
    )
    assert "100% tests passed" in output


def test_the_native_tests_hold_on_each_real_library(mpi_installation: Installation) -> None:
    run_native_tests(mpi_installation, "--label-exclude", "clocks|unlaunched")


def test_the_native_tests_hold_that_need_no_launch(some_mpi_installation: Installation) -> None:
    run_native_tests(some_mpi_installation, "--label-regex", "unlaunched")


@pytest.mark.alone
def test_the_native_tests_of_clocks_hold_on_each_real_library(mpi_installation: Installation) -> None:
    run_native_tests(mpi_installation, "--label-regex", "clocks")


def test_plain_cmake_finds_an_mpi_by_itself(some_mpi_installation: Installation, tmp_path: Path) -> None:
    wrapper = some_mpi_installation.mpicc
    arguments = [f"-DMPI_C_COMPILER={wrapper}"] if wrapper else build.configure_options(some_mpi_installation)
    succeed(["cmake", "-S", SOURCES, "-B", tmp_path / "build", *arguments])
    succeed(["cmake", "--build", tmp_path / "build", "--parallel", "2"])
    succeed(["cmake", "--install", tmp_path / "build", "--prefix", tmp_path / "there"])
    assert check.check(some_mpi_installation, tmp_path / "there/bin/offbeat-driver").p == 2


def test_other_programs_can_use_the_installed_clock_and_start(
    mpi_installation: Installation, mpi_driver: Path, tmp_path: Path
) -> None:
    prefix = mpi_driver.parents[1]
    (archive,) = prefix.glob("lib*/liboffbeat-harmonize.a")
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM, encoding="utf-8")
    library = mpi_installation.library
    succeed(
        [
            "cc",
            source,
            "-o",
            program,
            f"-I{prefix / 'include'}",
            f"-I{mpi_installation.include}",
            archive,
            library,
        ]
        + [f"-Wl,-rpath,{folder}" for folder in (library.parent, library.resolve().parent)]
    )
    launch = command(mpi_installation, program, 2)
    text = succeed(launch.argv, launch.environment)
    assert sorted(text.split("\n")[:2]) == ["rank 0 waits 0 ns", "rank 1 waits 1000 ns"]


def test_the_driver_keeps_its_library_whatever_is_on_the_library_path(
    mpi_installation: Installation, mpi_driver: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty.c").write_text("int nothing_of_mpi;\n", encoding="utf-8")
    for name in ("libmpi.so.12", "libmpi.so.40", "libmpich.so.12"):
        succeed(["cc", "-shared", f"-Wl,-soname,{name}", "-o", tmp_path / name, tmp_path / "empty.c"])
    loaded = succeed(["ldd", mpi_driver], {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})
    assert str(tmp_path) not in loaded
    assert "libmpi" in loaded


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-DOFFBEAT_MPI_INCLUDE=/nowhere"], "together, or neither"),
        (["-DOFFBEAT_MPI_INCLUDE=/nowhere", "-DOFFBEAT_MPI_LIBRARY=/nowhere/libmpi.so"], "holds no mpi.h"),
        (["-DOFFBEAT_FORTRAN=maybe"], "OFFBEAT_FORTRAN=maybe must be ON, OFF or AUTO"),
    ],
)
def test_wrong_hints_stop_the_configuration_with_a_sentence(
    tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    done = subprocess.run(
        ["cmake", "-S", str(SOURCES), "-B", str(tmp_path), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert sentence in " ".join(done.stderr.split())
