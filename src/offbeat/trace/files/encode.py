"""The bytes of trace files: definitions, headers and pages, after ``native/trace/format.h``.

The tracer writes the files of real programs; these functions write those of simulated ones.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offbeat.trace.files import format as form
from offbeat.trace.files.page_checksum import PageLocation, header_checksums, write_checksums

_BODY_BYTES = form.PAGE_BYTES - form.PAGE_HEADER_BYTES

_MEMBERS_AT_ONCE = 8192
"""Ranks in one definition of members: it must fit a page."""


def definition(kind: int, values: Sequence[Any], variable_part: bytes = b"") -> bytes:
    """A definition: the ``values`` of the fixed part of its body, and what follows them."""
    body = form.BODIES[kind].pack(*values) + variable_part
    body += bytes(-len(body) % 8)
    return form.DEFINITION.pack(form.DEFINITION.size + len(body), kind, 0) + body


def function(number: int, mode: int, collective: int, name: str) -> bytes:
    """A function; ``collective`` is the number of its blocking variant."""
    name_bytes = name.encode()
    return definition(form.FUNCTION, (number, mode, collective, len(name_bytes)), name_bytes)


def communicator(
    number: int,
    group: tuple[int, int],
    sizes: tuple[int, int],
    rank: int,
    *,
    parent: int = 0,
    constructor: int = 0,
) -> bytes:
    """A communicator as the process ``rank`` of its local group records it.

    ``group`` is the hash of its processes and the ordinal among communicators of that hash; ``sizes`` are
    those of the local and the remote group.
    """
    return definition(
        form.COMMUNICATOR, (number, parent, *group, sizes[0], sizes[1], rank, constructor, 0, 0, 0)
    )


def members(number: int, world_ranks: Sequence[int] | NDArray[Any], *, is_remote: bool = False) -> bytes:
    """The processes of a communicator, in as many definitions as they need."""
    ranks = np.asarray(world_ranks, dtype="<i4")
    return b"".join(
        definition(form.MEMBERS, (number, is_remote, first, len(part)), part.tobytes())
        for first in range(0, len(ranks), _MEMBERS_AT_ONCE)
        for part in (ranks[first : first + _MEMBERS_AT_ONCE],)
    )


def datatype(number: int, name: str, size_bytes: int) -> bytes:
    """A datatype that MPI defines."""
    name_bytes = name.encode()
    return definition(form.DATATYPE, (number, False, len(name_bytes), size_bytes), name_bytes)


def operation(number: int, name: str) -> bytes:
    """A commutative operation that MPI defines."""
    name_bytes = name.encode()
    return definition(form.OPERATION, (number, False, True, len(name_bytes)), name_bytes)


def mapping(start: int, end: int, offset: int, path: str) -> bytes:
    """Code in memory."""
    path_bytes = path.encode()
    return definition(form.MAPPING, (start, end, offset, len(path_bytes), 0), path_bytes)


def clock_point(
    local_ns: int,
    shared_ns: int,
    bound_ns: int = 0,
    rate: float = 0.0,
    *,
    is_shared: bool = False,
    replaces: bool = False,
) -> bytes:
    """A moment on the local and the shared clock; ``is_shared`` where both are one clock."""
    return definition(form.CLOCK_POINT, (local_ns, shared_ns, bound_ns, rate, is_shared, replaces))


def note(text: str, at_ns: int = 0) -> bytes:
    """A sentence for the reader of the trace."""
    text_bytes = text.encode()
    return definition(form.NOTE, (at_ns, len(text_bytes), 0), text_bytes)


def call_path(number: int, frames: Sequence[form.PythonFrame]) -> bytes:
    """A call path of frames without addresses, the innermost first."""
    text = "".join(f"{frame.file}\n{frame.line}\n{frame.function}\n" for frame in frames).encode()
    return definition(form.PATH, (number, 0, len(frames), len(text), 0), text)


def header_page(values: Mapping[str, Any]) -> bytes:
    """Page 0: the members of the header by name; those that are not given are 0."""
    page = bytearray(form.PAGE_BYTES)
    head = np.frombuffer(page, form.HEADER, 1)
    sizes = {"page_bytes": form.PAGE_BYTES, "page_header_bytes": form.PAGE_HEADER_BYTES}
    usual = {"magic": form.MAGIC, "version": form.VERSION, "record_bytes": form.RECORD_BYTES, "period": 1}
    for name, value in (usual | sizes | dict(values)).items():
        head[name] = value.encode() if isinstance(value, str) else value
    head["checksum"], head["state_checksum"] = header_checksums(head)
    return bytes(page)


def definition_pages(definitions: Iterable[bytes]) -> bytes:
    """Definitions in as few pages as hold them, at least one."""
    bodies = [b""]
    for definition_bytes in definitions:
        if len(bodies[-1]) + len(definition_bytes) > _BODY_BYTES:
            bodies.append(b"")
        bodies[-1] += definition_bytes
    return b"".join(_page(form.DEFINITIONS, 0, body) for body in bodies)


def row_pages(rows: NDArray[Any], lane: int = 0) -> bytes:
    """The pages of records or messages, (n,) of one lane; ``rows.dtype`` says which of them they are."""
    kind, per_page = kind_and_rows_per_page(rows.dtype)
    parts = (rows[begin : begin + per_page] for begin in range(0, len(rows), per_page))
    return b"".join(_page(kind, lane, part.tobytes()) for part in parts)


def _page(kind: int, lane: int, body: bytes) -> bytes:
    """A page without its checksum."""
    header = struct.pack("<IIQ", kind, lane, len(body) // 8).ljust(form.PAGE_HEADER_BYTES, b"\0")
    return (header + body).ljust(form.PAGE_BYTES, b"\0")


def with_checksums(pages: bytes, run: int, rank: int, first: int = 1) -> bytes:
    """Pages with their checksums; ``first`` is the number of the first one in the file of this rank."""
    words = np.frombuffer(bytearray(pages), "<u8").reshape(-1, form.PAGE_BYTES // 8)
    write_checksums(words, PageLocation(run, rank, np.arange(first, first + len(words), dtype=np.uint64)))
    return words.tobytes()


def kind_and_rows_per_page(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The kind of the pages of records or messages, and how many of them a page holds."""
    if dtype == form.MESSAGE:
        return form.MESSAGES, form.MESSAGES_A_PAGE
    return form.RECORDS, form.RECORDS_A_PAGE
