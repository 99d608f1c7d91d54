"""Builds and runs the programs in examples/proxies."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from captured_command import execute
from msgspec import Struct
from real_libraries import REPOSITORY, real_installation

from offbeat.libraries.installations import build
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_command import command

SOURCES = REPOSITORY / "examples" / "proxies"

SPREAD = [("openmpi4", 4), ("openmpi5", 2), ("mpich4", 3), ("mpich5", 4), ("intelmpi", 3)]
"""A library and a number of processes: together all libraries, and one to four processes, as every result is
compared with that of one process."""


class Proxy(Struct, frozen=True):
    """One of the programs for one MPI library."""

    mpi: Installation
    program: Path

    def run(
        self, p: int, *options: object, variables: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run it on ``p`` processes; one process is started without a launcher, which is faster.

        ``variables`` (NAME=VALUE) are set for the processes and not for the launcher.
        """
        argv = [*(["/usr/bin/env", *variables] if variables else []), str(self.program), *map(str, options)]
        if p == 1:
            return execute(argv)
        launch = command(self.mpi, argv, p, steerable=False)
        return execute(launch.argv, launch.environment)

    def result(self, p: int, *options: object) -> dict[str, Any]:
        """The JSON object of a run, which must be verified."""
        done = self.run(p, "--json", *options)
        assert done.returncode == 0, done.stdout + done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        assert result["verified"] is True
        assert result["processes"] == p
        return result


def built(mpi: Installation, name: str) -> Proxy:
    """A program for a library, from the cache of builds."""
    digest = build.source_digest([SOURCES])
    folder = build.cache_folder() / "proxies" / f"{mpi.name}-{mpi.identity}-{digest}"
    options = ["-DCMAKE_C_FLAGS=-Wall -Wextra -Werror", *_find_mpi(mpi), *build.generator_options()]
    cavity = build.build_once(folder / "bin" / "cavity", SOURCES, options, "the programs of examples/proxies")
    return Proxy(mpi, cavity.with_name(name))


def built_for(library: str, name: str) -> Proxy:
    """A program for one of the libraries in ``real_libraries``."""
    return built(real_installation(library), name)


def _find_mpi(mpi: Installation) -> list[str]:
    """As CMakeLists.txt says."""
    if mpi.mpicc:
        return [f"-DMPI_C_COMPILER={mpi.mpicc}"]
    return [
        "-DMPI_SKIP_COMPILER_WRAPPER=ON",
        "-DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON",
        f"-DMPI_C_HEADER_DIR={mpi.include}",
        "-DMPI_C_LIB_NAMES=mpi",
        f"-DMPI_mpi_LIBRARY={mpi.library}",
    ]
