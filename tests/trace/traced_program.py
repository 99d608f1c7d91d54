"""Programs of known behaviour, run under the tracer, and what their files say, read straight from the bytes.

The files are read here without ``offbeat.trace``: after ``native/trace/format.h`` alone.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from real_fortran import fortran_of, need_gfortran

from offbeat.libraries.installations import build
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_command import command

PROGRAMS = Path(__file__).with_name("programs")
PAGE_BYTES, PAGE_HEADER_BYTES = 65536, 64
DEFINITIONS, ENCODED = 2, 4
FINALIZED, EXITED, ABORTED = 1, 2, 3

CALL, ISSUE, START, COMPLETION, PHASES = 0, 1, 2, 3, 3
IN_PLACE, COMMUTES, LARGE, FAILED, FORTRAN = 4, 8, 16, 32, 64

RECORD = np.dtype(
    [
        *(("enter_ns", "<i8"), ("exit_ns", "<i8"), ("address", "<u8"), ("bytes", "<u8")),
        *(("communicator", "<u4"), ("sequence", "<u4"), ("round", "<u4"), ("root", "<i4")),
        *(("function", "<u2"), ("datatype", "<u2"), ("operation", "<u2"), ("flags", "<u2")),
        *(("largest_bytes", "<u8"), ("blocks", "<u4"), ("empty_blocks", "<u4")),
    ]
)
TEMPLATE = struct.Struct("<QQQIIIiIIHHHH")
TIMES, SEQUENCE, ROUND, SIZE, LARGEST, BLOCKS = range(1001, 1007)


def declares(mpi: Installation, function: str) -> bool:
    """Whether a library's headers have a function: MPICH's mpi.h includes its prototypes."""
    headers = mpi.include.glob("mpi*.h")
    declaration = re.compile(rf"\b{function} ?\(")
    return any(declaration.search(file.read_text(encoding="utf-8", errors="replace")) for file in headers)


@cache
def _folder_of_programs() -> Path:
    """A folder until the tests end."""
    folder = tempfile.mkdtemp(prefix="offbeat-programs-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@cache
def _compiled(*line: str) -> Path:
    """The program that a line compiles, once for all tests."""
    descriptor, program = tempfile.mkstemp(dir=_folder_of_programs())
    os.close(descriptor)
    done = subprocess.run([*line, "-o", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Path(program)


class Traced(Struct, frozen=True):
    """The tracer that was built for one MPI library, and a folder for programs and traces."""

    mpi: Installation
    library: Path
    folder: Path

    def declares(self, function: str) -> bool:
        """Whether the library's headers have a function."""
        return declares(self.mpi, function)

    def compile_c(self, source: str, arguments: Sequence[str] = (), compiler: str = "cc") -> Path:
        """One of PROGRAMS, built without the library's wrapper, which wheels don't have."""
        lines = [compiler, *arguments, f"-I{self.mpi.include}", "-x", "c++" if compiler == "c++" else "c"]
        library = self.mpi.library
        also = [str(path) for path in sorted(library.parent.glob("libopen_mpi.so*"))[:1]]  # Open MPI 6
        lines += [str(PROGRAMS / source), "-x", "none", str(library), *also, f"-Wl,-rpath,{library.parent}"]
        return self._copy(_compiled(*lines, "-pthread"), f"{Path(source).stem}-{compiler}")

    def compile_fortran(self, source: str, binding: str, arguments: Sequence[str] = ()) -> Path:
        """One of PROGRAMS with one of the three bindings."""
        need_gfortran()
        fortran = fortran_of(self.mpi)
        line = [*fortran.before, f"-D{binding}", *arguments, "-fallow-argument-mismatch", "-w"]
        line += [f"-J{_folder_of_programs()}", str(PROGRAMS / source), *fortran.behind]  # for modules
        return self._copy(_compiled(*line), f"{Path(source).stem}-{binding}")

    def _copy(self, compiled: Path, name: str) -> Path:
        program = self.folder / name
        shutil.copy(compiled, program)
        return program

    def run(
        self,
        program: Path,
        p: int,
        *arguments: str,
        variables: Mapping[str, str] | None = None,
        traced: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in ``folder`` until it ends in any way; its trace is in ``folder/trace``.

        p is the number of processes; 0: one process, without a launcher.
        """
        environment = {"OFFBEAT_TRACE_DIR": str(self.folder / "trace")} | dict(variables or {})
        if traced:
            environment["LD_PRELOAD"] = str(self.library)
        assigned = [f"{name}={value}" for name, value in environment.items()]
        started = ["/usr/bin/env", *assigned, str(program), *arguments]
        launch = command(self.mpi, started, max(p, 1), steerable=False)
        return subprocess.run(
            launch.argv if p else started,
            env=launch.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    def trace(
        self, program: Path, p: int, *arguments: str, variables: Mapping[str, str] | None = None
    ) -> list[RankTrace]:
        """The files of a run, which must succeed."""
        shutil.rmtree(self.folder / "trace", ignore_errors=True)
        done = self.run(program, p, *arguments, variables=variables)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "offbeat:" not in done.stderr, done.stderr
        return read(self.folder / "trace")


def built_for(installation: Installation, folder: Path) -> Traced:
    """The tracer, which is built beside the driver if it is missing."""
    place = build.build_native(installation).parents[1]
    (library,) = place.glob("lib*/**/liboffbeat-trace.so")
    return Traced(installation, library, folder)


@dataclass
class Definition:
    """A definition: its kind, and the bytes after its first eight."""

    kind: int
    body: bytes

    def numbers(self, form: str) -> tuple[int, ...]:
        return struct.unpack_from("<" + form, self.body)

    def text(self, fixed_bytes: int, length: int) -> str:
        return self.body[fixed_bytes - 8 : fixed_bytes - 8 + length].decode()


@dataclass
class Communicator:
    identity: tuple[int, int]
    """(hash, ordinal): the same at all members."""
    parent: int
    size: int
    remote_size: int
    rank: int
    maker: str
    topology: int
    name: str = ""
    calls: int = -1
    """The number of calls when it was freed; -1: it was not freed."""
    members: tuple[int, ...] = ()
    remote_members: tuple[int, ...] = ()


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def decoded(page: bytes) -> Iterator[tuple[int, ...]]:
    """The records of a page, one after another."""
    (published,) = struct.unpack_from("<Q", page, 8)
    (enter_ns,) = struct.unpack_from("<q", page, 24)
    sequences: dict[int, int] = {}
    values: dict[int, int] = {}
    for (entry,) in struct.iter_unpack(
        "<Q", page[PAGE_HEADER_BYTES : PAGE_HEADER_BYTES + 8 * (published & 0x1FFF)]
    ):
        number, value = entry & 0x3FF, entry >> 10
        if number > 1000:
            values[number] = value
            continue
        template = TEMPLATE.unpack_from(page, PAGE_BYTES - 56 * (number + 1))
        address, size, largest, communicator, advance, turn, root, blocks, empty, *kind = template
        upper = values.get(TIMES, 0)
        enter_ns += signed(value & 0xFFFFFFF | (upper & 0x7FFFFFF) << 28, 55)
        leave_ns = enter_ns + signed(value >> 28 | upper >> 27 << 26, 53)
        sequence = values.get(SEQUENCE, sequences.get(communicator, 0) + advance)
        sequences[communicator] = sequence
        counts = values.get(BLOCKS, blocks | empty << 27)
        yield (
            *(enter_ns, leave_ns, address, values.get(SIZE, size)),
            *(communicator, sequence, values.get(ROUND, turn), root, *kind),
            *(values.get(LARGEST, largest), counts & 0x7FFFFFF, counts >> 27),
        )
        values = {}


class RankTrace:
    """The file of a rank."""

    def __init__(self, path: Path) -> None:
        whole = path.read_bytes()
        assert whole[:8] == b"OFFBEATT", "no header"
        self.bytes = len(whole)
        version, page_bytes, page_header_bytes, record_bytes = struct.unpack_from("<4I", whole, 8)
        assert (version, page_bytes, page_header_bytes, record_bytes) == (5, 65536, 64, 72)
        self.rank, self.size, self.run = struct.unpack_from("<iiQ", whole, 24)
        (self.began_ns,) = struct.unpack_from("<q", whole, 48)
        self.state, self.lane_count, self.ended_ns = struct.unpack_from("<IIq", whole, 80)
        self.pages, self.lost, self.lost_because = struct.unpack_from("<QQi", whole, 96)
        (self.stamps_wrong_ns,) = struct.unpack_from("<q", whole, 128)
        self.source = whole[2560:2624].split(b"\0")[0].decode()
        self.sampling = whole[2624:4032].split(b"\0")[0].decode()
        self.lanes: dict[int, NDArray[np.void]] = {}
        self.definitions: list[Definition] = []
        for start in range(PAGE_BYTES, len(whole) - PAGE_BYTES + 1, PAGE_BYTES):
            self._read_page(whole[start : start + PAGE_BYTES])
        self.functions = {
            number: item.text(16, length)
            for item in self.of_kind(1)
            for number, _mode, _collective, length in [item.numbers("4H")]
        }
        self.communicators = dict(self._communicators())

    def _read_page(self, page: bytes) -> None:
        kind, lane = struct.unpack_from("<II", page)
        if kind == ENCODED:
            rows = np.array(list(decoded(page)), RECORD)
            self.lanes[lane] = np.concatenate([self.lanes.get(lane, np.empty(0, RECORD)), rows])
        at = PAGE_HEADER_BYTES
        while kind == DEFINITIONS and at + 8 <= PAGE_BYTES:
            length, kind_of_it = struct.unpack_from("<IH", page, at)
            if kind_of_it == 0:
                break
            self.definitions.append(Definition(kind_of_it, page[at + 8 : at + length]))
            at += length

    def of_kind(self, kind: int) -> list[Definition]:
        return [item for item in self.definitions if item.kind == kind]

    def _communicators(self) -> Iterator[tuple[int, Communicator]]:
        for item in self.of_kind(2):
            number, parent, identity, ordinal, size, remote, rank, maker, topology = item.numbers("IIQIIIiHH")
            communicator = Communicator(
                (identity, ordinal), parent, size, remote, rank, self.functions.get(maker, ""), topology
            )
            for name in self.of_kind(4):
                if name.numbers("I") == (number,):
                    communicator.name = name.text(16, name.numbers("II")[1])
            for end in self.of_kind(5):
                if end.numbers("I") == (number,):
                    communicator.calls = end.numbers("IIqQ")[3]
            for part in self.of_kind(3):
                whose, is_remote, _first, count = part.numbers("4I")
                ranks = struct.unpack_from(f"<{count}i", part.body, 16)
                if whose == number and is_remote:
                    communicator.remote_members += ranks
                elif whose == number:
                    communicator.members += ranks
            yield number, communicator

    @property
    def records(self) -> NDArray[np.void]:
        """All records, thread by thread."""
        return np.concatenate([np.empty(0, RECORD), *(self.lanes[lane] for lane in sorted(self.lanes))])

    @property
    def names(self) -> list[str]:
        """The functions of all records."""
        return [self.functions[int(number)] for number in self.records["function"]]

    @property
    def points(self) -> list[tuple[int, int, int, int]]:
        """Clock points that count: local, shared, bound, whether the clock is the reference's own."""
        clock_points: list[tuple[int, int, int, int]] = []
        for item in self.of_kind(9):
            local, shared, bound = item.numbers("qqq")
            is_shared, replaces = struct.unpack_from("<II", item.body, 32)
            clock_points = [] if replaces else clock_points
            clock_points.append((local, shared, bound, is_shared))
        return clock_points

    @property
    def notes(self) -> list[str]:
        return [item.text(24, item.numbers("qI")[1]) for item in self.of_kind(10)]


def read(folder: Path) -> list[RankTrace]:
    """The files of a trace, by rank."""
    return sorted((RankTrace(path) for path in folder.glob("*.trace")), key=lambda found: found.rank)
