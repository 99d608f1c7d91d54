"""The native libraries installed by plain CMake, and programs that use the installation (consumers)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from real_fortran import libraries_with
from real_libraries import REPOSITORY, installed, lacking, real_installation

from offbeat.mpi.installation import Installation
from offbeat.mpi.launch import command

SOURCES = REPOSITORY / "native"
CONSUMERS = Path(__file__).parent / "consumers"


class PlainInstall(Struct):
    """Where the library is installed and for which MPI, and the folder of the built consumers."""

    mpi: Installation
    prefix: Path
    consumers: Path

    def launch(
        self,
        program: Path,
        p: int = 2,
        words: Sequence[str] = (),
        before: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program on ``p`` processes, ``before`` being a program that runs it."""
        launch = command(self.mpi, program, p)
        place = launch.argv.index(str(program))
        argv = [*launch.argv[:place], *before, *launch.argv[place:], *words]
        return run(argv, {**launch.environment, **(environment or {})})


def run(
    words: Sequence[object], environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; its output is text."""
    return subprocess.run(
        [str(word) for word in words],
        env=None if environment is None else dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


def succeed(words: Sequence[object], environment: Mapping[str, str] | None = None) -> str:
    """What a command says that must succeed."""
    done = run(words, environment)
    assert done.returncode == 0, f"{words}\n{done.stdout[-5000:]}\n{done.stderr[-5000:]}"
    return done.stdout


def other_than(mpi: Installation) -> Installation:
    """A library of another family that has Fortran, too."""
    for name in libraries_with("USE_F08", "MPIF_H"):
        found = installed(name)
        if found and found.family != mpi.family:
            return found
    lacking(f"a second MPI library with Fortran beside {mpi.name}")


def install(name: str, folder: Path) -> PlainInstall:
    """Build and install for one MPI library, then the consumers against what was installed."""
    mpi = real_installation(name)
    for tool in ("gfortran", "pkg-config", "valgrind"):
        if not shutil.which(tool):
            lacking(f"{tool} (Debian's package {tool})")
    build, prefix, consumers = folder / "build", folder / "prefix", folder / "consumers"
    succeed(
        [
            *("cmake", "-S", SOURCES, "-B", build, f"-DMPI_C_COMPILER={mpi.mpicc}"),
            *("-DOFFBEAT_FORTRAN=ON", "-DOFFBEAT_WERROR=ON"),
        ]
    )
    succeed(["cmake", "--build", build, "--parallel", "2"])
    succeed(["cmake", "--install", build, "--prefix", prefix])
    succeed(["cmake", "-S", CONSUMERS, "-B", consumers, f"-DCMAKE_PREFIX_PATH={prefix}"])
    succeed(["cmake", "--build", consumers])
    return PlainInstall(mpi=mpi, prefix=prefix, consumers=consumers)
