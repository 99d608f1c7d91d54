"""How much the algorithm of MPI_Allreduce, and an imbalance, change the time of programs of many iterations.

Usage: ``python benchmarks/allreduce_in_programs.py [cg] [rooted] [imbalance]`` (without an argument: all
three; cg takes an hour). Everything is simulated on the platform ``meggie``, to which 300 ns are added for
which a rank is busy with each message that it sends and that it receives: without them, an algorithm could
send to all ranks at once. Every rank is delayed at random, by 5% of its longest work on average (cg: 1%),
without which ranks stay in lockstep. Both are assumptions.

cg: a conjugate-gradient solver with 1,280 ranks, after the structure of HPCG: a preconditioner, two halo
exchanges, a sparse matrix-vector product, vector updates, and three allreduces. A rank has n³ rows of 27
nonzeros. The allreduces have 8 bytes, or more, as if several right-hand sides were solved together. For each
algorithm of the simulator: the time of the call alone, that of an iteration, and how much longer it is than
with the algorithm that is fastest alone, in the program and if all ranks were in lockstep. Where the former
is less, the algorithm waits less for ranks that are late. Algorithms whose calls take the same time and have
equally many messages are one row. Then the algorithms of each library that are fastest alone and in the
program, and how much faster the program is with the latter.

rooted: a sweep of 5.9 ms and a halo exchange with 640 ranks, and then a collective of 8 bytes in every
iteration: none, a reduce, a bcast, an allreduce. In a rooted collective, most ranks wait for few others or
for none. Neighbours are those on a ring, as in the triad of the paper, or on a line, whose first rank is the
root: it has one neighbour only, is rarely late, and hardly delays a bcast.

imbalance: 1,000 ranks with a sweep of 5.9 ms and a halo exchange. The work differs uniformly by up to 60%
of the mean, in a random order: among ranks, or among memory domains, in which all ranks have the same work.
Printed is the time of an iteration, and that in lockstep, where each waits for the slowest; and the imbalance
from which all that the ranks gain by running out of step is lost: an iteration takes longer than with equal
work in lockstep.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from math import inf

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from offbeat.model.platform.machine import Platform
from offbeat.model.platform.machine import load as load_platform
from offbeat.programs.description.alternatives import messages_of_call
from offbeat.programs.description.program_file import Program, loads
from offbeat.programs.simulation.lockstep import lockstep, settled_iteration_s
from offbeat.programs.simulation.simulate import prepare
from offbeat.simulation.calls.catalogue import algorithms

OVERHEAD_S = 300e-9
ROW_BYTES = 27 * 12 + 24
SWEEP_BYTES = 29_500_000
"""5.9 ms on ``meggie``."""

IMBALANCES = (0, 5, 10, 15, 20, 30, 40, 50, 60)
"""In percent of the mean work."""

CG_RANKS = 1280
CG_CASES = ((16, 8), (32, 8), (16, 1024), (16, 8192), (16, 65536))
"""n and the bytes of an allreduce. All algorithms are simulated in the first one."""
CG_FEW_MESSAGES = 1_000_000
"""Algorithms that send more in a call, which are by far the slowest, are left out of the other cases."""
CG_ITERATIONS = 100
CG_MESSAGES = 5_000_000
"""Messages of the allreduces in a simulation: slow algorithms have fewer iterations."""


def machine() -> Platform:
    """The platform, with the time that ranks are busy with messages."""
    platform = load_platform("meggie")
    messages = structs.replace(platform.file.messages, send_overhead=OVERHEAD_S, receive_overhead=OVERHEAD_S)
    return structs.replace(platform, file=structs.replace(platform.file, messages=messages))


def work(name: str, memory: float, more: str = "") -> str:
    return f'[[phase]]\nkind = "work"\nname = "{name}"\nmemory = "{memory:.0f} B"\n{more}\n'


def collective(family: str, algorithm: str, name: str = "allreduce", size: int = 8) -> str:
    return (
        f'[[phase]]\nkind = "collective"\ncollective = "{name}"\nfamily = "{family}"\n'
        f'algorithm = "{algorithm}"\nbytes = [{size}]\n'
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


def cg(n: int, dot: str, iterations: int, platform: Platform) -> Program:
    """The solver with the collective ``dot``."""
    rows = n**3
    halo = f'[[phase]]\nkind = "exchange"\nneighbours = "grid"\nperiodic = false\nbytes = [{8 * n * n}]\n'
    smoother = 5 * 8 / 7 * ROW_BYTES * rows  # four sweeps and a product, on levels of 1, 1/8, ... of the rows
    return program(
        CG_RANKS,
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


class Allreduce(Struct, frozen=True, kw_only=True):
    """Algorithms of the same call that take the same time; times in seconds.

    ``alone_s`` is the time of the call, the others are those of an iteration of the program: as simulated,
    and in lockstep.
    """

    algorithms: list[tuple[str, str]]
    alone_s: float
    program_s: float
    lockstep_s: float


def allreduces(n: int, size: int, most_messages: float, platform: Platform) -> Iterator[Allreduce]:
    """The algorithms with up to ``most_messages`` for an allreduce of ``size`` bytes; fastest alone first."""
    others_s = lockstep(cg(n, "", 1, platform).without_noise(), platform).iteration_s
    alike: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for family in ("openmpi", "mpich", "simgrid"):
        for algorithm in algorithms("allreduce", family):
            alone = program(CG_RANKS, 1, collective(family, algorithm.name, size=size))
            sent = messages_of_call(alone.file.phase[0], algorithm, CG_RANKS, platform)
            if sent is None or sent > most_messages:
                continue
            alone_ps = round(lockstep(alone, platform).iteration_s * 1e12)
            alike.setdefault((alone_ps, sent), []).append((family, algorithm.name))
    for (alone_ps, sent), names in sorted(alike.items()):
        iterations = max(2, min(CG_ITERATIONS, CG_MESSAGES // (3 * sent)))
        one = cg(n, collective(*names[0], size=size), iterations, platform)
        yield Allreduce(
            algorithms=names,
            alone_s=alone_ps / 1e12,
            program_s=settled_iteration_s(prepare(one, platform).simulate()),
            lockstep_s=others_s + 3 * alone_ps / 1e12,
        )


def print_cg(platform: Platform) -> None:
    for n, size in CG_CASES:
        print(f"conjugate gradients, 1,280 ranks, n = {n}, allreduces of {size} bytes: an iteration")
        print(f"{'allreduce':>34} {'alone':>11} {'in program':>12} {'more':>11} {'in lockstep':>13}")
        most_messages = inf if (n, size) == CG_CASES[0] else CG_FEW_MESSAGES
        found: list[Allreduce] = []
        for one in allreduces(n, size, most_messages, platform):
            found.append(one)
            more_s = one.program_s - found[0].program_s
            lockstep_more_s = one.lockstep_s - found[0].lockstep_s
            print(
                f"{described(one):>34} {one.alone_s * 1e6:8.1f} µs {one.program_s * 1e3:9.3f} ms"
                f" {more_s * 1e6:+8.1f} µs {lockstep_more_s * 1e6:+10.1f} µs",
                flush=True,
            )
        for family in ("openmpi", "mpich", "simgrid"):
            print_fastest(family, found)
        print(flush=True)


def described(one: Allreduce) -> str:
    """The first of the algorithms, and how many more there are."""
    family, name = one.algorithms[0]
    short = name if len(name) <= 20 else name[:17] + "..."
    others = len(one.algorithms) - 1
    return f"{family} {short}" + (f" +{others}" if others else "")


def print_fastest(family: str, found: list[Allreduce]) -> None:
    """The fastest algorithm of a library, alone and in the program."""
    own = [one for one in found if any(name[0] == family for name in one.algorithms)]
    alone, best = own[0], min(own, key=lambda one: one.program_s)
    names = [next(name for kind, name in one.algorithms if kind == family) for one in (alone, best)]
    faster = alone.program_s / best.program_s - 1
    print(
        f"{family}: {names[0]} is the fastest alone and in the program"
        if alone is best
        else f"{family}: {names[0]} is the fastest alone, {names[1]} in the program, by {100 * faster:.2f}%"
    )


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
            cells += f"{settled_iteration_s(prepare(one, platform).simulate()) * 1e3:10.3f} ms"
        print(
            f"{name:>32}{cells}{lockstep(one.without_noise(), platform).iteration_s * 1e3:10.3f} ms",
            flush=True,
        )


def print_imbalance(platform: Platform) -> None:
    print(
        "a sweep with an imbalance and a halo exchange, 1,000 ranks: ms of an iteration (gain over lockstep)"
    )
    print(f"{'imbalance':>10} {'among ranks':>26} {'among memory domains':>26}")
    random = np.random.default_rng(1)
    shares = {
        "ranks": random.permutation(np.linspace(-1, 1, 1000)),
        "memory domains": np.repeat(random.permutation(np.linspace(-1, 1, 100)), 10),
    }
    equal_s = 0.0
    times_s: dict[str, list[float]] = {name: [] for name in shares}
    for percent in IMBALANCES:
        cells = ""
        for name, share in shares.items():
            one = imbalanced(1 + percent / 100 * share, platform)
            time_s, lockstep_s = (
                settled_iteration_s(prepare(one, platform).simulate()),
                lockstep(one.without_noise(), platform).iteration_s,
            )
            equal_s = equal_s or lockstep_s
            times_s[name].append(time_s)
            cells += f"{time_s * 1e3:9.3f} of {lockstep_s * 1e3:6.3f} ({lockstep_s / time_s - 1:5.1%})"
        print(f"{percent:9d}% {cells}", flush=True)
    for name, of_imbalance_s in times_s.items():
        slower = [
            percent for percent, time_s in zip(IMBALANCES, of_imbalance_s, strict=True) if time_s > equal_s
        ]
        end = f"from {slower[0]}% on" if slower else "at no imbalance"
        print(f"among {name}, slower than with equal work in lockstep ({equal_s * 1e3:.3f} ms): {end}")


def imbalanced(weights: NDArray[np.float64], platform: Platform) -> Program:
    """A sweep and a halo exchange; ``weights`` of the ranks' work."""
    halo = '[[phase]]\nkind = "exchange"\nneighbours = "grid"\nperiodic = false\nbytes = [948640]\n'
    listed = ", ".join(f"{weight:.5f}" for weight in weights)
    sweep = work("sweep", SWEEP_BYTES, f"weights = [{listed}]")
    return program(len(weights), 400, sweep, halo, noise("sweep", SWEEP_BYTES, platform))


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
