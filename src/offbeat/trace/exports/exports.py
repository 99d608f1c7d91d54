"""Exports of a trace: Perfetto, Parquet, CSV and OTF2.

OTF2 is for Vampir and the tools of Score-P, and needs the Python package ``otf2``. A rank is a process, a
lane a location; calls are regions with MPI collective events. The bytes sent and received are those of a
process's role in the collective (:mod:`offbeat.trace.calls.call_bytes`); on an inter-communicator, where
the sizes of the two groups are not recorded for each call, both are the message size. Point-to-point calls
are in every format: events of messages in Perfetto's and OTF2's, a second file of Parquet and CSV.
"""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

import offbeat
from offbeat.base.atomic_write import atomic_writer, write_error
from offbeat.base.errors import BadInput
from offbeat.model.study.collectives import PROPERTIES
from offbeat.trace.calls.call_bytes import UNEVEN, Role, collective_name, exchanged_bytes
from offbeat.trace.exports.export_tables import MESSAGES_SUFFIX, TABLES, csv_table, parquet_table
from offbeat.trace.files.record_table import COLUMNS, MESSAGE_COLUMNS, message_pieces, pieces, rows_in_order
from offbeat.trace.files.trace_folder import Progress, Trace
from offbeat.trace.messages.message_events import Otf2Messages, called_function, message_events
from offbeat.trace.recording import check

OTF2_NAME = "traces"
"""The archive's name: its anchor file is ``traces.otf2``, as with Score-P."""

_OPERATIONS = {name.upper() for name, row in PROPERTIES.items() if not row.is_of_neighbours}
"""OTF2's collective operations: it has none of neighbourhood collectives."""


def _write_otf2(trace: Trace, path: Path, ranks: Sequence[int] | None, on_progress: Progress | None) -> None:
    """Write an archive into a new folder. Raises :class:`BadInput` and OSError."""
    library = _otf2_library()
    partial_archive = path.with_name(f".{path.name[:200]}.{os.getpid()}")
    try:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise BadInput(f"{path} exists; an OTF2 archive is a separate folder: give the name of a new one")
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_archive(library, trace, partial_archive, ranks, on_progress)
        partial_archive.replace(path)
    finally:
        shutil.rmtree(partial_archive, ignore_errors=True)


def _write_archive(
    library: Any, trace: Trace, folder: Path, ranks: Sequence[int] | None, on_progress: Progress | None
) -> None:
    archive = library.writer.Writer(str(folder), archive_name=OTF2_NAME, timer_resolution=10**9)
    try:
        archive_of = _Archive(library, trace, archive)
        for row in rows_in_order(trace, ranks=ranks, on_progress=on_progress):
            archive_of.write(row)
        # The library takes the time of the export for the time of the first event.
        archive._realtime_timestamp = min(header.began_unix_ns for header in trace.headers) / 1e9
        archive.close()
    except importlib.import_module("_otf2").Error as error:
        archive._handle = None  # else it closes, and fails, once more
        raise OSError(f"the OTF2 library could not write to the end ({error}); is the disk full?") from error


def _otf2_library() -> Any:
    try:
        return importlib.import_module("otf2")
    except ImportError as error:
        raise BadInput(
            "OTF2 needs the Python package otf2, which is not installed: 'pip install otf2' (available for"
            " CPython up to 3.11 on x86-64), or export to perfetto, parquet or csv"
        ) from error


_CALL = ["communicator_index", "sequence", "round"]


