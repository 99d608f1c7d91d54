"""The format of trace files as numpy types, and the definitions in them.

``native/trace/format.h`` documents the format; every structure equals the C structure of the same name, which
a test verifies.
"""

from __future__ import annotations

import struct
from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

MAGIC = b"OFFBEATT"
VERSION = 5
"""Files of versions 1, without call paths, 2, without messages, 3, without probes, polls and marks, and 4,
without checksums, can be read as well."""
FIRST_VERSION_WITH_CHECKSUMS = 5
"""The first version with checksums."""
PAGE_BYTES = 65536
PAGE_HEADER_BYTES = 64
PAGE_WORDS = (PAGE_BYTES - PAGE_HEADER_BYTES) // 8
RECORD_BYTES = 72
RECORDS_A_PAGE = (PAGE_BYTES - PAGE_HEADER_BYTES) // RECORD_BYTES
MOST_TEMPLATES, TEMPLATE_WORDS = 1000, 7
"""Of a page of encoded records: how many templates it may have, and the size of a template."""
MESSAGE_BYTES = 64
MESSAGES_A_PAGE = (PAGE_BYTES - PAGE_HEADER_BYTES) // MESSAGE_BYTES

RUNNING, FINALIZED, EXITED, ABORTED = range(4)
"""How the process ended: ``state`` of the header."""

EMPTY, RECORDS, DEFINITIONS, MESSAGES, ENCODED = range(5)
"""Kinds of pages."""

PHASE = 3
CALL, ISSUE, START, COMPLETION = range(4)
"""The part of a call that a record describes: ``flags & PHASE``."""

IN_PLACE, COMMUTES, LARGE, FAILED, FORTRAN, ANY_SOURCE, ANY_TAG, CANCELLED, SHARED = (
    1 << bit for bit in range(2, 11)
)
BY_SHIFT = 12
BY_FREE = 9
"""A completion by MPI_Request_free: the end of the operation is unknown."""

SEND, RECEIVE, PARTITIONED_SEND, PARTITIONED_RECEIVE, READY, ARRIVED, PROBE, REQUESTS, POLL, MARK = range(
    1, 11
)
"""``kind`` of a message: what the call does. REQUESTS, POLL and MARK have no communicator and no peer."""

UNKNOWN, PEER_PROC_NULL = -1, -2
"""``peer`` of a message: a wildcard that no status has resolved (``tag`` likewise), and MPI_PROC_NULL."""

BLOCKING, NONBLOCKING, PERSISTENT, CONSTRUCTOR = range(4)
"""``mode`` of a function."""

(
    FUNCTION,
    COMMUNICATOR,
    MEMBERS,
    COMMUNICATOR_NAME,
    COMMUNICATOR_END,
    DATATYPE,
    OPERATION,
    MAPPING,
    CLOCK_POINT,
    NOTE,
    PATH,
) = range(1, 12)
"""Kinds of definitions."""

MEMORY_DOMAIN_NOTE = "memory domain "
"""How a note begins that says in which memory domain the rank runs; a number follows, which is unique among
all nodes of the run."""

IS_PATH = 1 << 63
"""Flag in the ``address`` of a record that contains the id of a call path."""

HEADER = np.dtype(
    {
        "names": [
            *("magic", "version", "page_bytes", "page_header_bytes", "record_bytes", "rank", "size", "run"),
            *("pid", "began_ns", "began_unix_ns", "drift_limit", "wander", "state", "lanes", "ended_ns"),
            *("pages", "lost_count", "lost_because", "period", "bytes_limit", "stamps_wrong_ns"),
            *("has_messages", "checksum", "state_checksum"),
            *("host", "program", "library", "source", "sampling"),
        ],
        "formats": [
            *("S8", "<u4", "<u4", "<u4", "<u4", "<i4", "<i4", "<u8"),
            *("<i8", "<i8", "<i8", "<f8", "<f8", "<u4", "<u4", "<i8"),
            *("<u8", "<u8", "<i4", "<u4", "<u8", "<i8"),
            *("<u4", "<u8", "<u8"),
            *("S256", "S1024", "S1024", "S64", "S1408"),
        ],
        "offsets": [
            *(0, 8, 12, 16, 20, 24, 28, 32),
            *(40, 48, 56, 64, 72, 80, 84, 88),
            *(96, 104, 112, 116, 120, 128),
            *(136, 144, 152),
            *(256, 512, 1536, 2560, 2624),
        ],
        "itemsize": 4032,
    }
)

_COMMON_FIELDS = [
    *(("enter_ns", "<i8"), ("exit_ns", "<i8"), ("address", "<u8"), ("bytes", "<u8")),
    ("communicator", "<u4"),
]
"""How records and messages begin."""

