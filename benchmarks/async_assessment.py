"""How often 'offbeat async advise' is right about programs that it has not seen.

    python benchmarks/async_assessment.py [PROGRAMS [SEED [FILE]]] [--workers 1]

Random programs of every kind (known_programs.py) on the platform fritz. Each is assessed. The truth is an
exhaustive simulation (known_answers.py): the program with and without every synchronisation and every change,
for three times as many iterations, with other seeds, by code that shares nothing with the assessment but the
simulator. Prints a line for each program whose verdict is wrong, the confusion matrix, and how often the
verdict is right. The targets: no "helps" for a program that nothing helps, at least 95% right, at most 5%
"cannot be told". 500 programs take about two hours of CPU time; the file FILE keeps each result, and the same
command continues.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial

from known_answers import Answer, answer
from known_programs import known_program, platform
from recorded_programs import OfProgram, arguments, generator_of, results

from offbeat.base.errors import BadInput, RunFailed
from offbeat.programs.advice.assess import assess, iterations_for

PROGRAMS = 500
LONGER = 3
LEAST_RIGHT, MOST_OPEN = 0.95, 0.05
VERDICTS = ("helps", "absorbs delays", "does nothing", "hurts", "cannot be told")


class Compared(OfProgram, frozen=True, kw_only=True):
    """What the assessment said of a program, and what is true."""

    name: str
    said: str
    truth: Answer

    @property
    def is_right(self) -> bool:
        """Whether the verdict is the right one."""
        return self.said == self.truth.verdict

    @property
    def helps_wrongly(self) -> bool:
        """Whether the assessment promises a gain where there is none."""
        return self.said == "helps" and max(self.truth.helps, min(self.truth.already, self.truth.quiet)) <= 0


def main() -> int:
    """Compare assessment with the truth; 0 if the targets are met, else 1."""
    given = arguments(__doc__, PROGRAMS).parse_args()
    return report(results(given, Compared, partial(compare, seed=given.seed), _show, "assess programs"))


def compare(number: int, seed: int) -> Compared:
    """Assess a program with short simulations, and simulate the truth."""
    program = known_program(generator_of(seed, number), number)
    on = platform()
    said = assess(program, on).verdict
    iterations = LONGER * iterations_for(program, on)
    truth = answer(program.resized(iterations=iterations), on)
    return Compared(seed=seed, number=number, name=program.name, said=said, truth=truth)


def _show(one: Compared) -> None:
    if not one.is_right:
        print(_line(one), flush=True)


def _line(one: Compared) -> str:
    true = one.truth
    parts = {"already": true.already, "without delays": true.quiet, "delayed": true.delayed}
    listed = ", ".join(f"{name} {100 * gain:+.2f}%" for name, gain in parts.items())
    return (
        f"{one.number} ({one.name}): '{one.said}', truth '{true.verdict}';"
        f" best change {100 * true.helps:+.2f}% ({true.change}), {listed}"
    )


def report(compared: Sequence[Compared]) -> int:
    """Print the confusion matrix; 0 if the targets are met, else 1."""
    counts = Counter((one.said, one.truth.verdict) for one in compared)
    print(f"{'assessment':>16} | truth: {''.join(f'{truth:>16}' for truth in VERDICTS[:-1])}")
    for said in VERDICTS:
        print(f"{said:>16} |        {''.join(f'{counts[said, truth]:>16}' for truth in VERDICTS[:-1])}")
    right = sum(one.is_right for one in compared) / len(compared)
    undecided = sum(one.said == "cannot be told" for one in compared) / len(compared)
    wrong = sum(one.helps_wrongly for one in compared)
    print(f"right: {100 * right:.1f}% of {len(compared)} (target: at least {100 * LEAST_RIGHT:.0f}%)")
    print(f"cannot be told: {100 * undecided:.1f}% (target: at most {100 * MOST_OPEN:.0f}%)")
    print(f"'helps' where nothing gains: {wrong} (target: 0)")
    return 0 if right >= LEAST_RIGHT and undecided <= MOST_OPEN and not wrong else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (BadInput, RunFailed) as error:
        sys.exit(f"async_assessment: {error}")
