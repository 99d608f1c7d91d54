"""The MPI calls of a program's steps, as rows of a trace whose times are still missing.

Every rank makes these calls, all but some collectives on MPI_COMM_WORLD:

- at the beginning of an iteration MPI_Pcontrol(2), a mark;
- in an exchange MPI_Irecv for each message that it receives, then a send for each that it sends, then
  MPI_Waitall. With blocking sends (MPI_Send) MPI_Waitall completes the receives alone;
- of a collective its function, on a communicator of its layout. Its elements are those of
  :mod:`offbeat.programs.simulation.steps`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.model.study.collectives import PROPERTIES
from offbeat.model.study.communicators import CommunicatorLayout
from offbeat.programs.description.neighbours import Messages, messages
from offbeat.programs.description.program_file import Program
from offbeat.programs.description.schema import PhaseSection
from offbeat.programs.simulation.steps import DOUBLE_BYTES, Steps, collective_size, communicators_of
from offbeat.trace.calls.call_bytes import WITH_BLOCK_SUMS
from offbeat.trace.files import encode
from offbeat.trace.files import format as form

MARK_LEVEL = 2
"""The argument of MPI_Pcontrol at the beginning of an iteration."""

TAG = 17
"""The tag of every message."""

SEND_FUNCTIONS = {
    "nonblocking": "MPI_Isend",
    "blocking": "MPI_Send",
    "synchronous": "MPI_Issend",
    "buffered": "MPI_Ibsend",
}
"""The function of an exchange's sends by the program file's key ``sends``."""

_BLOCKING_VARIANT = {
    "MPI_Isend": "MPI_Send",
    "MPI_Issend": "MPI_Ssend",
    "MPI_Ibsend": "MPI_Bsend",
    "MPI_Irecv": "MPI_Recv",
}

CONSTRUCTOR = "MPI_Comm_create_group"
"""The function with which the communicators of rows and columns are created before the iterations."""

BYTE, DOUBLE = 1, 2
SUM = 1
WORLD = 1
_BY_WAITALL = 2

END = -1

_POSTED = {"communicator": WORLD, "datatype": BYTE, "tag": TAG, "flags": form.ISSUE}
"""Of the rows of posted messages."""


class Calls(Struct, kw_only=True, eq=False):
    """The rows that every rank writes in every step, in the order of ranks and their steps.

    A rank in a step has the place ``rank × steps + step``; the last step is the mark at the beginning of an
    iteration. Its messages are ``rows`` from ``first_row[place]`` up to ``first_row[place + 1]``; they begin
    and end at the points ``enter`` and ``exit`` of the step. Point j is ``points[first_point[place] + j]``:
    the number of the rank's sends that are posted or, if ``is_blocking`` (by step), complete by then; or END,
    the end of the step. Steps of work have no points. ``requests`` is the number of requests of each place.
    ``records`` has a record for each step, whose function is 0 if the step is no collective. Its communicator
    is one of ``layouts``, whose numbers are the same for all ranks.
    """

    steps: int
    rows: NDArray[Any]
    enter: NDArray[np.int32]
    exit: NDArray[np.int32]
    first_row: NDArray[np.int64]
    points: NDArray[np.int32]
    first_point: NDArray[np.int64]
    requests: NDArray[np.int64]
    is_blocking: NDArray[np.bool_]
    records: NDArray[Any]
    layouts: dict[int, CommunicatorLayout]

    def per_step(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers by place as an array (p, steps)."""
        return counts.reshape(-1, self.steps)


class _OfStep(Struct, kw_only=True, eq=False):
    """The rows and points of one step, each with its rank, in the order of ranks."""

    rows: NDArray[Any] = np.zeros(0, form.MESSAGE)
    enter: NDArray[np.int64] = np.zeros(0, np.int64)
    exit: NDArray[np.int64] = np.zeros(0, np.int64)
    row_rank: NDArray[np.int64] = np.zeros(0, np.int64)
    points: NDArray[np.int64] = np.zeros(0, np.int64)
    point_rank: NDArray[np.int64] = np.zeros(0, np.int64)
    requests: NDArray[np.int64]


def functions_of(program: Program) -> dict[str, int]:
    """The MPI functions that a program calls, with the numbers that its traces give them."""
    names = {"MPI_Pcontrol"}
    for phase in program.file.phase:
        if phase.kind == "exchange":
            names |= {"MPI_Irecv", SEND_FUNCTIONS[phase.sends], "MPI_Waitall"}
        elif phase.kind == "collective":
            names.add(f"MPI_{phase.collective.capitalize()}")
    if any(phase.communicators > 1 for phase in program.file.phase):
        names.add(CONSTRUCTOR)
    names |= {_BLOCKING_VARIANT[name] for name in names if name in _BLOCKING_VARIANT}
    return {name: number for number, name in enumerate(sorted(names), start=1)}


