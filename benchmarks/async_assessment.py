"""How often 'offbeat async advise' is right about programs that it has not seen.

    python benchmarks/async_assessment.py [PROGRAMS [SEED [FILE]]] [--workers 1]

Random programs on the platform fritz. Each is assessed with short simulations. The truth is an assessment
with three times as many iterations and other seeds. Prints a line for each program whose short assessment is
wrong, how often each verdict is given and true, how often the verdict is right, and how often it is "helps"
for a program that loses. The target: right for 90% of 200 programs, and no "helps" that is a loss.
200 programs take hours of CPU time; the file FILE keeps each result, and the same command continues.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np
from recorded_programs import OfProgram, arguments, generator_of, random_weights, results

from offbeat.assessment.assess import LEAST_GAIN, Assessment, assess, helps, iterations_for
from offbeat.errors import BadInput, RunFailed
from offbeat.platform import machine
from offbeat.program.load import Program, loads

PROGRAMS = 200
LONGER = 3
TARGET = 0.9


def random_program(generator: np.random.Generator, number: int) -> Program:
    """A program with random work, exchange, collective, imbalance and noise."""
    ranks = int(generator.choice([72, 108, 144, 216, 288, 360]))
    memory = int(10 ** generator.uniform(5.5, 8.3))
    # from no operations to several times as long as the memory traffic of a core alone
    flops = generator.choice([0.0, 1.0]) * 10 ** generator.uniform(-1, 1) * memory / 13e9 * 30e9
    exchange_bytes = int(10 ** generator.uniform(2, 6.3))
    lines = [
        f'name = "random {number}"',
        f"ranks = {ranks}",
        "iterations = 20000",
        f"seed = {int(generator.integers(1, 10**6))}",
        '[[phase]]\nkind = "work"\nname = "work"',
        f'memory = "{memory} B"\nflops = {flops:.6g}',
        *_weights(generator, ranks),
        '[[phase]]\nkind = "exchange"\nname = "exchange"',
        f'neighbours = "{generator.choice(["ring", "line", "grid"])}"',
        f'bytes = ["{exchange_bytes} B"]',
        f'sends = "{generator.choice(["nonblocking", "synchronous"])}"',
        *_collective(generator),
        *_noise(generator, memory),
    ]
    return loads("\n".join(lines), f"random-{number}.toml")


def _weights(generator: np.random.Generator, ranks: int) -> list[str]:
    if generator.random() < 0.5:
        return []
    return [f"weights = {random_weights(generator, ranks)}"]


def _collective(generator: np.random.Generator) -> list[str]:
    if generator.random() < 0.4:
        return []
    algorithm = generator.choice(["recursive_doubling", "ring", "nonoverlapping", "rabenseifner"])
    return [
        '[[phase]]\nkind = "collective"\ncollective = "allreduce"\nname = "sum"',
        f'algorithm = "{algorithm}"',
        f"bytes = [{8 * int(10 ** generator.uniform(0, 3.5))}]",
        f"every = {int(10 ** generator.uniform(0, 2))}",
    ]


def _noise(generator: np.random.Generator, memory: int) -> list[str]:
    if generator.random() < 0.7:
        return []
    mean_us = 1e6 * memory / 4.5e9 * 10 ** generator.uniform(-3, -1)
    return [
        f'[[noise]]\nphase = "work"\ntime = "{mean_us:.4f} us"\ndistribution = "exponential"\npick = "all"'
    ]


class Compared(OfProgram, frozen=True, kw_only=True):
    """What the assessment said of a program, and what is true; gains as fractions."""

    said: str
    truth: str
    best: float
    already: float
    loses: bool


def main() -> int:
    """Compare assessment with the truth; 0 if the target is met, else 1."""
    given = arguments(__doc__, PROGRAMS).parse_args()
    return _report(results(given, Compared, partial(compare, seed=given.seed), _show, "assess programs"))


def compare(number: int, seed: int) -> Compared:
    """Assess a program with short simulations, and with long ones and other seeds."""
    platform = machine.load("fritz")
    program = random_program(generator_of(seed, number), number)
    assessment = assess(program, platform)
    long = iterations_for(program, platform) * LONGER
    truth = assess(program.resized(seed=program.file.seed + 10_000), platform, iterations=long)
    return Compared(
        seed=seed,
        number=number,
        said=assessment.verdict,
        truth=truth.verdict,
        best=max((gain.total.mean for gain in truth.gains), default=0.0),
        already=truth.already.mean,
        loses=not _gains(truth),
    )


def _show(one: Compared) -> None:
    if one.said != one.truth:
        print(_line(one), flush=True)


def _line(one: Compared) -> str:
    return (
        f"random {one.number}: assessment '{one.said}', truth '{one.truth}';"
        f" best gain {100 * one.best:+.2f}%, already {100 * one.already:+.2f}%"
    )


def _report(compared: Sequence[Compared]) -> int:
    right = sum(one.said == one.truth for one in compared)
    false_help = sum(one.said == "helps" and one.loses for one in compared)
    for (said, true), count in sorted(Counter((one.said, one.truth) for one in compared).items()):
        print(f"assessment {said!r:18} truth {true!r:18} {count:5}")
    print(
        f"right: {right} of {len(compared)} ({100 * right / len(compared):.1f}%; target {100 * TARGET:.0f}%)"
    )
    print(f"'helps' although the long simulations show a loss: {false_help} (target 0)")
    return 0 if right >= TARGET * len(compared) and not false_help else 1


def _gains(truth: Assessment) -> bool:
    """Whether the long simulations show no loss with what the assessment is about."""
    best = max((gain.total.mean for gain in truth.gains if helps(gain)), default=truth.already.mean)
    return best > -LEAST_GAIN


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (BadInput, RunFailed) as error:
        sys.exit(f"async_assessment: {error}")
