"""Names of functions as people write them: demangled, and short enough for tables."""

from __future__ import annotations

import ctypes
import re
from functools import lru_cache

MOST_LETTERS = 32
"""So long the name of a function is in a table at most."""

_FORTRAN = (
    re.compile(r"__(?P<module>\w+?)_MOD_(?P<name>\w+)"),  # gfortran
    re.compile(r"(?P<module>[a-z]\w*?)_mp_(?P<name>\w+?)_"),  # Intel's ifort and ifx
    re.compile(r"_QM(?P<module>[a-z]\w*?)(?:S\w+?)?P(?P<name>\w+)"),  # flang
    re.compile(r"_Q[PF](?P<name>\w+)"),
)
_PARTS = re.compile(r"\.(?:constprop|isra|part|cold|lto_priv|omp_fn|llvm)(?:\.\d+)*|\.\d+$")
"""What compilers append to the copies that they make of a function."""


@lru_cache(maxsize=4096)
def demangled(name: str) -> str:
    """``solver::step(double*)`` for ``_ZN6solver4stepEPd``, ``grid::halo`` for ``__grid_MOD_halo``.

    Other names, and those that cannot be demangled here, stay as they are.
    """
    bare = _PARTS.sub("", name)
    for pattern in _FORTRAN:
        match = pattern.fullmatch(bare)
        if match is not None:
            return "::".join(match.groupdict().values())
    return _demangled_cpp(bare) if bare.startswith(("_Z", "___Z")) else bare


def _demangled_cpp(name: str) -> str:
    demangle, free = _library()
    if demangle is None or free is None:
        return name
    status = ctypes.c_int()
    found = demangle(name.encode(), None, None, ctypes.byref(status))
    if status.value != 0 or not found:
        return name
    try:
        return ctypes.string_at(found).decode(errors="replace")
    finally:
        free(found)


@lru_cache(maxsize=1)
def _library() -> tuple[ctypes._NamedFuncPointer | None, ctypes._NamedFuncPointer | None]:
    """The demangler of the C++ library that the simulator is linked to, and what frees its answers."""
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
def shortened(name: str) -> str:
    """A demangled name for a table: without parameters and return type, templates as ``<>``, and of its
    namespaces and classes the innermost: ``Comm::exchange`` for ``void LAMMPS_NS::Comm::exchange<int>(int)``.
    """
    name = name.replace("(anonymous namespace)", "{anonymous}")
    name = re.sub(r"\{lambda\([^{}]*\)#(\d+)\}", r"{lambda#\1}", name)
    plain = _without_arguments(name)
    operator = plain.find("operator")
    head = plain if operator < 0 else plain[:operator]
    head = "" if head.endswith(" ") else head.rstrip(":")  # a type, or namespaces
    own = "" if operator < 0 else plain[operator:]
    parts = [part for part in _without_type(head).split("::") if part]
    kept = "::".join([*parts, own][-2:] if own else parts[-2:])
    if len(kept) > MOST_LETTERS:
        kept = "::".join([*parts, own][-1:] if own else parts[-1:])
    return kept if len(kept) <= MOST_LETTERS else f"{kept[: MOST_LETTERS - 1]}…"


def _without_arguments(name: str) -> str:
    """Without what stands in parentheses behind the name, and with ``<>`` for what stands in brackets."""
    kept: list[str] = []
    depth = 0
    at = 0
    while at < len(name):
        if depth == 0 and name.startswith("operator", at):
            match = re.compile(r"operator(?:\(\)|<=>|<<=|>>=|->\*?|<<|>>|<=|>=|<|>|[^\w\s(]+)?").match(
                name, at
            )
            assert match is not None
            kept.append(match.group())
            at = match.end()
            continue
        letter = name[at]
        if letter == "<":
            depth += 1
            kept.append("<>" if depth == 1 else "")
        elif letter == ">" and depth:
            depth -= 1
        elif letter == "(" and not depth:
            behind = name.find(")::", at)  # a function inside of another one: of that, its name
            if behind < 0:
                break
            at = behind + 1
            continue
        elif not depth:
            kept.append(letter)
        at += 1
    return "".join(kept)


def _without_type(name: str) -> str:
    """Without the type that templates' names begin with."""
    return name.rstrip().rsplit(" ", 1)[-1]