class _Archive:
    """Writes events to an archive, and creates definitions on demand."""

    def __init__(self, library: Any, trace: Trace, archive: Any) -> None:
        self._library, self._trace, self._archive = library, trace, archive
        self._definitions = archive.definitions
        self._paradigm = library.Paradigm.MPI
        self._region = cache(self._new_region)
        self._location = cache(self._new_location)
        self._group = cache(self._new_group)
        self._communicator = cache(self._new_communicator)
        self._rank_in_communicator = cache(self._find_rank)
        self._requests: dict[tuple[int, ...], int] = {}
        self._next_request = 0
        self._messages = Otf2Messages(self._communicator, self._number)
        self._totals = _totals(trace)
        self._hosts = {header.rank: header.host for header in trace.headers}
        self._left: dict[tuple[int, int], int] = {}
        self._machine = self._definitions.system_tree_node("machine", class_name="machine")
        self._site = self._definitions.attribute(
            "call site", description="where the collective was called", type=library.Type.STRING
        )
        self._sequence = self._definitions.attribute(
            "sequence", description="number of the call on its communicator", type=library.Type.UINT64
        )
        locations = tuple(self._location(rank, 0) for rank in range(trace.size))
        self._definitions.group(
            "ranks", group_type=library.GroupType.COMM_LOCATIONS, paradigm=self._paradigm, members=locations
        )

    def write(self, row: dict[str, Any]) -> None:
        """Write the events of a row; those of a rank and lane are in their order."""
        location = (row["rank"], row["lane"])
        writer = self._archive.event_writer_from_location(self._location(*location))
        region = self._region(called_function(row))
        # A function that completes several requests is one region per request; all but the first one have a
        # duration of 0 at its end.
        enter = max(row["enter_ns"], self._left.get(location, 0))
        leave = max(row["exit_ns"], enter)
        self._left[location] = leave
        if "kind" in row:
            writer.enter(enter, region, attributes={self._site: row["site"]})
            self._messages.write(writer, row, enter, leave)
        else:
            writer.enter(enter, region, attributes={self._site: row["site"], self._sequence: row["sequence"]})
            self._collective(writer, row, enter, leave)
        writer.leave(leave, region)

    def _collective(self, writer: Any, row: dict[str, Any], enter: int, leave: int) -> None:
        collective = collective_name(row["collective"]).upper()
        if collective not in _OPERATIONS or row["communicator_index"] < 0:
            return
        operation = getattr(self._library.CollectiveOp, collective)
        communicator = self._communicator(row["communicator_index"])
        root = row["root"] if row["root"] >= 0 else self._library.enums.Undefined.UINT32.value
        if row["moment"] == "call":
            if row["function"].endswith("_init"):
                return
            writer.mpi_collective_begin(enter)
            writer.mpi_collective_end(leave, operation, communicator, root, *self._exchanged_bytes(row))
            return
        key = (row["rank"], row["communicator_index"], row["sequence"], row["round"])
        if row["moment"] == "completion":
            request = self._requests.pop(key, None)
            if request is not None:
                writer.non_blocking_collective_complete(
                    leave, operation, communicator, root, *self._exchanged_bytes(row), request
                )
            return
        self._requests[key] = self._number()
        writer.non_blocking_collective_request(leave, self._requests[key])

    def _number(self) -> int:
        """The number of a further request."""
        self._next_request += 1
        return self._next_request

    def _exchanged_bytes(self, row: dict[str, Any]) -> tuple[int, int]:
        """The bytes that the process of a row sends and receives in its call."""
        index = row["communicator_index"]
        rank = self._rank_in_communicator(index, row["rank"])
        if self._trace.communicators.table[index].is_inter or rank < 0:
            return row["bytes"], row["bytes"]
        call = (index, row["sequence"], row["round"])
        return exchanged_bytes(
            Role(
                collective=collective_name(row["collective"]),
                rank=rank,
                processes=row["processes"],
                root=row["root"],
                block_bytes=row["bytes"],
                vector_bytes=row["sent_bytes"],
                total_bytes=self._totals.get(call, row["bytes"] * row["processes"]),
                in_place=row["in_place"],
            )
        )

    def _find_rank(self, index: int, rank: int) -> int:
        """A world rank's rank in a communicator, -1 if unknown."""
        positions = np.flatnonzero(self._trace.communicators.table[index].members == rank)
        return int(positions[0]) if len(positions) else -1

    def _new_region(self, name: str) -> Any:
        return self._definitions.region(
            name, paradigm=self._paradigm, region_role=self._library.RegionRole.FUNCTION
        )

    def _new_location(self, rank: int, lane: int) -> Any:
        return self._definitions.location(f"rank {rank} lane {lane}", group=self._group(rank))

    def _new_group(self, rank: int) -> Any:
        """The process of a rank, on its node."""
        host = self._hosts.get(rank) or "not traced"
        node = self._definitions.system_tree_node(host, class_name="node", parent=self._machine)
        return self._definitions.location_group(f"rank {rank}", system_tree_parent=node)

    def _new_communicator(self, index: int) -> Any:
        communicator = self._trace.communicators.table[index]
        group = self._definitions.group(
            f"{communicator.label} #{index}",
            group_type=self._library.GroupType.COMM_GROUP,
            paradigm=self._paradigm,
            members=tuple(self._location(int(rank), 0) for rank in communicator.members if rank >= 0),
        )
        return self._definitions.comm(communicator.label, group=group)


