"""How much the algorithm of MPI_Allreduce, and an imbalance, change the time of programs of many iterations.

Usage: ``python benchmarks/allreduce_in_programs.py [cg] [rooted] [imbalance]`` (without an argument: all
three, in some minutes). Everything is simulated on the platform ``meggie``, to which 300 ns are added for
which a rank is busy with each message that it sends and that it receives: without them, an algorithm could
send to all ranks at once. Every rank is delayed at random, by 5% of its longest work on average (cg: 1%),
without which ranks stay in lockstep. Both are assumptions.

cg: a conjugate-gradient solver with 1,280 ranks, after the structure of HPCG: a preconditioner, two halo
exchanges, a sparse matrix-vector product, vector updates, and three allreduces of 8 bytes. A rank has n³
rows of 27 nonzeros. For each algorithm: the time of the call alone, that of an iteration, and how much
longer it is than with the algorithm that is fastest alone, in the program and if all ranks were in
lockstep. Where the former is less, the algorithm waits less for ranks that are late. At 8 bytes, many other
algorithms send the same messages.

rooted: a sweep of 5.9 ms and a halo exchange with 640 ranks, and then a collective of 8 bytes in every
iteration: none, a reduce, a bcast, an allreduce. In a rooted collective, most ranks wait for few others or
for none. Neighbours are those on a ring, as in the triad of the paper, or on a line, whose first rank is the
root: it has one neighbour only, is rarely late, and hardly delays a bcast.

imbalance: 1,000 ranks with a sweep of 5.9 ms and a halo exchange. The work differs uniformly by up to 60%
of the mean, in a random order: among ranks, or among memory domains, in which all ranks have the same work.
Printed is the time of an iteration, and that in lockstep, where each waits for the slowest.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from msgspec import structs

from offbeat.platform.machine import Platform
from offbeat.platform.machine import load as load_platform
from offbeat.program.load import Program, loads
from offbeat.program.simulate import Simulated, lockstep, prepare

OVERHEAD_S = 300e-9
ROW_BYTES = 27 * 12 + 24
SWEEP_BYTES = 29_500_000
"""5.9 ms on ``meggie``."""

ALGORITHMS = (
    ("mpich", "smp"),
    ("openmpi", "recursive_doubling"),
    ("mpich", "tree"),
    ("openmpi", "nonoverlapping"),
    ("openmpi", "rabenseifner"),
    ("simgrid", "lr"),
    ("openmpi", "basic_linear"),
    ("mpich", "ring"),
)
"""The fastest alone first."""

SIZES = (16, 32)


def machine() -> Platform:
    """The platform, with the time that ranks are busy with messages."""
    platform = load_platform("meggie")
    messages = structs.replace(platform.file.messages, send_overhead=OVERHEAD_S, receive_overhead=OVERHEAD_S)
    return structs.replace(platform, file=structs.replace(platform.file, messages=messages))


def work(name: str, memory: float, more: str = "") -> str:
    return f'[[phase]]\nkind = "work"\nname = "{name}"\nmemory = "{memory:.0f} B"\n{more}\n'


def collective(family: str, algorithm: str, name: str = "allreduce") -> str:
    return (
        f'[[phase]]\nkind = "collective"\ncollective = "{name}"\nfamily = "{family}"\n'
        f'algorithm = "{algorithm}"\nbytes = [8]\n'
    )


def noise(phase: str, memory: float, platform: Platform, share: float = 0.05) -> str:
    """Delays of all ranks after a phase of work."""
    memory_section, cores = platform.file.memory, platform.file.cores
    alone_s = memory / (memory_section.bandwidth * memory_section.domains / cores)
    return (
        f'[[noise]]\nphase = "{phase}"\ntime = "{share * alone_s * 1e6:.3f} us"\n'
        'distribution = "exponential"\npick = "all"\n'
    )


def program(ranks: int, iterations: int, *parts: str) -> Program:
    return loads(f"ranks = {ranks}\niterations = {iterations}\n" + "\n".join(parts), "program.toml")


def settled_s(run: Simulated) -> float:
    """The mean time of an iteration in the second half of a run."""
    half = run.iterations // 2
    return float((run.iteration_end_s[-1] - run.iteration_end_s[half - 1]).mean()) / (run.iterations - half)


def cg(n: int, family: str, algorithm: str, iterations: int, platform: Platform) -> Program:
    rows, dot = n**3, collective(family, algorithm)
    halo = f'[[phase]]\nkind = "exchange"\nneighbours = "grid"\nperiodic = false\nbytes = [{8 * n * n}]\n'
    smoother = 5 * 8 / 7 * ROW_BYTES * rows  # four sweeps and a product, on levels of 1, 1/8, ... of the rows
    return program(
        1280,
        iterations,
        halo,
        work("precondition", smoother),
        work("dot 1", 16 * rows),
        dot,
        work("update of p", 24 * rows),
        halo,
        work("product", ROW_BYTES * rows),
        work("dot 2", 16 * rows),
        dot,
        work("updates of x and r", 48 * rows),
        work("dot 3", 8 * rows),
        dot,
        noise("precondition", smoother, platform, 0.01),
    )


def print_cg(platform: Platform) -> None:
    print(
        "conjugate gradients, 1,280 ranks: ms of an iteration, and µs more than the first row (in lockstep)"
    )
    print(f"{'allreduce':>28} {'alone':>10}" + "".join(f"{f'n = {n}':>32}" for n in SIZES))
    first: dict[int, tuple[float, float]] = {}
    for family, algorithm in ALGORITHMS:
        alone = program(1280, 1, collective(family, algorithm))
        cells = f"{family + ' ' + algorithm:>28} {lockstep(alone, platform).iteration_s * 1e6:7.1f} µs"
        for n in SIZES:
            one = cg(n, family, algorithm, 4 if algorithm == "ring" else 100, platform)
            time_s, composite_s = (
                settled_s(prepare(one, platform).simulate()),
                lockstep(one, platform).iteration_s,
            )
            base_s, base_composite_s = first.setdefault(n, (time_s, composite_s))
            more, composite_more = time_s - base_s, composite_s - base_composite_s
            cells += f"{time_s * 1e3:12.3f} {more * 1e6:+8.1f} ({composite_more * 1e6:+8.1f})"
        print(cells, flush=True)


def print_rooted(platform: Platform) -> None:
    print("a sweep, a halo exchange and a collective of 8 bytes in every iteration, 640 ranks")
    collectives = (
        ("none", ""),
        ("reduce, binomial", collective("openmpi", "binomial", "reduce")),
        ("bcast, binomial", collective("openmpi", "binomial", "bcast")),
        ("allreduce, recursive doubling", collective("openmpi", "recursive_doubling")),
        ("allreduce, ring", collective("mpich", "ring")),
    )
    print(f"{'':>32} {'on a ring':>12} {'on a line':>12} {'lockstep':>12}")
    sweep, delays = work("sweep", SWEEP_BYTES), noise("sweep", SWEEP_BYTES, platform)
    for name, text in collectives:
        cells = ""
        for neighbours in ("ring", "line"):
            halo = f'[[phase]]\nkind = "exchange"\nneighbours = "{neighbours}"\nbytes = [948640]\n'
            one = program(640, 40 if "ring" in name else 1000, sweep, halo, text, delays)
            cells += f"{settled_s(prepare(one, platform).simulate()) * 1e3:10.3f} ms"
        print(f"{name:>32}{cells}{lockstep(one, platform).iteration_s * 1e3:10.3f} ms", flush=True)


def print_imbalance(platform: Platform) -> None:
    print(
        "a sweep with an imbalance and a halo exchange, 1,000 ranks: ms of an iteration (gain over lockstep)"
    )
    grid = '[[phase]]\nkind = "exchange"\nneighbours = "grid"\nperiodic = false\nbytes = [948640]\n'
    print(f"{'imbalance':>10} {'among ranks':>26} {'among memory domains':>26}")
    random = np.random.default_rng(1)
    shares = (random.permutation(np.linspace(-1, 1, 1000)), random.permutation(np.linspace(-1, 1, 100)))
    delays = noise("sweep", SWEEP_BYTES, platform)
    for percent in (0, 5, 10, 20, 30, 40, 50, 60):
        cells = ""
        for share in (shares[0], np.repeat(shares[1], 10)):
            weights = ", ".join(f"{1 + percent / 100 * value:.5f}" for value in share)
            sweep = work("sweep", SWEEP_BYTES, f"weights = [{weights}]")
            one = program(1000, 400, sweep, grid, delays)
            time_s, composite = settled_s(prepare(one, platform).simulate()), lockstep(one, platform)
            gain = composite.iteration_s / time_s - 1
            cells += f"{time_s * 1e3:9.3f} of {composite.iteration_s * 1e3:6.3f} ({gain:5.1%})"
        print(f"{percent:9d}% {cells}", flush=True)


PARTS = {"cg": print_cg, "rooted": print_rooted, "imbalance": print_imbalance}


def main() -> None:
    chosen = sys.argv[1:] or list(PARTS)
    if unknown := sorted(set(chosen) - set(PARTS)):
        sys.exit(f"there is no part {', '.join(unknown)}; the parts are {', '.join(PARTS)}")
    platform = machine()
    for part in chosen:
        began = time.perf_counter()
        PARTS[part](platform)
        print(f"({time.perf_counter() - began:.0f} s)\n")


if __name__ == "__main__":
    main()
