"""Opens a trace: a folder with one file per rank. Defects are reported as notes."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from offbeat.base.errors import BadInput
from offbeat.base.progress_bar import ProgressBar
from offbeat.base.units import amount
from offbeat.trace.calls.call_sites import AddressResolver, CallSites
from offbeat.trace.calls.communicators import Communicators
from offbeat.trace.files import format as form
from offbeat.trace.files.folder import SUFFIX
from offbeat.trace.files.format import Function
from offbeat.trace.files.rank_file import Header, RankFile, open_file
from offbeat.trace.files.shared_time import Clocks

SPAWNED_PREFIX = "spawned-"
"""Beginning of the names of folders with traces of processes that MPI spawned; of files in early traces."""

Progress = Callable[[int, int], None]
"""Called with the number of records processed so far and the upper limit of their number."""


class FunctionNumbers:
    """Converts the ids by which a file names functions into indices into the functions of the trace."""

    def __init__(self, numbers: dict[int, int]) -> None:
        self._numbers = np.full(max(numbers, default=0) + 2, -1, dtype=np.int32)
        for function_id, number in numbers.items():
            self._numbers[function_id] = number

    def indices(self, entries: NDArray[Any]) -> NDArray[np.int32]:
        """The function of each record or message, (n,); -1 for ids that the file does not define."""
        ids = entries["function"].astype(np.int32)
        return self._numbers[np.minimum(ids, len(self._numbers) - 1)]


class Trace:
    """An open trace. ``files`` are the readable files in the order of ranks; ``notes`` state defects."""

    def __init__(self, directory: Path, files: Sequence[RankFile], notes: Sequence[str]) -> None:
        self.directory = directory
        self.files = list(files)
        self.notes = list(notes)
        self.size = max(file.header.size for file in files)
        self.communicators = Communicators(files)
        self.clocks = Clocks([file.header for file in files], [file.definitions.points for file in files])
        self.notes += self.clocks.notes
        self.functions = _functions(files)
        self._function_numbers = {function.name: place for place, function in enumerate(self.functions)}
        self.sites = CallSites()
        self._resolvers: dict[int, AddressResolver] = {}

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
        """Upper limit of the number of records, for progress."""
        return sum(file.most_records for file in self.files)

    @property
    def most_messages(self) -> int:
        """Upper limit of the number of messages, for progress."""
        return sum(file.most_messages for file in self.files)

    @property
    def has_messages(self) -> bool:
        """Whether point-to-point calls were recorded, even if there were none."""
        return any(file.header.has_messages for file in self.files)

    @property
    def sampling_interval(self) -> int:
        """N where every Nth call on each communicator was recorded; 1 without sampling."""
        return max(max(file.header.period for file in self.files), 1)

    def function_number(self, name: str) -> int:
        """Index into :attr:`functions`; -1 if no file defines the function."""
        return self._function_numbers.get(name, -1)

    def function_numbers(self, file: RankFile) -> FunctionNumbers:
        """The functions of one file's records and messages as indices into :attr:`functions`."""
        functions = file.definitions.functions
        return FunctionNumbers({number: self.function_number(one.name) for number, one in functions.items()})

    def sites_of(self, file: RankFile) -> AddressResolver:
        """Resolves the return addresses of a file to call sites."""
        resolver = self._resolvers.get(file.header.rank)
        if resolver is None:
            resolver = AddressResolver(file.definitions.mappings, file.definitions.paths, self.sites)
            self._resolvers[file.header.rank] = resolver
        return resolver


def open_trace(directory: Path) -> Trace:
    """Open a trace. Raises :class:`BadInput` if no file of it can be read."""
    paths = _paths(Path(directory))
    files, faults = [], []
    for path in paths:
        try:
            files.append(open_file(path))
        except BadInput as error:
            faults.append(str(error))
    if not files:
        more = f" (and {amount(len(faults) - 1, 'file')} more)" if len(faults) > 1 else ""
        raise BadInput(f"no file of the trace {directory} can be read: {faults[0]}{more}")
    files, run_notes = _of_one_run(files)
    notes = [*faults, *run_notes, *_spawned_notes(Path(directory)), *_missing_notes(files), *_damages(files)]
    return Trace(Path(directory), files, notes)


def _spawned_notes(directory: Path) -> list[str]:
    """The processes that MPI spawned, whose traces are in folders of their own."""
    folders = [path.parent for path in sorted(directory.glob(f"{SPAWNED_PREFIX}*/*{SUFFIX}"))]
    ranks = {folder: folders.count(folder) for folder in folders}
    return [
        f"{amount(count, 'rank')} that MPI_Comm_spawn started: a trace of its own, {folder}"
        for folder, count in ranks.items()
    ]


