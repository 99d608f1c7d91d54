"""Messages read from one rank's file as batches on the shared clock."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offbeat.trace.calls.communicators import Communicators
from offbeat.trace.calls.lane_windows import Columns
from offbeat.trace.files import format as form
from offbeat.trace.files.rank_file import RankFile
from offbeat.trace.files.trace_folder import Trace

_NO_NUMBERS = np.empty(0, np.int64)
_LANE_BITS = 40
"""The numbers of a lane's calls begin at a multiple of this power of two."""


def is_without_communicator(messages: NDArray[Any]) -> NDArray[np.bool_]:
    """Which messages are calls without a peer: calls on requests, polls and marks, (n,)."""
    return np.asarray(messages["kind"] >= form.REQUESTS)


class CallTimes:
    """Finds out which messages of a lane, part by part, belong to one call: those with the same times."""

    def __init__(self) -> None:
        self._last = (-1, -1)
        self.calls = 0

    def is_first(self, messages: NDArray[Any]) -> NDArray[np.bool_]:
        """Which messages begin a call, (n,)."""
        if not len(messages):
            return np.empty(0, np.bool_)
        enter, leave = messages["enter_ns"], messages["exit_ns"]
        differs = np.empty(len(messages), np.bool_)
        differs[1:] = (enter[1:] != enter[:-1]) | (leave[1:] != leave[:-1])
        differs[0] = (int(enter[0]), int(leave[0])) != self._last
        self._last = (int(enter[-1]), int(leave[-1]))
        self.calls += int(np.count_nonzero(differs))
        return differs

    def spent_ns(self, messages: NDArray[Any]) -> NDArray[np.int64]:
        """Time in the MPI functions, (n,): of the first message of each call, 0 of its others."""
        return _spent_ns(messages, self.is_first(messages))


def _spent_ns(messages: NDArray[Any], is_first: NDArray[np.bool_]) -> NDArray[np.int64]:
    durations_ns = messages["exit_ns"] - messages["enter_ns"]
    is_poll = messages["kind"] == form.POLL
    durations_ns = np.where(
        is_poll, np.minimum(messages["bytes"].astype(np.int64), durations_ns), durations_ns
    )
    is_counted = is_first & ((messages["flags"] & form.SHARED) == 0)
    return np.where(is_counted, durations_ns, 0)


class MessageBatch(Columns, eq=False):
    """Messages, one per entry, (n,); times are on the shared clock.

    ``file`` is an index into the trace's files. ``call`` is the number of the call, the same for all messages
    of a call; ``calls`` is the number of calls that a message stands for: in the first message of a call 1,
    or of a poll its calls, else 0. ``is_wildcard`` tells that the peer or the tag is not known. ``function``
    is the index of the called function, which for completions is the completing one; ``posting_function``
    that of the issue. ``communicator`` is an index into the trace's communicators, ``peer`` is a world rank:
    -1 if it is not known, PEER_PROC_NULL if there is none. ``is_send`` also holds for partitioned sends.
    ``spent_ns`` is the time of the call, in its first message. ``bound_ns`` bounds the error of the times
    against other ranks.
    """

    file: NDArray[np.int64] = _NO_NUMBERS
    lane: NDArray[np.int64] = _NO_NUMBERS
    call: NDArray[np.int64] = _NO_NUMBERS
    calls: NDArray[np.int64] = _NO_NUMBERS
    kind: NDArray[np.uint16] = np.empty(0, np.uint16)
    flags: NDArray[np.uint16] = np.empty(0, np.uint16)
    function: NDArray[np.int64] = _NO_NUMBERS
    posting_function: NDArray[np.int64] = _NO_NUMBERS
    site: NDArray[np.int64] = _NO_NUMBERS
    communicator: NDArray[np.int64] = _NO_NUMBERS
    is_send: NDArray[np.bool_] = np.empty(0, np.bool_)
    peer: NDArray[np.int64] = _NO_NUMBERS
    tag: NDArray[np.int64] = _NO_NUMBERS
    is_wildcard: NDArray[np.bool_] = np.empty(0, np.bool_)
    request: NDArray[np.int64] = _NO_NUMBERS
    round: NDArray[np.int64] = _NO_NUMBERS
    gap_counts: NDArray[np.int64] = _NO_NUMBERS
    bytes: NDArray[np.int64] = _NO_NUMBERS
    enter_ns: NDArray[np.int64] = _NO_NUMBERS
    exit_ns: NDArray[np.int64] = _NO_NUMBERS
    spent_ns: NDArray[np.int64] = _NO_NUMBERS
    bound_ns: NDArray[np.float32] = np.empty(0, np.float32)

    @property
    def phase(self) -> NDArray[np.uint16]:
        """The part of a call that each message describes."""
        return self.flags & np.uint16(form.PHASE)


