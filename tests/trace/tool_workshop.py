"""Compiles drawn PMPI tools and their programs for one MPI library, and runs them, traced or not."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from real_fortran import fortran_of
from tool_sources import Function, c_functions, c_tool, finding_functions, fortran_functions, fortran_tool
from traced_program import PROGRAMS, Traced

from offbeat.libraries.launch.launch_command import command
from offbeat.trace.files.record_table import message_pieces, pieces
from offbeat.trace.files.trace_folder import open_trace

PLACES = ("before", "after", "linked", "inside")
"""Where a tool is: preloaded before or after the tracer, a library of the program, or a part of it."""
TIME_LIMIT_S, MOST_TRIALS = 120, 3


@dataclass(frozen=True)
class Tool:
    name: str
    place: str
    kind: str
    """C: wraps C functions; "C of Fortran": wraps the symbols of Fortran procedures; Fortran."""
    ways: tuple[tuple[str, str], ...]
    """Function → way."""

    def __str__(self) -> str:
        return f"tool {self.name} ({self.kind}, {self.place}): " + ", ".join(
            f"{name} by {way}" for name, way in self.ways
        )


@dataclass(frozen=True)
class Program:
    kind: str
    """linked: to MPI; found: finds MPI by dlopen and dlsym; faults: handles its faults; a Fortran binding."""
    p: int
    arguments: tuple[str, ...]
    with_messages: bool

    def __str__(self) -> str:
        messages = " with messages" if self.with_messages else ""
        return f"p = {self.p}, program {self.kind} {' '.join(self.arguments)}{messages}"


@dataclass(frozen=True)
class Run:
    status: int
    printed: str
    errors: str


class Workshop:
    """Compiles tools and programs for one MPI library, in a folder, and keeps the last ones."""

    def __init__(self, traced: Traced) -> None:
        self.traced = traced
        self.folder = traced.folder
        names = set(re.findall(r"CALL\((MPI_\w+)", (PROGRAMS / "drawn_calls.c").read_text(encoding="utf-8")))
        mpi = traced.mpi
        self._c = c_functions(sorted(names), mpi.include, mpi.library.resolve())
        self.bindings = sorted(fortran_of(mpi).bindings)
        self.fortran = cache(self._fortran)
        self._object = cache(self._compiled_object)
        self._tool = cache(self._compiled_tool)
        self.expected_calls = cache(self._expected_calls)

    # --- functions ---

    def _fortran(self, binding: str) -> dict[str, Function]:
        """The procedures that the Fortran program calls."""
        return fortran_functions(self._plain(binding), self._c)

    def kinds_of_tools(self, program: Program) -> dict[str, tuple[str, ...]]:
        """The kinds of tools for a program, with the functions that they may wrap."""
        if program.kind == "faults":
            return {"C": ("MPI_Allreduce", "MPI_Finalize", "MPI_Init")}
        if program.kind in ("linked", "found"):
            return {"C": tuple(self._c)}
        # The C function of a Fortran call of MPI_Pcontrol has no further arguments.
        names = tuple(name for name in self._c if name != "MPI_Pcontrol")
        symbols = tuple(self.fortran(program.kind))
        with_pmpi = tuple(name for name in symbols if self.fortran(program.kind)[name].has_pmpi_name)
        kinds = {"C": names, "C of Fortran": symbols, "Fortran": with_pmpi}
        return {kind: functions for kind, functions in kinds.items() if functions}

    # --- objects, tools and programs ---

    def _compiled_object(self, source: Path, name: str, *options: str) -> Path:
        target = self.folder / f"{name}.o"
        include = (f"-I{self.traced.mpi.include}", f"-I{PROGRAMS}")
        _build("cc", *options, "-O2", "-w", "-fPIC", *include, "-c", str(source), "-o", str(target))
        return target

    def _compiled_tool(
        self, name: str, binding: str, kind: str, ways: tuple[tuple[str, str], ...]
    ) -> list[Path]:
        """The objects of a tool."""
        counting = f'-DTOOL="{name}"'
        source = self.folder / f"tool-{len(list(self.folder.glob('tool-*')))}.c"
        functions = {**self._c, **(self.fortran(binding) if binding in self.bindings else {})}
        wrapped = [(functions[name], way) for name, way in ways]
        if kind != "Fortran":
            source.write_text(c_tool(wrapped, PROGRAMS / "counting_tool.c"), encoding="utf-8")
            return [self._compiled_object(source, source.stem, counting)]
        source = source.with_suffix(".f90")
        source.write_text(fortran_tool([function for function, _ in wrapped]), encoding="utf-8")
        target = source.with_suffix(".wrappers.o")
        _build(
            "gfortran", "-O2", "-w", "-ffree-line-length-none", "-fPIC", "-c", str(source), "-o", str(target)
        )
        return [target, self._object(PROGRAMS / "counting_tool.c", f"counting-{name}", counting)]

    @cached_property
    def _finding(self) -> list[Path]:
        """The parts of a program that finds MPI itself."""
        source = self.folder / "finding.c"
        source.write_text(finding_functions(self._c.values()), encoding="utf-8")
        options = (
            "-include",
            str(PROGRAMS / "found_mpi.h"),
            f'-DFOUND_LIBRARY="{self.traced.mpi.library.resolve()}"',
        )
        program = self._object(PROGRAMS / "drawn_calls.c", "drawn_calls-finding", *options)
        return [program, self._object(source, "finding")]

    def _link_program(self, kind: str, target: Path, parts: Sequence[Path]) -> None:
        mpi = self.traced.mpi.library
        words = ["-Wl,--no-as-needed", *map(str, parts), f"-Wl,-rpath,{target.parent}:{mpi.parent}"]
        if kind in self.bindings:
            fortran = fortran_of(self.traced.mpi)
            program = self._fortran_object(kind)
            _build(fortran.before[0], *words, str(program), *fortran.behind, "-o", str(target))
            return
        if kind == "found":
            words += map(str, self._finding)
        else:
            source = PROGRAMS / ("fault_handlers.c" if kind == "faults" else "drawn_calls.c")
            more = sorted(mpi.parent.glob("libopen_mpi.so*"))[:1]
            words += map(str, [self._object(source, source.stem), mpi, *more])
        _build("cc", *words, "-ldl", "-pthread", "-o", str(target))

    def _fortran_object(self, binding: str) -> Path:
        target = self.folder / f"{binding}.o"
        if not target.exists():
            before = fortran_of(self.traced.mpi).before
            options = (f"-D{binding}", "-fallow-argument-mismatch", "-w", "-O1", f"-J{self.folder}")
            _build(*before, *options, "-c", str(PROGRAMS / "drawn_calls.F90"), "-o", str(target))
        return target

    def _plain(self, kind: str) -> Path:
        """The program without tools."""
        target = self.folder / f"{kind}-program"
        if not target.exists():
            self._link_program(kind, target, [])
        return target

    def link(
        self, program: Program, tools: Sequence[Tool], folder: Path
    ) -> tuple[Path, list[Path], list[Path]]:
        """The program of a case; the tools that are preloaded before the tracer, and after it."""
        places: dict[str, list[Path]] = {place: [] for place in PLACES}
        for tool in tools:
            objects = self._tool(tool.name, program.kind, tool.kind, tool.ways)
            if tool.place == "inside":
                places["inside"] += objects
                continue
            library = folder / f"lib{tool.name}.so"
            _build("cc", "-shared", *map(str, objects), "-ldl", "-pthread", "-o", str(library))
            places[tool.place].append(library)
        parts = [*places["inside"], *places["linked"]]
        if not parts:
            return self._plain(program.kind), places["before"], places["after"]
        target = folder / "program"
        self._link_program(program.kind, target, parts)
        return target, places["before"], places["after"]

    # --- runs ---

    def start(self, program: Program, path: Path, preloads: Iterable[Path], trace: Path | None) -> Run:
        """A run of a program; a launcher may lose what a process prints, a file does not."""
        folder = self.folder if trace is None else trace.parent
        printed = folder / "printed"
        printed.unlink(missing_ok=True)
        variables = {"OFFBEAT_TRACE_MESSAGES": str(int(program.with_messages))}
        variables["LD_PRELOAD"] = ":".join(map(str, preloads))
        if trace is not None:
            variables["OFFBEAT_TRACE_DIR"] = str(trace)
        into_file = ["/bin/sh", "-c", 'exec "$@" >>"$0"', str(printed), "/usr/bin/env"]
        assigned = [f"{name}={value}" for name, value in variables.items() if value]
        line = [*into_file, *assigned, str(path), *program.arguments]
        launch = command(self.traced.mpi, line, program.p, steerable=False)
        # Open MPI starts a daemon for a process without a launcher, which also decides how an abort ends.
        is_ending = {"abort", "exit"}.intersection(program.arguments)
        is_alone = program.p == 1 and not (is_ending and self.traced.mpi.family == "openmpi")
        status, errors = _run(line if is_alone else launch.argv, dict(launch.environment), folder)
        return Run(status, printed.read_text(encoding="utf-8") if printed.exists() else "", errors)

    def _expected_calls(self, program: Program) -> Counter[tuple[str, ...]]:
        """What the trace of a program holds without tools.

        A library may crash by itself (drawn_tools.py): then the program runs again.
        """
        kind = "linked" if program.kind == "found" else program.kind
        ends = {"abort": 5, "exit": 6}
        status = next((ends[word] for word in program.arguments if word in ends), 0)
        for _ in range(MOST_TRIALS):
            folder = Path(tempfile.mkdtemp(dir=self.folder))
            done = self.start(program, self._plain(kind), [self.traced.library], folder / "trace")
            if program.kind == "faults" or done.status == status:
                return calls_in(folder / "trace")
        raise AssertionError(f"{program} ended with {done.status}: {done.errors}")


def _run(line: Sequence[str], environment: dict[str, str], folder: Path) -> tuple[int, str]:
    """The status and standard error of a command; one that does not end is killed with its processes."""
    process = subprocess.Popen(
        line,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, errors = process.communicate(timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, errors = process.communicate()
        errors += f"\nit did not end within {TIME_LIMIT_S} s"
    return process.returncode, errors


def _build(*line: str) -> None:
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(line)}\n{done.stderr}"


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
