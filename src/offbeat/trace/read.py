"""A trace: the folder with one file a rank, opened; what is wrong with it is said in sentences."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from offbeat.errors import BadInput
from offbeat.trace import format as form
from offbeat.trace.call_sites import AddressResolver, CallSites
from offbeat.trace.clock import Clocks
from offbeat.trace.communicators import Communicators
from offbeat.trace.definitions import Function
from offbeat.trace.rank_file import Header, RankFile, open_file
from offbeat.units import counted

SUFFIX = ".trace"

Progress = Callable[[int, int], None]
"""Called with the number of records processed so far and the upper limit of their number."""


class Trace:
    """An open trace. ``files`` are those that can be read, by rank; ``words`` what people must know of it."""

    def __init__(self, directory: Path, files: Sequence[RankFile], words: Sequence[str]) -> None:
        self.directory = directory
        self.files = list(files)
        self.notes = list(words)
        self.size = max(file.header.size for file in files)
        self.communicators = Communicators(files)
        self.clocks = Clocks([file.header for file in files], [file.definitions.points for file in files])
        self.notes += self.clocks.notes
        self.functions = _functions(files)
        self._function_numbers = {function.name: place for place, function in enumerate(self.functions)}
        self._hosts = {file.header.rank: file.header.host for file in files}
        self.sites = CallSites()
        self._sites_of_file: dict[int, AddressResolver] = {}

    @property
    def headers(self) -> list[Header]:
        """The headers of the files."""
        return [file.header for file in self.files]

    @property
    def hosts(self) -> list[str]:
        """The nodes, in the order of their first ranks."""
        return list(dict.fromkeys(file.header.host for file in self.files))

    @property
    def most_records(self) -> int:
        """At most so many records: for progress."""
        return sum(file.record_pages for file in self.files) * form.RECORDS_A_PAGE

    @property
    def every(self) -> int:
        """Of the calls on each communicator, every so many-th was recorded."""
        return max(max(file.header.every for file in self.files), 1)

    def host_of(self, rank: int) -> str:
        """The node of a world rank; empty if its file is not there."""
        return self._hosts.get(rank, "")

    def function_numbers(self, file: RankFile) -> NDArray[np.int32]:
        """For one file: id of a function → index into :attr:`functions`, -1 where there is none.

        One longer than the largest id; ids beyond it are as the last entry.
        """
        defined = file.definitions.functions
        table = np.full(max(defined, default=0) + 2, -1, dtype=np.int32)
        for number, function in defined.items():
            table[number] = self._function_numbers[function.name]
        return table

    def sites_of(self, file: RankFile) -> AddressResolver:
        """What the addresses of a file mean."""
        made = self._sites_of_file.get(file.header.rank)
        if made is None:
            made = AddressResolver(file.definitions.mappings, file.definitions.paths, self.sites)
            self._sites_of_file[file.header.rank] = made
        return made


def open_trace(directory: Path) -> Trace:
    """Open a trace. Raises :class:`BadInput` where nothing of it can be read."""
    paths = _paths(Path(directory))
    files, faults = [], []
    for path in paths:
        try:
            files.append(open_file(path))
        except BadInput as error:
            faults.append(str(error))
    if not files:
        more = f" (and {counted(len(faults) - 1, 'file')} more)" if len(faults) > 1 else ""
        raise BadInput(f"nothing of the trace {directory} can be read: {faults[0]}{more}")
    files, others = _of_one_run(files)
    return Trace(Path(directory), files, [*faults, *others, *_missing(files), *_damages(files)])


def _paths(directory: Path) -> list[Path]:
    try:
        paths = sorted(path for path in directory.iterdir() if path.suffix == SUFFIX)
    except OSError as error:
        what = "is no folder" if error.errno == errno.ENOTDIR else f"cannot be read: {error.strerror}"
        raise BadInput(
            f"the trace {directory} {what}; give the folder that 'offbeat trace run' made"
        ) from error
    if not paths:
        raise BadInput(
            f"the folder {directory} holds no trace: no file rank-*{SUFFIX}; was the program started with"
            " 'offbeat trace run', and did it call MPI_Init?"
        )
    return paths


def _of_one_run(files: list[RankFile]) -> tuple[list[RankFile], list[str]]:
    """The files of the run with the most ranks (of these, the latest), one a rank, in the order of ranks."""
    runs: dict[tuple[int, int], dict[int, RankFile]] = {}
    for file in files:
        runs.setdefault((file.header.run, file.header.size), {}).setdefault(file.header.rank, file)
    run = max(runs, key=lambda one: (len(runs[one]), max(f.header.began_unix_ns for f in runs[one].values())))
    kept = runs[run]
    strange = [file for file in files if (file.header.run, file.header.size) != run]
    again = sorted({f.header.rank for f in files if f not in strange and kept[f.header.rank] is not f})
    said = [f"{counted(len(strange), 'file')} of another run in the folder: left out"] if strange else []
    if again:
        said.append(f"{_rank_words(again)}: there is more than one file; the first by name is read")
    return [kept[rank] for rank in sorted(kept)], said


def _missing(files: Sequence[RankFile]) -> list[str]:
    """Ranks without a file, whether by wish or by loss."""
    size = max(file.header.size for file in files)
    missing = sorted(set(range(size)) - {file.header.rank for file in files})
    if not missing:
        return []
    wished = "OFFBEAT_TRACE_RANKS" in files[0].header.sampling
    why = ", as OFFBEAT_TRACE_RANKS wished" if wished else ""
    return [
        f"{len(missing)} of {size} ranks have no file ({spans(missing)}){why}:"
        " arrivals are those of the others"
    ]


def _damages(files: Sequence[RankFile]) -> list[str]:
    """What is wrong with files: each fault once, with the ranks that it is true of."""
    ranks: dict[str, list[int]] = {}
    for file in files:
        for fault in file.faults:
            ranks.setdefault(fault, []).append(file.header.rank)
        for note in file.definitions.notes:
            ranks.setdefault(note, []).append(file.header.rank)
    every = len(files)
    return [
        f"{'all ranks' if len(of) == every and every > 1 else _rank_words(of)}: {fault}"
        for fault, of in ranks.items()
    ]


def _rank_words(ranks: Sequence[int]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {spans(ranks)}"


def spans(ranks: Sequence[int], most: int = 6) -> str:
    """Rising numbers in short: ``0-3, 7, 9-11``."""
    parts: list[list[int]] = []
    for rank in ranks:
        if parts and rank == parts[-1][-1] + 1:
            parts[-1][-1:] = [rank] if len(parts[-1]) > 1 else [parts[-1][0], rank]
        else:
            parts.append([rank])
    words = [str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts]
    return ", ".join(words[:most]) + (", ..." if len(words) > most else "")


def _functions(files: Sequence[RankFile]) -> list[Function]:
    """Every function that a file knows, once by its name."""
    by_name = {function.name: function for file in files for function in file.definitions.functions.values()}
    return [by_name[name] for name in sorted(by_name)]