def call_definitions(program: Program) -> list[bytes]:
    """The definitions of a program's functions, datatypes, operation and call paths: one for each phase."""
    functions = functions_of(program)
    defined = []
    for name, number in functions.items():
        blocking = _BLOCKING_VARIANT.get(name, name)
        mode = form.BLOCKING if blocking == name else form.NONBLOCKING
        mode = form.CONSTRUCTOR if name == CONSTRUCTOR else mode
        defined.append(encode.function(number, mode, functions[blocking], name))
    defined += [encode.datatype(BYTE, "MPI_BYTE", 1), encode.datatype(DOUBLE, "MPI_DOUBLE", DOUBLE_BYTES)]
    defined.append(encode.operation(SUM, "MPI_SUM"))
    for index, name in enumerate(program.phase_names()):
        place = form.PythonFrame(program.path, program.line(("phase", index)), name)
        defined.append(encode.call_path(index + 1, [place]))
    mark = form.PythonFrame(program.path, 1, "iteration")
    return [*defined, encode.call_path(len(program.file.phase) + 1, [mark])]


def calls_of(program: Program, steps: Steps, p: int) -> Calls:
    """The calls of a program's steps on p ranks."""
    functions, phases = functions_of(program), program.file.phase
    count = len(steps.steps) + 1
    parts = [_OfStep(requests=np.zeros(p, np.int64)) for _ in range(count)]
    records, is_blocking = np.zeros(count, form.RECORD), np.zeros(count, np.bool_)
    numbers = {CommunicatorLayout(p=p): WORLD}
    for index, (phase, step) in enumerate(zip(phases, steps.step_of_phase, strict=True)):
        if phase.kind == "exchange":
            parts[step] = _exchange(phase, index, functions, p)
            is_blocking[step] = phase.sends == "blocking"
        elif phase.kind == "collective":
            parts[step] = _collective(p)
            layout = communicators_of(phase, p)
            records[step] = _record(phase, index, functions, layout.p)
            records[step]["communicator"] = numbers.setdefault(layout, WORLD + len(numbers))
    parts[-1] = _mark(functions, p)
    parts[-1].rows["address"] = form.IS_PATH | (len(phases) + 1)
    layouts = {number: layout for layout, number in numbers.items()}
    return _joined(parts, records, is_blocking, layouts, p)


def _joined(
    parts: list[_OfStep],
    records: NDArray[Any],
    is_blocking: NDArray[np.bool_],
    layouts: dict[int, CommunicatorLayout],
    p: int,
) -> Calls:
    """The parts of all steps, rank by rank."""
    count = len(parts)
    row_place = np.concatenate([part.row_rank * count + step for step, part in enumerate(parts)])
    point_place = np.concatenate([part.point_rank * count + step for step, part in enumerate(parts)])
    row_order, point_order = (np.argsort(place, kind="stable") for place in (row_place, point_place))
    return Calls(
        steps=count,
        rows=np.concatenate([part.rows for part in parts])[row_order],
        enter=np.concatenate([part.enter for part in parts])[row_order].astype(np.int32),
        exit=np.concatenate([part.exit for part in parts])[row_order].astype(np.int32),
        first_row=_firsts(row_place, p * count),
        points=np.concatenate([part.points for part in parts])[point_order].astype(np.int32),
        first_point=_firsts(point_place, p * count),
        requests=np.stack([part.requests for part in parts], axis=1).ravel(),
        is_blocking=is_blocking,
        records=records,
        layouts=layouts,
    )


