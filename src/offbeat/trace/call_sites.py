"""Call sites: resolves return addresses to source lines and callers, and demangles function names.

The memory maps of the trace convert an address of a process to a file and an offset, which are the same in
all processes. The symbols and debugging information of the file give function and line. All copies of a
source line by the compiler are one call site; calls through different callers are different sites. Without
debugging information, the address in the file is used.
"""

from __future__ import annotations

import bisect
import ctypes
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace import format as form
from offbeat.trace.format import CallPath, PythonFrame
from offbeat.trace.format import Mapping as MappedCode

if TYPE_CHECKING:
    from offbeat.trace.program_file import ProgramFile


MOST_SITES = 2**24 - 1
"""Limit of call sites; further ones count as unknown."""

_UNKNOWN = "unknown"
_OF_PYTHON = re.compile(r"\.(cpython-|abi3|pypy)\S*\.so$|^(libpython3|python3?(\.\d+)?$)")
_OF_SYSTEM = re.compile(r"^(libc|ld-linux.*|libpthread|liboffbeat-trace|liboffbeat-tracer)[.-]")
_MPI_WRAPPER = re.compile(r"P?MPI_[A-Z]\w*|p?mpi_[a-z]\w*", re.ASCII)
_OUTERMOST = ("main", "MAIN__", "_start")


class Frame(Struct, frozen=True, order=True):
    """The place of a call: ``line`` of the source ``file``, or, if unknown (line 0), ``address`` in the
    program or library ``module``. ``function`` is a demangled name, empty if unknown.
    """

    function: str
    file: str
    line: int
    module: str = ""
    address: int = 0

    @property
    def place(self) -> str:
        """``ft.c:118``, ``ft+0x1f2a``, or ``0x1f2a`` if the file is unknown."""
        if self.line:
            return f"{Path(self.file).name}:{self.line}"
        module = Path(self.module).name
        return f"{module}+{self.address:#x}" if module else f"{self.address:#x}" if self.address else _UNKNOWN

    @property
    def text(self) -> str:
        """For tables: ``transpose (ft.c:118)``, ``transpose (ft+0x1f2a)``, or ``libx.so+0x1f2a``."""
        return f"{shortened(self.function)} ({self.place})" if self.function else self.place


class CallSite(Struct, frozen=True, order=True):
    """The place of a call and those of its callers, innermost first."""

    frames: tuple[Frame, ...]

    @property
    def place(self) -> str:
        """A unique text: ``place`` in JSON, by which rows are sorted."""
        return " < ".join(
            f"{one.file}:{one.line}" if one.line else f"{one.module}+{one.address:#x}" for one in self.frames
        )

    @property
    def path(self) -> str:
        """The whole call path: ``dot (blas.c:5) from step (cg.c:20) from main (cg.c:70)``."""
        return " from ".join(frame.text for frame in self.frames)


_NOWHERE = CallSite((Frame("", "", 0),))


class CallSites:
    """All call sites of a trace, numbered in the order in which they are resolved."""

    def __init__(self) -> None:
        self._numbers: dict[CallSite, int] = {_NOWHERE: 0}
        self.all: list[CallSite] = [_NOWHERE]
        self.frames = cache(self._resolve)
        self._file = cache(_program_file)

    def number(self, site: CallSite) -> int:
        """The number of a site; a new site gets the next number."""
        known = self._numbers.get(site)
        if known is None and len(self.all) < MOST_SITES:
            known = self._numbers[site] = len(self.all)
            self.all.append(site)
        return known or 0

    def _resolve(self, path: str, offset: int) -> tuple[list[Frame], bool]:
        """Resolve a return address at ``offset`` in a file: the frame of the call, then the callers in other
        files that it is inlined into; and whether the last one is the outermost function of a program.
        """
        file = self._file(path)
        if file is None:
            return [Frame("", "", 0, path, offset)], False
        # The call instruction ends before the return address; the byte before is part of it.
        address = file.address(offset - 1)
        places = file.places(address)
        if not places or not places[0].line:
            function = demangled(places[0].function) if places else ""
            return [Frame(function, "", 0, path, address + 1)], function in _OUTERMOST
        called = [Frame(demangled(one.function), one.file, one.line) for one in places]
        kept = [one for place, one in enumerate(called) if place == 0 or one.file != called[place - 1].file]
        return kept, called[-1].function in _OUTERMOST


def _program_file(path: str) -> ProgramFile | None:
    from offbeat.trace.program_file import ProgramFile  # importing elftools is slow

    return ProgramFile(Path(path)) if path.startswith("/") and Path(path).is_file() else None


