"""Definitions in a trace file: functions, communicators, datatypes, operations, memory maps, clock points."""

from __future__ import annotations

import struct
from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace import format as form

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
    """Addresses to which a call and its callers return, and Python's frames, innermost first."""

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


def read_page(page: bytes, into: Definitions) -> None:
    """Add the definitions of a page (without its header), which may be truncated."""
    at = 0
    while at + form.DEFINITION.size <= len(page):
        length, kind, _ = form.DEFINITION.unpack_from(page, at)
        if kind == 0:
            return
        body = form.BODIES.get(kind)
        if length < form.DEFINITION.size or length % 8 or at + length > len(page):
            into.invalid += 1
            return
        start = at + form.DEFINITION.size
        at += length
        if body is None:  # a kind that a later version of the format added
            continue
        if start + body.size > at:
            into.invalid += 1
            continue
        _add(kind, body.unpack_from(page, start), page[start + body.size : at], into)


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


def _add(kind: int, values: tuple, rest: bytes, into: Definitions) -> None:
    """Add a definition: the ``values`` of the fixed part of its body, and the ``rest`` of the body."""
    if kind == form.FUNCTION:
        number, mode, collective, length = values
        into.functions[number] = Function(_text(rest[:length]), mode, str(collective))
    elif kind == form.DATATYPE:
        number, _, length, _ = values
        into.datatypes[number] = _text(rest[:length])
    elif kind == form.OPERATION:
        number, _, _, length = values
        into.operations[number] = _text(rest[:length])
    elif kind == form.MAPPING:
        *place, length, _ = values
        into.mappings.append(Mapping(*place, _text(rest[:length])))
    elif kind == form.CLOCK_POINT:
        *point, is_shared, replaces_before = values
        if replaces_before:
            into.points.clear()
        into.points.append(ClockPoint(*point, bool(is_shared)))
    elif kind == form.PATH:
        path = _path(*values[1:4], rest)
        if path is None:
            into.invalid += 1
        else:
            into.paths[values[0]] = path
    elif kind == form.NOTE:
        into.notes.append(_text(rest[: values[1]]))
    elif kind == form.COMMUNICATOR:
        communicator = DefinedCommunicator(*values[:8])
        size = communicator.size + communicator.remote_size
        if 0 < size <= MOST_MEMBERS and communicator.id <= MOST_COMMUNICATORS:
            into.communicators[communicator.id] = communicator
        else:
            into.invalid += 1
    elif values[0] in into.communicators:
        _add_to(into.communicators[values[0]], kind, values, rest, into)
    else:
        into.invalid += 1


def _path(addresses: int, frames: int, length: int, rest: bytes) -> CallPath | None:
    """A call path; None where the definition is damaged."""
    text = _text(rest[8 * addresses : 8 * addresses + length]).split("\n")
    if not addresses or 8 * addresses + length > len(rest) or len(text) != 3 * frames + 1:
        return None
    lines = [int(line) if line.isdecimal() and len(line) < 10 else 0 for line in text[1::3]]
    python = tuple(map(PythonFrame, text[:-1:3], lines, text[2::3]))
    return CallPath(struct.unpack_from(f"<{addresses}Q", rest), python)


def _add_to(
    communicator: DefinedCommunicator, kind: int, values: tuple, rest: bytes, into: Definitions
) -> None:
    """Add members, the name or the end of a communicator."""
    if kind == form.MEMBERS:
        _, is_remote, first, count = values
        ranks = np.frombuffer(rest[: 4 * count], dtype="<i4")
        into.invalid += len(ranks) < count
        communicator.members.append((bool(is_remote), first, ranks))
    elif kind == form.COMMUNICATOR_NAME:
        communicator.name = _text(rest[: values[1]])
    elif kind == form.COMMUNICATOR_END:
        communicator.calls = min(max(values[3] - 1, 0), _MOST_CALLS)  # without the call that freed it


def _text(encoded: bytes) -> str:
    return encoded.decode("utf-8", errors="replace")
