"""Call sites: from return addresses in processes to places in files, and to names in the source.

The same place of a program has another address in every process; the memory maps of the trace make it the
same again: (file, offset). Names come from ``addr2line`` where the program's files are still there.
"""

from __future__ import annotations

import bisect
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace.definitions import Mapping

MOST_SITES = 2**24 - 1
"""More call sites than any program has; further ones count as unknown."""

_UNKNOWN = "?"
_TIME_FOR_ADDR2LINE_S = 60.0


class Site(Struct, frozen=True, order=True):
    """A place in a file: ``offset`` in bytes from its beginning, of the instruction behind the call."""

    path: str
    offset: int


class Sites:
    """All call sites of a trace, numbered as they are met."""

    def __init__(self) -> None:
        self._numbers: dict[Site, int] = {Site(_UNKNOWN, 0): 0}
        self.all: list[Site] = [Site(_UNKNOWN, 0)]

    def number(self, site: Site) -> int:
        """The number of a site; new ones get the next."""
        known = self._numbers.get(site)
        if known is not None:
            return known
        if len(self.all) >= MOST_SITES:
            return 0
        self._numbers[site] = len(self.all)
        self.all.append(site)
        return len(self.all) - 1


class SitesOfFile:
    """What the addresses of one process mean."""

    def __init__(self, mappings: Iterable[Mapping], sites: Sites) -> None:
        self._sites = sites
        self._mappings = sorted(mappings, key=lambda mapping: mapping.start)
        self._starts = [mapping.start for mapping in self._mappings]
        self._known = np.empty(0, np.uint64)
        self._numbers = np.empty(0, np.int32)

    def numbers(self, addresses: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The numbers of the sites at these addresses, (n,)."""
        if not len(addresses):
            return np.empty(0, np.int32)
        if len(self._known):
            places = np.minimum(np.searchsorted(self._known, addresses), len(self._known) - 1)
            if (self._known[places] == addresses).all():
                return self._numbers[places]
        met = np.union1d(self._known, addresses)
        self._numbers = np.array([self._number(int(address)) for address in met], dtype=np.int32)
        self._known = met
        return self._numbers[np.searchsorted(met, addresses)]

    def _number(self, address: int) -> int:
        place = bisect.bisect_right(self._starts, address) - 1
        if place >= 0 and address < self._mappings[place].end:
            mapping = self._mappings[place]
            return self._sites.number(Site(mapping.path, address - mapping.start + mapping.offset))
        return self._sites.number(Site("", address)) if address else 0


class Named(Struct, frozen=True):
    """A site in words: ``function`` and ``line`` (file.c:12) are empty where nothing is known of them."""

    site: Site
    function: str
    line: str

    @property
    def text(self) -> str:
        """For tables: ``transpose (ft.c:118)``, ``transpose (ft+0x1f2a)``, or ``libx.so+0x1f2a``."""
        if self.site.path == _UNKNOWN:
            return "unknown"
        file = Path(self.site.path).name if self.site.path else ""
        place = self.line or (f"{file}+{self.site.offset:#x}" if file else f"{self.site.offset:#x}")
        return f"{self.function} ({place})" if self.function else place


def named(sites: Sequence[Site]) -> list[Named]:
    """Names of sites, one ``addr2line`` a file; without it or without the file they keep file and offset."""
    by_path: dict[str, list[Site]] = {}
    for site in sites:
        by_path.setdefault(site.path, []).append(site)
    found: dict[Site, Named] = {}
    for path, of_file in by_path.items():
        for site, (function, line) in zip(of_file, _asked(path, of_file), strict=True):
            found[site] = Named(site, function, line)
    return [found[site] for site in sites]


def _asked(path: str, sites: Sequence[Site]) -> list[tuple[str, str]]:
    """(function, file:line) of each site of one file; empty where addr2line has no answer."""
    nothing = [("", "")] * len(sites)
    program = shutil.which("addr2line")
    if program is None or not path.startswith("/") or not Path(path).is_file():
        return nothing
    loads = _loads(Path(path))
    # The call stands before the address that it returns to; one byte back is within it.
    asked = "".join(f"{_address(site.offset - 1, loads):#x}\n" for site in sites)
    try:
        done = subprocess.run(
            [program, "-f", "-C", "-e", path],
            input=asked,
            capture_output=True,
            text=True,
            timeout=_TIME_FOR_ADDR2LINE_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return nothing
    lines = done.stdout.splitlines()
    if len(lines) != 2 * len(sites):
        return nothing
    return [(_said(function), _line(line)) for function, line in zip(lines[::2], lines[1::2], strict=True)]


def _said(text: str) -> str:
    return "" if text.startswith("??") else text


def _line(text: str) -> str:
    """``/a/b/ft.c:118 (discriminator 2)`` as ``ft.c:118``."""
    place = text.split(" (discriminator", 1)[0]
    if place.startswith("??") or place.endswith((":?", ":0")):
        return ""
    return place.rsplit("/", 1)[-1]


def _loads(path: Path) -> list[tuple[int, int, int]]:
    """(offset, address, length) of what an ELF file of 64 bits loads; empty for any other file."""
    try:
        with path.open("rb") as stream:
            head = stream.read(64)
            if head[:6] != b"\x7fELF\x02\x01":
                return []
            begin = int.from_bytes(head[32:40], "little")
            entry, count = int.from_bytes(head[54:56], "little"), int.from_bytes(head[56:58], "little")
            stream.seek(begin)
            table = stream.read(entry * count)
    except OSError:
        return []
    loads = []
    for at in range(0, len(table) - 55, entry or 56):
        if int.from_bytes(table[at : at + 4], "little") == 1:
            offset, address = (int.from_bytes(table[at + i : at + i + 8], "little") for i in (8, 16))
            loads.append((offset, address, int.from_bytes(table[at + 32 : at + 40], "little")))
    return loads


def _address(offset: int, loads: Sequence[tuple[int, int, int]]) -> int:
    """The address that a file gives what stands at an offset in it."""
    for begin, address, length in loads:
        if begin <= offset < begin + length:
            return offset - begin + address
    return offset
