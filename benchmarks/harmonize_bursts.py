"""Harmonised starts under bursts of load, compared with a direct implementation of the paper's Algorithm 1.

Usage: python benchmarks/harmonize_bursts.py [MPI] [P] [SECONDS]

Every 250 ms, as many processes as there are cores compute for 60 ms. During the bursts and between them, P
processes (default: one for each core) start repeatedly for SECONDS (default 12), alternating between
MPIX_Harmonize and Algorithm 1 every half second. Both methods have the same bursts. The machine's own clock
shows when each process really left. Printed are the starts per second that all processes called good, how far
apart the processes really left in these starts, and the effect of a burst on the slack.

Schuchart, Hunold and Bosilca, "MPI Process Synchronization in Space and Time", EuroMPI 2023, section 5.2.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Process
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from msgspec import Struct, field
from native_program import compiled, output_of

from offbeat.libraries.installations import find
from offbeat.libraries.installations.installation import Installation

SOURCE = Path(__file__).with_suffix(".c")
PERIOD_NS, LENGTH_NS, PHASE_NS = 250_000_000, 60_000_000, 500_000_000
METHODS = ("offbeat", "algorithm-1")
CALLS_AFTER = 10


class Starts(Struct):
    """All starts by one method, phase after phase: in a burst or not, good or not, skew and slack in ns."""

    taken_ns: int = 0
    bursts: list[bool] = field(default_factory=list)
    good: list[bool] = field(default_factory=list)
    skew_ns: list[int] = field(default_factory=list)
    slack_ns: list[int] = field(default_factory=list)

    def good_a_second(self) -> float:
        return sum(self.good) / (self.taken_ns * 1e-9)

    def good_skews_us(self) -> np.ndarray:
        return np.array(self.skew_ns)[np.array(self.good)] / 1000

    def slacks_around_bursts_us(self) -> tuple[list[float], list[float]]:
        """The slack of the last start before each burst, and of the tenth after it."""
        before, after = [], []
        for i in range(1, len(self.bursts)):
            if self.bursts[i] and not self.bursts[i - 1]:
                before.append(self.slack_ns[i - 1] / 1000)
            calm = self.bursts[i : i + CALLS_AFTER]
            if self.bursts[i - 1] and len(calm) == CALLS_AFTER and not any(calm):
                after.append(self.slack_ns[i + CALLS_AFTER - 1] / 1000)
        return before, after


def compute_in_bursts(epoch_ns: int) -> None:
    while True:
        into_ns = (time.monotonic_ns() - epoch_ns) % PERIOD_NS
        if into_ns >= LENGTH_NS:
            time.sleep((PERIOD_NS - into_ns) * 1e-9)


@contextmanager
def bursts_of_load(epoch_ns: int, processes: int) -> Iterator[None]:
    load = [Process(target=compute_in_bursts, args=(epoch_ns,), daemon=True) for _ in range(processes)]
    for process in load:
        process.start()
    try:
        yield
    finally:
        for process in load:
            process.kill()
            process.join()


def run(installation: Installation, p: int, phases: int) -> str:
    with TemporaryDirectory() as folder:
        program = compiled(installation, "liboffbeat-harmonize.a", Path(folder), [SOURCE])
        epoch_ns = time.monotonic_ns()
        with bursts_of_load(epoch_ns, len(os.sched_getaffinity(0))):
            return output_of(installation, program, p, [epoch_ns, PERIOD_NS, LENGTH_NS, PHASE_NS, phases])


def read(printed: str) -> dict[str, Starts]:
    starts = {method: Starts() for method in METHODS}
    for line in printed.splitlines():
        words = line.split()
        if words[0] == "phase":
            starts[words[1]].taken_ns += int(words[2])
            continue
        start = starts[words[0]]
        start.bursts.append(words[1] == "1")
        start.good.append(words[2] == "1")
        start.skew_ns.append(int(words[3]))
        start.slack_ns.append(int(words[4]))
    return starts


def describe(method: str, starts: Starts) -> None:
    skews = starts.good_skews_us()
    before, after = starts.slacks_around_bursts_us()
    share = 100 * sum(starts.good) / len(starts.good)
    print(
        f"{method}: {len(starts.good)} starts in {starts.taken_ns * 1e-9:.1f} s, {share:.1f}% called good by"
        f" all: {starts.good_a_second():.0f} a second"
    )
    if skews.size:
        print(
            f"  exit skew of those: median {np.median(skews):.2f} µs, 99th percentile"
            f" {np.percentile(skews, 99):.2f} µs, largest {skews.max():.1f} µs"
        )
    if before and after:
        print(
            f"  slack before a burst {statistics.median(before):.1f} µs, {CALLS_AFTER} calls after one"
            f" {statistics.median(after):.1f} µs (medians over {len(after)} bursts; largest after one"
            f" {max(after):.1f} µs)"
        )


def main(mpi: str = "auto", p: str = "", seconds: str = "12") -> None:
    installation = find.choose(mpi)
    processes = int(p or len(os.sched_getaffinity(0)))
    starts = read(run(installation, processes, max(2, round(float(seconds) * 1e9 / PHASE_NS))))
    print(f"{installation.version_text}, {processes} processes on {len(os.sched_getaffinity(0))} cores")
    for method in METHODS:
        describe(method, starts[method])
    ours, plain = (starts[method].good_a_second() for method in METHODS)
    print(f"good starts a second, offbeat / Algorithm 1: {ours / plain if plain else float('inf'):.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
