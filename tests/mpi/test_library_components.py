"""The native libraries, each taken out of the repository and built alone, by the commands of its README."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from native_build import launcher_words
from plain_install import SOURCES, succeed
from real_libraries import real_installations, skip_without

from offbeat.libraries.installations import build
from offbeat.libraries.launch.launch_command import command

pytestmark = pytest.mark.slow

PROGRAM = """
cmake_minimum_required(VERSION 3.20)
project(program LANGUAGES C)
find_package(offbeat-{name} 0.1 REQUIRED)
add_executable(program program.c)
target_link_libraries(program PRIVATE offbeat::{name}_static)
"""

MAIN = """
#include <offbeat/{header}.h>
int main(int argc, char **argv) {{
    return MPI_Init(&argc, &argv) || {call} || MPI_Finalize();
}}
"""


def shell_commands(component: str) -> list[list[str]]:
    """The blocks of shell commands in the README of a component, each as lists of words."""
    text = (SOURCES / component / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return [block.replace("\\\n", " ").strip().split("\n") for block in blocks]


@pytest.mark.parametrize(
    ("component", "test", "call"),
    [
        ("harmonize", "communicator_test", "MPIX_Harmonize(MPI_COMM_WORLD, &argc)"),
        ("partitioned", "partitioned_test", "offbeat_partitioned_attach(MPI_COMM_WORLD, MPI_INFO_NULL)"),
    ],
)
def test_a_library_is_built_tested_and_linked_without_the_rest(
    tmp_path: Path, component: str, test: str, call: str
) -> None:
    libraries = real_installations()
    if not libraries:
        skip_without("an MPI library")
    mpi = libraries[0]
    copy_lines, (configure_line, *_, install_line), _ = shell_commands(component)
    folder, prefix = tmp_path / "folder", tmp_path / "prefix"
    folder.mkdir()
    for line in copy_lines:
        environment = {"FOLDER": str(folder), "PATH": "/usr/bin:/bin"}
        subprocess.run(["bash", "-c", line], cwd=SOURCES, env=environment, check=True)

    def words(line: str) -> list[str]:
        return shlex.split(line.replace("$FOLDER", str(folder)).replace("$PREFIX", str(prefix)))

    options = [*build.configure_options(mpi), f"-DOFFBEAT_TEST_LAUNCHER={launcher_words(mpi)}"]
    options.append("-DCMAKE_BUILD_TYPE=Debug")  # compiles fast
    binaries = tmp_path / "build"
    succeed([binaries if word == "build" else word for word in [*words(configure_line), *options]])
    succeed(["cmake", "--build", binaries, "--parallel", "2"])
    listed = succeed(["ctest", "--test-dir", binaries, "-R", rf"^{test}\.2$"])
    assert "100% tests passed, 0 tests failed out of 1" in listed
    succeed([binaries if word == "build" else word for word in words(install_line)])

    (tmp_path / "CMakeLists.txt").write_text(PROGRAM.format(name=component), encoding="utf-8")
    (tmp_path / "program.c").write_text(MAIN.format(header=component, call=call), encoding="utf-8")
    user = tmp_path / "user"
    succeed(["cmake", "-S", tmp_path, "-B", user, f"-DCMAKE_PREFIX_PATH={prefix}"])
    succeed(["cmake", "--build", user])
    launch = command(mpi, user / "program", 1)
    succeed(launch.argv, launch.environment)