def _totals(trace: Trace) -> dict[tuple[int, ...], int]:
    """The sum of all processes' blocks of each uneven call, by communicator, sequence and round."""
    if not any(collective_name(function.collective) in UNEVEN for function in trace.functions):
        return {}
    parts = [_uneven(piece) for piece in pieces(trace)]
    if not parts:
        return {}
    sums = pl.concat(parts).group_by(_CALL).agg(pl.col("bytes").sum())
    return {tuple(call): total for *call, total in sums.iter_rows()}


def _uneven(piece: pl.DataFrame) -> pl.DataFrame:
    names = [f"MPI_{name.capitalize()}{large}" for name in UNEVEN for large in ("", "_c")]
    uneven_calls = piece.filter(
        pl.col("collective").is_in(names)
        & (pl.col("moment") != "completion")
        & ~pl.col("function").str.contains("_init")
    )
    return uneven_calls.group_by(_CALL).agg(pl.col("bytes").sum())


Writer = Callable[[Trace, Path, Sequence[int] | None, Progress | None], None]
"""Writes the records of some ranks (None: all) to a path. Raises OSError."""


def ranks_of(text: str, trace: Trace, option: str = "--ranks") -> list[int] | None:
    """Parse ranks like ``0-3,8,16-``, the value of an option; None for all. Raises :class:`BadInput`."""
    if not text:
        return None
    try:
        check({"OFFBEAT_TRACE_RANKS": text})
    except BadInput:
        raise BadInput(f"{option} {text}: give numbers and ranges like 0-3,8,16-") from None
    requested_ranks: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        end = int(last) if last else trace.size - 1 if dash else int(first)
        requested_ranks.update(range(int(first), min(end, trace.size - 1) + 1))
    traced_ranks = sorted(requested_ranks & {file.header.rank for file in trace.files})
    if not traced_ranks:
        raise BadInput(f"{option} {text}: the trace has none of these ranks")
    return traced_ranks


def export(
    trace: Trace,
    path: Path,
    export_format: str,
    *,
    ranks: Sequence[int] | None = None,
    on_progress: Progress | None = None,
) -> list[Path]:
    """Write the records of some ranks (None: all) in one of EXPORTS. Raises :class:`BadInput` on failure.

    Returns the files or the folder. Tables of messages are a file of their own beside that of collectives.
    """
    _, write = EXPORTS[export_format]
    message_path = path.with_name(f"{path.stem}{MESSAGES_SUFFIX}{path.suffix}")
    has_table = export_format in TABLES and trace.most_messages > 0
    try:
        if has_table:
            TABLES[export_format](message_path, MESSAGE_COLUMNS, message_pieces(trace, ranks=ranks), trace)
        write(trace, path, ranks, on_progress)
    except (OSError, BadInput) as error:
        if has_table:
            message_path.unlink(missing_ok=True)
        raise (write_error(path, error) if isinstance(error, OSError) else error) from error
    return [path, message_path] if has_table else [path]


def _write_csv(trace: Trace, path: Path, ranks: Sequence[int] | None, on_progress: Progress | None) -> None:
    csv_table(path, COLUMNS, pieces(trace, ranks=ranks, on_progress=on_progress), trace)


