"""PMPI tools that are drawn from a seed, in chains of one or two, and programs under them, with the tracer
and without it.

A tool wraps some of the functions that ``programs/drawn_calls.c`` calls, each in one of several ways: it
passes the call on to the PMPI function (compiled to a jump, or to a call), to the next function of that name
(``dlsym(RTLD_NEXT)``), or to the one that it looks up in the MPI library. It is preloaded before or after the
tracer, linked to the program as a library, or a part of the program. Some programs are not linked to MPI, but
find its functions by dlopen and dlsym. The oracle is the same program with the same tools without the tracer:
it prints the same and ends the same, and the trace holds what it holds without tools.

``python tests/trace/drawn_tools.py LIBRARY CASES SEED [FIRST]`` runs cases and prints those that differ.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from real_libraries import real_installation
from traced_program import PROGRAMS, Traced, built_for

from offbeat.mpi.launch import command
from offbeat.trace.read import open_trace
from offbeat.trace.record_table import message_pieces, pieces

WAYS = ("jump", "call", "next", "looked up")
"""How a wrapper passes a call on."""
PLACES = ("before", "after", "linked", "inside")
"""Where a tool is: preloaded before or after the tracer, a library of the program, or a part of it."""
ENDS = ("finalize", "finalize", "finalize", "abort", "exit")


@dataclass(frozen=True)
class Tool:
    place: str
    ways: tuple[tuple[str, str], ...]
    """Function → way."""


@dataclass(frozen=True)
class Case:
    number: int
    p: int
    arguments: tuple[str, ...]
    with_messages: bool
    finds_mpi: bool
    """The program finds MPI by dlopen and dlsym."""
    tools: tuple[Tool, ...]

    def __str__(self) -> str:
        tools = "; ".join(
            f"{tool.place}: " + ", ".join(f"{name} by {way}" for name, way in tool.ways)
            for tool in self.tools
        )
        program = "found by dlsym" if self.finds_mpi else "linked"
        words = " ".join(self.arguments)
        return f"case {self.number}: p = {self.p}, drawn_calls {words} ({program}), {tools}"


def draw(seed: int, number: int, functions: Sequence[str]) -> Case:
    """A case."""
    drawn = random.Random(f"{seed}-{number}")
    threads = drawn.choice([0, 0, 0, 2, 3])
    finds_mpi = drawn.random() < 0.2
    tools: list[Tool] = []
    for _ in range(drawn.choice([1, 2])):
        inside = any(tool.place == "inside" for tool in tools)
        place = drawn.choice(PLACES[: 2 if finds_mpi else 3 if inside else 4])
        count = drawn.choice([1, 2, 5, len(functions)])
        chosen = drawn.sample(list(functions), min(count, len(functions)))
        way = drawn.choice([*WAYS, ""])
        tools.append(Tool(place, tuple((name, way or drawn.choice(WAYS)) for name in sorted(chosen))))
    end = drawn.choice(ENDS)
    return Case(
        number,
        drawn.choice([1, 1, 1, 2]) if end == "finalize" else 1,  # one process may end others at any time
        (str(drawn.randrange(40)), str(drawn.choice([5, 40])), end, str(threads)),
        drawn.random() < 0.5,
        finds_mpi,
        tuple(tools),
    )


# --- the sources of tools ---


def program_functions() -> list[str]:
    """The functions that the program calls."""
    text = (PROGRAMS / "drawn_calls.c").read_text(encoding="utf-8")
    return sorted(set(re.findall(r"CALL\((MPI_\w+)", text)))


def prototypes(include: Path) -> dict[str, list[str]]:
    """Function → parameters, as in the headers of an MPI library; without those that have unnamed ones."""
    found: dict[str, list[str]] = {}
    for header in sorted(include.glob("mpi*.h")):
        text = header.read_text(encoding="utf-8", errors="replace")
        text = re.sub(r"/\*.*?\*/|//[^\n]*|^\s*#.*?$", " ", text, flags=re.DOTALL | re.MULTILINE)
        for name, parameters in re.findall(r"\bint\s+(MPI_\w+)\s*\(([^;{}()]*)\)[^;{}]*;", text):
            words = " ".join(parameters.split())
            found.setdefault(name, [] if words == "void" else words.split(", "))
    return found


def _argument(parameter: str) -> str:
    match = re.search(r"(\w+)\s*(?:\[[^\]]*\])*$", parameter)
    assert match is not None, parameter
    return match[1]


_NEXT = """
    static void *found;
    if (!found)
        found = dlsym({handle}, "{name}");
    int (*next)({types}) = (int (*)({types}))found;
