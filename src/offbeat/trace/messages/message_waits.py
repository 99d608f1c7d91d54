"""How much of the time in point-to-point calls was waiting for a late partner.

For a message from a sender to a receiver:

- *Late sender*: the receiver entered the call that completed the message (MPI_Recv, or MPI_Wait of
  MPI_Irecv) before the sender posted it (entered MPI_Send or MPI_Isend, started a persistent send). The time
  from there to the post, or to the end of the call, is waiting; the rest is transfer.
- *Late receiver*: the sender entered the call that completed the message before the receiver posted the
  receive. For a synchronous send (MPI_Ssend, MPI_Issend, MPI_Ssend_init) the time up to the post is waiting.
  A send in standard mode may end without the receiver: the time counts only if the call did not end before
  the receive was posted, as with the rendezvous protocol. A trace does not show whether such a call waited
  for the receiver or for something else. Buffered and ready sends never wait for a receiver.

A call that completes several messages waits for the latest partner: its waiting is the largest of its
messages', not their sum. Time behind a late sender counts first; a still later receiver adds the difference.

The waiting is unknown in two cases: in calls with a message whose partner is not in the trace (a rank without
a file, a wildcard without a status), and in polls and probes, whose time is reported separately.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace.calls.lane_windows import Columns
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import Trace
from offbeat.trace.messages.message_batches import MessageBatch
from offbeat.trace.messages.message_ends import Ends
from offbeat.trace.messages.message_matching import MatchedMessages

_NEVER_WAIT = ("MPI_Bsend", "MPI_Rsend")
_SYNCHRONOUS = "MPI_Ssend"


class EndWaiting(Struct, kw_only=True, eq=False):
    """Waiting of the two ends of each message, (n,) each, in ns."""

    late_sender_ns: NDArray[np.int64]
    late_receiver_ns: NDArray[np.int64]


class SendModes:
    """Which functions of a trace send synchronously, and which never wait for a receiver."""

    def __init__(self, trace: Trace) -> None:
        function_names = [function.collective for function in trace.functions]
        self.is_synchronous = np.array([name == _SYNCHRONOUS for name in function_names], np.bool_)
        self.never_waits = np.array([name in _NEVER_WAIT for name in function_names], np.bool_)


def waiting_of_ends(sends: Ends, receives: Ends, modes: SendModes) -> EndWaiting:
    """The waiting of matched sends and receives, as defined above."""
    late_sender = np.minimum(sends.posted_ns, receives.exit_ns) - receives.enter_ns
    late_receiver = np.minimum(receives.posted_ns, sends.exit_ns) - sends.enter_ns
    is_eager = (sends.exit_ns < receives.posted_ns) & ~modes.is_synchronous[sends.posting_function]
    late_receiver[is_eager | modes.never_waits[sends.posting_function]] = 0
    late_sender[~_has_call(receives)] = 0
    late_receiver[~_has_call(sends)] = 0
    return EndWaiting(
        late_sender_ns=np.maximum(late_sender, 0), late_receiver_ns=np.maximum(late_receiver, 0)
    )


def _has_call(ends: Ends) -> NDArray[np.bool_]:
    """Which ends have a completing call, (n,)."""
    return ends.call >= 0


class CompletingCalls(Columns, eq=False):
    """Calls that completed messages, (n,): the time of each, and its division.

    ``row`` is the caller's number of the call. ``is_unknown`` tells that a partner is not in the trace; what
    is known of the waiting counts anyway.
    """

    call: NDArray[np.int64]
    row: NDArray[np.int64]
    spent_ns: NDArray[np.int64]
    open_messages: NDArray[np.int64]
    late_sender_ns: NDArray[np.int64]
    late_receiver_ns: NDArray[np.int64]
    is_unknown: NDArray[np.bool_]


def completes(batch: MessageBatch) -> NDArray[np.bool_]:
    """Which messages of a batch a call completed, (n,)."""
    is_transfer = (batch.kind == form.SEND) | (batch.kind == form.RECEIVE)
    is_blocking = (batch.phase == form.CALL) & (batch.request == 0)
    return np.asarray(is_transfer & ((batch.phase == form.COMPLETION) | is_blocking))


def completing_calls(batch: MessageBatch, row: NDArray[np.int64]) -> CompletingCalls:
    """The calls that completed messages of a batch, without their waiting; ``row`` (n,) is that of each."""
    rows = np.flatnonzero(completes(batch))
    zeros = np.zeros(len(rows), np.int64)
    return CompletingCalls(
        call=batch.call[rows],
        row=row[rows],
        spent_ns=batch.spent_ns[rows],
        open_messages=zeros + 1,
        late_sender_ns=zeros,
        late_receiver_ns=zeros,
        is_unknown=np.zeros(len(rows), np.bool_),
    )


class CallWaitingSums:
    """Sums up the waiting of calls, whose messages find their partners one after another."""

    def __init__(self, trace: Trace) -> None:
        self._modes = SendModes(trace)
        self._open: list[CompletingCalls] = []

    def add(self, pairs: MatchedMessages, calls: CompletingCalls) -> CompletingCalls:
        """The calls all of whose messages are known by now, with their waiting.

        ``calls`` are those of ``matched.batches``; ``left`` is the number of messages that each completed.
        """
        end_waiting = waiting_of_ends(pairs.sends, pairs.receives, self._modes)
        zeros = np.zeros(len(pairs.receives), np.int64)
        alone = pairs.alone
        parts = [
            *self._open,
            calls,
            _contribution(pairs.receives, end_waiting.late_sender_ns, zeros),
            _contribution(pairs.sends, zeros, end_waiting.late_receiver_ns),
            _contribution(
                alone,
                np.zeros(len(alone), np.int64),
                np.zeros(len(alone), np.int64),
                _has_untraced_partner(alone),
            ),
        ]
        call_sums = _sum_by_call(CompletingCalls.concatenate(parts))
        self._open = [call_sums.select(call_sums.open_messages != 0)]
        return _limit_to_duration(call_sums.select(call_sums.open_messages == 0))

    def rest(self) -> CompletingCalls:
        """The calls some of whose messages never became known."""
        rest = _sum_by_call(CompletingCalls.concatenate(self._open)) if self._open else _no_calls()
        self._open = []
        return _limit_to_duration(rest)


def _no_calls() -> CompletingCalls:
    numbers = np.empty(0, np.int64)
    return CompletingCalls(numbers, numbers, numbers, numbers, numbers, numbers, np.empty(0, np.bool_))


def _has_untraced_partner(alone: Ends) -> NDArray[np.bool_]:
    """Which ends without a partner in the trace must have had one, (n,)."""
    peer = np.where(alone.is_send, alone.destination, alone.source)
    happens = (alone.flags & (form.FAILED | form.CANCELLED)) == 0
    return np.asarray(happens & (peer != form.PEER_PROC_NULL))


def _contribution(
    ends: Ends,
    late_sender_ns: NDArray[np.int64],
    late_receiver_ns: NDArray[np.int64],
    is_unknown: NDArray[np.bool_] | None = None,
) -> CompletingCalls:
    """What ends add to the calls that completed them."""
    rows = np.flatnonzero(ends.call >= 0)
    zeros = np.zeros(len(rows), np.int64)
    return CompletingCalls(
        call=ends.call[rows],
        row=zeros - 1,
        spent_ns=zeros,
        open_messages=zeros - 1,
        late_sender_ns=late_sender_ns[rows],
        late_receiver_ns=late_receiver_ns[rows],
        is_unknown=np.zeros(len(rows), np.bool_) if is_unknown is None else is_unknown[rows],
    )


def _sum_by_call(calls: CompletingCalls) -> CompletingCalls:
    """One row for each call."""
    if not len(calls):
        return calls
    calls = calls.select(np.argsort(calls.call, kind="stable"))
    starts = np.flatnonzero(np.concatenate([[True], calls.call[1:] != calls.call[:-1]]))
    return CompletingCalls(
        call=calls.call[starts],
        row=np.maximum.reduceat(calls.row, starts),
        spent_ns=np.add.reduceat(calls.spent_ns, starts),
        open_messages=np.add.reduceat(calls.open_messages, starts),
        late_sender_ns=np.maximum.reduceat(calls.late_sender_ns, starts),
        late_receiver_ns=np.maximum.reduceat(calls.late_receiver_ns, starts),
        is_unknown=np.logical_or.reduceat(calls.is_unknown, starts),
    )


def _limit_to_duration(calls: CompletingCalls) -> CompletingCalls:
    """The waiting within the time of each call; a receiver counts only beyond the latest sender."""
    calls.late_sender_ns = np.minimum(calls.late_sender_ns, calls.spent_ns)
    calls.late_receiver_ns = np.maximum(
        np.minimum(calls.late_receiver_ns, calls.spent_ns) - calls.late_sender_ns, 0
    )
    return calls
