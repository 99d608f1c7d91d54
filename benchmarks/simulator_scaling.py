"""How the simulator's time and memory grow with p and the message size, up to 65,536 ranks.

Usage: python benchmarks/simulator_scaling.py [--largest 65536] [--sizes 8,1024,1048576] [-o scaling.png]

Algorithms of Open MPI on the paper's cluster, with as many nodes of 32 cores as needed: reduce and allreduce
up to the largest p, alltoall up to 1,024 ranks. Printed are for each: the CPU time of building the schedule,
of evaluating a call without delays (routes included), and of evaluating one under random arrivals with a skew
of 1.5 times its runtime; the peak memory of the process, Python included; and the memory of the schedule. -o
draws times and memory against p for the middle size. Each case is measured in a separate process.

The exit status is 1 if alltoall takes 1 GiB or more.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import resource
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import matplotlib
import msgspec
import numpy as np
from msgspec import Struct

from offbeat import _simulator
from offbeat.base.units import format_size
from offbeat.model.platform.machine import load
from offbeat.model.platform.network import network

matplotlib.use("Agg")
from matplotlib import pyplot

PPN = 32
SKEW_FACTOR = 1.5
RANKS = [64, 256, 1024, 4096, 16384, 65536]
LARGEST_ALLTOALL = 1024
ALLTOALL_BYTES = 2**30
ALGORITHMS = [
    ("reduce", "binomial"),
    ("reduce", "rabenseifner"),
    ("allreduce", "recursive_doubling"),
    ("allreduce", "rabenseifner"),
    ("alltoall", "pairwise"),
    ("alltoall", "linear"),
]


class Case(Struct, frozen=True, kw_only=True):
    collective: str
    algorithm: str
    p: int
    bytes: int

    @property
    def name(self) -> str:
        """For tables and legends."""
        return f"{self.collective} {self.algorithm}"


class Cost(Struct, frozen=True, kw_only=True):
    """CPU seconds and bytes; the evaluations are those of the call without delays and of the skewed one."""

    case: Case
    messages: int
    build_s: float
    in_step_s: float
    skewed_s: float
    evaluations: str
    schedule_bytes: int
    process_bytes: int


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--largest", type=int, default=RANKS[-1])
    parser.add_argument("--sizes", default="8,1024,1048576")
    parser.add_argument("-o", "--output", type=Path)
    words = parser.parse_args()
    sizes = [int(word) for word in words.sizes.split(",")]
    print(
        f"{'algorithm':30}{'p':>7}{'bytes':>9}{'messages':>10}{'build s':>9}{'in step s':>11}"
        f"{'skewed s':>10}  {'evaluation':26}{'schedule MiB':>12}{'process MiB':>13}"
    )
    measurements = [measured_apart(case) for case in cases(sizes, words.largest)]
    if words.output:
        draw([cost for cost in measurements if cost.case.bytes == sizes[len(sizes) // 2]], words.output)
    most = max((cost.process_bytes for cost in measurements if cost.case.collective == "alltoall"), default=0)
    print(f"alltoall took up to {most / 2**20:.0f} MiB; less than {ALLTOALL_BYTES / 2**20:.0f} are promised")
    sys.exit(most >= ALLTOALL_BYTES)


def cases(sizes: Sequence[int], largest: int) -> list[Case]:
    """By algorithm, then by p."""
    return [
        Case(collective=collective, algorithm=algorithm, p=p, bytes=size)
        for (collective, algorithm), p, size in itertools.product(ALGORITHMS, RANKS, sizes)
        if p <= (min(largest, LARGEST_ALLTOALL) if collective == "alltoall" else largest)
    ]


def measured_apart(case: Case) -> Cost:
    """Measured in a new process, and printed."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as apart:
        cost = apart.submit(measure, case).result()
    print(
        f"{case.name:30}{case.p:7}{format_size(case.bytes):>9}{cost.messages:10}{cost.build_s:9.3f}"
        f"{cost.in_step_s:11.4f}{cost.skewed_s:10.4f}  {cost.evaluations:26}"
        f"{cost.schedule_bytes / 2**20:12.1f}{cost.process_bytes / 2**20:13.0f}",
        flush=True,
    )
    return cost


def measure(case: Case) -> Cost:
    """Builds the schedule of a case, and evaluates it twice."""
    nodes = np.arange(case.p, dtype=np.int32) // PPN
    file = msgspec.structs.replace(load("paper").file, nodes=max(1, case.p // PPN))
    on = network(file, nodes)
    start = time.process_time()
    schedule = _simulator.Schedule(
        case.collective, "openmpi", case.algorithm, {}, case.p, 0, case.bytes, 1, nodes.tolist()
    )
    built = time.process_time()
    exits, in_step = _simulator.evaluate(schedule, on, np.zeros((1, case.p)), 1.0)
    evaluated = time.process_time()
    arrivals = np.random.default_rng(1).uniform(0, SKEW_FACTOR * exits.max(), (1, case.p))
    skewing = time.process_time()
    _, skewed = _simulator.evaluate(schedule, on, arrivals, 1.0)
    return Cost(
        case=case,
        messages=schedule.messages,
        build_s=built - start,
        in_step_s=evaluated - built,
        skewed_s=time.process_time() - skewing,
        evaluations=f"{in_step[0]}, {skewed[0]}",
        schedule_bytes=schedule.memory_bytes,
        process_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )


def draw(costs: Sequence[Cost], path: Path) -> None:
    """Times and memory against p."""
    figure, (times, memory) = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for number, name in enumerate(dict.fromkeys(cost.case.name for cost in costs)):
        costs_of_case = [cost for cost in costs if cost.case.name == name]
        ranks, color = [cost.case.p for cost in costs_of_case], f"C{number}"
        times.loglog(
            ranks, [cost.in_step_s + cost.build_s for cost in costs_of_case], "o-", color=color, label=name
        )
        times.loglog(ranks, [cost.skewed_s for cost in costs_of_case], "x--", color=color)
        memory.semilogx(
            ranks, [cost.process_bytes / 2**20 for cost in costs_of_case], "o-", color=color, label=name
        )
    size = format_size(costs[0].case.bytes)
    times.set(title=f"{size}; solid: build and evaluate in step, dashed: skewed", ylabel="CPU time [s]")
    memory.set(title=f"{size}; largest memory of the process", ylabel="memory [MiB]")
    for axes in (times, memory):
        axes.set_xlabel("processes")
        axes.grid(alpha=0.3)
    memory.legend(fontsize="small", loc="upper left")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
