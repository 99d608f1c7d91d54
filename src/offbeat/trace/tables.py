"""The summary of a trace as headings and rows of text, for the terminal."""

from __future__ import annotations

import math

from msgspec import Struct

from offbeat.trace.advice import sizes
from offbeat.trace.summary import SHARES, Late, Row, Summary
from offbeat.units import counted, format_size, format_time

NOTHING_KNOWN = "–"
MOST_ROWS = 20


class Table(Struct, frozen=True, kw_only=True):
    """A table; columns in ``texts`` are text, the others numbers. ``notes`` are sentences below it."""

    title: str
    headings: list[str]
    rows: list[list[str]]
    texts: tuple[int, ...]
    notes: list[str] = []


def tables(summary: Summary, most: int = MOST_ROWS) -> list[Table]:
    """Where the time goes; who is late. ``most`` rows each, those that take the most time; 0: all."""
    shown = summary.rows[:most] if most else summary.rows
    left = len(summary.rows) - len(shown)
    rest = sum(row.spent_s for row in summary.rows[len(shown) :])
    notes = [
        "share: of the run's time, summed over ranks; waited: in the call before the last rank arrived;"
        " operation: the rest of the call"
    ]
    if left:
        notes.append(
            f"{counted(left, 'further row')} with {format_time(rest)} together; all of them with --rows 0"
        )
    return [_time(summary, shown, notes), _delays(shown), _late(shown)]


def head(summary: Summary) -> list[str]:
    """Lines about the run: what ran where, how much of it are collectives."""
    nodes = summary.hosts[0] if len(summary.hosts) == 1 else counted(len(summary.hosts), "node")
    traced = "" if summary.traced == summary.processes else f", {summary.traced} of them traced"
    processes = "1 process" if summary.processes == 1 else f"{summary.processes} processes"
    lines = [f"{summary.program or 'a program'}: {processes} on {nodes}{traced}; {summary.library}"]
    if summary.run_s > 0:
        share, waited = summary.spent_s / summary.run_s, summary.waited_s / summary.run_s
        lines.append(
            f"{summary.records} records; collectives take {share:.1%} of the run's time,"
            f" {waited:.1%} is waiting for late ranks"
        )
    else:
        lines.append(f"{summary.records} records")
    bound = (
        "all ranks read one clock"
        if summary.bound_s == 0
        else f"wrong by {format_time(summary.bound_s)} at most"
    )
    return [*lines, f"times between ranks: {bound}"]


def _time(summary: Summary, rows: list[Row], notes: list[str]) -> Table:
    headings = ["call site", "function", "communicator", "p", "size", "calls", "bytes", "share"]
    return Table(
        title="Where the time goes",
        headings=[*headings, "waited", "operation"],
        rows=[
            [
                row.site,
                _function(row),
                row.communicator,
                str(row.processes) if row.processes else NOTHING_KNOWN,
                sizes(row.least_bytes, row.most_bytes),
                str(row.calls),
                _amount(row.all_bytes),
                _share(row.share),
                _share(row.waited_s / summary.run_s if summary.run_s > 0 else math.nan),
                _share(row.operation_s / summary.run_s if summary.run_s > 0 else math.nan),
            ]
            for row in rows
        ],
        texts=(0, 1, 2),
        notes=notes,
    )


def _delays(rows: list[Row]) -> Table:
    several = [row for row in rows if row.processes != 1 and row.whole]
    quantiles = [f"{share:.0%}" for share in SHARES]
    return Table(
        title="How far apart ranks arrive, and how long the operation takes",
        headings=["call site", "function", "size", "d*", "d̂", "d* − d̂", *(f"skew {q}" for q in quantiles)],
        rows=[
            [
                row.site,
                row.function,
                sizes(row.least_bytes, row.most_bytes),
                format_time(row.total_delay.mean_s),
                format_time(row.last_delay.mean_s),
                format_time(row.skew.mean_s),
                *(format_time(skew_s, 2) for skew_s in row.skew.quantiles_s),
            ]
            for row in several
        ],
        texts=(0, 1),
        notes=[
            "d*: last exit − first arrival, d̂: last exit − last arrival, means over calls; their difference"
            " is the skew, whose quantiles are right to within 5%"
        ],
    )


def _late(rows: list[Row]) -> Table:
    several = [row for row in rows if row.processes != 1 and row.latest_ranks]
    return Table(
        title="Who is late",
        headings=["call site", "function", "stability", "latest ranks", "latest nodes"],
        rows=[
            [
                row.site,
                row.function,
                NOTHING_KNOWN if math.isnan(row.stability) else f"{row.stability:.2f}",
                _late_words(row.latest_ranks),
                _late_words(row.latest_nodes),
            ]
            for row in several
        ],
        texts=(0, 1, 3, 4),
        notes=[
            "mean delay behind the first rank, and in how many of the calls it was the last; stability: how"
            " much of the delays is the same in every call, 1 all, 0 nothing"
        ],
    )


def _function(row: Row) -> str:
    failed = f" ({row.failed} failed)" if row.failed else ""
    kind = f" {row.kind}" if row.kind == "persistent" else ""
    return f"{row.function}{kind}{failed}"


def _late_words(late: list[Late]) -> str:
    return ", ".join(f"{one.name}: {format_time(one.delay_s, 2)} ({one.last_share:.0%})" for one in late)


def _share(value: float) -> str:
    return NOTHING_KNOWN if math.isnan(value) else f"{value:.1%}"


def _amount(size_bytes: int) -> str:
    """Bytes, rounded for tables: ``1.25 GB``."""
    for factor, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.3g} {unit}"
    return format_size(size_bytes)
