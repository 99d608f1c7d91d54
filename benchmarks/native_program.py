"""Compiles the C programs of the benchmarks against offbeat's native libraries, and launches them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from offbeat.libraries.installations import build
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_command import command

NATIVE = Path(__file__).resolve().parents[1] / "native"


def compiled(installation: Installation, archive: str, folder: Path, sources: Sequence[Path]) -> Path:
    """The program of the sources, linked with ``archive``, such as ``liboffbeat-harmonize.a``."""
    prefix = build.build_native(installation).parents[1]
    (path,) = prefix.glob(f"lib*/**/{archive}")
    program, library = folder / sources[0].stem, installation.library
    rpaths = [f"-Wl,-rpath,{place}" for place in (library.parent, library.resolve().parent)]
    includes = [f"-I{NATIVE}", f"-I{prefix / 'include'}", f"-I{installation.include}"]
    arguments: list[str | Path] = ["cc", "-O2", *sources, "-o", program, *includes]
    subprocess.run([*arguments, path, library, *rpaths, "-lpthread"], check=True)
    return program


def output_of(
    installation: Installation,
    program: Path,
    processes: int,
    arguments: Sequence[object],
    environment: Mapping[str, str] | None = None,
) -> str:
    """What the program prints when it runs with a number of processes; ``environment`` has further variables.

    Raises CalledProcessError if the program fails.
    """
    launch = command(installation, program, processes)
    done = subprocess.run(
        [*launch.argv, *map(str, arguments)],
        env={**launch.environment, **(environment or {})},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout
