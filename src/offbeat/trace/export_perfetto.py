"""A trace as Chrome's Trace Event JSON, which https://ui.perfetto.dev and chrome://tracing open.

A rank is a process, a lane a thread; every call is a complete event ("X") with what is known of it as
arguments. What is under way between the issue of a call and its completion is an asynchronous pair
("b", "e"). Times are microseconds with three decimals: whole nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

import offbeat
from offbeat.atomic_write import atomic_writer, write_error
from offbeat.trace.events import Told, pieces
from offbeat.trace.read import Trace

Event = dict[str, Any]


def export_perfetto(
    trace: Trace, path: Path, *, ranks: Sequence[int] | None = None, told: Told | None = None
) -> None:
    """Write one JSON object, whole or not at all. Raises :class:`BadInput` where that is not possible."""
    about = {
        "displayTimeUnit": "ns",
        "otherData": {
            "producer": f"offbeat {offbeat.__version__}",
            "program": trace.headers[0].program,
            "library": trace.headers[0].library,
            "notes": trace.words,
        },
    }
    try:
        with atomic_writer(path) as stream:
            stream.write(msgspec.json.encode(about)[:-1] + b',"traceEvents":[')
            separator = b"\n"
            for events in _all(trace, ranks, told):
                for event in events:
                    stream.write(separator + msgspec.json.encode(event))
                    separator = b",\n"
            stream.write(b"\n]}\n")
    except OSError as error:
        raise write_error(path, error) from error


def _all(trace: Trace, ranks: Sequence[int] | None, told: Told | None) -> Iterator[Iterator[Event]]:
    yield _names(trace, ranks)
    for piece in pieces(trace, ranks=ranks, told=told):
        yield _events(piece)


def _names(trace: Trace, ranks: Sequence[int] | None) -> Iterator[Event]:
    """What processes and threads are called, and that they stand in the order of ranks."""
    for file in trace.files:
        rank = file.header.rank
        if ranks is not None and rank not in ranks:
            continue
        name = f"rank {rank} on {file.header.host}"
        yield {"ph": "M", "name": "process_name", "pid": rank, "tid": 0, "args": {"name": name}}
        yield {"ph": "M", "name": "process_sort_index", "pid": rank, "tid": 0, "args": {"sort_index": rank}}
        for lane in sorted(file.lanes):
            words = f"lane {lane}"
            yield {"ph": "M", "name": "thread_name", "pid": rank, "tid": lane, "args": {"name": words}}


_ARGUMENTS = ("site", "communicator", "processes", "sequence", "bytes", "datatype", "operation")


def _events(piece: pl.DataFrame) -> Iterator[Event]:
    for row in piece.iter_rows(named=True):
        moment = row["moment"]
        name = row["function"] if moment == "call" else f"{row['function']} ({moment})"
        arguments = {key: row[key] for key in _ARGUMENTS if row[key] not in ("", None)}
        if row["root"] >= 0:
            arguments["root"] = row["root"]
        for key in ("in_place", "failed"):
            if row[key]:
                arguments[key] = True
        if row["completed_by"]:
            arguments["completed_by"] = row["completed_by"]
        if row["bound_ns"]:
            arguments["clock_bound_ns"] = row["bound_ns"]
        place = {"cat": "collective", "pid": row["rank"], "tid": row["lane"]}
        duration = row["exit_ns"] - row["enter_ns"]
        yield {
            "ph": "X",
            "name": name,
            **place,
            "ts": row["enter_ns"] / 1000,
            "dur": duration / 1000,
            "args": arguments,
        }
        if moment == "call":
            continue
        number = f"{row['rank']}.{row['communicator_index']}.{row['sequence']}.{row['round']}"
        pair = {"name": f"{row['function']} under way", **place, "cat": "request", "id": number}
        if moment == "completion":
            yield {"ph": "e", **pair, "ts": row["exit_ns"] / 1000}
        else:
            yield {"ph": "b", **pair, "ts": row["enter_ns"] / 1000, "args": arguments}
