"""The native libraries installed by plain CMake, and programs that use the installation (consumers)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from real_fortran import libraries_with
from real_libraries import REPOSITORY, installed, real_installation, skip_without

from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_command import command

SOURCES = REPOSITORY / "native"
CONSUMERS = Path(__file__).parent / "consumers"


class PlainInstall(Struct):
    """The MPI library, the installation prefix, and the build folder of the consumers."""

    mpi: Installation
    prefix: Path
    consumers: Path

    def launch(
        self,
        program: Path,
        p: int = 2,
        arguments: Sequence[str] = (),
        wrapper: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program on ``p`` processes; ``wrapper`` is the command that starts it, such as valgrind."""
        launch = command(self.mpi, program, p)
        place = launch.argv.index(str(program))
        argv = [*launch.argv[:place], *wrapper, *launch.argv[place:], *arguments]
        return run(argv, {**launch.environment, **(environment or {})})


def run(
    argv: Sequence[object], environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command and capture its output."""
    return subprocess.run(
        [str(argument) for argument in argv],
        env=None if environment is None else dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


def succeed(argv: Sequence[object], environment: Mapping[str, str] | None = None) -> str:
    """The standard output of a command, which must succeed."""
    done = run(argv, environment)
    assert done.returncode == 0, f"{argv}\n{done.stdout[-5000:]}\n{done.stderr[-5000:]}"
    return done.stdout


def compile_without_warnings(folder: Path, *targets: str) -> None:
    """Build what is configured in a folder: all, or some targets.

    Fails on warnings without turning them into errors: with the compiler options of the driver's build,
    ccache has most of the objects.
    """
    selection = ["--target", *targets] if targets else []
    done = run(["cmake", "--build", folder, "--parallel", "2", *selection])
    output = done.stdout + done.stderr
    assert done.returncode == 0, output[-8000:]
    assert "warning:" not in output, output[-8000:]


def other_than(mpi: Installation) -> Installation:
    """Another MPI implementation with Fortran bindings."""
    for name in libraries_with("USE_F08", "MPIF_H"):
        installation = installed(name)
        if installation and installation.family != mpi.family:
            return installation
    skip_without(f"a second MPI library with Fortran beside {mpi.name}")


def install(name: str, folder: Path) -> PlainInstall:
    """Build and install for one MPI library, then build the consumers with that installation.

    An installation that is complete in the folder is used as it is.
    """
    mpi = real_installation(name)
    for tool in ("gfortran", "pkg-config", "valgrind"):
        if not shutil.which(tool):
            skip_without(f"{tool} (Debian's package {tool})")
    build, prefix, consumers = folder / "build", folder / "prefix", folder / "consumers"
    complete = folder / "complete"
    if not complete.exists():
        options = [f"-DMPI_C_COMPILER={mpi.mpicc}", "-DOFFBEAT_FORTRAN=ON"]
        succeed(["cmake", "-S", SOURCES, "-B", build, *options])
        compile_without_warnings(build)
        succeed(["cmake", "--install", build, "--prefix", prefix])
        succeed(["cmake", "-S", CONSUMERS, "-B", consumers, f"-DCMAKE_PREFIX_PATH={prefix}"])
        succeed(["cmake", "--build", consumers])
        complete.touch()
    return PlainInstall(mpi=mpi, prefix=prefix, consumers=consumers)
