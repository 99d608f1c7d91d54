"""Partitioned broadcast and allreduce of liboffbeat-partitioned against MPI_Bcast and MPI_Allreduce.

Usage: python benchmarks/partitioned_collectives.py [MPI] [PROCESSES] [REPETITIONS] [PROGRESS_THREAD]

All processes (default 2) are on this machine, and both take turns in one run. The 16 partitions become ready
at once, or one after another over a span of one or three times of the MPI library's own collective without
delay; γ is the span divided by the size of a partition. The own collective starts after the last partition.
Times are from the start to the last process that has the result; the smallest of REPETITIONS (default 100)
is compared, as other programs only lengthen times. The gain is own / ours; `after last` is the same for the
times after the last partition was ready. With more processes than cores, the figures show the
scheduler. PROGRESS_THREAD: true or false (default).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from native_program import compiled, output_of
from partitioned_ratios import size_text

from offbeat.libraries.installations import find
from offbeat.libraries.installations.installation import Installation

SOURCE = Path(__file__).with_suffix(".c")

Times = dict[tuple[str, int, int, int], dict[str, float]]
"""Collective, bytes, partitions, span in ns → times in ns by approach."""


def run(installation: Installation, processes: int, repetitions: str, progress_thread: str) -> str:
    with TemporaryDirectory() as folder:
        program = compiled(installation, "liboffbeat-partitioned.a", Path(folder), [SOURCE])
        return output_of(installation, program, processes, [repetitions, progress_thread])


def read(printed: str) -> Times:
    times: Times = {}
    for line in printed.splitlines():
        collective, approach, *numbers = line.split()
        size, partitions, span_ns, *values = (int(number) for number in numbers)
        at = times.setdefault((collective, size, partitions, span_ns), {})
        at[approach] = float(min(values))
    return times


def print_table(times: Times) -> None:
    print("collective      bytes  γ (µs/MB)   own (µs)  ours (µs)   gain  after last")
    for (collective, size, partitions, span_ns), at in times.items():
        rate = span_ns / 1000 / (size / partitions / 1e6)
        after_last = (at["own"] - span_ns) / max(at["ours"] - span_ns, 1.0)
        print(
            f"{collective:<10} {size_text(size):>10} {rate:10.0f} {at['own'] / 1000:10.1f} "
            f"{at['ours'] / 1000:10.1f} {at['own'] / at['ours']:6.2f} {after_last:11.2f}"
        )


def main(
    mpi: str = "auto", processes: str = "2", repetitions: str = "100", progress_thread: str = "false"
) -> None:
    installation = find.choose(mpi)
    times = read(run(installation, int(processes), repetitions, progress_thread))
    print(f"{installation.version_text}, {processes} processes, progress thread: {progress_thread}")
    cores = len(os.sched_getaffinity(0))
    if int(processes) > cores:
        print(f"more processes than the {cores} cores: the figures show the scheduler")
    print_table(times)


if __name__ == "__main__":
    main(*sys.argv[1:])
