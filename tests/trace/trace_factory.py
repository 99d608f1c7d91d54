"""Traces whose content is known: ``benchmarks/trace_files.py``, and short ways to calls with given delays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trace_files import (
    CODE,
    CODE_OFFSET,
    WANDER,
    MadeFile,
    communicator,
    files,
    freed,
    function,
    name,
    write,
)

from offbeat.trace.files import format as form
from offbeat.trace.files.encode import clock_point as point
from offbeat.trace.files.encode import definition, mapping, note
from offbeat.trace.files.trace_folder import open_trace
from offbeat.trace.summary import Summary, summarise

__all__ = [
    "CODE",
    "CODE_OFFSET",
    "US",
    "WANDER",
    "MadeFile",
    "Summary",
    "communicator",
    "definition",
    "files",
    "form",
    "freed",
    "function",
    "mapping",
    "name",
    "note",
    "pattern_trace",
    "point",
    "summarise",
    "write",
]

US = 1000
"""A microsecond in ns."""


def pattern_trace(
    folder: Path, delays_us: Sequence[Sequence[float]], *, operation_us: float = 5, **values: Any
) -> Path:
    """Allreduces, one per row: rank i arrives delays[k][i] after the first; all leave together."""
    trace_files = files(len(delays_us[0]))
    for one in trace_files:
        one.header["ended_ns"] = (1 + len(delays_us)) * 1_000_000
    for sequence, row in enumerate(delays_us):
        begin = (1 + sequence) * 1_000_000
        end = begin + round((max(row) + operation_us) * US)
        for one, delay in zip(trace_files, row, strict=True):
            one.call(begin + round(delay * US), end, sequence=sequence, **values)
    return write(folder, trace_files)


def summary_of(folder: Path) -> Summary:
    return summarise(open_trace(folder))


def notes_of(summary: Summary) -> str:
    return "\n".join(summary.notes)
