"""Synthetic traces of calls that are known beforehand, for benchmarks and the tests of traces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from offbeat.trace.files import encode
from offbeat.trace.files import format as form
from offbeat.trace.files.encode import clock_point, definition, mapping

FUNCTIONS = {
    "MPI_Allreduce": (1, form.BLOCKING, 1),
    "MPI_Iallreduce": (2, form.NONBLOCKING, 1),
    "MPI_Allreduce_init": (3, form.PERSISTENT, 1),
    "MPI_Comm_split": (4, form.CONSTRUCTOR, 4),
    "MPI_Alltoall": (5, form.BLOCKING, 5),
    "MPI_Bcast": (6, form.BLOCKING, 6),
    "MPI_Reduce": (7, form.BLOCKING, 7),
    "MPI_Alltoallv": (8, form.BLOCKING, 8),
    "MPI_Allgatherv": (9, form.BLOCKING, 9),
    "MPI_Gather": (10, form.BLOCKING, 10),
    "MPI_Reduce_scatter": (11, form.BLOCKING, 11),
    "MPI_Scan": (12, form.BLOCKING, 12),
}
"""The functions that made calls can be of: name → id, mode, collective."""

MESSAGE_FUNCTIONS = {
    "MPI_Send": (101, form.BLOCKING, 101),
    "MPI_Isend": (102, form.NONBLOCKING, 101),
    "MPI_Send_init": (103, form.PERSISTENT, 101),
    "MPI_Recv": (104, form.BLOCKING, 104),
    "MPI_Irecv": (105, form.NONBLOCKING, 104),
    "MPI_Recv_init": (106, form.PERSISTENT, 104),
    "MPI_Sendrecv": (107, form.BLOCKING, 107),
    "MPI_Psend_init": (108, form.PERSISTENT, 108),
    "MPI_Precv_init": (109, form.PERSISTENT, 109),
    "MPI_Pready": (110, form.BLOCKING, 110),
    "MPI_Parrived": (111, form.BLOCKING, 111),
    "MPI_Ssend": (112, form.BLOCKING, 112),
    "MPI_Bsend": (113, form.BLOCKING, 113),
    "MPI_Wait": (114, form.BLOCKING, 114),
    "MPI_Waitall": (115, form.BLOCKING, 115),
    "MPI_Test": (116, form.BLOCKING, 116),
    "MPI_Probe": (117, form.BLOCKING, 117),
    "MPI_Iprobe": (118, form.NONBLOCKING, 117),
    "MPI_Mprobe": (119, form.BLOCKING, 119),
    "MPI_Pcontrol": (120, form.BLOCKING, 120),
}
"""The functions that made messages can be of; a file defines those that it has messages of."""

CODE, CODE_OFFSET = 0x400000, 0x1000
"""Where the program's code lies in memory, and from where on in its file."""

RUN = 7
"""The number of the run of all files."""

DRIFT_LIMIT, WANDER = 1 / 2490, 50e-18


def function(name: str) -> bytes:
    """One of FUNCTIONS or MESSAGE_FUNCTIONS."""
    number, mode, collective = (FUNCTIONS | MESSAGE_FUNCTIONS)[name]
    return encode.function(number, mode, collective, name)


def communicator(
    number: int,
    members: Sequence[int],
    rank: int,
    *,
    ordinal: int = 0,
    parent: int = 0,
    remote: Sequence[int] = (),
) -> bytes:
    """A communicator as one of its members records it; MPI_Comm_split created it from its parent, if any.

    Several of the same members differ by ``ordinal``: 0 for the first, and MPI_COMM_WORLD is one of them.
    ``remote`` are the members of an inter-communicator's other group.
    """
    groups = sorted([tuple(members), tuple(remote)]) if remote else tuple(members)
    group = (hash(tuple(groups)) & (2**64 - 1), ordinal)
    sizes, own = (len(members), len(remote)), list(members).index(rank)
    constructor = 4 if parent else 0
    defined = encode.communicator(number, group, sizes, own, parent=parent, constructor=constructor)
    if rank == min([*members, *remote]):
        for is_remote, ranks in enumerate((members, remote) if remote else (members,)):
            defined += encode.members(number, ranks, is_remote=bool(is_remote))
    return defined


def name(number: int, text: str) -> bytes:
    """The name of a communicator."""
    return definition(form.COMMUNICATOR_NAME, (number, len(text)), text.encode())


