"""Random programs of every kind that runs in or out of step, for benchmarks and tests.

The kinds are those of which the answer is known in principle: work bound by the cores or by memory, imbalance
of each kind, complementary phases, collectives in every iteration or in rare ones, noise, and all topologies
of exchanges. What a program gains is found by simulating it (``known_answers.py``), not from its kind.
"""

from __future__ import annotations

import numpy as np
from msgspec import structs

from offbeat.model.platform import machine
from offbeat.model.platform.machine import Platform
from offbeat.programs.description.program_file import Program
from offbeat.programs.description.schema import NoiseSection, PhaseSection, ProgramFile

KINDS = (
    "compute-bound",
    "memory-bound",
    "between both",
    "imbalance within domains",
    "imbalance between domains",
    "random imbalance",
    "complementary phases",
    "frequent collectives",
    "rare collectives",
    "noise",
)

RANKS, MOST_RANKS = (18, 36, 54, 72), 144
"""One domain of ``fritz`` up to four, a node; two nodes only without collectives, to save time."""

ALGORITHMS = ("recursive_doubling", "ring", "nonoverlapping", "rabenseifner")


def platform() -> Platform:
    """The machine of all programs."""
    return machine.load("fritz")


def known_program(generator: np.random.Generator, number: int, iterations: int = 20_000) -> Program:
    """A program; its kind is that of its number, so that each is drawn equally often."""
    kind = KINDS[number % len(KINDS)]
    has_collective = kind in ("frequent collectives", "rare collectives") or generator.random() < 0.15
    ranks = int(generator.choice(RANKS if has_collective else (*RANKS, MOST_RANKS)))
    work_s = 10 ** generator.uniform(-3.5, -1.5)
    phases = _works(generator, kind, ranks, work_s)
    if not has_collective or generator.random() < 0.9:
        phases.append(_exchange(generator, ranks, work_s))
    if has_collective:
        rare = kind == "rare collectives"
        phases.append(_collective(generator, every=int(generator.integers(5, 30)) if rare else 1))
    file = ProgramFile(
        name=f"{kind} {number}",
        ranks=ranks,
        iterations=iterations,
        seed=int(generator.integers(1, 10**6)),
        phase=phases,
        noise=_noise(generator, kind, work_s),
    )
    return Program(file=file, path=f"known-{number}.toml", text="")


def _works(generator: np.random.Generator, kind: str, ranks: int, work_s: float) -> list[PhaseSection]:
    """One phase of work that takes about ``work_s`` in lockstep, or two that are unequal."""
    is_memory = kind not in ("compute-bound", "complementary phases") and generator.random() < 0.7
    share = 1.0
    if kind == "memory-bound":
        is_memory = True
    if kind == "between both":
        is_memory, share = True, generator.uniform(0.2, 1.2)
    whole = PhaseSection(kind="work", name="work", flops=2e10 * work_s)
    if is_memory:
        whole = structs.replace(
            whole, memory=round(4.5e9 * work_s), flops=0.0 if share == 1.0 else 2e10 * work_s / share
        )
    if kind == "complementary phases":
        factor = float(generator.uniform(1.5, 4))
        halves = [[1.0, factor], [factor, 1.0]]
        return [
            structs.replace(whole, name=f"part {index}", flops=whole.flops / (1 + factor), weights=weights)
            for index, weights in enumerate(halves, 1)
        ]
    return [structs.replace(whole, weights=_weights(generator, kind, ranks))]


def _weights(generator: np.random.Generator, kind: str, ranks: int) -> list[float]:
    if kind == "imbalance within domains":
        slow = np.ones(18)
        slow[generator.choice(18, int(generator.integers(1, 9)), replace=False)] = generator.uniform(1.1, 2.5)
        return slow.tolist()
    if kind == "imbalance between domains":
        return np.repeat(1 + generator.uniform(0, 0.6) * generator.random(ranks // 18), 18).tolist()
    if kind == "random imbalance":
        return (1 + generator.uniform(0, 0.6) * generator.random(ranks)).tolist()
    return []


def _exchange(generator: np.random.Generator, ranks: int, work_s: float) -> PhaseSection:
    """Messages whose time is from nearly nothing to that of the work."""
    neighbours = str(generator.choice(["ring", "line", "grid", "box", "offsets"]))
    size = int(np.clip(7.35e9 / 36 * work_s * 10 ** generator.uniform(-4, 0.3), 8, 2**27))
    sends = str(generator.choice(["nonblocking", "synchronous", "buffered"]))
    phase = PhaseSection(kind="exchange", name="halo", bytes=[size], sends=sends)  # type: ignore[arg-type]
    if neighbours == "offsets":
        far = int(generator.integers(2, ranks // 2))
        return structs.replace(phase, neighbours="offsets", offsets=[1, -1, far, -far])
    sides = [ranks // 6, 6] if neighbours in ("grid", "box") else []
    return structs.replace(
        phase,
        neighbours=neighbours,
        grid=sides,
        edge_bytes=size // 8 if neighbours == "box" else 0,
        periodic=bool(generator.random() < 0.5),
    )


def _collective(generator: np.random.Generator, every: int) -> PhaseSection:
    return PhaseSection(
        kind="collective",
        name=f"sum {every}",
        collective="allreduce",
        algorithm=str(generator.choice(ALGORITHMS)),
        bytes=[8 * int(10 ** generator.uniform(0, 3.5))],
        every=every,
    )


def _noise(generator: np.random.Generator, kind: str, work_s: float) -> list[NoiseSection]:
    if kind != "noise" and generator.random() < 0.8:
        return []
    is_usual = generator.random() < 0.7
    last_work = "part 2" if kind == "complementary phases" else "work"
    return [
        NoiseSection(
            phase=last_work,
            time=work_s * (10 ** generator.uniform(-3, -1) if is_usual else generator.uniform(0.1, 1)),
            distribution="exponential" if is_usual else "fixed",
            pick="all" if is_usual else "random",
            every=1 if is_usual else int(generator.integers(1, 20)),
        )
    ]
