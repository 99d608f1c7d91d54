"""Exports of a trace: Perfetto, Parquet and CSV, and the table of all formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pyarrow.parquet as parquet

import offbeat
from offbeat.atomic_write import atomic_writer, write_error
from offbeat.errors import BadInput
from offbeat.trace.export_otf2 import export_otf2
from offbeat.trace.options import check
from offbeat.trace.read import Progress, Trace
from offbeat.trace.record_table import COLUMNS, pieces

Writer = Callable[..., None]
"""(trace, path, ranks=, on_progress=)."""


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


def empty() -> pl.DataFrame:
    """A table with all columns and no rows."""
    return pl.DataFrame(schema={name: dtype for name, (dtype, _) in COLUMNS.items()})


def export_csv(
    trace: Trace, path: Path, *, ranks: Sequence[int] | None = None, on_progress: Progress | None = None
) -> None:
    """Write a CSV file in UTF-8: a header, then one record per line. Raises :class:`BadInput` on failure."""
    try:
        with atomic_writer(path) as stream:
            stream.write(empty().write_csv().encode())
            for piece in pieces(trace, ranks=ranks, on_progress=on_progress):
                stream.write(piece.write_csv(include_header=False).encode())
    except OSError as error:
        raise write_error(path, error) from error


def export_parquet(
    trace: Trace, path: Path, *, ranks: Sequence[int] | None = None, on_progress: Progress | None = None
) -> None:
    """Write a Parquet file, with the notes in its metadata. Raises :class:`BadInput` on failure."""
    schema = empty().to_arrow().schema
    headers = {
        b"offbeat.trace": str(trace.directory).encode(),
        b"offbeat.words": "\n".join(trace.notes).encode(),
    }
    try:
        with (
            atomic_writer(path) as stream,
            parquet.ParquetWriter(stream, schema.with_metadata(headers), compression="zstd") as writer,
        ):
            for piece in pieces(trace, ranks=ranks, on_progress=on_progress):
                writer.write_table(piece.to_arrow().cast(schema).replace_schema_metadata(headers))
    except OSError as error:
        raise write_error(path, error) from error


Event = dict[str, Any]


def export_perfetto(
    trace: Trace, path: Path, *, ranks: Sequence[int] | None = None, on_progress: Progress | None = None
) -> None:
    """Write Chrome's Trace Event JSON, which https://ui.perfetto.dev and chrome://tracing open.

    A rank is a process, a lane a thread. Every call is a complete event ("X"); the time between the issue of
    a call and its completion is an asynchronous pair ("b", "e"). Times are microseconds with three decimals.
    Raises :class:`BadInput` on failure.
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
    try:
        with atomic_writer(path) as stream:
            stream.write(msgspec.json.encode(about)[:-1] + b',"traceEvents":[')
            separator = b"\n"
            for events in _all(trace, ranks, on_progress):
                for event in events:
                    stream.write(separator + msgspec.json.encode(event))
                    separator = b",\n"
            stream.write(b"\n]}\n")
    except OSError as error:
        raise write_error(path, error) from error


def _all(
    trace: Trace, ranks: Sequence[int] | None, on_progress: Progress | None
) -> Iterator[Iterator[Event]]:
    yield _names(trace, ranks)
    for piece in pieces(trace, ranks=ranks, on_progress=on_progress):
        yield _events(piece)


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
    "perfetto": (".perfetto.json", export_perfetto),
    "otf2": (".otf2", export_otf2),
    "parquet": (".parquet", export_parquet),
    "csv": (".csv", export_csv),
}
"""Format → file suffix and writer."""
