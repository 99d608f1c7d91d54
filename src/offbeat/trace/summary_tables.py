"""The summary of a trace as tables and lines: where the time goes, and which ranks arrive how late."""

from __future__ import annotations

import math
from pathlib import Path

from offbeat.base.document.tables import Table
from offbeat.base.units import amount, format_time, rounded_size
from offbeat.trace.calls.call_site_stats import (
    LEAST_EXPLAINED,
    SHARES,
    CallSiteStats,
    Straggler,
    is_mixed,
    size_text,
)
from offbeat.trace.calls.sparsity import sparsity_notes
from offbeat.trace.messages.message_tables import message_head, message_table
from offbeat.trace.summary import Summary

UNKNOWN = "–"
MOST_ROWS = 20


def tables(summary: Summary, most_rows: int = MOST_ROWS, *, apart: bool = False) -> list[Table]:
    """Time, skews and delays, stragglers, point-to-point calls: ``most_rows`` rows each (0: all).

    Collectives are shown by groups of communicators unless ``apart``.
    """
    rows = summary.rows if apart else summary.group_rows
    shown_rows = rows[:most_rows] if most_rows else rows
    omitted_rows = len(rows) - len(shown_rows)
    omitted_s = sum(row.spent_s for row in rows[len(shown_rows) :])
    notes = [
        "share: of the recorded run time, summed over ranks; waited: in the call before the last arrival;"
        " operation: the rest of the call"
    ]
    if summary.threads > 1:
        notes.append(
            f"{summary.threads:.3g} threads of each rank call MPI concurrently: shares are of the run time of"
            " all threads"
        )
    notes.append(
        "size: the message size as studies state it, bytes per process as the MPI call states it (alltoallv,"
        " alltoallw and reduce_scatter: the mean block); bytes: sizes, summed over calls and ranks"
    )
    notes += sparsity_notes(shown_rows)
    if omitted_rows:
        notes.append(
            f"{amount(omitted_rows, 'further row')} with {format_time(omitted_s)} together, summed over"
            " ranks; all with --rows 0"
        )
    if any(row.communicators > 1 for row in shown_rows):
        notes.append(
            "N × MPI_Comm_split: calls on a group of N communicators (same parent, size, constructor and"
            " name, with the same ranks or without common ranks); ranks are those within each communicator;"
            " --apart shows communicators with different ranks separately"
        )
    late = _late(shown_rows, several_nodes=len(summary.hosts) > 1)
    of_collectives = [_time(summary, shown_rows, notes), _delays(shown_rows), late]
    messages = message_table(summary.messages, summary.thread_run_s, most_rows)
    return [*of_collectives, messages] if messages.rows else of_collectives


def head(summary: Summary) -> list[str]:
    """Lines about the run: program, nodes, library, and the share of collectives."""
    nodes = summary.hosts[0] if len(summary.hosts) == 1 else amount(len(summary.hosts), "node")
    traced_text = "" if summary.traced == summary.processes else f", {summary.traced} of them traced"
    processes = "1 process" if summary.processes == 1 else f"{summary.processes} processes"
    program = Path(summary.program).name or "a program"
    lines = [f"{program}: {processes} on {nodes}{traced_text}; {library_name(summary.library)}"]
    if summary.thread_run_s > 0:
        share, waiting_share = summary.spent_s / summary.thread_run_s, summary.waited_s / summary.thread_run_s
        is_known = any(row.is_compared for row in summary.rows)
        lines.append(
            f"{summary.records} records; collectives take {share:.1%} of the run time"
            + (f", waiting for late ranks {waiting_share:.1%}" if is_known else "")
        )
    else:
        lines.append(f"{summary.records} records")
    lines += message_head(summary)
    bound = (
        "all ranks read the same clock"
        if summary.bound_s == 0
        else f"error at most {format_time(summary.bound_s)}"
    )
    return [*lines, f"times between ranks: {bound}"]


def library_name(library: str) -> str:
    """The version text of the MPI library up to the first comma or line break: ``Open MPI v4.1.4``."""
    return " ".join(library.partition("\n")[0].partition(",")[0].split()) or "an unknown library"


