"""The point-to-point calls of a summary as a table and lines."""

from __future__ import annotations

import math
from collections.abc import Sequence

from offbeat.base.document.tables import Table
from offbeat.base.units import amount, format_time, rounded_size
from offbeat.trace.messages.message_stats import MessageStats
from offbeat.trace.summary import Summary

NOT_RECORDED = "point-to-point calls were not recorded; 'offbeat trace run --messages' records them"


def message_head(summary: Summary) -> list[str]:
    """Lines on all point-to-point calls, and on MPI as a whole."""
    if not summary.has_messages:
        return [NOT_RECORDED]
    spent_s, run_s = summary.messages_spent_s, summary.thread_run_s
    if run_s <= 0:
        return [f"{summary.message_records} records of point-to-point calls"]
    return [
        f"{summary.message_records} records of point-to-point calls, which take {spent_s / run_s:.1%} of the"
        f" run time, waiting for late partners {summary.messages_waited_s / run_s:.1%}",
        f"all recorded MPI calls: {(summary.spent_s + spent_s) / run_s:.1%} of the run time",
    ]


def message_table(messages: Sequence[MessageStats], run_s: float, most_rows: int) -> Table:
    """The ``most_rows`` rows (0: all) that take the most time; shares are of ``run_s``."""
    shown_messages = messages[:most_rows] if most_rows else messages
    rest = messages[len(shown_messages) :]
    notes = [
        "late sender: the receiver waited for the send to begin; late receiver: the sender of a synchronous"
        " or large message waited for the receive; transfer: the rest of calls that completed messages;"
        " unknown: of these, the rest of calls with a partner that is not in the trace"
    ]
    if rest:
        rest_s = sum(row.spent_s for row in rest)
        notes.append(
            f"{amount(len(rest), 'further row')} with {format_time(rest_s)} together, summed over ranks; all"
            " with --rows 0"
        )
    headings = [
        "call site",
        "function",
        "calls",
        "messages",
        "bytes",
        "share",
        "late sender",
        "late receiver",
    ]
    return Table(
        title="Where the time in point-to-point calls goes",
        headings=[*headings, "transfer", "unknown"],
        rows=[_cells(row, run_s if run_s > 0 else math.nan) for row in shown_messages],
        texts=(0, 1),
        notes=notes,
        spare=(3, 4, 9),
    )


def _cells(row: MessageStats, run_s: float) -> list[str]:
    failure_text = f" ({row.failed} failed)" if row.failed else ""
    count, size_bytes = row.sent + row.received, row.sent_bytes + row.received_bytes
    completes = bool(count)
    times_s = (row.late_sender_s, row.late_receiver_s, row.transfer_s, row.unknown_s)
    return [
        row.site,
        f"{row.function}{failure_text}",
        str(row.calls),
        str(count) if count else "–",
        rounded_size(size_bytes) if count else "–",
        _share(row.spent_s / run_s),
        *(_share(time_s / run_s) if completes else "–" for time_s in times_s),
    ]


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1%}"