def _firsts(places: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Where the entries of each place begin once they are sorted, and the end of the last, (count + 1,)."""
    return np.concatenate([[0], np.cumsum(np.bincount(places, minlength=count))])


def _mark(functions: dict[str, int], p: int) -> _OfStep:
    row = _row(function=functions["MPI_Pcontrol"], kind=form.MARK, peer=form.UNKNOWN, tag=MARK_LEVEL)
    nothing = np.zeros(p, np.int64)
    return _OfStep(
        rows=np.repeat(row, p),
        enter=nothing,
        exit=nothing,
        row_rank=np.arange(p),
        points=nothing,
        point_rank=np.arange(p),
        requests=nothing,
    )


def _collective(p: int) -> _OfStep:
    """The two points of a collective; its row is a record."""
    points = np.tile([0, END], p)
    return _OfStep(points=points, point_rank=np.repeat(np.arange(p), 2), requests=np.zeros(p, np.int64))


def _record(phase: PhaseSection, index: int, functions: dict[str, int], p: int) -> NDArray[Any]:
    """The record of a collective on a communicator of p processes, without the communicator."""
    properties = PROPERTIES[phase.collective]
    size, element_bytes = collective_size(phase)
    record = np.zeros((), form.RECORD)
    record["address"] = form.IS_PATH | (index + 1)
    record["bytes"] = size * p if phase.collective in WITH_BLOCK_SUMS else size
    record["root"] = phase.root if properties.is_rooted else -1
    record["function"] = functions[f"MPI_{phase.collective.capitalize()}"]
    if properties.has_data:
        record["datatype"] = DOUBLE if element_bytes == DOUBLE_BYTES else BYTE
    if properties.reduces:
        record["operation"], record["flags"] = SUM, form.COMMUTES
    return record


def _row(**values: int) -> NDArray[Any]:
    row = np.zeros(1, form.MESSAGE)
    for name, value in values.items():
        row[name] = value
    return row


class _CallRows(Struct, kw_only=True, eq=False):
    """Rows of an exchange, (n,): the rank of each, and the number of its call among those of the rank.

    ``order`` orders the rows of the same call.
    """

    rows: NDArray[Any]
    rank: NDArray[np.int64]
    call: NDArray[np.int64]
    order: NDArray[np.int64]

    def completed_by(self, call_of_rank: NDArray[np.int64]) -> _CallRows:
        """The rows of the MPI_Waitall that completes these requests."""
        rows = self.rows.copy()
        rows["flags"] = form.COMPLETION | _BY_WAITALL << form.BY_SHIFT
        return _CallRows(rows=rows, rank=self.rank, call=call_of_rank[self.rank], order=self.call)


def _exchange(phase: PhaseSection, index: int, functions: dict[str, int], p: int) -> _OfStep:
    sent = messages(phase, p)
    sends, receives = np.bincount(sent.source, minlength=p), np.bincount(sent.target, minlength=p)
    requests = receives if phase.sends == "blocking" else receives + sends
    posted = [_receives(sent, receives, functions), _sends(sent, sends, receives, phase, functions)]
    completed = posted[: 1 if phase.sends == "blocking" else 2]
    parts = [*posted, *(part.completed_by(receives + sends) for part in completed)]
    parts.append(_empty_waits(np.flatnonzero(requests == 0), receives + sends, functions))
    rank, call, order, rows = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("rank", "call", "order", "rows")
    )
    rows["address"] = form.IS_PATH | (index + 1)
    by_rank = np.lexsort((order, call, rank))
    points, point_rank = _points(sends, receives)
    return _OfStep(
        rows=rows[by_rank],
        enter=call[by_rank],
        exit=call[by_rank] + 1,
        row_rank=rank[by_rank],
        points=points,
        point_rank=point_rank,
        requests=requests,
    )


def _receives(sent: Messages, receives: NDArray[np.int64], functions: dict[str, int]) -> _CallRows:
    """The MPI_Irecv of all ranks: their first calls."""
    order = np.argsort(sent.target, kind="stable")
    rows = np.repeat(_row(kind=form.RECEIVE, function=functions["MPI_Irecv"], **_POSTED), len(order))
    rows["bytes"], rows["peer"] = sent.bytes[order], sent.source[order]
    rank = sent.target[order].astype(np.int64)
    call = _positions(rank, receives)
    rows["request"] = call + 1
    return _CallRows(rows=rows, rank=rank, call=call, order=np.zeros_like(call))


def _sends(
    sent: Messages,
    sends: NDArray[np.int64],
    receives: NDArray[np.int64],
    phase: PhaseSection,
    functions: dict[str, int],
) -> _CallRows:
    """The sends of all ranks, which follow the receives."""
    function = functions[SEND_FUNCTIONS[phase.sends]]
    rows = np.repeat(_row(kind=form.SEND, function=function, **_POSTED), len(sent.source))
    rows["bytes"], rows["peer"] = sent.bytes, sent.target
    rank = sent.source.astype(np.int64)
    call = receives[rank] + _positions(rank, sends)
    if phase.sends == "blocking":
        rows["flags"] = form.CALL
    else:
        rows["request"] = call + 1
    return _CallRows(rows=rows, rank=rank, call=call, order=np.zeros_like(call))


def _empty_waits(
    ranks: NDArray[np.int64], call_of_rank: NDArray[np.int64], functions: dict[str, int]
) -> _CallRows:
    """MPI_Waitall of ranks that have nothing to wait for."""
    row = _row(kind=form.REQUESTS, function=functions["MPI_Waitall"], peer=form.UNKNOWN, tag=form.UNKNOWN)
    rows = np.repeat(row, len(ranks))
    return _CallRows(rows=rows, rank=ranks, call=call_of_rank[ranks], order=np.zeros_like(ranks))


def _positions(ranks: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of each entry among those of its rank, given sorted ranks and how many each has."""
    return np.arange(len(ranks)) - (np.cumsum(counts) - counts)[ranks]


def _points(
    sends: NDArray[np.int64], receives: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The points of an exchange and their ranks: around each receive, around each send, and the end."""
    counts = receives + sends + 2
    rank = np.repeat(np.arange(len(sends)), counts)
    number = _positions(rank, counts)
    points = np.maximum(number - receives[rank], 0)
    points[np.cumsum(counts) - 1] = END
    return points, rank