def _time(summary: Summary, rows: list[CallSiteStats], notes: list[str]) -> Table:
    headings = ["#", "call site", "function", "communicator", "p", "size", "calls", "bytes", "share"]
    run_s = summary.thread_run_s if summary.thread_run_s > 0 else math.nan
    return Table(
        title="Where the time goes",
        headings=[*headings, "waited", "operation"],
        rows=[
            [
                str(number),
                row.site,
                _function(row),
                row.communicator,
                str(row.processes) if row.processes else UNKNOWN,
                size_text(row.least_bytes, row.most_bytes),
                str(row.calls),
                rounded_size(row.all_bytes),
                _share(row.share),
                _share(row.waited_s / run_s if row.is_compared else math.nan),
                _share(row.operation_s / run_s if row.is_compared else math.nan),
            ]
            for number, row in enumerate(rows, 1)
        ],
        texts=(1, 2, 3),
        notes=notes,
        spare=(3, 7),
    )


def _delays(rows: list[CallSiteStats]) -> Table:
    numbered_rows = [
        (number, row)
        for number, row in enumerate(rows, 1)
        if row.processes != 1 and row.whole and row.is_compared
    ]
    headings = ["#", "call site", "function", "size", "d*", "d̂", "d* − d̂"]
    quantiles = [f"{share:.0%}" for share in SHARES]
    return Table(
        title="How far apart ranks arrive, and how long the operation takes",
        headings=[*headings, *(f"skew {q}" for q in quantiles)],
        rows=[
            [
                str(number),
                row.site,
                row.function,
                size_text(row.least_bytes, row.most_bytes),
                format_time(row.total_delay.mean_s),
                format_time(row.last_delay.mean_s),
                format_time(row.skew.mean_s),
                *(format_time(skew_s, 2) for skew_s in row.skew.quantiles_s),
            ]
            for number, row in numbered_rows
        ],
        texts=(1, 2),
        spare=(1, 2, 8, 10),
        notes=[
            "d*: last exit − first arrival, d̂: last exit − last arrival, means over calls; their difference"
            " is the skew; the error of its quantiles is below 5%"
        ],
    )


def _late(rows: list[CallSiteStats], *, several_nodes: bool) -> Table:
    headings = ["#", "call site", "function", "stability", "latest ranks", "latest nodes"]
    cells = [
        [
            str(number),
            row.site,
            row.function,
            stability_text(row),
            straggler_text(row.latest_ranks),
            straggler_text(row.latest_nodes),
        ]
        for number, row in enumerate(rows, 1)
        if row.processes != 1 and row.latest_ranks
    ]
    column_count = len(headings) if several_nodes else len(headings) - 1
    notes = [
        "mean delay relative to the first arrival, and the share of the calls in which it was the last;"
        " stability: the share of the variance of delays that is the same in every call"
    ]
    if mixed_rows := [str(number) for number, row in enumerate(rows, 1) if is_mixed(row)]:
        rows_text = f"rows {', '.join(mixed_rows)}" if len(mixed_rows) > 1 else f"row {mixed_rows[0]}"
        notes.append(
            f"{rows_text}: the mean pattern explains less than {LEAST_EXPLAINED:.0%} of the arrivals;"
            " 'offbeat trace pattern --what clusters' finds the typical patterns"
        )
    return Table(
        title="Who is late",
        headings=headings[:column_count],
        rows=[row[:column_count] for row in cells],
        texts=(1, 2, 4, 5),
        spare=(1, 2),
        notes=notes,
    )


def _function(row: CallSiteStats) -> str:
    failure_text = f" ({row.failed} failed)" if row.failed else ""
    kind = f" {row.kind}" if row.kind == "persistent" else ""
    return f"{row.function}{kind}{failure_text}"


def stability_text(row: CallSiteStats) -> str:
    """``0.93``, or a dash."""
    return UNKNOWN if math.isnan(row.stability) else f"{row.stability:.2f}"


def straggler_text(late: list[Straggler]) -> str:
    """``17: 42 µs (100%), 3: 5 µs (0%)``: rank or node, mean delay, share of calls in which it was last."""
    return ", ".join(f"{one.name}: {format_time(one.delay_s, 2)} ({one.last_share:.0%})" for one in late)


def _share(value: float) -> str:
    return UNKNOWN if math.isnan(value) else f"{value:.1%}"
