"""A trace as OTF2, for Vampir and the tools of Score-P; needs the Python package ``otf2``.

A rank is a process, a lane a location; calls are regions with MPI collective events. Sizes sent and received
are both the message size as studies state it.
"""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from offbeat.errors import BadInput
from offbeat.trace.events import Told, pieces
from offbeat.trace.read import Trace
from offbeat.whole_file import refused

NAME = "trace"
"""The archive's name: its anchor file is ``trace.otf2``."""

_OPERATIONS = {
    *("BARRIER", "BCAST", "GATHER", "GATHERV", "SCATTER", "SCATTERV", "ALLGATHER", "ALLGATHERV"),
    *("ALLTOALL", "ALLTOALLV", "ALLTOALLW", "ALLREDUCE", "REDUCE", "REDUCE_SCATTER", "SCAN", "EXSCAN"),
    "REDUCE_SCATTER_BLOCK",
}


def export_otf2(
    trace: Trace, path: Path, *, ranks: Sequence[int] | None = None, told: Told | None = None
) -> None:
    """Write an archive into a new folder. Raises :class:`BadInput` where that is not possible."""
    library = _library()
    unfinished = path.with_name(f".{path.name[:200]}.{os.getpid()}")
    try:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise BadInput(
                f"{path} exists; an OTF2 archive is a folder of its own: give the name of a new one"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(library, trace, unfinished, ranks, told)
        unfinished.replace(path)
    except OSError as error:
        raise refused(path, error) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _write(library: Any, trace: Trace, folder: Path, ranks: Sequence[int] | None, told: Told | None) -> None:
    archive = library.writer.Writer(str(folder), archive_name=NAME, timer_resolution=10**9)
    try:
        archive_of = _Archive(library, trace, archive)
        for piece in pieces(trace, ranks=ranks, told=told):
            archive_of.write(piece)
        # The library takes the time of the export for the time of the first event.
        archive._realtime_timestamp = min(header.began_unix_ns for header in trace.headers) / 1e9
        archive.close()
    except importlib.import_module("_otf2").Error as error:
        archive._handle = None  # else it closes, and fails, once more
        raise OSError(f"the OTF2 library could not write to the end ({error}); is the disk full?") from error


def _library() -> Any:
    try:
        return importlib.import_module("otf2")
    except ImportError as error:
        raise BadInput(
            "OTF2 needs the Python package otf2, which is not here: 'pip install otf2' (it exists for CPython"
            " up to 3.11 on x86-64), or export to perfetto, parquet or csv"
        ) from error


class _Archive:
    """Definitions of an archive, made as they are needed, and its events."""

    def __init__(self, library: Any, trace: Trace, archive: Any) -> None:
        self._library, self._trace, self._archive = library, trace, archive
        self._definitions = archive.definitions
        self._paradigm = library.Paradigm.MPI
        self._regions: dict[str, Any] = {}
        self._locations: dict[tuple[int, int], Any] = {}
        self._groups: dict[int, Any] = {}
        self._communicators: dict[int, Any] = {}
        self._requests: dict[tuple[int, ...], int] = {}
        self._next_request = 0
        self._left: dict[tuple[int, int], int] = {}
        self._machine = self._definitions.system_tree_node("machine", class_name="machine")
        self._site = self._definitions.attribute(
            "call site", description="where the collective was called", type=library.Type.STRING
        )
        self._sequence = self._definitions.attribute(
            "sequence", description="number of the call on its communicator", type=library.Type.UINT64
        )
        everyone = tuple(self._location(rank, 0) for rank in range(trace.size))
        self._definitions.group(
            "ranks", group_type=library.GroupType.COMM_LOCATIONS, paradigm=self._paradigm, members=everyone
        )

    def write(self, piece: pl.DataFrame) -> None:
        """Add the events of a frame: of one rank and lane, in their order."""
        for row in piece.iter_rows(named=True):
            location = (row["rank"], row["lane"])
            writer = self._archive.event_writer_from_location(self._location(*location))
            name = row["function"] if row["moment"] != "completion" else _completing(row["completed_by"])
            region = self._region(name)
            about = {self._site: row["site"], self._sequence: row["sequence"]}
            # A call that completes several requests is a region for each: the others as it returns.
            enter = max(row["enter_ns"], self._left.get(location, 0))
            leave = max(row["exit_ns"], enter)
            self._left[location] = leave
            writer.enter(enter, region, attributes=about)
            self._collective(writer, row, enter, leave)
            writer.leave(leave, region)

    def _collective(self, writer: Any, row: dict[str, Any], enter: int, leave: int) -> None:
        collective = row["collective"].removeprefix("MPI_").removesuffix("_c").upper()
        if collective not in _OPERATIONS or row["communicator_index"] < 0:
            return
        operation = getattr(self._library.CollectiveOp, collective)
        communicator = self._communicator(row["communicator_index"])
        root = row["root"] if row["root"] >= 0 else self._library.enums.Undefined.UINT32.value
        if row["moment"] == "call":
            if row["function"].endswith("_init"):
                return
            writer.mpi_collective_begin(enter)
            writer.mpi_collective_end(leave, operation, communicator, root, row["bytes"], row["bytes"])
            return
        key = (row["rank"], row["communicator_index"], row["sequence"], row["round"])
        if row["moment"] == "completion":
            request = self._requests.pop(key, None)
            if request is not None:
                writer.non_blocking_collective_complete(
                    leave, operation, communicator, root, row["bytes"], row["bytes"], request
                )
            return
        self._next_request += 1
        self._requests[key] = self._next_request
        writer.non_blocking_collective_request(leave, self._next_request)

    def _region(self, name: str) -> Any:
        if name not in self._regions:
            self._regions[name] = self._definitions.region(
                name, paradigm=self._paradigm, region_role=self._library.RegionRole.FUNCTION
            )
        return self._regions[name]

    def _location(self, rank: int, lane: int) -> Any:
        if (rank, lane) not in self._locations:
            host = self._trace.host_of(rank) or "not traced"
            node = self._definitions.system_tree_node(host, class_name="node", parent=self._machine)
            if rank not in self._groups:
                self._groups[rank] = self._definitions.location_group(f"rank {rank}", system_tree_parent=node)
            self._locations[(rank, lane)] = self._definitions.location(
                f"rank {rank} lane {lane}", group=self._groups[rank]
            )
        return self._locations[(rank, lane)]

    def _communicator(self, index: int) -> Any:
        if index not in self._communicators:
            one = self._trace.communicators.all[index]
            members = tuple(self._location(int(rank), 0) for rank in one.members if rank >= 0)
            group = self._definitions.group(
                f"{one.label} #{index}",
                group_type=self._library.GroupType.COMM_GROUP,
                paradigm=self._paradigm,
                members=members,
            )
            self._communicators[index] = self._definitions.comm(one.label, group=group)
        return self._communicators[index]


def _completing(by: str) -> str:
    """``MPI_Waitall`` of ``waitall``."""
    return f"MPI_{by.capitalize()}" if by else "MPI_Wait"
