"""The error of the shared clock right after a sync and one second later, for several methods.

Usage: python benchmarks/clock_accuracy.py [MPI] [ROUNDS] [CHECKS]

Two processes have virtual clocks whose rates differ by 35 ppm and wander, so that the true time is known to
the nanosecond. Each of ROUNDS rounds (default 60) synchronises the default method, offset only, HCA3 and JK
one after another: each with as many ping-pongs as the default method used in a first attempt, and with ten
times as many. Printed are the error of each method right after the sync and a second later, the ratio to the
default's error, and how often a bound was exceeded in at least CHECKS checks of each clock (default 10,000).
The rounds are distributed over four launches, because the layout of a launch's memory favours one clock or
another by some nanoseconds. The first four rounds of a launch do not count, because the default method begins
without a history, like all methods. Offset only stops by itself when further ping-pongs do not improve it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from native_program import compiled

from offbeat.libraries.installations import find
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_command import command

SOURCE = Path(__file__).with_suffix(".c")
AGE_MS = 1000
FIRST_ROUND_THAT_COUNTS = 4
LAUNCHES = 4
DEFAULT = "constraints:0:0"

Record = dict[str, int | str]


def play(
    installation: Installation, program: Path, rounds: int, age_ms: int, checks: int, clocks: Sequence[str]
) -> list[Record]:
    launch = command(installation, program, 2)
    arguments = [*launch.argv, str(rounds), str(age_ms), str(checks), *clocks]
    done = subprocess.run(arguments, env=launch.environment, stdout=subprocess.PIPE, text=True, check=False)
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not records or "checks" not in records[-1]:
        sys.exit(f"{' '.join(arguments)} ended with {done.returncode}")
    return records


def exchanges_of_the_default(installation: Installation, program: Path) -> int:
    """How many ping-pongs a sync of the default method takes here."""
    records = play(installation, program, 8, 50, 1, [DEFAULT])
    return round(float(np.mean([record["exchanges"] for record in records[:-1]])))


def contestants(exchanges: int) -> dict[str, str]:
    """Each clock's name for people, and its words for the program."""
    points, many_points = max(2, exchanges // 5), max(2, exchanges // 2)
    clocks = {"default": DEFAULT}
    for times, fitted in ((1, points), (10, many_points)):
        cost = exchanges * times
        clocks[f"offset only, {times}x"] = f"offset:{cost}:0"
        clocks[f"HCA3, {times}x"] = f"hca3:{cost}:{fitted}"
        clocks[f"JK, {times}x"] = f"jk:{cost}:{fitted}"
    return clocks


def errors_ns(records: list[Record], clock: str, at_once: bool) -> np.ndarray:
    return np.array(
        [
            abs(int(record["error_ns"]))
            for record in records
            if record["clock"] == clock
            and int(record["round"]) >= FIRST_ROUND_THAT_COUNTS
            and (int(record["age_ns"]) == 0) == at_once
        ]
    )


def show(records: list[Record], clocks: dict[str, str]) -> dict[str, tuple[float, float]]:
    """Print the table. Each clock's mean error at once and later, in nanoseconds."""
    by_clock: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_clock[str(record["clock"])].append(record)
    means = {}
    print(f"{'':18}{'ping-pongs':>11}{'sync':>10}   error at once, after 1 s: mean, median, worst [ns]")
    for name, clock in clocks.items():
        at_once, later = (errors_ns(records, clock, when) for when in (True, False))
        means[name] = (float(at_once.mean()), float(later.mean()))
        exchanges = np.mean([record["exchanges"] for record in by_clock[clock]])
        sync_us = np.median([int(record["sync_ns"]) for record in by_clock[clock]]) / 1000
        cells = [f"{e.mean():9.0f}{np.median(e):9.0f}{e.max():9.0f}" for e in (at_once, later)]
        print(f"{name:18}{exchanges:11.0f}{sync_us:7.0f} µs" + "  |".join(cells))
    return means


def main(mpi: str = "auto", rounds: str = "60", checks: str = "10000") -> None:
    installation = find.choose(mpi)
    with TemporaryDirectory() as folder:
        program = compiled(installation, "liboffbeat-harmonize.a", Path(folder), [SOURCE])
        clocks = contestants(exchanges_of_the_default(installation, program))
        rounds_a_launch = -(-int(rounds) // LAUNCHES)
        checks_a_round = -(-int(checks) // (LAUNCHES * rounds_a_launch))
        records, total, broken = [], 0, 0
        for _ in range(LAUNCHES):
            *of_launch, ending = play(
                installation, program, rounds_a_launch, AGE_MS, checks_a_round, list(clocks.values())
            )
            records += of_launch
            total, broken = total + int(ending["checks"]), broken + int(ending["broken"])
    print(f"{installation.version_text}, 2 processes")
    means = show(records, clocks)
    own_at_once, own_later = means["default"]
    for name, (at_once, later) in means.items():
        if name != "default":
            print(
                f"{name}: {at_once / own_at_once:.2f} times the default's error at once,"
                f" {later / own_later:.1f} times a second later"
            )
    print(f"bounds broken: {broken} in {total} checks of {len(clocks)} clocks")


if __name__ == "__main__":
    main(*sys.argv[1:])
