"""Which send belongs to which receive.

MPI does not let messages overtake each other: of the messages from one rank to another on one communicator
with one tag, the k-th that was sent is received by the k-th receive that was posted. A receive with a
wildcard has the source and the tag that its status states. Partitioned communication matches by its
initialisations alone, and only with itself.

The rule needs every message: where sampling or a full disk left some out, later ones of the same kind match
wrongly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace import format as form
from offbeat.trace.communicators import Communicators
from offbeat.trace.event_batches import Columns
from offbeat.trace.rank_file import RankFile
from offbeat.trace.read import Trace

_KEY = ("communicator", "source", "destination", "tag", "is_partitioned")


class Posts(Columns, eq=False):
    """Sends or receives of all ranks, (n,) each; those of a rank are in the order in which it posted them.

    ``communicator`` is an index into the trace's communicators; ``source`` and ``destination`` are world
    ranks. ``file`` is an index into the trace's files, and ``entry`` one into :func:`read_messages` of that
    file: the blocking call, the issue, the start, or the initialisation of partitioned communication.
    """

    communicator: NDArray[np.int64]
    source: NDArray[np.int64]
    destination: NDArray[np.int64]
    tag: NDArray[np.int64]
    is_partitioned: NDArray[np.int64]
    file: NDArray[np.int64]
    entry: NDArray[np.int64]

    @property
    def keys(self) -> NDArray[np.int64]:
        """What sends and receives must share to match, (n, 5)."""
        return np.stack([getattr(self, name) for name in _KEY], axis=1)


class MatchedMessages(Struct, kw_only=True, eq=False):
    """Sends, receives, and the pairs of them: ``send[i]`` and ``receive[i]`` are indices into both.

    ``unresolved`` is the number of receives with a wildcard whose completion is not in the trace.
    """

    sends: Posts
    receives: Posts
    send: NDArray[np.int64]
    receive: NDArray[np.int64]
    unresolved: int


def match_messages(trace: Trace) -> MatchedMessages:
    """Match all messages of a trace; they are all in memory."""
    sends, receives, unresolved = [], [], 0
    for number, file in enumerate(trace.files):
        posts, is_send, without_status = _posts(trace.communicators, number, file)
        sends.append(posts.select(is_send))
        receives.append(posts.select(~is_send))
        unresolved += without_status
    all_sends, all_receives = Posts.concatenate(sends), Posts.concatenate(receives)
    send, receive = match(all_sends.keys, all_receives.keys)
    return MatchedMessages(
        sends=all_sends, receives=all_receives, send=send, receive=receive, unresolved=unresolved
    )


def match(
    sends: NDArray[np.int64], receives: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of the k-th rows of equal keys in two tables, (n, columns) and (m, columns), by sends."""
    _, numbers = np.unique(np.concatenate([sends, receives]), axis=0, return_inverse=True)
    numbers = numbers.reshape(-1)
    of_sends, of_receives = numbers[: len(sends)], numbers[len(sends) :]
    most = max(len(sends), len(receives), 1)
    _, send, receive = np.intersect1d(
        of_sends * most + _occurrence(of_sends),
        of_receives * most + _occurrence(of_receives),
        assume_unique=True,
        return_indices=True,
    )
    order = np.argsort(send)
    return send[order], receive[order]


