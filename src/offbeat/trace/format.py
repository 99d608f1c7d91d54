"""The format of trace files as numpy types; it is documented in ``native/trace/format.h``.

Every structure equals the C structure of the same name in that header, which a test verifies.
"""

from __future__ import annotations

from struct import Struct

import numpy as np

MAGIC = b"OFFBEATT"
VERSION = 3
"""Files of version 1, without call paths, and of version 2, without messages, can be read as well."""
PAGE_BYTES = 65536
PAGE_HEADER_BYTES = 64
RECORD_BYTES = 56
RECORDS_A_PAGE = (PAGE_BYTES - PAGE_HEADER_BYTES) // RECORD_BYTES
MESSAGE_BYTES = 64
MESSAGES_A_PAGE = (PAGE_BYTES - PAGE_HEADER_BYTES) // MESSAGE_BYTES

RUNNING, FINALIZED, EXITED, ABORTED = range(4)
"""How the process ended: ``state`` of the header."""

NOTHING, RECORDS, DEFINITIONS, MESSAGES = range(4)
"""Kinds of pages."""

PHASE = 3
CALL, ISSUE, START, COMPLETION = range(4)
"""The part of a call that a record describes: ``flags & PHASE``."""

IN_PLACE, COMMUTES, LARGE, FAILED, FORTRAN, ANY_SOURCE, ANY_TAG, CANCELLED = (
    1 << bit for bit in range(2, 10)
)
BY_SHIFT = 12
BY_FREE = 9
"""A completion by MPI_Request_free: the end of the operation is unknown."""

SEND, RECEIVE, PARTITIONED_SEND, PARTITIONED_RECEIVE, READY, ARRIVED = range(1, 7)
"""``kind`` of a message: what the call does."""

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

IS_PATH = 1 << 63
"""Flag in the ``address`` of a record that contains the id of a call path."""

HEADER = np.dtype(
    {
        "names": [
            *("magic", "version", "page_bytes", "page_header_bytes", "record_bytes", "rank", "size", "run"),
            *("pid", "began_ns", "began_unix_ns", "drift_limit", "wander", "state", "lanes", "ended_ns"),
            *("pages", "lost", "lost_because", "every", "bytes_limit", "stamps_wrong_ns"),
            *("host", "program", "library", "source", "sampling"),
        ],
        "formats": [
            *("S8", "<u4", "<u4", "<u4", "<u4", "<i4", "<i4", "<u8"),
            *("<i8", "<i8", "<i8", "<f8", "<f8", "<u4", "<u4", "<i8"),
            *("<u8", "<u8", "<i4", "<u4", "<u8", "<i8"),
            *("S256", "S1024", "S1024", "S64", "S1408"),
        ],
        "offsets": [
            *(0, 8, 12, 16, 20, 24, 28, 32),
            *(40, 48, 56, 64, 72, 80, 84, 88),
            *(96, 104, 112, 116, 120, 128),
            *(256, 512, 1536, 2560, 2624),
        ],
        "itemsize": 4032,
    }
)

RECORD = np.dtype(
    [
        ("enter_ns", "<i8"),
        ("exit_ns", "<i8"),
        ("address", "<u8"),
        ("bytes", "<u8"),
        ("communicator", "<u4"),
        ("sequence", "<u4"),
        ("round", "<u4"),
        ("root", "<i4"),
        ("function", "<u2"),
        ("datatype", "<u2"),
        ("operation", "<u2"),
        ("flags", "<u2"),
    ]
)

MESSAGE = np.dtype(
    [
        ("enter_ns", "<i8"),
        ("exit_ns", "<i8"),
        ("address", "<u8"),
        ("bytes", "<u8"),
        ("communicator", "<u4"),
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

DEFINITION = Struct("<IHH")
"""bytes, kind, zero."""

BODIES = {
    FUNCTION: Struct("<HHHH"),  # id, mode, collective, name_bytes
    COMMUNICATOR: Struct("<IIQIIIiHHIq"),  # id, parent, hash, ordinal, size, remote_size, rank, constructor,
    # topology, zero, created_ns
    MEMBERS: Struct("<IIII"),  # communicator, is_remote, first, count
    COMMUNICATOR_NAME: Struct("<II"),  # communicator, name_bytes
    COMMUNICATOR_END: Struct("<IIqQ"),  # communicator, zero, ended_ns, sequences
    DATATYPE: Struct("<HHIQ"),  # id, is_derived, name_bytes, size_bytes
    OPERATION: Struct("<HHHH"),  # id, is_own, commutes, name_bytes
    MAPPING: Struct("<QQQII"),  # start, end, offset, path_bytes, zero
    CLOCK_POINT: Struct("<qqqdII"),  # local_ns, shared_ns, bound_ns, rate, is_shared, replaces_before
    NOTE: Struct("<qII"),  # at_ns, text_bytes, zero
    PATH: Struct("<IHHII"),  # id, address_count, python_count, text_bytes, zero
}
"""The fixed part of a definition's body by its kind; texts and ranks follow it."""
