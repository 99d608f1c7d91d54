"""The Fortran support of the real MPI libraries of this machine, checked file by file."""

from __future__ import annotations

import functools
import shlex
import shutil
import subprocess
from pathlib import Path

from msgspec import Struct
from real_libraries import LIBRARIES, installed, skip_without

from offbeat.libraries.installations.installation import Installation

BINDINGS = {"USE_F08": "mpi_f08.mod", "USE_MPI": "mpi.mod", "MPIF_H": "mpif.h"}
"""Binding → its file: mpi_f08, the older module, the header."""


class Fortran(Struct, frozen=True):
    """How gfortran compiles a program for one MPI library: the arguments before and after the source."""

    folders: tuple[Path, ...]
    before: tuple[str, ...]
    behind: tuple[str, ...] = ()

    @property
    def bindings(self) -> frozenset[str]:
        """The existing ones of BINDINGS."""
        return frozenset(
            name for name, file in BINDINGS.items() if any((place / file).is_file() for place in self.folders)
        )


def fortran_wrapper(mpi: Installation) -> Path | None:
    """The library's own Fortran compiler, which Debian's packages have and wheels don't."""
    wrapper = mpi.mpicc and mpi.mpicc.with_name(mpi.mpicc.name.replace("mpicc", "mpifort"))
    return wrapper if wrapper and wrapper.is_file() else None


@functools.cache
def fortran_of(mpi: Installation) -> Fortran:
    """The library's wrapper; gfortran itself where there is none, as with Intel MPI's wheel."""
    wrapper = fortran_wrapper(mpi)
    if not wrapper:
        return _without_a_wrapper(mpi)
    output = subprocess.run([str(wrapper), "-show"], capture_output=True, text=True, check=True).stdout
    folders = tuple(Path(word[2:]) for word in shlex.split(output) if word.startswith("-I"))
    return Fortran(folders, (str(wrapper),))


def libraries_with(*bindings: str) -> list[str]:
    """The entries of LIBRARIES that have bindings, and missing ones, whose tests are skipped by name."""
    libraries = []
    for name in LIBRARIES:
        mpi = installed(name)
        if mpi is None or fortran_of(mpi).bindings.issuperset(bindings):
            libraries.append(name)
    return libraries


def need_gfortran() -> None:
    """End the test if there is no compiler."""
    if not shutil.which("gfortran"):
        skip_without("gfortran (Debian's package gfortran)")


def _without_a_wrapper(mpi: Installation) -> Fortran:
    """Intel MPI has its modules as each gfortran writes them, in folders by the first version that does."""
    written_by = {_numbers(folder.name): folder for folder in mpi.include.glob("mpi/gfortran/*")}
    readable = [version for version in written_by if version <= _version_of_gfortran()]
    folders = [mpi.include, *([written_by[max(readable)]] if readable else [])]
    runtime = mpi.library.parent / "libmpifort.so"
    if not runtime.exists():
        return Fortran((), ())
    before = ("gfortran", *(f"-I{folder}" for folder in folders))
    words = f"-Wl,--no-as-needed,-rpath,{runtime.parent}"
    behind = (words, str(runtime), str(mpi.library))
    return Fortran(tuple(folders), before, behind)


def _version_of_gfortran() -> tuple[int, ...]:
    """Never called if there is no binding."""
    if not shutil.which("gfortran"):
        return (0,)
    return _numbers(subprocess.check_output(["gfortran", "-dumpfullversion"], text=True))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.strip().split("."))