"""


def wrapper(name: str, parameters: Sequence[str], way: str, library: Path) -> str:
    """A C file with a wrapper; by the way "found", with the function of a program that finds MPI itself."""
    types = ", ".join(parameters) or "void"
    is_found = way == "found"
    handle = f'dlopen("{library}", RTLD_LAZY{"" if is_found else " | RTLD_NOLOAD"})'
    handle = "RTLD_NEXT" if way == "next" else handle
    target = f"P{name}" if way in ("jump", "call") else "next"
    looked_up = "" if way in ("jump", "call") else _NEXT.format(handle=handle, name=name, types=types)
    if "..." in parameters:
        body = f"""{looked_up}
    va_list values;
    va_start(values, level);
    const char *text = va_arg(values, const char *);
    const double number = va_arg(values, double);
    va_end(values);
    {"" if is_found else "print_arguments(text, number);"}
    return {target}(level, text, number);"""
    else:
        body = f"{looked_up}    return {target}({', '.join(map(_argument, parameters))});"
    return f"""#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdarg.h>
void count_call(const char *name);
void print_arguments(const char *text, double number);
{'__attribute__((visibility("hidden"))) ' if is_found else ""}int {name}({types}) {{
    {"" if is_found else f'count_call("{name}");'}
{body}
}}
"""


# --- objects, tools and programs ---


class Workshop:
    """Compiles tools and programs for one MPI library, in a folder, and keeps their parts."""

    def __init__(self, traced: Traced) -> None:
        self.traced = traced
        self._prototypes = prototypes(traced.mpi.include)
        self.functions = [name for name in program_functions() if name in self._prototypes]
        assert self.functions == program_functions(), "the headers have other prototypes"
        self._expected: dict[tuple[object, ...], Counter[tuple[str, ...]]] = {}

    def _object(self, source: Path, name: str, *options: str) -> Path:
        target = self.traced.folder / f"{name}.o"
        if not target.exists():
            include = f"-I{self.traced.mpi.include}"
            line = ["cc", *options, "-w", "-fPIC", include, "-c", str(source), "-o", str(target)]
            subprocess.run(line, check=True)
        return target

    def _wrapper(self, name: str, way: str) -> Path:
        source = self.traced.folder / f"{name}-{way.replace(' ', '-')}.c"
        if not source.exists():
            library = self.traced.mpi.library.resolve()
            source.write_text(wrapper(name, self._prototypes[name], way, library), encoding="utf-8")
        return self._object(source, source.stem, "-O2" if way == "jump" else "-O0")

    def _program(self, case: Case) -> list[Path]:
        """The parts of a program."""
        source = PROGRAMS / "drawn_calls.c"
        if not case.finds_mpi:
            mpi = self.traced.mpi.library
            also = sorted(mpi.parent.glob("libopen_mpi.so*"))[:1]
            return [self._object(source, "linked", "-O1"), mpi, *also]
        library = self.traced.mpi.library.resolve()
        options = ("-O1", "-include", str(PROGRAMS / "found_mpi.h"), f'-DFOUND_LIBRARY="{library}"')
        found = [self._wrapper(name, "found") for name in self.functions]
        return [self._object(source, "finding", *options), *found]

    def link(self, case: Case, folder: Path) -> tuple[Path, list[Path], list[Path]]:
        """The program of a case; the tools that are preloaded before the tracer, and after it."""
        places: dict[str, list[Path]] = {place: [] for place in PLACES}
        for letter, tool in zip("ab", case.tools, strict=False):
            source = PROGRAMS / "counting_tool.c"
            objects = [self._wrapper(*item) for item in tool.ways]
            objects.append(self._object(source, letter, f'-DTOOL="{letter}"', "-O1"))
            if tool.place != "inside":
                library = folder / f"lib{letter}.so"
                _link(library, objects, "-shared")
                objects = [library]
            places[tool.place] += objects
        program = folder / "program"
        parts = [*places["inside"], *places["linked"], *self._program(case)]
        _link(program, parts, "-Wl,--no-as-needed", f"-Wl,-rpath,{folder}:{self.traced.mpi.library.parent}")
        return program, places["before"], places["after"]

    # --- runs ---

    def start(
        self, case: Case, program: Path, preloads: Iterable[Path], trace: Path | None
    ) -> subprocess.CompletedProcess[str]:
        """A run of a program."""
        variables = {"OFFBEAT_TRACE_MESSAGES": str(int(case.with_messages))}
        variables["LD_PRELOAD"] = ":".join(map(str, preloads))
        if trace is not None:
            variables["OFFBEAT_TRACE_DIR"] = str(trace)
        argv = ["/usr/bin/env", *(f"{name}={value}" for name, value in variables.items() if value)]
        launch = command(self.traced.mpi, [*argv, str(program), *case.arguments], case.p, steerable=False)
        is_alone = case.p == 1 and case.arguments[2] == "finalize"
        line = [*argv, str(program), *case.arguments] if is_alone else launch.argv
        return subprocess.run(
            line,
            env=launch.environment,
            cwd=program.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def expected_calls(self, case: Case, folder: Path) -> Counter[tuple[str, ...]]:
        """What the trace of a case holds without tools."""
        key = (case.p, case.arguments, case.with_messages)
        if key not in self._expected:
            plain = replace(case, finds_mpi=False, tools=())
            plain_folder = folder / "plain"
            plain_folder.mkdir()
            program, _, _ = self.link(plain, plain_folder)
            trace = plain_folder / "trace"
            done = self.start(plain, program, [self.traced.library], trace)
            assert trace.is_dir(), done.stderr
            self._expected[key] = calls_in(trace)
        return self._expected[key]

    def differences(self, case: Case) -> list[str]:
        """How a case with the tracer differs from the case without it; empty if it does not."""
        with tempfile.TemporaryDirectory(dir=self.traced.folder) as name:
            folder = Path(name)
            program, before, after = self.link(case, folder)
            trace = folder / "trace"
            alone = self.start(case, program, [*before, *after], None)
            done = self.start(case, program, [*before, self.traced.library, *after], trace)
            found = []
            if done.returncode != alone.returncode:
                found.append(f"status {done.returncode} instead of {alone.returncode}: {done.stderr[-500:]}")
            more, fewer = (Counter(run.stdout.splitlines()) for run in (done, alone))
            if more != fewer:
                found.append(f"printed {sorted(more - fewer)} instead of {sorted(fewer - more)}")
            if "offbeat:" in done.stderr:
                found.append(done.stderr)
            calls = calls_in(trace) if trace.is_dir() else Counter()
            expected = self.expected_calls(case, folder)
            if calls != expected:
                found.append(f"recorded {dict(calls - expected)} instead of {dict(expected - calls)}")
            return found


def _link(target: Path, parts: Sequence[Path], *options: str) -> None:
    line = ["cc", *options, *map(str, parts), "-ldl", "-pthread", "-o", str(target)]
    subprocess.run(line, check=True)


def calls_in(trace: Path) -> Counter[tuple[str, ...]]:
    """The calls of a trace: rank, function, moment and size of each record."""
    opened = open_trace(trace)
    rows: Counter[tuple[str, ...]] = Counter()
    for table in (*pieces(opened), *message_pieces(opened)):
        columns = [name for name in ("rank", "function", "kind", "moment", "bytes") if name in table.columns]
        for row in table.select(columns).iter_rows():
            if "poll" not in row:
                rows[tuple(map(str, row))] += 1
    return rows


def differing(workshop: Workshop, seed: int, numbers: Iterable[int]) -> Iterator[str]:
    """The cases that differ, each with its differences."""
    for number in numbers:
        case = draw(seed, number, workshop.functions)
        found = workshop.differences(case)
        if found:
            yield f"seed {seed}, {case}\n  " + "\n  ".join(found)


def main() -> None:
    library, cases, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    folder = Path(tempfile.mkdtemp(prefix="drawn-tools-"))
    built = os.environ.get("OFFBEAT_TRACER")  # a tracer of one's own build
    traced = built_for(real_installation(library), folder) if not built else None
    workshop = Workshop(traced or Traced(real_installation(library), Path(str(built)), folder))
    wrong = 0
    for number in range(first, first + cases):
        for text in differing(workshop, seed, [number]):
            wrong += 1
            print(text, flush=True)
    shutil.rmtree(folder)
    print(f"{library}: {wrong} of {cases} cases differ (seed {seed})")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
