"""How often 'offbeat async report' is right about traces of programs that it has not seen.

    python benchmarks/async_report.py [PROGRAMS [SEED [FILE]]] [--workers 1]

Random programs of every kind (known_programs.py) are simulated on the platform fritz, and their traces are
analysed. The truth is the program in lockstep, simulated with the same delays: the trace is faster, slower,
or as fast (less than 0.5%). A trace has work and messages that share bandwidth as they were out of step, so
that the report may understate a gain, but must never state one that is none. It must not state that
computation is faster or slower out of step in programs whose work draws no memory traffic. Prints the
confusion matrix, and both counts of false statements, whose target is 0.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from known_programs import known_program, platform
from recorded_programs import OfProgram, arguments, generator_of, results

from offbeat.base.errors import BadInput, RunFailed
from offbeat.programs.iterations.report import analyse
from offbeat.programs.iterations.step_effect import Estimate
from offbeat.programs.simulation.iterations import last_ends_s, mean_iteration_s
from offbeat.programs.simulation.lockstep import gain, lockstep
from offbeat.programs.simulation.simulate import prepare
from offbeat.programs.simulation.simulated_trace import plan, simulate_traced
from offbeat.trace.files.trace_folder import open_trace

PROGRAMS, ITERATIONS = 500, 80
COUNTS = 0.005
STATEMENTS = ("faster", "as fast", "slower", "not told")


class Compared(OfProgram, frozen=True, kw_only=True):
    """What the report states of a trace, and what is true; ``computation`` is empty if nothing is stated."""

    name: str
    said: str
    truth: float
    computation: str
    draws_memory: bool

    @property
    def is_false_gain(self) -> bool:
        """Whether a gain is stated that is none."""
        return self.said == "faster" and self.truth <= 0

    @property
    def is_false_computation(self) -> bool:
        """Whether work that shares nothing is called faster or slower out of step."""
        return not self.draws_memory and self.computation in ("faster", "slower")


def main() -> int:
    """Compare reports with the truth; 0 if there is no false statement, else 1."""
    given = arguments(__doc__, PROGRAMS).parse_args()
    return report(results(given, Compared, partial(compare, seed=given.seed), _show, "analyse traces"))


def compare(number: int, seed: int) -> Compared:
    """Simulate a program, analyse its trace, and simulate the program in lockstep."""
    program, on = known_program(generator_of(seed, number), number, ITERATIONS), platform()
    prepared = prepare(program, on)
    with tempfile.TemporaryDirectory() as folder:
        run = simulate_traced(prepared, plan(prepared, Path(folder) / "trace"))
        found = analyse(open_trace(Path(folder) / "trace")).performance
    if found is None:
        raise RunFailed(f"{program.name}: the report found no iterations")
    return Compared(
        seed=seed,
        number=number,
        name=program.name,
        said=_statement(found.faster),
        truth=gain(lockstep(program, on).iteration_s, mean_iteration_s(last_ends_s(run))),
        computation=_statement(found.computation_faster) if found.computation_faster else "",
        draws_memory=any(phase.memory for phase in program.file.phase),
    )


def _statement(estimate: Estimate) -> str:
    if max(-estimate.low, estimate.high) < COUNTS:
        return "as fast"
    if estimate.low <= 0 <= estimate.high:
        return "not told"
    if abs(estimate.mean) < COUNTS:
        return "as fast"
    return "faster" if estimate.mean > 0 else "slower"


def _show(one: Compared) -> None:
    if one.is_false_gain or one.is_false_computation:
        print(
            f"{one.number} ({one.name}): '{one.said}', truth {100 * one.truth:+.2f}%, computation"
            f" '{one.computation}'",
            flush=True,
        )


def report(compared: Sequence[Compared]) -> int:
    """Print the confusion matrix; 0 if there is no false statement, else 1."""
    counts = Counter((one.said, _true(one.truth)) for one in compared)
    print(f"{'report':>10} | truth: {''.join(f'{truth:>10}' for truth in STATEMENTS[:-1])}")
    for said in STATEMENTS:
        print(f"{said:>10} |        {''.join(f'{counts[said, truth]:>10}' for truth in STATEMENTS[:-1])}")
    gains = sum(one.is_false_gain for one in compared)
    computations = sum(one.is_false_computation for one in compared)
    print(f"'faster than in lockstep' where that is not true: {gains} of {len(compared)} (target: 0)")
    print(f"computation that shares nothing 'faster' or 'slower': {computations} (target: 0)")
    return 1 if gains or computations else 0


def _true(truth: float) -> str:
    return "as fast" if abs(truth) < COUNTS else "faster" if truth > 0 else "slower"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (BadInput, RunFailed) as error:
        sys.exit(f"async_report: {error}")
