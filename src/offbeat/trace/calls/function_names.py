"""Names of functions for people: demangled, and short enough for a table."""

from __future__ import annotations

import ctypes
import re
from functools import lru_cache

MOST_LETTERS = 32
"""Limit of the length of a function name in a table."""

_FORTRAN = (
    re.compile(r"__(?P<module>\w+?)_MOD_(?P<name>\w+)"),  # gfortran
    re.compile(r"(?P<module>[a-z]\w*?)_mp_(?P<name>\w+?)_"),  # Intel's ifort and ifx
    re.compile(r"_QM(?P<module>[a-z]\w*?)(?:S\w+?)?P(?P<name>\w+)"),  # flang
    re.compile(r"_Q[PF](?P<name>\w+)"),
)
_COPY_SUFFIX = re.compile(r"\.(?:constprop|isra|part|cold|lto_priv|omp_fn|llvm)(?:\.\d+)*|\.\d+$")
"""What compilers append to the copies that they make of a function."""


@lru_cache(maxsize=4096)
def demangle_name(name: str) -> str:
    """``solver::step(double*)`` for ``_ZN6solver4stepEPd``, ``grid::halo`` for ``__grid_MOD_halo``.

    Other names, and those that cannot be demangled here, stay as they are.
    """
    base_name = _COPY_SUFFIX.sub("", name)
    for pattern in _FORTRAN:
        match = pattern.fullmatch(base_name)
        if match is not None:
            return "::".join(match.groupdict().values())
    return _demangled_cpp(base_name) if base_name.startswith(("_Z", "___Z")) else base_name


def _demangled_cpp(name: str) -> str:
    demangle, free = _library()
    if demangle is None or free is None:
        return name
    status = ctypes.c_int()
    result = demangle(name.encode(), None, None, ctypes.byref(status))
    if status.value != 0 or not result:
        return name
    try:
        return ctypes.string_at(result).decode(errors="replace")
    finally:
        free(result)


@lru_cache(maxsize=1)
def _library() -> tuple[ctypes._NamedFuncPointer | None, ctypes._NamedFuncPointer | None]:
    """The demangler of the C++ library, and the function that frees its results."""
    for file in ("libstdc++.so.6", "libc++abi.so.1", "libc++.1.dylib"):
        try:
            library = ctypes.CDLL(file)
            demangle, free = library.__cxa_demangle, ctypes.CDLL(None).free
        except (OSError, AttributeError):
            continue
        demangle.restype = ctypes.c_void_p
        demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        free.argtypes = [ctypes.c_void_p]
        return demangle, free
    return None, None


@lru_cache(maxsize=4096)
def shorten_name(name: str) -> str:
    """A demangled name for a table: without parameters and return type, template arguments as ``<>``, and
    with the innermost namespace or class only: ``Comm::exchange`` for
    ``void LAMMPS_NS::Comm::exchange<int>(int)``.
    """
    name = name.replace("(anonymous namespace)", "{anonymous}")
    name = re.sub(r"\{lambda\([^{}]*\)#(\d+)\}", r"{lambda#\1}", name)
    plain = _without_arguments(name)
    operator = plain.find("operator")
    head = plain if operator < 0 else plain[:operator]
    head = "" if head.endswith(" ") else head.rstrip(":")  # a type, or namespaces
    operator_name = "" if operator < 0 else plain[operator:]
    head = head.rstrip().rsplit(" ", 1)[-1]  # without the return type that the names of templates begin with
    parts = [part for part in head.split("::") if part]
    short = "::".join([*parts, operator_name][-2:] if operator_name else parts[-2:])
    if len(short) > MOST_LETTERS:
        short = "::".join([*parts, operator_name][-1:] if operator_name else parts[-1:])
    return short if len(short) <= MOST_LETTERS else f"{short[: MOST_LETTERS - 1]}…"


def _without_arguments(name: str) -> str:
    """Without parameters in parentheses, and with ``<>`` for template arguments."""
    pieces: list[str] = []
    depth = 0
    position = 0
    while position < len(name):
        if depth == 0 and name.startswith("operator", position):
            match = re.compile(r"operator(?:\(\)|<=>|<<=|>>=|->\*?|<<|>>|<=|>=|<|>|[^\w\s(]+)?").match(
                name, position
            )
            assert match is not None
            pieces.append(match.group())
            position = match.end()
            continue
        letter = name[position]
        if letter == "<":
            depth += 1
            pieces.append("<>" if depth == 1 else "")
        elif letter == ">" and depth:
            depth -= 1
        elif letter == "(" and not depth:
            parenthesis = name.find(")::", position)  # a local function: keep the name of the enclosing one
            if parenthesis < 0:
                break
            position = parenthesis + 1
            continue
        elif not depth:
            pieces.append(letter)
        position += 1
    return "".join(pieces)
