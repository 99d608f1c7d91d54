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


class DefinedCommunicator(Struct, kw_only=True):
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
    topology: int
    created_ns: int
    name: str = ""
    ended_ns: int = 0
    calls: int = -1
    members: list[tuple[bool, int, NDArray[np.int32]]] = []


class Datatype(Struct, frozen=True):
    """A datatype of this file."""

    name: str
    size_bytes: int
    is_derived: bool


class Operation(Struct, frozen=True):
    """An operation of this file."""

    name: str
    is_own: bool
    commutes: bool


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
    replaces_before: bool


class Definitions(Struct):
    """All definitions of one file by its own ids; ``invalid`` counts definitions that cannot be read."""

    functions: dict[int, Function] = {}
    communicators: dict[int, DefinedCommunicator] = {}
    datatypes: dict[int, Datatype] = {}
    operations: dict[int, Operation] = {}
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
    if kind == form.FUNCTION:
        number, mode, collective, length = values
        into.functions[number] = Function(_text(rest[:length]), mode, str(collective))
    elif kind == form.DATATYPE:
        number, is_derived, length, size_bytes = values
        into.datatypes[number] = Datatype(_text(rest[:length]), size_bytes, bool(is_derived))
    elif kind == form.OPERATION:
        number, is_own, commutes, length = values
        into.operations[number] = Operation(_text(rest[:length]), bool(is_own), bool(commutes))
    elif kind == form.MAPPING:
        start, end, offset, length, _ = values
        into.mappings.append(Mapping(start, end, offset, _text(rest[:length])))
    elif kind == form.CLOCK_POINT:
        local_ns, shared_ns, bound_ns, rate, is_shared, replaces = values
        if replaces:
            into.points.clear()
        point = ClockPoint(local_ns, shared_ns, bound_ns, rate, bool(is_shared), bool(replaces))
        into.points.append(point)
    elif kind == form.PATH:
        number, addresses, frames, length, _ = values
        path = _path(addresses, frames, length, rest)
        if path is None:
            into.invalid += 1
        else:
            into.paths[number] = path
    elif kind == form.NOTE:
        into.notes.append(_text(rest[: values[1]]))
    else:
        _add_of_communicator(kind, values, rest, into)


def _path(addresses: int, frames: int, length: int, rest: bytes) -> CallPath | None:
    """A call path; None where the definition is damaged."""
    text = _text(rest[8 * addresses : 8 * addresses + length]).split("\n")
    if not addresses or 8 * addresses + length > len(rest) or len(text) != 3 * frames + 1:
        return None
    lines = [int(line) if line.isdecimal() and len(line) < 10 else 0 for line in text[1::3]]
    python = tuple(map(PythonFrame, text[:-1:3], lines, text[2::3]))
    return CallPath(struct.unpack_from(f"<{addresses}Q", rest), python)


def _add_of_communicator(kind: int, values: tuple, rest: bytes, into: Definitions) -> None:
    if kind == form.COMMUNICATOR:
        number, parent, hashed, ordinal, size, remote_size, rank, constructor, topology, _, created_ns = (
            values
        )
        if not 0 < size + remote_size <= MOST_MEMBERS or number > MOST_COMMUNICATORS:
            into.invalid += 1
            return
        into.communicators[number] = DefinedCommunicator(
            id=number,
            parent=parent,
            hash=hashed,
            ordinal=ordinal,
            size=size,
            remote_size=remote_size,
            rank=rank,
            constructor=constructor,
            topology=topology,
            created_ns=created_ns,
        )
        return
    communicator = into.communicators.get(values[0])
    if communicator is None:
        into.invalid += 1
    elif kind == form.MEMBERS:
        _, is_remote, first, count = values
        ranks = np.frombuffer(rest[: 4 * count], dtype="<i4")
        if len(ranks) < count:
            into.invalid += 1
        communicator.members.append((bool(is_remote), first, ranks))
    elif kind == form.COMMUNICATOR_NAME:
        communicator.name = _text(rest[: values[1]])
    elif kind == form.COMMUNICATOR_END:
        communicator.ended_ns = values[2]
        communicator.calls = min(max(values[3] - 1, 0), _MOST_CALLS)  # without the call that freed it


def _text(encoded: bytes) -> str:
    return encoded.decode("utf-8", errors="replace")
