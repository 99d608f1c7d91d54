"""Statistics of point-to-point calls by call site and function: the rows of a summary."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace.calls.call_sites import site_labels
from offbeat.trace.files import format as form
from offbeat.trace.files.recorded_time import PAUSE, RESUME
from offbeat.trace.files.trace_folder import Progress, Trace
from offbeat.trace.messages.message_batches import MessageBatch
from offbeat.trace.messages.message_matching import MOST_MESSAGES, MessageCounts, MessageMatcher
from offbeat.trace.messages.message_waits import CallWaitingSums, CompletingCalls, completes, completing_calls

_COUNTS = np.dtype(
    [
        *((name, "<i8") for name in ("calls", "failed", "sent", "sent_bytes", "received", "received_bytes")),
        *((name, "<i8") for name in ("spent_ns", "late_sender_ns", "late_receiver_ns", "unknown_ns")),
    ]
)


class MessageStats(Struct, kw_only=True):
    """The point-to-point calls of one function at one call site; times are summed over ranks.

    ``sent`` and ``received`` are the messages that these calls completed, with their bytes. ``late_sender_s``
    and ``late_receiver_s`` are the waiting for late partners (:mod:`offbeat.trace.messages.message_waits`);
    ``unknown_s`` is the rest of the time of calls with a message whose partner is not in the trace.
    ``share`` is ``spent_s`` relative to the run time of all ranks.
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
    late_sender_s: float
    late_receiver_s: float
    unknown_s: float
    share: float

    @property
    def transfer_s(self) -> float:
        """The rest of the time of calls that completed messages."""
        return self.spent_s - self.waited_s - self.unknown_s

    @property
    def waited_s(self) -> float:
        """Time behind late senders and receivers."""
        return self.late_sender_s + self.late_receiver_s


class MessageSums:
    """Reads the messages of a trace once and sums them up by call site and function."""

    def __init__(
        self, trace: Trace, *, most_messages: int = MOST_MESSAGES, on_progress: Progress | None = None
    ) -> None:
        self._trace = trace
        self._matcher = MessageMatcher(trace, most_messages=most_messages, on_progress=on_progress)
        self._numbers: dict[tuple[int, int], int] = {}
        self._counts = np.zeros(16, _COUNTS)
        self.marks = 0
        self.pause_marks: dict[int, list[tuple[int, int]]] = {}
        waits = CallWaitingSums(trace)
        for pairs in self._matcher.batches():
            calls = [self._add(batch) for batch in pairs.batches or [MessageBatch()]]
            self._add_waits(waits.add(pairs, CompletingCalls.concatenate(calls)))
        self._add_waits(waits.rest())

    @property
    def counts(self) -> MessageCounts:
        """What was read."""
        return self._matcher.counts

    def last_exit_ns(self, number: int) -> int:
        """The latest exit in a file, on the shared clock; the smallest integer if there is none."""
        return self._matcher.last_exit_ns(number)

    def rows(self, run_s: float) -> list[MessageStats]:
        """The rows in descending order of time; ``run_s`` is the run time that shares are relative to."""
        sites = self._trace.sites.sites
        site_numbers = sorted({site for site, _ in self._numbers})
        labels = dict(zip(site_numbers, site_labels([sites[site] for site in site_numbers]), strict=True))
        rows = []
        for (site, function), number in self._numbers.items():
            rows.append(self._row(site, function, number, labels[site], run_s))
        return sorted(rows, key=lambda row: (-row.spent_s, row.site, row.function))

    def _row(self, site: int, function: int, number: int, label: str, run_s: float) -> MessageStats:
        counts = self._counts[number]
        spent_s = int(counts["spent_ns"]) / 1e9
        return MessageStats(
            site=label,
            path=self._trace.sites.sites[site].path,
            function=self._trace.functions[function].name,
            calls=int(counts["calls"]),
            failed=int(counts["failed"]),
            sent=int(counts["sent"]),
            sent_bytes=int(counts["sent_bytes"]),
            received=int(counts["received"]),
            received_bytes=int(counts["received_bytes"]),
            spent_s=spent_s,
            late_sender_s=int(counts["late_sender_ns"]) / 1e9,
            late_receiver_s=int(counts["late_receiver_ns"]) / 1e9,
            unknown_s=int(counts["unknown_ns"]) / 1e9,
            share=spent_s / run_s if run_s > 0 else 0.0,
        )

    def _add(self, batch: MessageBatch) -> CompletingCalls:
        """Add the calls of a batch, without their waiting; returns those that completed messages."""
        is_mark = batch.kind == form.MARK
        self.marks += int(np.count_nonzero(is_mark))
        self._add_pauses(batch.select(is_mark))
        batch = batch.select(~is_mark)
        row = self._rows(batch)
        is_done = completes(batch)
        is_transfer = is_done & ((batch.flags & (form.FAILED | form.CANCELLED)) == 0)
        is_transfer &= batch.peer != form.PEER_PROC_NULL
        for name, values in (
            ("calls", batch.calls),
            ("failed", np.where((batch.flags & form.FAILED) != 0, batch.calls, 0)),
            ("sent", is_transfer & batch.is_send),
            ("sent_bytes", np.where(is_transfer & batch.is_send, batch.bytes, 0)),
            ("received", is_transfer & ~batch.is_send),
            ("received_bytes", np.where(is_transfer & ~batch.is_send, batch.bytes, 0)),
            ("spent_ns", batch.spent_ns),
        ):
            np.add.at(self._counts[name], row, values)
        return completing_calls(batch, row)

    def _add_pauses(self, marks: MessageBatch) -> None:
        """Add the calls of MPI_Pcontrol that pause or resume the tracer: shared time and level, by file."""
        marks = marks.select((marks.tag == PAUSE) | (marks.tag == RESUME))
        for file, at_ns, level in zip(
            marks.file.tolist(), marks.enter_ns.tolist(), marks.tag.tolist(), strict=True
        ):
            self.pause_marks.setdefault(file, []).append((at_ns, level))

    def _add_waits(self, calls: CompletingCalls) -> None:
        """Add the waiting of calls."""
        if not len(calls):
            return
        known_waiting_ns = calls.late_sender_ns + calls.late_receiver_ns
        for name, values in (
            ("late_sender_ns", calls.late_sender_ns),
            ("late_receiver_ns", calls.late_receiver_ns),
            ("unknown_ns", np.where(calls.is_unknown, calls.spent_ns - known_waiting_ns, 0)),
        ):
            np.add.at(self._counts[name], calls.row, values)

    def _rows(self, batch: MessageBatch) -> NDArray[np.int64]:
        """The row of each message, which is created as needed, (n,)."""
        function_count = max(len(self._trace.functions), 1)
        pairs, of_pair = np.unique(batch.site * function_count + batch.function, return_inverse=True)
        numbers = [
            self._numbers.setdefault(divmod(pair, function_count), len(self._numbers))
            for pair in pairs.tolist()
        ]
        while len(self._numbers) > len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        return np.array(numbers, np.int64)[of_pair.reshape(-1)] if numbers else np.empty(0, np.int64)