class AddressResolver:
    """Resolves the return addresses of one process to call sites."""

    def __init__(
        self, mappings: Iterable[MappedCode], paths: Mapping[int, CallPath], sites: CallSites
    ) -> None:
        self._sites, self._paths = sites, paths
        self._mappings = sorted(mappings, key=lambda mapping: mapping.start)
        self._starts = [mapping.start for mapping in self._mappings]
        self._known = np.empty(0, np.uint64)
        self._numbers = np.empty(0, np.int32)

    def numbers(self, addresses: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The numbers of the sites of records with these addresses, (n,)."""
        if not len(addresses):
            return np.empty(0, np.int32)
        if len(self._known):
            places = np.minimum(np.searchsorted(self._known, addresses), len(self._known) - 1)
            if (self._known[places] == addresses).all():
                return self._numbers[places]
        fresh = np.setdiff1d(addresses, self._known)
        numbers = np.array([self._number(int(address)) for address in fresh], dtype=np.int32)
        met = np.concatenate([self._known, fresh])
        order = np.argsort(met, kind="stable")
        self._known, self._numbers = met[order], np.concatenate([self._numbers, numbers])[order]
        return self._numbers[np.searchsorted(self._known, addresses)]

    def _number(self, address: int) -> int:
        if not address & form.IS_PATH:
            return self._sites.number(_site(self._native((address,)), ())) if address else 0
        path = self._paths.get(address & ~form.IS_PATH)
        if path is None:
            return 0
        return self._sites.number(_site(self._native(path.addresses), path.python))

    def _native(self, addresses: Sequence[int]) -> Iterator[tuple[str, list[Frame], bool]]:
        """The file of each address, and its frames as of ``CallSites.frames``."""
        for address in addresses:
            place = bisect.bisect_right(self._starts, address) - 1
            if place >= 0 and address < self._mappings[place].end:
                mapping = self._mappings[place]
                offset = address - mapping.start + mapping.offset
                yield mapping.path, *self._sites.frames(mapping.path, offset)
            else:
                yield "", [Frame("", "", 0, "", address)], False


def _site(native: Iterable[tuple[str, list[Frame], bool]], python: Sequence[PythonFrame]) -> CallSite:
    """The site of a call path, without frames of system libraries, the tracer, Python and wrappers of MPI."""
    frames: list[Frame] = []
    for path, found, is_outermost in native:
        name = Path(path).name
        if python and _OF_PYTHON.search(name):
            break
        if not _OF_SYSTEM.match(name) and found[0].function != "_start":
            frames += found
        if is_outermost:
            break
    frames += [
        Frame(one.function, one.file, one.line) for one in python if not one.file.startswith("<frozen ")
    ]
    while len(frames) > 1 and _MPI_WRAPPER.fullmatch(frames[0].function):
        del frames[0]
    return CallSite(tuple(frames)) if frames else _NOWHERE


def site_labels(sites: Sequence[CallSite]) -> list[str]:
    """Labels of sites for tables: the place of the call, and those callers that distinguish it from other
    sites with the same place: ``dot (blas.c:5) from step (cg.c:20)``.
    """
    labels = [site.frames[0].text for site in sites]
    groups: dict[str, list[int]] = {}
    for number, text in enumerate(labels):
        groups.setdefault(text, []).append(number)
    for group in groups.values():
        _distinguish(labels, sites, group, 1)
    return labels


def _distinguish(labels: list[str], sites: Sequence[CallSite], group: list[int], depth: int) -> None:
    """Append the first caller at which the sites of a group differ; recursive for labels still equal."""
    while len(group) > 1:
        callers: dict[str, list[int]] = {}
        for number in group:
            frames = sites[number].frames
            callers.setdefault(frames[depth].text if depth < len(frames) else "", []).append(number)
        depth += 1
        if len(callers) == 1 and "" in callers:
            return
        if len(callers) > 1:
            for caller, same in callers.items():
                for number in same:
                    labels[number] += f" from {caller}" if caller else ""
                _distinguish(labels, sites, same, depth)
            return


MOST_LETTERS = 32
"""Limit of the length of a function name in a table."""

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
    collective_name = _PARTS.sub("", name)
    for pattern in _FORTRAN:
        match = pattern.fullmatch(collective_name)
        if match is not None:
            return "::".join(match.groupdict().values())
    return _demangled_cpp(collective_name) if collective_name.startswith(("_Z", "___Z")) else collective_name


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
def shortened(name: str) -> str:
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
    own = "" if operator < 0 else plain[operator:]
    head = head.rstrip().rsplit(" ", 1)[-1]  # without the return type that the names of templates begin with
    parts = [part for part in head.split("::") if part]
    kept = "::".join([*parts, own][-2:] if own else parts[-2:])
    if len(kept) > MOST_LETTERS:
        kept = "::".join([*parts, own][-1:] if own else parts[-1:])
    return kept if len(kept) <= MOST_LETTERS else f"{kept[: MOST_LETTERS - 1]}…"


def _without_arguments(name: str) -> str:
    """Without parameters in parentheses, and with ``<>`` for template arguments."""
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
            behind = name.find(")::", at)  # a local function: keep the name of the enclosing one
            if behind < 0:
                break
            at = behind + 1
            continue
        elif not depth:
            kept.append(letter)
        at += 1
    return "".join(kept)