def freed(number: int, calls: int) -> bytes:
    """A communicator was freed after this many calls on it, recorded or not; freeing is one more call."""
    return definition(form.COMMUNICATOR_END, (number, 0, 0, calls + 1))


@dataclass
class MadeFile:
    """One rank's file: definitions, records and messages by lane, and what its header has besides the
    usual."""

    rank: int
    size: int
    definitions: list[bytes] = field(default_factory=list)
    lanes: dict[int, list[tuple[Any, ...]]] = field(default_factory=dict)
    message_lanes: dict[int, list[tuple[Any, ...]]] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=dict)

    def call(self, enter: int, leave: int, *, lane: int = 0, **values: Any) -> None:
        """Add a record with these local times in ns; its other fields as ``values``, the function by name."""
        chosen = {
            "address": CODE + 0x10,
            "bytes": 8,
            "communicator": 1,
            "sequence": 0,
            "round": 0,
            "root": -1,
            "function": "MPI_Allreduce",
            "datatype": 0,
            "operation": 0,
            "flags": 0,
            "largest_bytes": 0,
            "blocks": 0,
            "empty_blocks": 0,
        } | values
        chosen["function"] = FUNCTIONS[str(chosen["function"])][0]
        record = (enter, leave, *(chosen[field_name] for field_name in (form.RECORD.names or ())[2:]))
        self.lanes.setdefault(lane, []).append(record)

    def message(self, enter: int, leave: int, *, lane: int = 0, **values: Any) -> None:
        """Add a message with these local times in ns; its other fields as ``values``, as :meth:`call`."""
        chosen = {
            "address": CODE + 0x20,
            "bytes": 8,
            "communicator": 1,
            "request": 0,
            "round": 0,
            "peer": 0,
            "tag": 0,
            "partition": 0,
            "function": "MPI_Send",
            "datatype": 0,
            "kind": form.SEND,
            "flags": 0,
        } | values
        defined = function(str(chosen["function"]))
        if defined not in self.definitions:
            self.definitions.append(defined)
        chosen["function"] = MESSAGE_FUNCTIONS[str(chosen["function"])][0]
        message = (enter, leave, *(chosen[field_name] for field_name in (form.MESSAGE.names or ())[2:]))
        self.message_lanes.setdefault(lane, []).append(message)

    def write(self, folder: Path) -> Path:
        """Write the file into an existing folder."""
        pages = encode.definition_pages(self.definitions)
        for lanes, kind in ((self.lanes, form.RECORD), (self.message_lanes, form.MESSAGE)):
            for lane, rows in lanes.items():
                pages += encode.row_pages(np.array(rows, dtype=kind), lane)
        path = folder / f"rank-{self.rank:06}.trace"
        header = self.begin(len(pages) // form.PAGE_BYTES + 1)
        path.write_bytes(header + encode.with_checksums(pages, int(self.header.get("run", RUN)), self.rank))
        return path

    def begin(self, pages: int) -> bytes:
        """The header, padded to a page, of a file with this many pages."""
        values = {
            "rank": self.rank,
            "size": self.size,
            "run": RUN,
            "pid": 100 + self.rank,
            "began_ns": 1,
            "began_unix_ns": 10**18,
            "ended_ns": 10**9,
            "drift_limit": DRIFT_LIMIT,
            "wander": WANDER,
            "state": form.FINALIZED,
            "lanes": len(self.lanes.keys() | self.message_lanes.keys()),
            "pages": pages,
            "host": b"node0",
            "program": b"/usr/bin/app",
            "library": b"Open MPI v5.0.8",
            "source": b"CLOCK_MONOTONIC",
        } | self.header
        return encode.header_page(values)


def files(p: int, *, points: bool = True) -> list[MadeFile]:
    """A file a rank, with functions, MPI_COMM_WORLD and MPI_COMM_SELF, code in memory, and one clock."""
    collected = []
    for rank in range(p):
        start = CODE  # every process has the program at the same place; tests that want others say so
        definitions = [function(one) for one in FUNCTIONS]
        definitions += [communicator(1, range(p), rank), communicator(2, [rank], rank)]
        definitions += [mapping(start, start + 0x10000, CODE_OFFSET, "/usr/bin/app")]
        definitions += [clock_point(1, 1, is_shared=True)] if points else []
        collected.append(MadeFile(rank, p, definitions))
    return collected


def write(folder: Path, made_files: Iterable[MadeFile]) -> Path:
    """Write files into a folder, which is created if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in made_files:
        one.write(folder)
    return folder