def _paths(directory: Path) -> list[Path]:
    try:
        paths = sorted(path for path in directory.iterdir() if path.suffix == SUFFIX)
        paths = [path for path in paths if not path.name.startswith(SPAWNED_PREFIX)] or paths
    except OSError as error:
        problem = "is not a folder" if error.errno == errno.ENOTDIR else f"cannot be read: {error.strerror}"
        raise BadInput(
            f"the trace {directory} {problem}; give the folder that 'offbeat trace run' created"
        ) from error
    if not paths:
        raise BadInput(
            f"the folder {directory} holds no trace: no file rank-*{SUFFIX}; was the program started with"
            " 'offbeat trace run', and did it call MPI_Init?"
        )
    return paths


def _of_one_run(files: list[RankFile]) -> tuple[list[RankFile], list[str]]:
    """The files of the run with the most ranks (the latest such run), one per rank, in the order of ranks."""
    runs: dict[tuple[int, int], dict[int, RankFile]] = {}
    for file in files:
        runs.setdefault((file.header.run, file.header.size), {}).setdefault(file.header.rank, file)
    run = max(runs, key=lambda one: (len(runs[one]), max(f.header.began_unix_ns for f in runs[one].values())))
    by_rank = runs[run]
    other_files = [file for file in files if (file.header.run, file.header.size) != run]
    duplicate_ranks = sorted(
        {f.header.rank for f in files if f not in other_files and by_rank[f.header.rank] is not f}
    )
    notes = (
        [f"{amount(len(other_files), 'file')} of another run in the folder: ignored"] if other_files else []
    )
    if duplicate_ranks:
        notes.append(
            f"{_ranks_text(duplicate_ranks)}: there is more than one file; the first by name is read"
        )
    return [by_rank[rank] for rank in sorted(by_rank)], notes


def _missing_notes(files: Sequence[RankFile]) -> list[str]:
    """Ranks without a file, by OFFBEAT_TRACE_RANKS or by loss."""
    size = max(file.header.size for file in files)
    missing_ranks = sorted(set(range(size)) - {file.header.rank for file in files})
    if not missing_ranks:
        return []
    reason = ", by OFFBEAT_TRACE_RANKS" if "OFFBEAT_TRACE_RANKS" in files[0].header.sampling else ""
    return [
        f"{len(missing_ranks)} of {size} ranks have no file ({spans(missing_ranks)}){reason}:"
        " arrivals are those of the other ranks"
    ]


def _damages(files: Sequence[RankFile]) -> list[str]:
    """The defects of files: each fault once, with its ranks."""
    ranks: dict[str, list[int]] = {}
    for file in files:
        for fault in file.faults:
            ranks.setdefault(fault, []).append(file.header.rank)
        for note in file.definitions.notes:
            if note.startswith(form.MEMORY_DOMAIN_NOTE):
                continue
            ranks.setdefault(note, []).append(file.header.rank)
    file_count = len(files)
    return [
        f"{'all ranks' if len(of) == file_count and file_count > 1 else _ranks_text(of)}: {fault}"
        for fault, of in ranks.items()
    ]


def _ranks_text(ranks: Sequence[int]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {spans(ranks)}"


def spans(ranks: Sequence[int], most_ranges: int = 6) -> str:
    """Ascending numbers as ranges: ``0-3, 7, 9-11``."""
    parts: list[list[int]] = []
    for rank in ranks:
        if parts and rank == parts[-1][-1] + 1:
            parts[-1][-1:] = [rank] if len(parts[-1]) > 1 else [parts[-1][0], rank]
        else:
            parts.append([rank])
    ranges = [str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts]
    return ", ".join(ranges[:most_ranges]) + (", ..." if len(ranges) > most_ranges else "")


def _functions(files: Sequence[RankFile]) -> list[Function]:
    """The functions of all files, each name once."""
    by_name = {function.name: function for file in files for function in file.definitions.functions.values()}
    return [by_name[name] for name in sorted(by_name)]


class ReadProgress(ProgressBar):
    """Shows how much of a trace was read; a context manager."""

    def __init__(self, activity: str, console: Console | None = None) -> None:
        super().__init__(activity, console, counts=False)
        self._activity = activity

    def show_records(self, record_count: int, most_records: int) -> None:
        """Show the share of the trace that was read; ``most_records`` is an upper limit of the number of
        records."""
        self.update(done_count=record_count, total=max(most_records, 1))
        self.print_periodically(f"{self._activity}: {record_count / max(most_records, 1):.0%}")


class ProgressOfBoth:
    """Shows the progress of both parts of a read, records and then messages, as one."""

    def __init__(self, trace: Trace, on_progress: Progress | None) -> None:
        self._on_progress, self._records = on_progress, trace.most_records
        self._total = trace.most_records + trace.most_messages

    def records(self, record_count: int, _most_records: int) -> None:
        """Report that ``record_count`` records were read."""
        if self._on_progress:
            self._on_progress(record_count, self._total)

    def messages(self, message_count: int, _most_messages: int) -> None:
        """Report that all records and ``message_count`` messages were read."""
        if self._on_progress:
            self._on_progress(self._records + message_count, self._total)
