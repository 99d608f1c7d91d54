"""The sources of PMPI tools: wrappers in C of C functions and of symbols of Fortran, wrappers in Fortran."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

WAYS = ("jump", "call", "next", "jump to next", "looked up")
"""How a wrapper passes a call on: to the PMPI function, by a jump or a call; to the next function of that
name (``dlsym(RTLD_NEXT)``), likewise; to the function that it looks up in the MPI library."""


@dataclass(frozen=True)
class Function:
    """A function that a tool may wrap."""

    name: str
    parameters: tuple[str, ...]
    library: Path
    """The library that defines the function."""
    has_pmpi_name: bool = True

    @property
    def is_fortran(self) -> bool:
        return self.name.startswith("mpi_")

    @property
    def pmpi_name(self) -> str:
        return f"p{self.name}" if self.is_fortran else f"P{self.name}"


def c_functions(names: Iterable[str], include: Path, library: Path) -> dict[str, Function]:
    """Functions with the parameters that the headers of an MPI library state."""
    parameters: dict[str, tuple[str, ...]] = {}
    for header in sorted(include.glob("mpi*.h")):
        text = header.read_text(encoding="utf-8", errors="replace")
        text = re.sub(r"/\*.*?\*/|//[^\n]*|^\s*#.*?$", " ", text, flags=re.DOTALL | re.MULTILINE)
        for name, written in re.findall(r"\bint\s+(MPI_\w+)\s*\(([^;{}()]*)\)[^;{}]*;", text):
            words = " ".join(written.split())
            parameters.setdefault(name, () if words == "void" else tuple(words.split(", ")))
    return {name: Function(name, parameters[name], library) for name in names}


def fortran_functions(program: Path, functions: dict[str, Function]) -> dict[str, Function]:
    """The MPI procedures that a Fortran program calls, by their symbols. All parameters are addresses."""
    libraries = {
        library: _symbols(library, "--defined-only")
        for library in map(Path, re.findall(r"=> (\S*/libmpi\S*)", _output("ldd", str(program))))
    }
    defined = {symbol: library for library in reversed(libraries) for symbol in libraries[library]}
    found = {}
    for symbol in sorted(_symbols(program, "-u")):
        match = re.fullmatch(r"mpi_(\w+?)(?:_f08(?:ts)?)?_", symbol)
        if match:
            count = _fortran_count(functions[f"MPI_{match[1].capitalize()}"])
            parameters = tuple(f"void *argument_{i}" for i in range(count))
            found[symbol] = Function(symbol, parameters, defined[symbol], f"p{symbol}" in defined)
    return found


def _fortran_count(function: Function) -> int:
    """The number of parameters of a procedure without strings: MPI_Init and MPI_Init_thread get no arguments
    of the program. MPI_Pcontrol has no error code, except in mpi_f08 of MPICH 4.0."""
    if "Pcontrol" in function.name:
        return 2
    return len(function.parameters) + (-1 if "MPI_Init" in function.name else 1)


def _output(*line: str) -> str:
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout


def _symbols(file: Path, option: str) -> set[str]:
    lines = _output("nm", "-D", option, str(file)).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if line}


# --- C ---

_BEGIN = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdarg.h>
"""
_LOOKED_UP = """    static void *target;
    if (!target)
        target = dlsym({handle}, "{name}");
"""
_VARIABLE_ARGUMENTS = """    va_list values;
    va_start(values, level);
    const char *text = va_arg(values, const char *);
    const double number = va_arg(values, double);
    va_end(values);
"""


def c_tool(functions: Iterable[tuple[Function, str]], counting: Path) -> str:
    """A tool in C: functions, each with one of WAYS, and what the wrappers share."""
    wrappers = [_wrapper(function, way) for function, way in functions]
    return "\n".join([_BEGIN, f'#include "{counting}"', *wrappers])


def finding_functions(functions: Iterable[Function]) -> str:
    """The functions of a program that is not linked to MPI, but finds its functions by dlopen and dlsym."""
    return "\n".join([_BEGIN, *(_wrapper(function, "found") for function in functions)])


def _wrapper(function: Function, way: str) -> str:
    if way in ("jump", "call") and not function.has_pmpi_name:
        way = "looked up"
    is_found = way == "found"
    name, types = function.name, ", ".join(function.parameters) or "void"
    result = "void" if function.is_fortran else "int"
    handle = f'dlopen("{function.library}", RTLD_LAZY{"" if is_found else " | RTLD_NOLOAD"})'
    handle = "RTLD_NEXT" if "next" in way else handle
    before, arguments = (
        ("" if is_found else f'    count_call("{name}");\n'),
        ", ".join(map(_argument, function.parameters)),
    )
    if "..." in function.parameters:
        before += _VARIABLE_ARGUMENTS + ("" if is_found else "    print_arguments(text, number);\n")
        arguments = "level, text, number"
    target, declared = f"(({result} (*)({types}))target)", ""
    if way in ("jump", "call"):
        target, declared = function.pmpi_name, f"{result} {function.pmpi_name}({types});\n"
    else:
        before += _LOOKED_UP.format(handle=handle, name=name)
    visible = '__attribute__((visibility("hidden"))) ' if is_found else ""
    body = _passed(f"{target}({arguments})", result, "jump" in way)
    return f"{declared}{visible}{result} {name}({types}) {{\n{before}{body}}}\n"


def _passed(call: str, result: str, is_jump: bool) -> str:
    """A call at the end of a function; the compiler makes it a jump if nothing follows."""
    is_void = result == "void"
    if is_jump:
        return f"    {call};\n" if is_void else f"    return {call};\n"
    fence = '    __asm__ volatile("" ::: "memory");\n'
    if is_void:
        return f"    {call};\n{fence}"
    return f"    const int result = {call};\n{fence}    return result;\n"


def _argument(parameter: str) -> str:
    match = re.search(r"(\w+)\s*(?:\[[^\]]*\])*$", parameter)
    return match[1] if match else ""


# --- Fortran ---


def fortran_tool(functions: Sequence[Function]) -> str:
    """A tool in Fortran, which passes its calls to the PMPI procedures; counting_tool.c counts them."""
    return "\n".join(_subroutine(function) for function in functions if function.has_pmpi_name)


def _subroutine(function: Function) -> str:
    """Its lines may be long."""
    name, names = function.name.removesuffix("_"), [_argument(parameter) for parameter in function.parameters]
    arguments = ", ".join(names)
    return f"""subroutine {name}({arguments})
  implicit none
  integer :: {", ".join(f"{argument}(*)" for argument in names)}
  external :: p{name}, count_call_of_fortran
  call count_call_of_fortran("{function.name}"//char(0))
  call p{name}({arguments})
end subroutine
"""