RECORD = np.dtype(
    [
        *_COMMON_FIELDS,
        ("sequence", "<u4"),
        ("round", "<u4"),
        ("root", "<i4"),
        ("function", "<u2"),
        ("datatype", "<u2"),
        ("operation", "<u2"),
        ("flags", "<u2"),
        ("largest_bytes", "<u8"),
        ("blocks", "<u4"),
        ("empty_blocks", "<u4"),
    ]
)

RECORD_BEFORE_5 = np.dtype([(name, RECORD[name]) for name in (RECORD.names or ())[:-3]])
"""A record of versions 1 to 4."""

MESSAGE = np.dtype(
    [
        *_COMMON_FIELDS,
        ("request", "<u4"),
        ("round", "<u4"),
        ("peer", "<i4"),
        ("tag", "<i4"),
        ("partition", "<i4"),
        ("function", "<u2"),
        ("datatype", "<u2"),
        ("kind", "<u2"),
        ("flags", "<u2"),
    ]
)

DEFINITION = struct.Struct("<IHH")
"""bytes, kind, zero."""

BODIES = {
    FUNCTION: struct.Struct("<HHHH"),  # id, mode, collective, name_bytes
    COMMUNICATOR: struct.Struct(
        "<IIQIIIiHHIq"
    ),  # id, parent, hash, ordinal, size, remote_size, rank, constructor,
    # topology, zero, created_ns
    MEMBERS: struct.Struct("<IIII"),  # communicator, is_remote, first, count
    COMMUNICATOR_NAME: struct.Struct("<II"),  # communicator, name_bytes
    COMMUNICATOR_END: struct.Struct("<IIqQ"),  # communicator, zero, ended_ns, sequences
    DATATYPE: struct.Struct("<HHIQ"),  # id, is_derived, name_bytes, size_bytes
    OPERATION: struct.Struct("<HHHH"),  # id, is_own, commutes, name_bytes
    MAPPING: struct.Struct("<QQQII"),  # start, end, offset, path_bytes, zero
    CLOCK_POINT: struct.Struct("<qqqdII"),  # local_ns, shared_ns, bound_ns, rate, is_shared, replaces_before
    NOTE: struct.Struct("<qII"),  # at_ns, text_bytes, zero
    PATH: struct.Struct("<IHHII"),  # id, address_count, python_count, text_bytes, zero
}
"""The fixed part of a definition's body by its kind; texts and ranks follow it."""


MOST_MEMBERS = MOST_COMMUNICATORS = 2**24
"""Plausible limits; definitions beyond them are damaged."""

_MOST_CALLS = 2**32
"""The sequence number of a call on its communicator has 32 bits."""


class Function(Struct, frozen=True):
    """An MPI function; ``collective`` is the name of its blocking variant."""

    name: str
    mode: int
    collective: str


class DefinedCommunicator(Struct):
    """A communicator as one file defines it; ``members`` are parts (is_remote, first rank, world ranks).
    ``calls`` is the number of calls on it until it was freed, recorded or not; -1 if it was not freed.
    """

    id: int
    parent: int
    hash: int
    ordinal: int
    size: int
    remote_size: int
    rank: int
    constructor: int
    name: str = ""
    calls: int = -1
    members: list[tuple[bool, int, NDArray[np.int32]]] = []


class Mapping(Struct, frozen=True):
    """Code in memory: addresses from ``start`` up to ``end`` are ``path`` from ``offset`` on."""

    start: int
    end: int
    offset: int
    path: str


class PythonFrame(Struct, frozen=True):
    """A frame of the Python interpreter."""

    file: str
    line: int
    function: str


class CallPath(Struct, frozen=True):
    """Addresses to which a call and its callers return, and Python's frames, innermost first.

    The call path of a simulated program is one frame, without addresses: the phase in the program file.
    """

    addresses: tuple[int, ...]
    python: tuple[PythonFrame, ...]


class ClockPoint(Struct, frozen=True):
    """The same moment on the local and on the shared clock; ``rate`` is the slope there, minus 1."""

    local_ns: int
    shared_ns: int
    bound_ns: int
    rate: float
    is_shared: bool


class Definitions(Struct):
    """All definitions of one file by its own ids; ``invalid`` counts definitions that cannot be read.

    Of datatypes and operations only the names are kept.
    """

    functions: dict[int, Function] = {}
    communicators: dict[int, DefinedCommunicator] = {}
    datatypes: dict[int, str] = {}
    operations: dict[int, str] = {}
    mappings: list[Mapping] = []
    paths: dict[int, CallPath] = {}
    points: list[ClockPoint] = []
    notes: list[str] = []
    invalid: int = 0


