"""Call sites: resolves return addresses to source lines and callers, and demangles function names.

The memory maps of the trace convert an address of a process to a file and an offset, which are the same in
all processes. The symbols and debugging information of the file give function and line. All copies of a
source line by the compiler are one call site; calls through different callers are different sites. Without
debugging information, the address in the file is used.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace.calls.function_names import demangle_name, shorten_name
from offbeat.trace.files import format as form
from offbeat.trace.files.format import CallPath, PythonFrame
from offbeat.trace.files.format import Mapping as MappedCode

if TYPE_CHECKING:
    from offbeat.trace.calls.program_file import ProgramFile

MOST_SITES = 2**24 - 1
"""Limit of call sites; further ones count as unknown."""

_UNKNOWN = "unknown"
_PYTHON_LIBRARY = re.compile(r"\.(cpython-|abi3|pypy)\S*\.so$|^(libpython3|python3?(\.\d+)?$)")
_SYSTEM_LIBRARY = re.compile(r"^(libc|ld-linux.*|libpthread|liboffbeat-trace|liboffbeat-tracer)[.-]")
_MPI_WRAPPER = re.compile(r"P?MPI_[A-Z]\w*|p?mpi_[a-z]\w*", re.ASCII)
_OUTERMOST_FUNCTIONS = ("main", "MAIN__", "_start")


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
    def location(self) -> str:
        """``ft.c:118``, ``ft+0x1f2a``, or ``0x1f2a`` if the file is unknown."""
        if self.line:
            return f"{Path(self.file).name}:{self.line}"
        module = Path(self.module).name
        return f"{module}+{self.address:#x}" if module else f"{self.address:#x}" if self.address else _UNKNOWN

    @property
    def text(self) -> str:
        """For tables: ``transpose (ft.c:118)``, ``transpose (ft+0x1f2a)``, or ``libx.so+0x1f2a``."""
        return f"{shorten_name(self.function)} ({self.location})" if self.function else self.location


class CallSite(Struct, frozen=True, order=True):
    """The place of a call and those of its callers, innermost first."""

    frames: tuple[Frame, ...]

    @property
    def location(self) -> str:
        """A unique text: ``location`` in JSON, by which rows are sorted."""
        return " < ".join(
            f"{one.file}:{one.line}" if one.line else f"{one.module}+{one.address:#x}" for one in self.frames
        )

    @property
    def path(self) -> str:
        """The whole call path: ``dot (blas.c:5) from step (cg.c:20) from main (cg.c:70)``."""
        return " from ".join(frame.text for frame in self.frames)


_UNKNOWN_SITE = CallSite((Frame("", "", 0),))


class CallSites:
    """All call sites of a trace, numbered in the order in which they are resolved."""

    def __init__(self) -> None:
        self._numbers: dict[CallSite, int] = {_UNKNOWN_SITE: 0}
        self.sites: list[CallSite] = [_UNKNOWN_SITE]
        self.frames = cache(self._resolve)
        self._file = cache(_program_file)

    def number(self, site: CallSite) -> int:
        """The number of a site; a new site gets the next number."""
        number = self._numbers.get(site)
        if number is None and len(self.sites) < MOST_SITES:
            number = self._numbers[site] = len(self.sites)
            self.sites.append(site)
        return number or 0

    def _resolve(self, path: str, offset: int) -> tuple[list[Frame], bool]:
        """Resolve a return address at ``offset`` in a file: the frame of the call, then the callers in other
        files that it is inlined into; and whether the last one is the outermost function of a program.
        """
        file = self._file(path)
        if file is None:
            return [Frame("", "", 0, path, offset)], False
        # The call instruction ends before the return address; the byte before is part of it.
        address = file.address(offset - 1)
        locations = file.source_lines(address)
        if not locations or not locations[0].line:
            function = demangle_name(locations[0].function) if locations else ""
            return [Frame(function, "", 0, path, address + 1)], function in _OUTERMOST_FUNCTIONS
        frames_here = [Frame(demangle_name(one.function), one.file, one.line) for one in locations]
        caller_frames = [
            one
            for place, one in enumerate(frames_here)
            if place == 0 or one.file != frames_here[place - 1].file
        ]
        return caller_frames, frames_here[-1].function in _OUTERMOST_FUNCTIONS


def _program_file(path: str) -> ProgramFile | None:
    from offbeat.trace.calls.program_file import ProgramFile  # importing elftools is slow

    return ProgramFile(Path(path)) if path.startswith("/") and Path(path).is_file() else None


class AddressResolver:
    """Resolves the return addresses of one process to call sites."""

    def __init__(
        self, mappings: Iterable[MappedCode], paths: Mapping[int, CallPath], sites: CallSites
    ) -> None:
        self._sites, self._paths = sites, paths
        self._mappings = sorted(mappings, key=lambda mapping: mapping.start)
        self._starts = [mapping.start for mapping in self._mappings]
        self._addresses = np.empty(0, np.uint64)
        self._numbers = np.empty(0, np.int32)

    def numbers(self, addresses: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The numbers of the sites of records with these addresses, (n,)."""
        if not len(addresses):
            return np.empty(0, np.int32)
        if len(self._addresses):
            positions = np.minimum(np.searchsorted(self._addresses, addresses), len(self._addresses) - 1)
            if (self._addresses[positions] == addresses).all():
                return self._numbers[positions]
        new_addresses = np.setdiff1d(addresses, self._addresses)
        numbers = np.array([self._number(int(address)) for address in new_addresses], dtype=np.int32)
        all_addresses = np.concatenate([self._addresses, new_addresses])
        order = np.argsort(all_addresses, kind="stable")
        self._addresses, self._numbers = all_addresses[order], np.concatenate([self._numbers, numbers])[order]
        return self._numbers[np.searchsorted(self._addresses, addresses)]

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
            index = bisect.bisect_right(self._starts, address) - 1
            if index >= 0 and address < self._mappings[index].end:
                mapping = self._mappings[index]
                offset = address - mapping.start + mapping.offset
                yield mapping.path, *self._sites.frames(mapping.path, offset)
            else:
                yield "", [Frame("", "", 0, "", address)], False


