"""Commands on several nodes that ``tools/nodes`` emulates, and the libraries that are tested there."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import one_environment
from one_environment import Everywhere
from real_libraries import REPOSITORY, skip_without

from offbeat.libraries.installations.build import build_native
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.cores import Cores
from offbeat.libraries.launch.launch_command import LaunchCommand, command

NODES = REPOSITORY / "tools" / "nodes"
HERE = Path(__file__).parent

OFFSETS = {
    "openmpi4": "1234.567890123",
    "openmpi5": "777777",
    "mpich5": "3.999999999",
    "intelmpi": "1234.567890123",
}
"""Libraries, and how far the second node's clock is ahead of the first's, in seconds.

MPICH 4.0.2 as Debian 12 ships it is not among them: with processes on two nodes it sometimes hangs in
MPI_Finalize, also without offbeat. docs/howto/nodes.md shows it with finalize.c.
"""

WHOLE = bool(os.environ.get("OFFBEAT_TEST_NODES"))
"""Whether the longer version of these tests was requested: everything on each library."""

ONE_OF_THEM = list(OFFSETS) if WHOLE else ["openmpi4"]
"""The libraries for long tests that do not depend on the library."""


def on_nodes(
    arguments: Sequence[object],
    folder: Path,
    *options: str,
    environment: Mapping[str, str] = os.environ,
    timeout_s: float = 240,
) -> subprocess.CompletedProcess[str]:
    """Run a command on the first of the nodes; ``options`` are those of tools/nodes."""
    return subprocess.run(
        [sys.executable, str(NODES), *options, "--", *map(str, arguments)],
        cwd=folder,
        env=dict(environment) | {"COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def offbeat(
    arguments: Sequence[object], folder: Path, *options: str, timeout_s: float = 240
) -> subprocess.CompletedProcess[str]:
    """Run offbeat on the first of the nodes; it must succeed."""
    done = on_nodes([sys.executable, "-m", "offbeat", *arguments], folder, *options, timeout_s=timeout_s)
    assert done.returncode == 0, f"{arguments}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


@functools.cache
def _why_not() -> str:
    done = on_nodes(["true"], REPOSITORY)
    return "" if done.returncode == 0 else done.stderr.strip()


def need_nodes() -> None:
    """End the test if several nodes cannot be emulated here."""
    if why := _why_not():
        skip_without(f"several nodes on one machine ({why})")


def hostfile(folder: Path, nodes: int = 2) -> Path:
    """A host file of the nodes."""
    path = folder / "hosts.txt"
    path.write_text("".join(f"node{i + 1}\n" for i in range(nodes)), encoding="utf-8")
    return path


def launch(
    installation: Installation,
    program: Sequence[object],
    folder: Path,
    ppn: int = 1,
    environment: Mapping[str, str] | None = None,
) -> LaunchCommand:
    """The launch of a program on two nodes; ``environment`` reaches the processes on both."""
    return command(
        installation,
        [str(word) for word in program],
        2 * ppn,
        nodes=2,
        ppn=ppn,
        hostfile=hostfile(folder),
        environment=environment,
        cores=Cores(logical=1, physical=1, machine_logical=1),
        steerable=False,
    )


def compiled(installation: Installation, name: str, folder: Path) -> Path:
    """A C program of this folder, built for a library and linked with the shared clock."""
    place, program = build_native(installation).parents[1], folder / name
    library = installation.library
    arguments = ["cc", "-O2", "-std=c11", f"-I{installation.include}", f"-I{place / 'include'}"]
    archive = next(place.glob("lib*/liboffbeat-harmonize.a"))
    arguments += [str(HERE / f"{name}.c"), "-o", str(program), str(archive)]
    arguments += [str(library), f"-Wl,-rpath,{library.parent}", "-lm"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def the_same_everywhere(results: Path, folder: Path, *options: str) -> Everywhere:
    """What the call of the first exported rule ran in its proof, in its measurement, with the tuning files
    and by the line that ``offbeat export`` prints: the same functions, messages and variables.

    ``options`` are those of tools/nodes.
    """
    program = Path(one_environment.__file__)
    done = on_nodes([sys.executable, program, results, folder], folder, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    document = msgspec.json.decode(done.stdout, type=Everywhere)
    one_environment.expect_the_same(document)
    return document
