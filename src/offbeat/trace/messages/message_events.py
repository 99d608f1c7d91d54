"""Point-to-point calls as events of Perfetto and of OTF2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from offbeat.trace.files.record_table import message_pieces, origin_ns
from offbeat.trace.files.trace_folder import Trace
from offbeat.trace.messages.message_matching import MatchedMessages, MessageMatcher

Event = dict[str, Any]

_ARGUMENTS = (
    "site",
    "communicator",
    "processes",
    "peer",
    "tag",
    "bytes",
    "datatype",
    "calls",
    "completed_by",
)


def called_function(row: dict[str, Any]) -> str:
    """The function that was called: of a completion the completing one."""
    if row["moment"] != "completion":
        return str(row["function"])
    if "kind" in row and not row["completed_by"]:
        return "MPI_Mrecv"
    return f"MPI_{(row['completed_by'] or 'wait').capitalize()}"


def message_events(trace: Trace, ranks: Sequence[int] | None) -> Iterator[Event]:
    """Perfetto's events: a complete event ("X") for each call, an instant for each mark, and an arrow ("s"
    and "f") from the call that posted a send to the call that completed its receive."""
    for piece in message_pieces(trace, ranks=ranks):
        last = None
        for row in piece.iter_rows(named=True):
            call = (row["lane"], row["enter_ns"], row["exit_ns"])
            if call != last:
                yield _call_event(row)
            last = call
    origin = origin_ns(trace)
    selected_ranks = None if ranks is None else set(ranks)
    count = 0
    for batch in MessageMatcher(trace).batches():
        yield from _arrows(batch, origin, selected_ranks, count)
        count += len(batch.sends)


def _call_event(row: dict[str, Any]) -> Event:
    coordinates = {"pid": row["rank"], "tid": row["lane"], "ts": row["enter_ns"] / 1000}
    if row["kind"] == "mark":
        return {"ph": "i", "s": "t", "name": f"MPI_Pcontrol({row['tag']})", "cat": "mark", **coordinates}
    name = called_function(row)
    arguments = {key: row[key] for key in _ARGUMENTS if row[key] not in ("", None)}
    if row["kind"] in ("requests", "poll"):
        arguments = {key: row[key] for key in ("site", "calls")}
    arguments |= {key: row[key] for key in ("failed", "cancelled") if row[key]}
    duration = row["exit_ns"] - row["enter_ns"]
    return {
        "ph": "X",
        "name": f"{name} (found nothing)" if row["kind"] == "poll" else name,
        "cat": "message",
        **coordinates,
        "dur": duration / 1000,
        "args": arguments,
    }


def _arrows(batch: MatchedMessages, origin: int, ranks: set[int] | None, first: int) -> Iterator[Event]:
    sends, receives = batch.sends, batch.receives
    lanes = [np.maximum(ends.lane, 0).tolist() for ends in (sends, receives)]
    times = [(sends.posted_ns - origin).tolist(), (receives.exit_ns - origin).tolist()]
    processes = [sends.source.tolist(), sends.destination.tolist()]
    for number in range(len(sends)):
        if ranks is not None and not {processes[0][number], processes[1][number]} <= ranks:
            continue
        if sends.posted_ns[number] < origin:  # the post was not recorded
            continue
        arrow = {"name": "message", "cat": "message", "id": first + number}
        for side, phase in enumerate("sf"):
            coordinates = {"pid": processes[side][number], "tid": lanes[side][number]}
            ends = {"bp": "e"} if phase == "f" else {}
            yield {"ph": phase, **arrow, **coordinates, "ts": times[side][number] / 1000, **ends}


class Otf2Messages:
    """Writes the messages of an OTF2 archive; ``communicator`` gives its definition by the index, ``number``
    a new number for a request."""

    def __init__(self, communicator: Callable[[int], Any], number: Callable[[], int]) -> None:
        self._communicator, self._number = communicator, number
        self._requests: dict[tuple[int, int, int], int] = {}

    def write(self, writer: Any, row: dict[str, Any], enter: int, leave: int) -> None:
        """Write what a row did between ``enter`` and ``leave``."""
        if row["kind"] not in ("send", "receive") or row["failed"]:
            return
        key = (row["rank"], row["request"], row["round"])
        if row["moment"] == "completion":
            self._complete(writer, row, key, leave)
        elif (row["moment"] == "call" and row["request"]) or row["peer"] == -2:
            return
        elif row["moment"] == "call" and row["kind"] == "send":
            writer.mpi_send(enter, *self._message(row))
        elif row["moment"] == "call":
            writer.mpi_recv(leave, *self._message(row))
        else:
            number = self._requests[key] = self._number()
            if row["kind"] == "send":
                writer.mpi_isend(enter, *self._message(row), number)
            else:
                writer.mpi_irecv_request(enter, number)

    def _complete(self, writer: Any, row: dict[str, Any], key: tuple[int, int, int], leave: int) -> None:
        number = self._requests.pop(key, None)
        if number is None:
            return
        if row["cancelled"] or row["peer"] < 0:
            writer.mpi_request_cancelled(leave, number)
        elif row["kind"] == "send":
            writer.mpi_isend_complete(leave, number)
        else:
            writer.mpi_irecv(leave, *self._message(row), number)

    def _message(self, row: dict[str, Any]) -> tuple[int, Any, int, int]:
        """Peer, communicator, tag and length."""
        return row["peer"], self._communicator(row["communicator_index"]), max(row["tag"], 0), row["bytes"]