class MessageReader:
    """Converts the messages of one lane of a file, part by part; ``place`` is different for each lane of the
    trace."""

    def __init__(self, trace: Trace, number: int, lane: int, lane_index: int) -> None:
        file, clock = trace.files[number], trace.clocks.of_file[number]
        assert clock is not None
        self._number, self._clock = number, clock
        self._calls = CallTimes()
        self._lane, self._first_call = lane, lane_index << _LANE_BITS
        self._sites = trace.sites_of(file)
        self._functions = trace.function_numbers(file)
        self._completing_functions = np.array(
            [-1, *(trace.function_number(name) for name in _COMPLETING_NAMES)]
            + [-1] * (16 - 1 - len(_COMPLETING_NAMES))
        )
        self._peers = _Peers(trace.communicators, file)
        self.invalid = 0

    def batch(self, messages: NDArray[Any]) -> MessageBatch:
        """Messages as a batch, without invalid ones."""
        functions = self._functions.indices(messages)
        communicator, peer, is_possible = self._peers.of_messages(messages)
        kind = messages["kind"]
        is_valid = (functions >= 0) & is_possible & (kind >= form.SEND) & (kind <= form.MARK)
        is_valid &= (messages["exit_ns"] >= messages["enter_ns"]) & (messages["enter_ns"] > 0)
        is_valid &= (messages["bytes"] < 2**62) & (messages["partition"] >= 0)
        is_valid &= (messages["tag"] >= form.UNKNOWN) | (kind == form.MARK)
        if not is_valid.all():
            self.invalid += int(np.count_nonzero(~is_valid))
            messages, functions = messages[is_valid], functions[is_valid]
            communicator, peer = communicator[is_valid], peer[is_valid]
        return self._convert(messages, functions.astype(np.int64), communicator, peer)

    def _convert(
        self,
        messages: NDArray[Any],
        functions: NDArray[np.int64],
        communicator: NDArray[np.int64],
        peer: NDArray[np.int64],
    ) -> MessageBatch:
        kind, flags = np.ascontiguousarray(messages["kind"]), np.ascontiguousarray(messages["flags"])
        first_number = self._calls.calls
        is_first = self._calls.is_first(messages)
        completing_function = self._completing_functions[flags >> form.BY_SHIFT]
        enter = np.ascontiguousarray(messages["enter_ns"])
        is_transfer = (kind == form.SEND) | (kind == form.RECEIVE)
        is_counted = is_first & ((flags & form.SHARED) == 0)
        return MessageBatch(
            file=np.full(len(messages), self._number),
            lane=np.full(len(messages), self._lane),
            call=self._first_call + first_number + np.cumsum(is_first),
            calls=np.where(is_counted, np.where(kind == form.POLL, messages["partition"], 1), 0),
            kind=kind,
            flags=flags,
            function=np.where(completing_function >= 0, completing_function, functions),
            posting_function=functions,
            site=self._sites.numbers(np.ascontiguousarray(messages["address"])).astype(np.int64),
            communicator=communicator,
            is_send=(kind == form.SEND) | (kind == form.PARTITIONED_SEND),
            peer=peer,
            tag=messages["tag"].astype(np.int64),
            is_wildcard=(messages["peer"] == form.UNKNOWN)
            | (messages["tag"] == form.UNKNOWN) & (messages["peer"] != form.PEER_PROC_NULL),
            request=messages["request"].astype(np.int64),
            round=messages["round"].astype(np.int64),
            gap_counts=np.where(is_transfer, messages["partition"], 0).astype(np.int64),
            bytes=messages["bytes"].astype(np.int64),
            enter_ns=self._clock.shared_ns(enter),
            exit_ns=self._clock.shared_ns(np.ascontiguousarray(messages["exit_ns"])),
            spent_ns=_spent_ns(messages, is_first),
            bound_ns=self._clock.bound_ns(enter).astype(np.float32),
        )


_COMPLETING_NAMES = (
    *("MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome"),
    *("MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Request_free"),
)
"""The functions that complete requests, by the number in the flags of a completion, from 1."""


class _Peers:
    """The communicators and the peers' world ranks of one file's messages."""

    def __init__(self, communicators: Communicators, file: RankFile) -> None:
        self._indices = communicators.index_of_ids(file)
        groups = [
            _peer_group(communicators, self._indices, file, number) for number in range(len(self._indices))
        ]
        self._sizes = np.array([len(group) for group in groups], np.int64)
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._members = np.concatenate([*groups, np.full(1, -1, np.int32)]).astype(np.int64)

    def of_messages(
        self, messages: NDArray[Any]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Index of the communicator and world rank of the peer, as in :class:`MessageBatch`, and whether both
        are possible, (n,) each."""
        ids = np.minimum(messages["communicator"], len(self._indices) - 1)
        communicator = self._indices[ids].astype(np.int64)
        peer_ranks = messages["peer"].astype(np.int64)
        has_peer = (peer_ranks >= 0) & (peer_ranks < self._sizes[ids]) & (communicator >= 0)
        peer = np.where(has_peer, self._members[np.where(has_peer, self._starts[ids] + peer_ranks, -1)], -1)
        peer[peer_ranks == form.PEER_PROC_NULL] = form.PEER_PROC_NULL
        is_possible = (communicator >= 0) & (
            has_peer | (peer_ranks == form.UNKNOWN) | (peer_ranks == form.PEER_PROC_NULL)
        )
        return communicator, peer, is_possible | is_without_communicator(messages)


def _peer_group(
    communicators: Communicators, indices: NDArray[np.int32], file: RankFile, number: int
) -> NDArray[np.int32]:
    """The world ranks of the group that peers on a communicator of this file belong to."""
    definition = file.definitions.communicators.get(number)
    if definition is None:
        return np.empty(0, np.int32)
    members = communicators.table[indices[number]].members
    if not definition.remote_size:
        return members
    # The members are those of both groups; this process's group comes first or last.
    is_first = 0 <= definition.rank < len(members) and members[definition.rank] == file.header.rank
    return members[definition.size :] if is_first else members[: definition.remote_size]
