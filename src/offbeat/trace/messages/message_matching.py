"""Which send belongs to which receive.

MPI does not let messages overtake each other: of the messages from one rank to another on one communicator
with one tag, the k-th that was sent is received by the k-th receive that was posted. A receive with a
wildcard has the source and the tag that its status states. Partitioned communication matches by its
initialisations alone, and only with itself.

All files are read side by side, one time window after another, so that memory holds the messages in flight
and not the whole trace. A send or a receive, an *end* of a message, waits for its partner once its position
among all with the same key is known: when it is complete, and so is every earlier one of its rank that may
have the same key.

The rule needs every message. Where a window or a pause left some out, the next recorded one states how many
(``skipped``), and these are counted; after a full disk or the byte limit no message is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.base.units import amount
from offbeat.trace.calls.key_matching import match
from offbeat.trace.calls.lane_windows import LaneReader, part_records, windows
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import Progress, Trace
from offbeat.trace.messages.message_batches import MessageBatch, MessageReader
from offbeat.trace.messages.message_ends import KEY, Ends, close, complete, is_held_back

MOST_MESSAGES = 500_000
"""Limit of messages in memory, over all ranks: with what is computed of them, about 0.5 GiB. It is
exceeded if a few messages of each rank are more."""

MOST_OPEN = 2_000_000
"""Limit of ends that wait for their completion, and of those that wait for a partner; beyond it the oldest
half is given up."""

_EARLIEST = -(2**62)
"""Posted before every time of a trace."""


class MatchedMessages(Struct, kw_only=True, eq=False):
    """What one time window added: ``sends[i]`` was received by ``receives[i]``.

    ``batches`` are the messages that were read. ``alone`` are ends without a partner in the trace, and those
    that were cancelled, failed, or have MPI_PROC_NULL as peer. Every completed end is in one of the three
    exactly once.
    """

    batches: list[MessageBatch]
    sends: Ends
    receives: Ends
    alone: Ends


class MessageCounts(Struct):
    """Counts over a whole read: messages; those that cannot be read; pairs; receives with a wildcard that no
    status resolved; ends whose peer was not traced; whose partner is not in the trace though its rank is; and
    ends that were given up because of :data:`MOST_OPEN`.
    """

    messages: int = 0
    invalid: int = 0
    pairs: int = 0
    wildcard_receives: int = 0
    not_traced: int = 0
    without_partner: int = 0
    abandoned_ends: int = 0

    def notes(self) -> list[str]:
        """Returns notes on messages that were ignored or found no partner."""
        notes = []
        if self.invalid:
            notes.append(f"{amount(self.invalid, 'invalid record')} of point-to-point calls: ignored")
        if self.wildcard_receives:
            notes.append(
                f"{amount(self.wildcard_receives, 'receive')} with MPI_ANY_SOURCE or MPI_ANY_TAG without a"
                " status, or behind one: its sender is unknown"
            )
        if self.not_traced:
            notes.append(
                f"{amount(self.not_traced, 'message')} from or to ranks without a file: waiting for them is"
                " unknown"
            )
        if self.without_partner:
            notes.append(
                f"{self.without_partner} of the sends and receives have no partner in the trace (left out by"
                " a window, a limit or a pause, or never completed)"
            )
        if self.abandoned_ends:
            notes.append(
                f"{self.abandoned_ends} of the sends and receives were given up: too many waited for their"
                " partners at the same time"
            )
        return notes


class MessageMatcher:
    """Reads the messages of a trace once from start to end, and matches them."""

    def __init__(
        self, trace: Trace, *, most_messages: int = MOST_MESSAGES, on_progress: Progress | None = None
    ) -> None:
        self._on_progress, self._total = on_progress, trace.most_messages
        self.counts = MessageCounts()
        self._lanes: list[LaneReader[MessageBatch]] = []
        self._last_exit_ns: dict[int, int] = {}
        self._rank_of = np.array([file.header.rank for file in trace.files])
        self._is_traced = np.zeros(trace.size + 1, np.bool_)
        self._posts = np.zeros(len(trace.files), np.int64)
        part = part_records(sum(len(file.message_lanes) for file in trace.files), most_messages)
        for number, file in enumerate(trace.files):
            if trace.clocks.of_file[number] is None:
                continue
            self._is_traced[file.header.rank] = True
            for lane, pages in file.message_lanes.items():
                reader = MessageReader(trace, number, lane, len(self._lanes))
                self._lanes.append(
                    LaneReader(
                        number,
                        pages,
                        read=file.messages,
                        convert=partial(self._convert, reader),
                        records_a_page=form.MESSAGES_A_PAGE,
                        part_records=part,
                    )
                )

    def last_exit_ns(self, number: int) -> int:
        """The latest exit in a file so far, on the shared clock; the smallest integer if there is none."""
        return self._last_exit_ns.get(number, int(np.iinfo(np.int64).min))

    def batches(self) -> Iterator[MatchedMessages]:
        """Every message of the trace once."""
        none = self._ends(MessageBatch())
        open_ends, sends, receives = none, none, none
        for window in windows(self._lanes):
            batch = MessageBatch.concatenate(window)
            active = {lane.number for lane in self._lanes if lane.has_unread or lane.count}
            ready, open_ends = self._ready(batch, open_ends, active)
            matchable, alone = self._matchable(ready)
            new_sends = matchable.select(matchable.is_send)
            new_receives = matchable.select(~matchable.is_send)
            pairs, sends, receives, partnerless = self._match(
                Ends.concatenate([sends, new_sends]), Ends.concatenate([receives, new_receives])
            )
            yield MatchedMessages(
                batches=window,
                sends=pairs[0],
                receives=pairs[1],
                alone=Ends.concatenate([alone, partnerless]),
            )
        rest = Ends.concatenate([sends, receives])
        self.counts.without_partner += len(rest)
        yield MatchedMessages(batches=[], sends=none, receives=none, alone=rest)

    def _convert(self, reader: MessageReader, messages: NDArray[Any]) -> MessageBatch:
        """A part of a lane; counts it."""
        invalid = reader.invalid
        batch = reader.batch(messages)
        self.counts.messages += len(messages)
        self.counts.invalid += reader.invalid - invalid
        if len(batch):
            number = int(batch.file[0])
            self._last_exit_ns[number] = max(self.last_exit_ns(number), int(batch.exit_ns.max()))
        if self._on_progress:
            self._on_progress(self.counts.messages, self._total)
        return batch

    def _ready(self, batch: MessageBatch, open_ends: Ends, active: set[int]) -> tuple[Ends, Ends]:
        """The ends whose position is known, and the others; both with what completed them."""
        ends = Ends.concatenate([open_ends, self._posted_ends(batch)])
        ends, orphans = complete(ends, self._completions(batch))
        ends = Ends.concatenate([orphans, ends])
        is_last = ~np.isin(ends.file, list(active))
        if np.count_nonzero(ends.is_open) > MOST_OPEN:
            is_old = ends.is_open & (ends.posted_ns <= np.median(ends.posted_ns[ends.is_open]))
            self.counts.abandoned_ends += int(np.count_nonzero(is_old))
            is_last |= is_old
        close(ends, is_last)
        is_held = is_held_back(ends)
        return ends.select(~is_held), ends.select(is_held)

    def _posted_ends(self, batch: MessageBatch) -> Ends:
        """The ends that calls of a batch posted."""
        kind, phase = batch.kind, batch.phase
        is_partitioned = (kind == form.PARTITIONED_SEND) | (kind == form.PARTITIONED_RECEIVE)
        is_transfer = (kind == form.SEND) | (kind == form.RECEIVE)
        is_blocking = is_transfer & (phase == form.CALL) & (batch.request == 0)
        is_posted = is_blocking | is_transfer & ((phase == form.ISSUE) | (phase == form.START))
        is_posted |= is_partitioned & (phase == form.CALL)
        positions = np.flatnonzero(is_posted)
        positions = positions[np.lexsort([batch.enter_ns[positions], batch.file[positions]])]
        posting_calls = batch.select(positions)
        has_failed = (posting_calls.flags & form.FAILED) != 0
        is_complete = is_blocking[positions] | is_partitioned[positions] | has_failed
        ends = self._ends(posting_calls)
        ends.is_partitioned, ends.is_open = is_partitioned[positions], ~is_complete
        ends.call = np.where(is_blocking[positions], posting_calls.call, -1)
        ends.order = self._post_numbers(posting_calls.file)
        return ends

    def _post_numbers(self, files: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of each post of its file, of posts that are sorted by file."""
        distinct_files, starts, counts = np.unique(files, return_index=True, return_counts=True)
        numbers = (
            np.arange(len(files)) - np.repeat(starts, counts) + np.repeat(self._posts[distinct_files], counts)
        )
        self._posts[distinct_files] += counts
        return np.asarray(numbers)

    def _completions(self, batch: MessageBatch) -> Ends:
        """The completions in a batch as ends that were posted before all others, by their requests."""
        is_transfer = (batch.kind == form.SEND) | (batch.kind == form.RECEIVE)
        completing_calls = batch.select(np.flatnonzero(is_transfer & (batch.phase == form.COMPLETION)))
        ends = self._ends(completing_calls)
        ends.call = completing_calls.call
        ends.order = _EARLIEST + completing_calls.request
        ends.posted_ns = ends.posted_until_ns = np.full(len(completing_calls), _EARLIEST)
        return ends.select(np.argsort(ends.order, kind="stable"))

    def _ends(self, batch: MessageBatch) -> Ends:
        own_rank = self._rank_of[batch.file].astype(np.int64)
        return Ends(
            file=batch.file,
            is_send=batch.is_send,
            communicator=batch.communicator,
            source=np.where(batch.is_send, own_rank, batch.peer),
            destination=np.where(batch.is_send, batch.peer, own_rank),
            tag=batch.tag,
            is_partitioned=np.zeros(len(batch), np.bool_),
            gap_counts=batch.gap_counts,
            bytes=batch.bytes,
            flags=batch.flags,
            request=batch.request,
            round=batch.round,
            posting_function=batch.posting_function,
            is_open=np.zeros(len(batch), np.bool_),
            is_wildcard=batch.is_wildcard,
            order=np.zeros(len(batch), np.int64),
            posted_ns=batch.enter_ns,
            posted_until_ns=batch.exit_ns,
            lane=batch.lane,
            call=np.full(len(batch), -1),
            enter_ns=batch.enter_ns,
            exit_ns=batch.exit_ns,
            bound_ns=batch.bound_ns,
        )

    def _matchable(self, ready: Ends) -> tuple[Ends, Ends]:
        """The ends that may have a partner in the trace, and the others."""
        happens = (ready.flags & (form.FAILED | form.CANCELLED)) == 0
        peer = np.where(ready.is_send, ready.destination, ready.source)
        is_unresolved = happens & ready.is_wildcard
        # The last entry, which is never set, is that of unknown ranks.
        is_not_traced = happens & (peer != form.PEER_PROC_NULL) & ~self._is_traced[np.maximum(peer, -1)]
        self.counts.wildcard_receives += int(np.count_nonzero(is_unresolved))
        self.counts.not_traced += int(np.count_nonzero(is_not_traced & ~is_unresolved))
        is_matchable = happens & ~is_unresolved & ~is_not_traced & (peer >= 0)
        return ready.select(is_matchable), ready.select(~is_matchable)

    def _match(self, sends: Ends, receives: Ends) -> tuple[tuple[Ends, Ends], Ends, Ends, Ends]:
        """Pairs, the sends and the receives that wait for their partners, and those without one."""
        matching = match(sends.columns(*KEY), receives.columns(*KEY), sends.gap_counts, receives.gap_counts)
        self.counts.pairs += len(matching.send)
        pairs = (sends.select(matching.send), receives.select(matching.receive))
        waiting_ends, single = [], []
        for ends, waiting_rows, gap_counts, alone_rows in (
            (sends, matching.waiting_sends, matching.skipped_sends, matching.alone_sends),
            (receives, matching.waiting_receives, matching.skipped_receives, matching.alone_receives),
        ):
            waits = ends.select(waiting_rows)
            waits.gap_counts = gap_counts
            alone = ends.select(alone_rows)
            self.counts.without_partner += len(alone)
            if len(waits) > MOST_OPEN:
                is_old = waits.posted_ns <= np.median(waits.posted_ns)
                self.counts.abandoned_ends += int(np.count_nonzero(is_old))
                alone = Ends.concatenate([alone, waits.select(is_old)])
                waits = waits.select(~is_old)
            waiting_ends.append(waits)
            single.append(alone)
        return pairs, waiting_ends[0], waiting_ends[1], Ends.concatenate(single)
