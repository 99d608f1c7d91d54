"""One build of the native tests for each MPI library, which several test files and runs share."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from plain_install import SOURCES, compile_without_warnings, run, succeed
from real_libraries import REPOSITORY, skip_without

from offbeat.libraries.installations import build
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_command import LaunchCommand, command

P = len(os.sched_getaffinity(0)) + 3
"""A number of processes that the launcher starts only with an option for more processes than cores."""


def launch_command(mpi: Installation) -> LaunchCommand:
    """The command that starts a native test, as CMake is given it."""
    return command(mpi, Path("program"), P)


def launcher_words(mpi: Installation) -> str:
    """The value of OFFBEAT_TEST_LAUNCHER for a library."""
    words = launch_command(mpi).argv[:-1]
    words[words.index(str(P))] = "NPROCS"
    return ";".join(words)


def lock_of(folder: Path) -> Path:
    """The lock of a folder in which test processes build in turn."""
    return folder.with_name(f"{folder.name}.lock")


@functools.cache
def configured(mpi: Installation) -> Path:
    """The folder in which the native tests are built for a library; it stays in ``build`` for later runs."""
    options = [
        *build.configure_options(mpi),
        "-DOFFBEAT_BUILD_TESTING=ON",
        f"-DOFFBEAT_TEST_LAUNCHER={launcher_words(mpi)}",
    ]
    folder = REPOSITORY / "build/native-tests" / mpi.name
    folder.mkdir(parents=True, exist_ok=True)
    with build.exclusive(lock_of(folder)):
        succeed(["cmake", "-S", SOURCES, "-B", folder, *options])
    return folder


def native_tests(mpi: Installation, *targets: str) -> Path:
    """The folder of ``configured``, in which all tests, or some targets, have been built without warnings."""
    folder = configured(mpi)
    with build.exclusive(lock_of(folder)):
        compile_without_warnings(folder, *targets)
    return folder


FLAGS = {"address": "-fsanitize=address,undefined", "thread": "-fsanitize=thread"}
"""Sanitizers of the native tests → the compiler's option."""


def need_sanitizer(name: str, folder: Path) -> None:
    """End the test if the compiler lacks the runtime of one of FLAGS."""
    probe = folder / "probe.c"
    probe.write_text("int main(void) { return 0; }\n", encoding="utf-8")
    if run(["cc", FLAGS[name], probe, "-o", folder / "probe"]).returncode:
        skip_without(f"the compiler's runtime for {FLAGS[name]}")