def _write_parquet(
    trace: Trace, path: Path, ranks: Sequence[int] | None, on_progress: Progress | None
) -> None:
    parquet_table(path, COLUMNS, pieces(trace, ranks=ranks, on_progress=on_progress), trace)


Event = dict[str, Any]


def _write_perfetto(
    trace: Trace, path: Path, ranks: Sequence[int] | None, on_progress: Progress | None
) -> None:
    """Chrome's Trace Event JSON, which https://ui.perfetto.dev and chrome://tracing open.

    A rank is a process, a lane a thread. Every call is a complete event ("X"); the time between the issue of
    a call and its completion is an asynchronous pair ("b", "e"). Times are microseconds with three decimals.
    """
    metadata = {
        "displayTimeUnit": "ns",
        "otherData": {
            "producer": f"offbeat {offbeat.__version__}",
            "program": trace.headers[0].program,
            "library": trace.headers[0].library,
            "notes": trace.notes,
        },
    }
    frames = pieces(trace, ranks=ranks, on_progress=on_progress)
    with atomic_writer(path) as stream:
        stream.write(msgspec.json.encode(metadata)[:-1] + b',"traceEvents":[')
        separator = b"\n"
        calls = chain.from_iterable(map(_events, frames))
        for event in chain(_names(trace, ranks), calls, message_events(trace, ranks)):
            stream.write(separator + msgspec.json.encode(event))
            separator = b",\n"
        stream.write(b"\n]}\n")


def _names(trace: Trace, ranks: Sequence[int] | None) -> Iterator[Event]:
    """Names of processes and threads, and the order of processes."""
    for file in trace.files:
        rank = file.header.rank
        if ranks is not None and rank not in ranks:
            continue
        name = f"rank {rank} on {file.header.host}"
        yield {"ph": "M", "name": "process_name", "pid": rank, "tid": 0, "args": {"name": name}}
        yield {"ph": "M", "name": "process_sort_index", "pid": rank, "tid": 0, "args": {"sort_index": rank}}
        for lane in sorted(file.lanes.keys() | file.message_lanes.keys()):
            name = f"lane {lane}"
            yield {"ph": "M", "name": "thread_name", "pid": rank, "tid": lane, "args": {"name": name}}


_ARGUMENTS = ("site", "communicator", "processes", "sequence", "bytes", "datatype", "operation")


def _events(piece: pl.DataFrame) -> Iterator[Event]:
    for row in piece.iter_rows(named=True):
        moment = row["moment"]
        name = row["function"] if moment == "call" else f"{row['function']} ({moment})"
        arguments = {key: row[key] for key in _ARGUMENTS if row[key] not in ("", None)}
        if row["root"] >= 0:
            arguments["root"] = row["root"]
        arguments |= {key: row[key] for key in ("in_place", "failed", "completed_by") if row[key]}
        if row["bound_ns"]:
            arguments["clock_bound_ns"] = row["bound_ns"]
        coordinates = {"cat": "collective", "pid": row["rank"], "tid": row["lane"]}
        duration = row["exit_ns"] - row["enter_ns"]
        yield {
            "ph": "X",
            "name": name,
            **coordinates,
            "ts": row["enter_ns"] / 1000,
            "dur": duration / 1000,
            "args": arguments,
        }
        if moment == "call":
            continue
        number = f"{row['rank']}.{row['communicator_index']}.{row['sequence']}.{row['round']}"
        pair = {"name": f"{row['function']} under way", **coordinates, "cat": "request", "id": number}
        if moment == "completion":
            yield {"ph": "e", **pair, "ts": row["exit_ns"] / 1000}
        else:
            yield {"ph": "b", **pair, "ts": row["enter_ns"] / 1000, "args": arguments}


EXPORTS: dict[str, tuple[str, Writer]] = {
    "perfetto": (".perfetto.json", _write_perfetto),
    "otf2": (".otf2", _write_otf2),
    "parquet": (".parquet", _write_parquet),
    "csv": (".csv", _write_csv),
}
"""Format → file suffix and writer."""