def _site(native: Iterable[tuple[str, list[Frame], bool]], python: Sequence[PythonFrame]) -> CallSite:
    """The site of a call path, without frames of system libraries, the tracer, Python and wrappers of MPI."""
    frames: list[Frame] = []
    for path, frames_at, is_outermost in native:
        name = Path(path).name
        if python and _PYTHON_LIBRARY.search(name):
            break
        if not _SYSTEM_LIBRARY.match(name) and frames_at[0].function != "_start":
            frames += frames_at
        if is_outermost:
            break
    frames += [
        Frame(one.function, one.file, one.line) for one in python if not one.file.startswith("<frozen ")
    ]
    while len(frames) > 1 and _MPI_WRAPPER.fullmatch(frames[0].function):
        del frames[0]
    return CallSite(tuple(frames)) if frames else _UNKNOWN_SITE


def site_labels(sites: Sequence[CallSite]) -> list[str]:
    """Labels of sites for tables: the place of the call, and those callers that distinguish it from other
    sites with the same place: ``dot (blas.c:5) from step (cg.c:20)``.
    """
    labels = [site.frames[0].text for site in sites]
    groups: dict[str, list[int]] = {}
    for number, text in enumerate(labels):
        groups.setdefault(text, []).append(number)
    for group in groups.values():
        _append_callers(labels, sites, group, 1)
    return labels


def _append_callers(labels: list[str], sites: Sequence[CallSite], group: list[int], depth: int) -> None:
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
            for caller, same_caller in callers.items():
                for number in same_caller:
                    labels[number] += f" from {caller}" if caller else ""
                _append_callers(labels, sites, same_caller, depth)
            return
