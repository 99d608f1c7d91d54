"""What ``offbeat trace summary`` writes as JSON."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import Struct

from offbeat.trace.calls.call_site_stats import CallSiteStats, Straggler, Times
from offbeat.trace.calls.sparsity import empty_share
from offbeat.trace.summary import Summary

Row = TypeVar("Row", bound=Struct)


class CallSiteRow(Struct, frozen=True, kw_only=True):
    """The calls of one call site, function, size class and communicator, or group of communicators.

    ``path`` is the call path, ``location`` the source line or the address of the call. ``processes`` is the
    size of the communicator. ``communicators`` is how many communicators a group has; ``memberships`` how
    many different lists of ranks there are among them. ``calls`` counts matched calls; ``whole`` those with
    records of all traced ranks, which ``skew``, ``total_delay``, ``last_delay`` and ``delays_s`` are of.
    ``all_bytes`` is the sum of message sizes over calls and ranks, ``least_bytes`` and ``most_bytes`` are the
    ends of their range. ``spent_s`` is the time in the calls, ``waited_s`` the part of it before the last
    rank arrived and ``operation_s`` the rest, summed over ranks; ``share`` is ``spent_s`` relative to the
    recorded run time. ``stability`` is the share of the variance of delays within calls that mean delays
    explain. ``bound_s`` is the largest error of a time. ``latest_ranks`` and ``latest_nodes`` arrive last.
    ``delays_s`` is the mean delay of each rank, empty where delays are unknown. ``is_compared`` is false
    where a single rank is traced. ``blocks`` is how many blocks calls with counts for each process have,
    ``empty_blocks`` how many of them have no bytes, ``empty_share`` their share.
    """

    site: str
    location: str
    path: str
    function: str
    collective: str
    kind: str
    communicator: str
    communicator_index: int
    communicators: int
    memberships: int
    processes: int
    calls: int
    whole: int
    failed: int
    in_place: bool
    is_inter: bool
    is_compared: bool
    least_bytes: int
    most_bytes: int
    all_bytes: int
    spent_s: float
    waited_s: float
    operation_s: float
    share: float
    skew: Times
    total_delay: Times
    last_delay: Times
    stability: float
    bound_s: float
    latest_ranks: list[Straggler]
    latest_nodes: list[Straggler]
    delays_s: list[float]
    blocks: int
    empty_blocks: int
    empty_share: float
    largest_block_bytes: int


class MessageRow(Struct, frozen=True, kw_only=True):
    """The point-to-point calls of one function at one call site; times are sums over ranks.

    ``sent`` and ``received`` are the messages that these calls completed. ``share`` is ``spent_s`` relative
    to the recorded run time. ``waited_s`` is the waiting for late partners: ``late_sender_s`` and
    ``late_receiver_s``. ``unknown_s`` is the time of calls with a message whose partner is not in the trace,
    and ``transfer_s`` the rest.
    """

    site: str
    path: str
    function: str
    calls: int
    failed: int
    sent: int
    sent_bytes: int
    received: int
    received_bytes: int
    spent_s: float
    share: float
    waited_s: float
    late_sender_s: float
    late_receiver_s: float
    unknown_s: float
    transfer_s: float


class SummaryDocument(Struct, frozen=True, kw_only=True):
    """Where the time in MPI of a traced program goes; call sites with the most time come first.

    ``traced`` is how many of the ``processes`` have a trace. ``records`` are collective calls of a rank,
    ``message_records`` point-to-point ones, and ``marks`` calls of MPI_Pcontrol. ``run_s`` is the time from
    MPI_Init to the end, summed over ranks; ``recorded_s`` is the recorded part of it, and ``thread_run_s``
    this part summed over the threads that call MPI concurrently. ``bound_s`` is the largest error of a time.
    ``rows`` has a row for each communicator, ``groups`` one for each communicator group. ``has_messages``
    says whether point-to-point calls were recorded. ``sampling`` has the sampling options.
    """

    directory: str
    program: str
    library: str
    processes: int
    traced: int
    hosts: list[str]
    records: int
    run_s: float
    recorded_s: float
    thread_run_s: float
    bound_s: float
    rows: list[CallSiteRow]
    groups: list[CallSiteRow]
    has_messages: bool
    message_records: int
    marks: int
    messages: list[MessageRow]
    sampling: list[str]
    notes: list[str]


def summary_document(summary: Summary) -> SummaryDocument:
    """The document of a summary."""
    rows = {
        "rows": [_call_site(row) for row in summary.rows],
        "groups": [_call_site(row) for row in summary.group_rows],
        "messages": [_values(MessageRow, row) for row in summary.messages],
    }
    return _values(SummaryDocument, summary, **rows)


def _call_site(row: CallSiteStats) -> CallSiteRow:
    return _values(CallSiteRow, row, delays_s=row.delays_s.tolist(), empty_share=empty_share([row]))


def _values(kind: type[Row], source: Struct, **further_values: Any) -> Row:
    """A structure with the attributes of the same names, and ``further_values``."""
    names = [name for name in kind.__struct_fields__ if name not in further_values]
    return kind(**{name: getattr(source, name) for name in names}, **further_values)
