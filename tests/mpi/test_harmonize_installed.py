"""The installed library in programs of others: C, C++ and Fortran, CMake, pkg-config, and under valgrind."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
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
    said = succeed(
        ["pkg-config", "--cflags", "--libs", package],
        {"PKG_CONFIG_PATH": str(description.parent), "PATH": "/usr/bin"},
    )
    assert plain_install.mpi.mpicc
    compiler = str(plain_install.mpi.mpicc).replace("mpicc", wrapper)
    program = tmp_path / "program"
    rpath = f"-Wl,-rpath,{description.parents[1]}"
    succeed([compiler, CONSUMERS / source, "-o", program, *said.split(), rpath])
    done = plain_install.launch(program)
    assert sorted(line.strip() for line in done.stdout.splitlines() if line.strip()) == EXPECTED, done.stderr


def test_the_prefix_may_be_moved(plain_install: PlainInstall, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    moved.symlink_to(plain_install.prefix)
    (description,) = plain_install.prefix.rglob("offbeat-harmonize.pc")
    there = moved / description.parent.relative_to(plain_install.prefix)
    said = succeed(
        ["pkg-config", "--define-variable=prefix=/elsewhere", "--cflags", "offbeat-harmonize"],
        {"PKG_CONFIG_PATH": str(there), "PATH": "/usr/bin"},
    )
    assert said.strip() == "-I/elsewhere/include"
    succeed(["cmake", "-S", CONSUMERS, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={moved}"])


def test_another_mpi_than_the_library_was_built_for_is_refused(
    plain_install: PlainInstall, tmp_path: Path
) -> None:
    other = other_than(plain_install.mpi)
    words = [f"-DCMAKE_PREFIX_PATH={plain_install.prefix}", f"-DMPI_C_COMPILER={other.mpicc}"]
    done = run(["cmake", "-S", CONSUMERS, "-B", tmp_path, *words])
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert f"was built for {plain_install.mpi.library.resolve()}" in said
    assert f"-DMPI_C_COMPILER={plain_install.mpi.mpicc}" in said


def test_fortran_parts_of_another_mpi_are_refused(plain_install: PlainInstall, tmp_path: Path) -> None:
    other = other_than(plain_install.mpi)
    words = [
        f"-DMPI_C_COMPILER={plain_install.mpi.mpicc}",
        f"-DMPI_Fortran_COMPILER={fortran_wrapper(other)}",
    ]
    done = run(["cmake", "-S", SOURCES, "-B", tmp_path, *words, "-DOFFBEAT_FORTRAN=ON"])
    assert done.returncode != 0
    assert "are another MPI's; give MPI_Fortran_COMPILER" in " ".join(done.stderr.split())


def faults(report: Path, program: Path) -> list[str]:
    """What valgrind says of a process and is not the MPI library's own: whose innermost function, or the one
    that asked for the memory in question, is the program's, into which our library is linked."""
    found = []
    for error in ElementTree.parse(report).getroot().iter("error"):
        for stack in error.iter("stack"):
            frames = [(frame.findtext("obj", ""), frame.findtext("fn", "?")) for frame in stack.iter("frame")]
            own = [(obj, fn) for obj, fn in frames if "vgpreload" not in obj]
            if own and own[0][0] == str(program):
                found.append(f"{error.findtext('kind')} in {' < '.join(fn for _, fn in own)}")
    return found


@pytest.mark.parametrize("leaks", [False, True])
def test_a_whole_run_is_clean_under_valgrind_but_for_the_mpi_library_s_own(
    plain_install: PlainInstall, tmp_path: Path, leaks: bool
) -> None:
    program = plain_install.consumers / "whole_run"
    before = [
        *("valgrind", "--leak-check=full", "--show-leak-kinds=definite,indirect,possible"),
        *("--track-origins=yes", "--xml=yes", f"--xml-file={tmp_path}/%p.xml"),
    ]
    # Clocks that are no single physical one, so that syncs are made, and a wait that doesn't need a core.
    bent = {"OFFBEAT_CLOCK_SOURCE": "virtual:1:offset=5000000,drift=80;2:offset=-300,drift=-20"}
    done = plain_install.launch(program, 3, ["leak"] if leaks else [], before, bent)
    assert "done" in done.stdout, done.stderr
    reports = list(tmp_path.glob("*.xml"))
    assert len(reports) == 3
    found = [fault for report in reports for fault in faults(report, program)]
    assert bool(found) == leaks, found
    assert all("main" in fault for fault in found)
