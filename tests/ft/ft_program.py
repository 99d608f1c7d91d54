"""offbeat-ft as its users start it, and what a preloaded library sees of it."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from offbeat.mpi import build
from offbeat.mpi.installation import Installation
from offbeat.mpi.launch import command

WATCHER = Path(__file__).with_name("calls_seen.c")

LAST_SUMS = {"S": (554.2683411902, 493.2597244941), "W": (550.4159734538, 523.9212247086)}
"""The checksums after the last iteration, as the NAS Parallel Benchmarks publish them."""


class Ft(Struct, frozen=True):
    """The program for one MPI library."""

    mpi: Installation
    program: Path

    def run(self, p: int, *words: object, variables: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        """Run it to its end; ``variables`` (NAME=VALUE) are for the processes and not for the launcher."""
        started = [*(["/usr/bin/env", *variables] if variables else []), str(self.program), *map(str, words)]
        launch = command(self.mpi, started, p, steerable=False)
        return subprocess.run(
            launch.argv,
            env=launch.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def alone(self, *words: object) -> subprocess.CompletedProcess[str]:
        """Run one process without a launcher, which takes less time."""
        started = [str(self.program), *map(str, words)]
        return subprocess.run(
            started, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False
        )

    def result(self, p: int, *words: object, variables: Sequence[str] = ()) -> dict[str, Any]:
        """What it says with --json, in a run that must be verified."""
        done = self.run(p, "--json", *words, variables=variables)
        assert done.returncode == 0, done.stdout + done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        return result


class Seen(Struct):
    """What one rank called: (collective, bytes) → calls; the shortest time between two MPI_Alltoall."""

    calls: Counter[tuple[str, int]]
    gap_s: float


def built_for(installation: Installation) -> Ft:
    """The program, built beside the driver where it is not there yet."""
    return Ft(installation, build.build_native(installation).with_name("offbeat-ft"))


def build_watcher(installation: Installation, folder: Path) -> Path:
    """The library that is preloaded, for one MPI library."""
    library = folder / "libcalls_seen.so"
    words = ["cc", "-shared", "-fPIC", "-o", library, f"-I{installation.include}", WATCHER]
    subprocess.run([str(word) for word in words], check=True)
    return library


def watch(library: Path, folder: Path) -> list[str]:
    """The variables that put the watcher under a program."""
    return [f"LD_PRELOAD={library}", f"FT_SEEN={folder / 'seen'}"]


def seen(folder: Path, p: int) -> list[Seen]:
    """What each rank was seen to call."""
    ranks = []
    for rank in range(p):
        lines = [line.split() for line in (folder / f"seen.{rank}").read_text(encoding="utf-8").splitlines()]
        calls = Counter({(name, int(size)): int(count) for name, size, count in lines[:-1]})
        ranks.append(Seen(calls, float(lines[-1][1])))
    return ranks


def stated(result: dict[str, Any]) -> Counter[tuple[str, int]]:
    """What the program itself says that it called."""
    calls: Counter[tuple[str, int]] = Counter()
    for site in result["calls"]:
        calls[site["call"], site["bytes"]] += site["calls"]
    return calls
