"""The formats that a trace is exported to, by name."""

from __future__ import annotations

from collections.abc import Callable

from offbeat.errors import BadInput
from offbeat.trace.export_otf2 import export_otf2
from offbeat.trace.export_perfetto import export_perfetto
from offbeat.trace.export_table import export_csv, export_parquet
from offbeat.trace.read import Trace
from offbeat.trace.wishes import check

Writer = Callable[..., None]
"""(trace, path, ranks=, told=)."""

EXPORTS: dict[str, tuple[str, Writer]] = {
    "perfetto": (".perfetto.json", export_perfetto),
    "otf2": (".otf2", export_otf2),
    "parquet": (".parquet", export_parquet),
    "csv": (".csv", export_csv),
}
"""Name → what its files end with, and what writes them."""


def ranks_of(text: str, trace: Trace) -> list[int] | None:
    """The ranks that a text like ``0-3,8,16-`` means, None for all. Raises :class:`BadInput`."""
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
    there = sorted(chosen & {file.header.rank for file in trace.files})
    if not there:
        raise BadInput(f"--ranks {text}: the trace has none of these ranks")
    return there
