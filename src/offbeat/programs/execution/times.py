"""The folder of a run: what was run, and the times that each rank recorded, also of a run that was killed."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.base.atomic_write import write_atomically
from offbeat.base.errors import BadInput
from offbeat.base.reading import decode_json, map_file, read_file
from offbeat.base.units import amount, format_time
from offbeat.programs.description.program_file import Program, loads
from offbeat.programs.simulation.iterations import Iterations, numbered
from offbeat.programs.simulation.lockstep import Lockstep, measured_lockstep

RUN = "run.json"

_CLOCKS = ("start", "begin_local", "begin_global", "end_local", "end_global")

_MAX_CLOCK_NS = 2**62
"""The difference of two smaller times is a 64-bit integer."""

HEADER = np.dtype(
    [
        ("magic", "S8"),
        *[(name, np.int64) for name in ("rank", "ranks", "phases", "alone", "iterations", "domain")],
        *[(name, np.int64) for name in _CLOCKS],
        ("bound", np.int64),
        ("host", "S152"),
    ]
)
"""``program_record_header`` of ``native/programs/record.h``; times in nanoseconds."""

MAGIC = b"offbprg1"

ITERATION = np.dtype([("end", np.int64), ("communication", np.int64)])
"""``program_iteration`` of the same file."""


class RunFacts(Struct, frozen=True, kw_only=True):
    """What was run: the text of the program file, what options changed in it, and notes for the reader."""

    program: str
    path: str
    ranks: int
    iterations: int
    seed: int
    library: str
    notes: list[str]


class Measured(Iterations, kw_only=True, eq=False):
    """A run of a program with an MPI library.

    ``composite`` are the measured times of the phases alone. ``hosts`` are the nodes, ``bound_s`` is the
    largest error of a rank's clock against that of rank 0 when the iterations began.
    """

    facts: RunFacts
    composite: Lockstep
    hosts: list[str]
    bound_s: float

    origin: ClassVar[str] = "measured"

    @property
    def where(self) -> str:
        """The nodes and the library."""
        nodes = self.hosts[0] if len(self.hosts) == 1 else f"{len(self.hosts)} nodes"
        return f"{nodes} with {self.facts.library}"

    def basis(self) -> list[str]:
        """Where the ranks ran, the accuracy of their common clock, and the notes of the run."""
        domains = amount(int(self.domain.max()) + 1, "memory domain")
        clock = (
            "one clock"
            if not self.bound_s
            else f"clocks that differ by less than {format_time(self.bound_s)}"
        )
        lines = [f"Measured on {amount(len(self.hosts), 'node')} in {domains}, with {clock}."]
        if self.iterations < self.facts.iterations:
            lines.append(
                f"The run ended early: {self.iterations} of {self.facts.iterations} iterations are complete."
            )
        return [*lines, *self.facts.notes]


def write_facts(facts: RunFacts, folder: Path) -> None:
    """Write what is run, before it is."""
    write_atomically(folder / RUN, msgspec.json.format(msgspec.json.encode(facts), indent=2) + b"\n")


def has_run(folder: Path) -> bool:
    """Whether a run was begun in a folder."""
    return (folder / RUN).exists() or any(folder.glob("rank-*.times"))


def read(folder: Path) -> Measured:
    """Read a run. Raises :class:`BadInput` for a folder without one, or whose files are damaged."""
    facts = _facts(folder)
    program = loads(facts.program, facts.path).resized(
        ranks=facts.ranks, iterations=facts.iterations, seed=facts.seed
    )
    ranks = [_Rank(folder / f"rank-{rank}.times", program) for rank in range(facts.ranks)]
    complete = min(rank.complete for rank in ranks)
    if not complete:
        raise BadInput(f"{folder}: no iteration was completed by all ranks; run the program again")
    hosts = [rank.host for rank in ranks]
    end_s = np.stack([rank.end_s(complete) for rank in ranks], axis=1)
    alone_s = np.stack([rank.alone_s for rank in ranks])  # (ranks, times, phases)
    return Measured(
        program=program,
        facts=facts,
        domain=numbered([(rank.host, rank.domain) for rank in ranks]),
        iteration_end_s=end_s,
        communication_s=np.stack([rank.communication_s(complete) for rank in ranks], axis=1),
        composite=measured_lockstep(
            program,
            work_s=np.median(alone_s, axis=1).T,
            phase_s=np.median(alone_s.max(axis=0), axis=0),
            iterations=complete,
        ),
        hosts=list(dict.fromkeys(hosts)),
        bound_s=max(rank.bound_s for rank in ranks),
    )


def completed(path: Path) -> int:
    """How many iterations a rank has completed; 0 if its file does not exist yet."""
    try:
        header, _, iterations = _mapped(path)
    except (OSError, ValueError):
        return 0
    return _count(iterations) if header["magic"] == MAGIC else 0


def domains_of(folder: Path, p: int) -> NDArray[np.int32]:
    """The memory domain of each rank (p,), counted over all nodes, from files whose header is written."""
    headers = [_mapped(folder / f"rank-{rank}.times")[0] for rank in range(p)]
    return numbered([(header["host"].decode(), int(header["domain"])) for header in headers])


def _facts(folder: Path) -> RunFacts:
    try:
        return decode_json(read_file(folder / RUN), RunFacts)
    except OSError as error:
        raise BadInput(
            f"{folder / RUN}: the run cannot be read: {error.strerror}; 'offbeat program run --folder DIR'"
            " writes one"
        ) from None
    except msgspec.DecodeError as error:
        raise BadInput(f"{folder / RUN}: this describes no run ({error}); run the program again") from None


def _mapped(path: Path) -> tuple[np.void, NDArray[np.int64], NDArray[np.void]]:
    """A file's header, its times of the phases alone in ns (times, phases) and its iterations.

    The pages of the file are read when they are used.

    Raises :class:`ValueError` unless the file has the size that its header states.
    """
    content = map_file(path)
    header = np.frombuffer(content, HEADER, 1)[0]
    phases, alone, count = (int(header[name]) for name in ("phases", "alone", "iterations"))
    offset = HEADER.itemsize + 8 * phases * alone
    if min(phases, alone, count) < 0 or len(content) != offset + ITERATION.itemsize * count:
        raise ValueError("its size is not that of the times in it")
    return (
        header,
        np.frombuffer(content, np.int64, alone * phases, HEADER.itemsize).reshape(alone, phases),
        np.frombuffer(content, ITERATION, count, offset),
    )


def _count(iterations: NDArray[np.void]) -> int:
    """How many iterations from the first one on are complete: their ends are not 0."""
    low, high = 0, len(iterations)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if iterations["end"][middle] else (low, middle)
    return low


class _Rank:
    """The file of a rank."""

    def __init__(self, path: Path, program: Program) -> None:
        try:
            header, alone_ns, self._iterations = _mapped(path)
        except (OSError, ValueError, OverflowError) as error:
            raise BadInput(
                f"{path}: the times of this rank cannot be read: {error}; run the program again"
            ) from None
        expected = (MAGIC, len(program.file.phase), program.file.iterations, program.file.ranks)
        found = (header["magic"], header["phases"], header["iterations"], header["ranks"])
        if found != expected:
            raise BadInput(f"{path}: these are not the times of the program in {RUN}; run the program again")
        self._header = header
        self.alone_s = alone_ns * 1e-9
        self.host = header["host"].decode("ascii", "replace")
        self.domain = int(header["domain"])
        self.bound_s = int(header["bound"]) * 1e-9
        self.complete = _count(self._iterations)
        ends = self._iterations["end"][: self.complete]
        clocks_ns = np.append(ends, [header[name] for name in _CLOCKS])
        if clocks_ns.min() <= -_MAX_CLOCK_NS or clocks_ns.max() >= _MAX_CLOCK_NS:
            raise BadInput(f"{path}: a clock is more than 146 years from its origin; the file is damaged")
        if (np.diff(ends, prepend=header["begin_local"]) < 0).any():
            raise BadInput(f"{path}: an iteration ends before it begins; the file is damaged")

    def end_s(self, count: int) -> NDArray[np.float64]:
        """The ends of the first iterations on the shared clock, in seconds since the common start.

        After the run, clocks are compared again: between both comparisons they drift evenly.
        """
        header = self._header
        since_ns = self._iterations["end"][:count] - header["begin_local"]
        rate = 1.0
        if header["end_local"] > header["begin_local"]:
            rate = (header["end_global"] - header["begin_global"]) / (
                header["end_local"] - header["begin_local"]
            )
        end_s: NDArray[np.float64] = (header["begin_global"] - header["start"] + since_ns * rate) * 1e-9
        return end_s

    def communication_s(self, count: int) -> NDArray[np.float32]:
        """The time in communication of the first iterations."""
        return (self._iterations["communication"][:count] * 1e-9).astype(np.float32)