def read_page(page: bytes, definitions: Definitions) -> None:
    """Add the definitions of a page (without its header), which may be truncated."""
    offset = 0
    while offset + DEFINITION.size <= len(page):
        length, kind, _ = DEFINITION.unpack_from(page, offset)
        if kind == 0:
            return
        body = BODIES.get(kind)
        if length < DEFINITION.size or length % 8 or offset + length > len(page):
            definitions.invalid += 1
            return
        start = offset + DEFINITION.size
        offset += length
        if body is None:  # a kind that a later version of the format added
            continue
        if start + body.size > offset:
            definitions.invalid += 1
            continue
        _add(kind, body.unpack_from(page, start), page[start + body.size : offset], definitions)


def resolve_collectives(definitions: Definitions) -> None:
    """Replace the numbers of collectives by their names, once all functions were read."""
    names = {str(number): function.name for number, function in definitions.functions.items()}
    for number, function in definitions.functions.items():
        collective = names.get(function.collective, function.name)
        definitions.functions[number] = _function(function.name, function.mode, collective)


@lru_cache(maxsize=4096)
def _function(name: str, mode: int, collective: str) -> Function:
    """One object per function, shared by all files."""
    return Function(name, mode, collective)


def _add(kind: int, values: tuple, variable_part: bytes, definitions: Definitions) -> None:
    """Add a definition: the ``values`` of the fixed part of its body, and the ``variable_part`` after it."""
    if kind == FUNCTION:
        number, mode, collective, length = values
        definitions.functions[number] = Function(_text(variable_part[:length]), mode, str(collective))
    elif kind == DATATYPE:
        number, _, length, _ = values
        definitions.datatypes[number] = _text(variable_part[:length])
    elif kind == OPERATION:
        number, _, _, length = values
        definitions.operations[number] = _text(variable_part[:length])
    elif kind == MAPPING:
        start, end, offset, length, _ = values
        definitions.mappings.append(Mapping(start, end, offset, _text(variable_part[:length])))
    elif kind == CLOCK_POINT:
        local_ns, shared_ns, bound_ns, rate, is_shared, replaces_before = values
        if replaces_before:
            definitions.points.clear()
        definitions.points.append(ClockPoint(local_ns, shared_ns, bound_ns, rate, bool(is_shared)))
    elif kind == PATH:
        number, addresses, frames, length, _ = values
        path = _path(addresses, frames, length, variable_part)
        if path is None:
            definitions.invalid += 1
        else:
            definitions.paths[number] = path
    elif kind == NOTE:
        definitions.notes.append(_text(variable_part[: values[1]]))
    elif kind == COMMUNICATOR:
        communicator = DefinedCommunicator(*values[:8])
        size = communicator.size + communicator.remote_size
        if 0 < size <= MOST_MEMBERS and communicator.id <= MOST_COMMUNICATORS:
            definitions.communicators[communicator.id] = communicator
        else:
            definitions.invalid += 1
    elif values[0] in definitions.communicators:
        _add_to(definitions.communicators[values[0]], kind, values, variable_part, definitions)
    else:
        definitions.invalid += 1


def _path(addresses: int, frames: int, length: int, variable_part: bytes) -> CallPath | None:
    """A call path; None where the definition is damaged."""
    text = _text(variable_part[8 * addresses : 8 * addresses + length]).split("\n")
    if addresses + frames == 0 or 8 * addresses + length > len(variable_part) or len(text) != 3 * frames + 1:
        return None
    lines = [int(line) if line.isdecimal() and len(line) < 10 else 0 for line in text[1::3]]
    python = tuple(map(PythonFrame, text[:-1:3], lines, text[2::3]))
    return CallPath(struct.unpack_from(f"<{addresses}Q", variable_part), python)


def _add_to(
    communicator: DefinedCommunicator,
    kind: int,
    values: tuple,
    variable_part: bytes,
    definitions: Definitions,
) -> None:
    """Add members, the name or the end of a communicator."""
    if kind == MEMBERS:
        _, is_remote, first, count = values
        ranks = np.frombuffer(variable_part[: 4 * count], dtype="<i4")
        definitions.invalid += len(ranks) < count
        communicator.members.append((bool(is_remote), first, ranks))
    elif kind == COMMUNICATOR_NAME:
        communicator.name = _text(variable_part[: values[1]])
    elif kind == COMMUNICATOR_END:
        communicator.calls = min(max(values[3] - 1, 0), _MOST_CALLS)  # without the call that freed it


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")
