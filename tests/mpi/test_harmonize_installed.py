"""The installed library in other programs: C, C++ and Fortran, CMake, pkg-config, and with valgrind."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from installation_factory import script
from plain_install import CONSUMERS, SOURCES, PlainInstall, other_than, run, succeed
from real_fortran import fortran_wrapper

EXPECTED = [
    "rank 0: flag known, waits 0 ns, left after it, bound known",
    "rank 1: flag known, waits 1000 ns, left after it, bound known",
]


@pytest.mark.parametrize("name", ["from_c", "from_c_static", "from_cxx", "from_f08", "from_mpif"])
def test_a_program_in_each_language_finds_the_library_by_cmake(
    plain_install: PlainInstall, name: str
) -> None:
    done = plain_install.launch(plain_install.consumers / name)
    assert sorted(line.strip() for line in done.stdout.splitlines() if line.strip()) == EXPECTED, done.stderr


@pytest.mark.parametrize(
    ("wrapper", "source", "package"),
    [
        ("mpicc", "from_c.c", "offbeat-harmonize"),
        ("mpicxx", "from_cxx.cpp", "offbeat-harmonize"),
        ("mpifort", "from_f08.f90", "offbeat-harmonize-fortran"),
        ("mpifort", "from_mpif.f", "offbeat-harmonize-fortran"),
    ],
)
def test_a_program_in_each_language_finds_the_library_by_pkg_config(
    plain_install: PlainInstall, tmp_path: Path, wrapper: str, source: str, package: str
) -> None:
    (description,) = plain_install.prefix.rglob("offbeat-harmonize.pc")
    flags = succeed(
        ["pkg-config", "--cflags", "--libs", package],
        {"PKG_CONFIG_PATH": str(description.parent), "PATH": "/usr/bin"},
    )
    assert plain_install.mpi.mpicc
    compiler = str(plain_install.mpi.mpicc).replace("mpicc", wrapper)
    program = tmp_path / "program"
    rpath = f"-Wl,-rpath,{description.parents[1]}"
    succeed([compiler, CONSUMERS / source, "-o", program, *flags.split(), rpath])
    done = plain_install.launch(program)
    assert sorted(line.strip() for line in done.stdout.splitlines() if line.strip()) == EXPECTED, done.stderr


def test_the_prefix_may_be_moved(plain_install: PlainInstall, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    moved.symlink_to(plain_install.prefix)
    (description,) = plain_install.prefix.rglob("offbeat-harmonize.pc")
    moved_folder = moved / description.parent.relative_to(plain_install.prefix)
    flags = succeed(
        ["pkg-config", "--define-variable=prefix=/elsewhere", "--cflags", "offbeat-harmonize"],
        {"PKG_CONFIG_PATH": str(moved_folder), "PATH": "/usr/bin"},
    )
    assert flags.strip() == "-I/elsewhere/include"
    succeed(["cmake", "-S", CONSUMERS, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={moved}"])


def test_a_project_with_another_mpi_than_the_library_is_refused(
    plain_install: PlainInstall, tmp_path: Path
) -> None:
    other = other_than(plain_install.mpi)
    options = [f"-DCMAKE_PREFIX_PATH={plain_install.prefix}", f"-DMPI_C_COMPILER={other.mpicc}"]
    done = run(["cmake", "-S", CONSUMERS, "-B", tmp_path, *options])
    assert done.returncode != 0
    message = " ".join(done.stderr.split())
    assert f"was built for {plain_install.mpi.library.resolve()}" in message
    assert f"-DMPI_C_COMPILER={plain_install.mpi.mpicc}" in message


def test_fortran_bindings_of_another_mpi_are_refused(plain_install: PlainInstall, tmp_path: Path) -> None:
    other = other_than(plain_install.mpi)
    options = [
        f"-DMPI_C_COMPILER={plain_install.mpi.mpicc}",
        f"-DMPI_Fortran_COMPILER={fortran_wrapper(other)}",
    ]
    done = run(["cmake", "-S", SOURCES, "-B", tmp_path, *options, "-DOFFBEAT_FORTRAN=ON"])
    assert done.returncode != 0
    assert "are another MPI's; give MPI_Fortran_COMPILER" in " ".join(done.stderr.split())


def test_unusable_fortran_bindings_are_left_out_with_a_reason(
    plain_install: PlainInstall, tmp_path: Path
) -> None:
    """As with Intel MPI from PyPI, whose wrapper names folders of modules that are not in the package."""
    real = fortran_wrapper(plain_install.mpi)
    shown = f'-show*|-compile*) text=$({real} "$@") || exit 1; echo "$text -I{tmp_path}/gone";;'
    wrapper = script(tmp_path / "mpifort", f'case "$1" in {shown} *) exec {real} "$@";; esac\n')
    options = [f"-DMPI_C_COMPILER={plain_install.mpi.mpicc}", f"-DMPI_Fortran_COMPILER={wrapper}"]
    words = ["cmake", "-S", SOURCES, "-B", tmp_path / "build", *options]
    reason = "CMake cannot use the Fortran bindings of this MPI"
    assert reason in succeed(words)
    assert "gone" in (tmp_path / "build/fortran_bindings.log").read_text(encoding="utf-8")
    done = run([*words, "-DOFFBEAT_FORTRAN=ON"])
    assert done.returncode != 0
    assert f"OFFBEAT_FORTRAN=ON, but {reason}" in " ".join(done.stderr.split())


def errors_of_program(report: Path, program: Path) -> list[str]:
    """The errors in a report of valgrind that the program caused, into which our library is linked.

    In these errors the innermost function, or the function that allocated the memory, belongs to the program
    and not to the MPI library.
    """
    errors = []
    for error in ElementTree.parse(report).getroot().iter("error"):
        for stack in error.iter("stack"):
            frames = [(frame.findtext("obj", ""), frame.findtext("fn", "?")) for frame in stack.iter("frame")]
            own = [(obj, fn) for obj, fn in frames if "vgpreload" not in obj]
            if own and own[0][0] == str(program):
                errors.append(f"{error.findtext('kind')} in {' < '.join(fn for _, fn in own)}")
    return errors


def valgrind_errors(plain_install: PlainInstall, folder: Path, *arguments: str) -> list[str]:
    """The errors that valgrind finds in a run of two processes, without those of the MPI library."""
    program = plain_install.consumers / "whole_run"
    valgrind = [
        *("valgrind", "--leak-check=full", "--show-leak-kinds=definite,indirect,possible"),
        *("--xml=yes", f"--xml-file={folder}/%p.xml"),
    ]
    # Different virtual clocks, so that syncs take place.
    virtual_clocks = {"OFFBEAT_CLOCK_SOURCE": "virtual:1:offset=5000000,drift=80"}
    done = plain_install.launch(program, 2, arguments, valgrind, virtual_clocks)
    assert "done" in done.stdout, done.stderr
    reports = list(folder.glob("*.xml"))
    assert len(reports) == 2
    return [error for report in reports for error in errors_of_program(report, program)]


def test_a_complete_run_has_no_valgrind_errors_except_in_the_mpi_library(
    plain_install: PlainInstall, tmp_path: Path
) -> None:
    assert valgrind_errors(plain_install, tmp_path) == []


@pytest.mark.parametrize("plain_install", ["mpich4"], indirect=True)
def test_valgrind_would_find_memory_that_a_run_does_not_free(
    plain_install: PlainInstall, tmp_path: Path
) -> None:
    errors = valgrind_errors(plain_install, tmp_path, "leak")
    assert errors and all("main" in error for error in errors)
