"""A small simulated study from the command to the prompt: 64 ranks, about 350 cases, in under a second.

Usage: python benchmarks/small_study.py [RUNS]

Runs 'offbeat run' RUNS times (default 5) into an empty directory and prints the wall and CPU seconds of each
run, and the number of runs under a second. All include loading Python's packages, which is also printed
apart.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

STUDY = """
name = "small"
engine = "sim"
[[collective]]
names = ["reduce", "allreduce", "alltoall"]
sizes = ["64 B", "4 KiB", "64 KiB"]
[processes]
p = [64]
"""


def timed(*arguments: str) -> tuple[float, float]:
    """Wall and CPU seconds of a command."""
    before, start = os.times(), time.monotonic()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.monotonic() - start, used


def main(runs: str = "5") -> None:
    with TemporaryDirectory() as scratch:
        study = Path(scratch) / "study.toml"
        study.write_text(STUDY)
        walls, cpus = [], []
        for number in range(int(runs)):
            results = Path(scratch) / str(number)
            wall, cpu = timed("-m", "offbeat", "run", str(study), "--output", str(results))
            cases = len((results / "cases.jsonl").read_text().splitlines())
            walls.append(wall)
            cpus.append(cpu)
            print(f"{cases} cases: {wall:.2f} s, {cpu:.2f} s of CPU", flush=True)
        loading = min(timed("-c", "import offbeat.cli.run")[1] for _ in range(3))
        under_a_second = sum(wall < 1 for wall in walls)
        print(
            f"fastest {min(walls):.2f} s, median {statistics.median(walls):.2f} s, CPU {min(cpus):.2f} s, of"
            f" which loading packages {loading:.2f} s; under a second in {under_a_second} of {runs} runs"
        )
        sys.exit(0 if min(walls) < 1 else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
