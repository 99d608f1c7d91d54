"""Runs offbeat-ft, and reads the calls that a preloaded library records."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from offbeat.libraries.installations import build
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_command import command

RECORDER = Path(__file__).with_name("call_recorder.c")

LAST_SUMS = {"S": (554.2683411902, 493.2597244941), "W": (550.4159734538, 523.9212247086)}
"""The checksums after the last iteration, as the NAS Parallel Benchmarks publish them."""


class Ft(Struct, frozen=True):
    """The program for one MPI library."""

    mpi: Installation
    program: Path

    def run(
        self, p: int, *options: object, variables: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run it; ``variables`` (NAME=VALUE) are set for the processes and not for the launcher."""
        argv = [*(["/usr/bin/env", *variables] if variables else []), str(self.program), *map(str, options)]
        launch = command(self.mpi, argv, p, steerable=False)
        return subprocess.run(
            launch.argv,
            env=launch.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def alone(self, *options: object) -> subprocess.CompletedProcess[str]:
        """Run one process without a launcher, which is faster."""
        argv = [str(self.program), *map(str, options)]
        return subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False
        )

    def result(self, p: int, *options: object, variables: Sequence[str] = ()) -> dict[str, Any]:
        """The JSON result of a run, which must be verified."""
        done = self.run(p, "--json", *options, variables=variables)
        assert done.returncode == 0, done.stdout + done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        return result


class RankCalls(Struct):
    """The calls of one rank, (collective, bytes) → number; the shortest time between two MPI_Alltoall."""

    calls: Counter[tuple[str, int]]
    gap_s: float


def built_for(installation: Installation) -> Ft:
    """The program, which is built together with the driver."""
    return Ft(installation, build.build_native(installation).with_name("offbeat-ft"))


def build_recorder(installation: Installation, folder: Path) -> Path:
    """Build the recording library for one MPI library."""
    library = folder / "libcall_recorder.so"
    argv = ["cc", "-shared", "-fPIC", "-o", library, f"-I{installation.include}", RECORDER]
    subprocess.run([str(argument) for argument in argv], check=True)
    return library


def record_calls(library: Path, folder: Path) -> list[str]:
    """The environment variables that preload the recorder."""
    return [f"LD_PRELOAD={library}", f"FT_CALLS={folder / 'calls'}"]


def recorded_calls(folder: Path, p: int) -> list[RankCalls]:
    """The recorded calls of each rank."""
    ranks = []
    for rank in range(p):
        lines = [line.split() for line in (folder / f"calls.{rank}").read_text(encoding="utf-8").splitlines()]
        calls = Counter({(name, int(size)): int(count) for name, size, count in lines[:-1]})
        ranks.append(RankCalls(calls, float(lines[-1][1])))
    return ranks


def reported_calls(result: dict[str, Any]) -> Counter[tuple[str, int]]:
    """The calls that the program itself reports."""
    calls: Counter[tuple[str, int]] = Counter()
    for site in result["calls"]:
        calls[site["call"], site["bytes"]] += site["calls"]
    return calls