def _occurrence(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many equal numbers precede each, (n,)."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(numbers)]
    place = np.arange(len(numbers))
    occurrence = np.empty(len(numbers), np.int64)
    occurrence[order] = place - np.maximum.accumulate(np.where(is_first, place, 0))
    return occurrence


def read_messages(file: RankFile) -> NDArray[Any]:
    """All messages of a file, lane after lane."""
    parts = [file.messages(pages) for _, pages in sorted(file.message_lanes.items())]
    return np.concatenate([np.empty(0, form.MESSAGE), *parts])


def _posts(communicators: Communicators, number: int, file: RankFile) -> tuple[Posts, NDArray[np.bool_], int]:
    """The sends and receives that a rank posted, which of them are sends, and how many are unresolved."""
    messages = read_messages(file)
    kind, phase = messages["kind"], messages["flags"] & form.PHASE
    is_partitioned = (kind == form.PARTITIONED_SEND) | (kind == form.PARTITIONED_RECEIVE)
    is_posted = (phase == form.ISSUE) | (phase == form.START) | (messages["request"] == 0)
    is_posted = np.where(is_partitioned, phase == form.CALL, is_posted & (phase != form.COMPLETION))
    is_posted &= is_partitioned | (kind == form.SEND) | (kind == form.RECEIVE)
    entries = np.flatnonzero(is_posted)
    entries = entries[np.argsort(messages["enter_ns"][entries], kind="stable")]
    stated = _with_status(messages, entries)
    communicator, peer = _peers(communicators, file, stated)
    own_rank = np.full(len(stated), file.header.rank)
    is_send = (stated["kind"] == form.SEND) | (stated["kind"] == form.PARTITIONED_SEND)
    posts = Posts(
        communicator=communicator,
        source=np.where(is_send, own_rank, peer),
        destination=np.where(is_send, peer, own_rank),
        tag=stated["tag"].astype(np.int64),
        is_partitioned=is_partitioned[entries].astype(np.int64),
        file=np.full(len(stated), number),
        entry=entries,
    )
    happens = (stated["flags"] & (form.FAILED | form.CANCELLED)) == 0
    is_unresolved = (stated["peer"] == form.UNKNOWN) | (stated["tag"] == form.UNKNOWN)
    is_matchable = happens & ~is_unresolved & (peer >= 0) & (communicator >= 0)
    return posts.select(is_matchable), is_send[is_matchable], int(np.count_nonzero(happens & is_unresolved))


def _with_status(messages: NDArray[Any], entries: NDArray[np.int64]) -> NDArray[Any]:
    """The posted messages with what their completions state: peer, tag, and whether they were cancelled."""
    stated = messages[entries]
    done = np.flatnonzero((messages["flags"] & form.PHASE) == form.COMPLETION)
    requests = _request(messages[done])
    order = np.argsort(requests, kind="stable")
    if not len(done):
        return stated
    requests, done = requests[order], done[order]
    at = np.minimum(np.searchsorted(requests, _request(stated)), len(done) - 1)
    is_done = (requests[at] == _request(stated)) & (stated["request"] != 0)
    completion = messages[done[at]]
    for name in ("peer", "tag"):
        stated[name] = np.where(is_done, completion[name], stated[name])
    stated["flags"] |= np.where(is_done, completion["flags"] & (form.FAILED | form.CANCELLED), 0)
    return stated


def _request(messages: NDArray[Any]) -> NDArray[np.uint64]:
    """Request and round as one number, (n,)."""
    return messages["request"].astype(np.uint64) << np.uint64(32) | messages["round"].astype(np.uint64)


def _peers(
    communicators: Communicators, file: RankFile, stated: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The index of each message's communicator and the world rank of its peer; -1 if there is none."""
    indices = communicators.index_of_ids(file)
    communicator = indices[np.minimum(stated["communicator"], len(indices) - 1)].astype(np.int64)
    ids, place = np.unique(stated["communicator"], return_inverse=True)
    groups = [_peer_group(communicators, indices, file, one) for one in ids.tolist()]
    sizes = np.array([len(group) for group in groups], np.int64)
    at = (np.cumsum(sizes) - sizes)[place] + stated["peer"]
    has_peer = (stated["peer"] >= 0) & (stated["peer"] < sizes[place])
    world = np.full(len(stated), -1, np.int64)
    world[has_peer] = np.concatenate([np.empty(0, np.int32), *groups])[at[has_peer]]
    return communicator, world


def _peer_group(
    communicators: Communicators, indices: NDArray[np.int32], file: RankFile, number: int
) -> NDArray[np.int32]:
    """The world ranks of the group that peers on a communicator of this file belong to."""
    defined = file.definitions.communicators.get(number)
    if defined is None:
        return np.empty(0, np.int32)
    members = communicators.all[indices[number]].members
    if not defined.remote_size:
        return members
    # The members are those of both groups; this process's group comes first or last.
    is_first = 0 <= defined.rank < len(members) and members[defined.rank] == file.header.rank
    return members[defined.size :] if is_first else members[: defined.remote_size]
