"""Exports of a trace: Perfetto, Parquet and CSV, and the table of all formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pyarrow.parquet as parquet

import offbeat
from offbeat.atomic_write import atomic_writer, write_error
from offbeat.errors import BadInput
from offbeat.trace.export_otf2 import write_otf2
from offbeat.trace.options import check
from offbeat.trace.read import Progress, Trace
from offbeat.trace.record_table import COLUMNS, pieces

Writer = Callable[[Trace, Path, Sequence[int] | None, Progress | None], None]
"""Writes the records of some ranks (None: all) to a path. Raises OSError."""


def ranks_of(text: str, trace: Trace) -> list[int] | None:
    """Parse ranks like ``0-3,8,16-``; None for all. Raises :class:`BadInput`."""
    if not text:
        return None
    try:
        check({"OFFBEAT_TRACE_RANKS": text})
    except BadInput:
        raise BadInput(f"--ranks {text}: give numbers and ranges like 0-3,8,16-") from None
    chosen: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        end = int(last) if last else trace.size - 1 if dash else int(first)
        chosen.update(range(int(first), min(end, trace.size - 1) + 1))
    traced = sorted(chosen & {file.header.rank for file in trace.files})
    if not traced:
        raise BadInput(f"--ranks {text}: the trace has none of these ranks")
    return traced


def export(
    trace: Trace,
    path: Path,
    to: str,
    *,
    ranks: Sequence[int] | None = None,
    on_progress: Progress | None = None,
) -> None:
    """Write the records of some ranks (None: all) in one of EXPORTS. Raises :class:`BadInput` on failure."""
    _, write = EXPORTS[to]
    try:
        write(trace, path, ranks, on_progress)
    except OSError as error:
        raise write_error(path, error) from error


def _empty() -> pl.DataFrame:
    """A table with all columns and no rows."""
    return pl.DataFrame(schema={name: dtype for name, (dtype, _) in COLUMNS.items()})


def _write_csv(trace: Trace, path: Path, ranks: Sequence[int] | None, on_progress: Progress | None) -> None:
    """A CSV file in UTF-8: a header, then one record per line."""
    with atomic_writer(path) as stream:
        stream.write(_empty().write_csv().encode())
        for piece in pieces(trace, ranks=ranks, on_progress=on_progress):
            stream.write(piece.write_csv(include_header=False).encode())


def _write_parquet(
    trace: Trace, path: Path, ranks: Sequence[int] | None, on_progress: Progress | None
) -> None:
    """A Parquet file, with the notes on the trace in its metadata."""
    schema = _empty().to_arrow().schema
    headers = {
        b"offbeat.trace": str(trace.directory).encode(),
        b"offbeat.words": "\n".join(trace.notes).encode(),
    }
    with (
        atomic_writer(path) as stream,
        parquet.ParquetWriter(stream, schema.with_metadata(headers), compression="zstd") as writer,
    ):
        for piece in pieces(trace, ranks=ranks, on_progress=on_progress):
            writer.write_table(piece.to_arrow().cast(schema).replace_schema_metadata(headers))


Event = dict[str, Any]


def _write_perfetto(
    trace: Trace, path: Path, ranks: Sequence[int] | None, on_progress: Progress | None
) -> None:
    """Chrome's Trace Event JSON, which https://ui.perfetto.dev and chrome://tracing open.

    A rank is a process, a lane a thread. Every call is a complete event ("X"); the time between the issue of
    a call and its completion is an asynchronous pair ("b", "e"). Times are microseconds with three decimals.
    """
    about = {
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
        stream.write(msgspec.json.encode(about)[:-1] + b',"traceEvents":[')
        separator = b"\n"
        for event in chain(_names(trace, ranks), chain.from_iterable(map(_events, frames))):
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
        for lane in sorted(file.lanes):
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


EXPORTS: dict[str, tuple[str, Writer]] = {
    "perfetto": (".perfetto.json", _write_perfetto),
    "otf2": (".otf2", write_otf2),
    "parquet": (".parquet", _write_parquet),
    "csv": (".csv", _write_csv),
}
"""Format → file suffix and writer."""
