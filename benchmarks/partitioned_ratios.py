"""Partitioned sends by liboffbeat-partitioned, plain messages, and the MPI library's own partitioned calls.

Usage: python benchmarks/partitioned_ratios.py [MPI] [REPETITIONS] [PROGRESS_THREAD]

Two processes; all approaches take turns in one run. `single` is one message after the last partition is
ready, `many` one message a partition (what MPIPCL does), `part` the library's own MPI_Psend_init, `ours:K`
this library with K messages. Times are from the start until all data arrived, less the delay of the last
partition; the 10th percentile over REPETITIONS (default 400) is compared, as other programs only lengthen
times. Prints each ratio with its target. PROGRESS_THREAD: true or false (default).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from offbeat.mpi import build, find
from offbeat.mpi.installation import Installation
from offbeat.mpi.launch import command

SOURCE = Path(__file__).with_suffix(".c")
KIB, MIB = 1 << 10, 1 << 20
FIXED = ("ours:1", "ours:3", "ours:9", "ours:32")

Times = dict[tuple[str, int, int, int], float]
"""Approach, bytes, partitions, delay in ns → time in ns."""


def compiled(installation: Installation, folder: Path) -> Path:
    prefix = build.build_native(installation).parents[1]
    (archive,) = prefix.glob("lib*/**/liboffbeat-partitioned.a")
    program, library = folder / "partitioned_ratios", installation.library
    rpaths = [f"-Wl,-rpath,{place}" for place in (library.parent, library.resolve().parent)]
    includes = [f"-I{prefix / 'include'}", f"-I{installation.include}"]
    subprocess.run(
        ["cc", "-O2", SOURCE, "-o", program, *includes, archive, library, *rpaths, "-lpthread"], check=True
    )
    return program


def run(installation: Installation, repetitions: str, progress_thread: str) -> str:
    with TemporaryDirectory() as folder:
        launch = command(installation, compiled(installation, Path(folder)), 2)
        done = subprocess.run(
            [*launch.argv, repetitions, progress_thread],
            env=launch.environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return done.stdout


def read(printed: str) -> tuple[Times, dict[str, float]]:
    times: Times = {}
    costs: dict[str, float] = {}
    for line in printed.splitlines():
        words = line.split()
        if words[0] == "cost":
            costs[words[1]] = float(np.median(np.array(words[2:], dtype=float)))
            continue
        numbers = [int(word) for word in words[1:]]
        times[words[0], numbers[0], numbers[1], numbers[2]] = float(np.percentile(numbers[3:], 10))
    return times, costs


def size_text(size_bytes: int) -> str:
    return f"{size_bytes // MIB} MiB" if size_bytes >= MIB else f"{size_bytes // KIB} KiB"


def line(what: str, value: float, target: str) -> None:
    print(f"  {what:<66} {value:7.2f}  {target}")


def print_table(times: Times) -> None:
    """Each approach against one message."""
    print("time / single")
    for size, partitions, delay_ns in sorted({key[1:] for key in times if key[0] == "single"}):
        single = times["single", size, partitions, delay_ns]
        late = f"last {delay_ns / 1000:4.0f} µs late"
        cells = [f"{size_text(size):>8} in {partitions:2}, {late}: {single / 1000:7.1f} µs"]
        cells += [
            f"{key[0]} {times[key] / single:.2f}"
            for key in times
            if key[1:] == (size, partitions, delay_ns) and key[0] != "single"
        ]
        print("  " + "  ".join(cells))


def print_targets(times: Times, costs: dict[str, float]) -> None:
    print("ratio, and its target")
    for size, limit in ((KIB, 1.3), (4 * MIB, 1.15)):
        ratio = times["default", size, 32, 0] / times["single", size, 32, 0]
        line(f"{size_text(size)} in 32 partitions / one message", ratio, f"≤ {limit}")
    for delay_ns in (400_000, 1_600_000):
        gain = times["single", 4 * MIB, 4, delay_ns] / times["default", 4 * MIB, 4, delay_ns]
        partition_ns = times["single", 4 * MIB, 4, delay_ns] / 4
        what = f"gain, 4 MiB in 4, last {delay_ns // 1000} µs late (γβ = {delay_ns / partition_ns:.1f})"
        line(what, gain, "≥ 3.6 (Intel MPI with a progress thread: 1.5), where γβ ≥ 3")
    for size in (KIB, 32 * KIB, 256 * KIB, 4 * MIB):
        best = min(times[approach, size, 32, 0] for approach in FIXED)
        line(
            f"learned / best fixed number, {size_text(size)}",
            times["ours:learned", size, 32, 0] / best,
            "≤ 1.15",
        )
    for size in (KIB, 256 * KIB):
        line(
            f"first iteration / sixth, {size_text(size)}",
            times["first", size, 32, 0] / times["later", size, 32, 0],
            "≤ 1.5",
        )
    line("32 readies, µs (median)", costs["readies"] / 1000, "≤ 1.5")
    line("Parrived, ns (median)", costs["parrived"], "≤ 50")


def main(mpi: str = "auto", repetitions: str = "400", progress_thread: str = "false") -> None:
    installation = find.choose(mpi)
    times, costs = read(run(installation, repetitions, progress_thread))
    print(f"{installation.version_text}, progress thread: {progress_thread}")
    print_table(times)
    print_targets(times, costs)


if __name__ == "__main__":
    main(*sys.argv[1:])
