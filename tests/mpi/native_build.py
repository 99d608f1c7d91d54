"""One build of the native tests for each MPI library, which several test files and runs share."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plain_install import SOURCES, compile_without_warnings, run, succeed
from real_libraries import REPOSITORY, lacking

from offbeat.mpi import build
from offbeat.mpi.installation import Installation
from offbeat.mpi.launch import LaunchCommand, command

P = len(os.sched_getaffinity(0)) + 3
"""A number of processes that the launcher starts only with an option for more processes than cores."""


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Wait until no other process of the tests builds in a folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def launch_command(mpi: Installation) -> LaunchCommand:
    """The command that starts a native test, as CMake is given it."""
    return command(mpi, Path("program"), P)


def native_tests(mpi: Installation, *targets: str) -> Path:
    """The folder in which the native tests, or some targets, have been built for a library without warnings.

    The folder stays, so that the next test or run compiles only what has changed.
    """
    words = launch_command(mpi).argv[:-1]
    words[words.index(str(P))] = "NPROCS"
    options = [
        *build.configure_options(mpi),
        "-DOFFBEAT_BUILD_TESTING=ON",
        f"-DOFFBEAT_TEST_LAUNCHER={';'.join(words)}",
    ]
    folder = REPOSITORY / "build/native-tests" / mpi.name
    with exclusive(folder):
        succeed(["cmake", "-S", SOURCES, "-B", folder, *options])
        compile_without_warnings(folder, *targets)
    return folder


def need_sanitizer(flag: str, folder: Path) -> None:
    """End the test if the compiler lacks the runtime of a sanitizer."""
    probe = folder / "probe.c"
    probe.write_text("int main(void) { return 0; }\n", encoding="utf-8")
    if run(["cc", f"-fsanitize={flag}", probe, "-o", folder / "probe"]).returncode:
        lacking(f"the compiler's runtime for -fsanitize={flag}")
