"""PMPI tools that are drawn from a seed, in chains of one or two, and programs under them, with the tracer
and without it.

A tool wraps some of the functions that its program calls, each in one of several ways
(``tool_sources.WAYS``). It is written in C or in Fortran, and preloaded before or after the tracer, linked to
the program as a library, or a part of the program. Programs are C programs that are linked to MPI, that find
its functions by dlopen and dlsym, or that handle their faults themselves, and Fortran programs with each
binding of the library. The oracle is the same program with the same tools without the tracer: it prints the
same and ends the same, and the trace holds what it holds without tools.

Consecutive cases share a program and two tools, which are compiled once, and differ in the tools' places.

``python tests/trace/drawn_tools.py LIBRARY CASES SEED [FIRST]`` runs cases and prints those that differ.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from real_libraries import real_installation
from tool_sources import WAYS
from tool_workshop import PLACES, Program, Tool, Workshop, calls_in
from traced_program import Traced, built_for

ENDS = ("finalize", "finalize", "finalize", "abort", "exit")
CASES_PER_PROGRAM = 8


@dataclass(frozen=True)
class Case:
    number: int
    program: Program
    tools: tuple[Tool, ...]

    def __str__(self) -> str:
        return f"case {self.number}: {self.program}; " + "; ".join(map(str, self.tools))


def draw(seed: int, number: int, workshop: Workshop) -> Case:
    """A case."""
    shared = random.Random(f"{seed}-{number // CASES_PER_PROGRAM}")
    program = _drawn_program(shared, workshop)
    bodies = [(name, *_drawn_body(shared, workshop.kinds_of_tools(program))) for name in "ab"]
    drawn = random.Random(f"{seed}-{number}")
    tools: list[Tool] = []
    for name, kind, ways in drawn.sample(bodies, drawn.choice([1, 2])):
        places = PLACES[:2] if program.kind == "found" else PLACES
        free = [
            place for place in places if place != "inside" or "inside" not in [tool.place for tool in tools]
        ]
        tools.append(Tool(name, drawn.choice(free), kind, ways))
    return Case(number, program, tuple(tools))


def _drawn_program(drawn: random.Random, workshop: Workshop) -> Program:
    kinds = ["linked", "linked", "found", "faults", *workshop.bindings]
    kind = drawn.choice(kinds)
    with_messages = drawn.random() < 0.5
    if kind == "faults":
        handlers = (
            drawn.choice(["before", "after"]),
            drawn.choice(["plain", "information", "once", "ending"]),
        )
        return Program(kind, 1, (*handlers, "empty"), with_messages)
    end = drawn.choice(ENDS)
    words = [str(drawn.randrange(1000)), str(drawn.choice([5, 40])), end]
    if kind in ("linked", "found"):
        words.append(str(drawn.choice([0, 0, 0, 2, 3])))
    p = drawn.choice([1, 1, 1, 2]) if end == "finalize" else 1  # one process may end others at any time
    return Program(kind, p, tuple(words), with_messages)


def _drawn_body(
    drawn: random.Random, kinds: dict[str, tuple[str, ...]]
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """A kind of tools, and function → way."""
    kind = drawn.choice(list(kinds))
    functions = kinds[kind]
    count = drawn.choice([1, 2, 5, len(functions)])
    chosen = drawn.sample(functions, min(count, len(functions)))
    way = drawn.choice([*WAYS, ""])
    return kind, tuple((name, way or drawn.choice(WAYS)) for name in sorted(chosen))


def differences(workshop: Workshop, case: Case) -> list[str]:
    """How a case with the tracer differs from the case without it; empty if it does not.

    What does not differ in each of three comparisons is printed only: libraries also crash by themselves when
    threads call them at the same time (as Open MPI 4.1 did, without a tool or the tracer).
    """
    found = _differences_once(workshop, case)
    if found and not all(_differences_once(workshop, case) for _ in range(2)):
        print(f"not in each of three runs: {case}\n  " + "\n  ".join(found), file=sys.stderr, flush=True)
        return []
    return found


def _differences_once(workshop: Workshop, case: Case) -> list[str]:
    with tempfile.TemporaryDirectory(dir=workshop.traced.folder) as name:
        folder = Path(name)
        program, before, after = workshop.link(case.program, case.tools, folder)
        trace = folder / "trace"
        alone = workshop.start(case.program, program, [*before, *after], None)
        done = workshop.start(case.program, program, [*before, workshop.traced.library, *after], trace)
        found = []
        if done.status != alone.status:
            found.append(f"status {done.status} instead of {alone.status}: {done.errors[-500:]}")
        more, fewer = (Counter(run.printed.splitlines()) for run in (done, alone))
        if more != fewer:
            found.append(f"printed {sorted(more - fewer)} instead of {sorted(fewer - more)}")
        if "offbeat:" in done.errors:
            found.append(done.errors)
        calls = calls_in(trace) if trace.is_dir() else Counter()
        expected = workshop.expected_calls(case.program)
        if calls != expected:
            found.append(f"recorded {dict(calls - expected)} instead of {dict(expected - calls)}")
        return found


def differing(workshop: Workshop, seed: int, numbers: Iterable[int]) -> Iterator[str]:
    """The cases that differ, each with its differences."""
    for number in numbers:
        case = draw(seed, number, workshop)
        found = differences(workshop, case)
        if found:
            yield f"seed {seed}, {case}\n  " + "\n  ".join(found)


def main() -> None:
    library, cases, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="drawn-tools-") as name:
        built = os.environ.get("OFFBEAT_TRACER")  # a tracer of one's own build
        installation = real_installation(library)
        traced = (
            Traced(installation, Path(built), Path(name)) if built else built_for(installation, Path(name))
        )
        for text in differing(Workshop(traced), seed, range(first, first + cases)):
            wrong += 1
            print(text, flush=True)
    print(f"{library}: {wrong} of {cases} cases differ (seed {seed})")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
