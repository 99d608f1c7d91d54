"""The ends of messages, sends and receives, and when their positions among those of one key are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offbeat.trace.calls.key_matching import numbered, starts
from offbeat.trace.calls.lane_windows import Columns
from offbeat.trace.files import format as form


class Ends(Columns, eq=False):
    """Sends or receives, (n,) each; times are on the shared clock.

    ``posted_ns`` and ``posted_until_ns`` are the times of the call that posted the message (a blocking call,
    MPI_Isend, MPI_Start), ``enter_ns`` and ``exit_ns`` those of the call that completed it: for a blocking
    call the same. ``lane`` is that of the post, or of a receive of the completion. ``call`` is the number of
    the completing call, -1 if there is none. ``issued_by`` is the index of the function that posted it.
    ``source`` and ``destination`` are world ranks. ``order`` is the position among the rank's posts; of ends
    whose post was not recorded, before all others.
    """

    file: NDArray[np.int64]
    is_send: NDArray[np.bool_]
    communicator: NDArray[np.int64]
    source: NDArray[np.int64]
    destination: NDArray[np.int64]
    tag: NDArray[np.int64]
    is_partitioned: NDArray[np.bool_]
    skipped: NDArray[np.int64]
    bytes: NDArray[np.int64]
    flags: NDArray[np.uint16]
    request: NDArray[np.int64]
    round: NDArray[np.int64]
    issued_by: NDArray[np.int64]
    is_open: NDArray[np.bool_]
    is_wildcard: NDArray[np.bool_]
    order: NDArray[np.int64]
    posted_ns: NDArray[np.int64]
    posted_until_ns: NDArray[np.int64]
    lane: NDArray[np.int64]
    call: NDArray[np.int64]
    enter_ns: NDArray[np.int64]
    exit_ns: NDArray[np.int64]
    bound_ns: NDArray[np.float32]

    def columns(self, *names: str) -> list[NDArray[np.int64]]:
        """Some columns as integers."""
        return [getattr(self, name).astype(np.int64) for name in names]


KEY = ("communicator", "source", "destination", "tag", "is_partitioned")
"""What a send and a receive must share to match."""


def completed(ends: Ends, completions: Ends) -> tuple[Ends, Ends]:
    """The ends with what their completions state, and the completions of posts that are not recorded."""
    if not len(completions):
        return ends, completions
    waiting = np.flatnonzero(ends.is_open)
    key = ("file", "request", "round")
    both = zip(ends.select(waiting).columns(*key), completions.columns(*key), strict=True)
    numbers = numbered([np.concatenate(columns) for columns in both])
    of_ends, of_completions = numbers[: len(waiting)], numbers[len(waiting) :]
    _, at_end, at_completion = np.intersect1d(of_ends, of_completions, return_indices=True)
    at, done = waiting[at_end], completions.select(at_completion)
    ends = ends.select(slice(None))
    for name in ("source", "destination", "tag", "is_wildcard", "call", "enter_ns", "exit_ns", "bytes"):
        column = getattr(ends, name).copy()
        column[at] = getattr(done, name)
        setattr(ends, name, column)
    ends.lane = ends.lane.copy()
    ends.lane[at] = np.where(done.is_send, ends.lane[at], done.lane)
    ends.flags = ends.flags.copy()
    ends.flags[at] |= done.flags & (form.FAILED | form.CANCELLED)
    ends.skipped = ends.skipped.copy()
    ends.skipped[at] += done.skipped
    ends.is_open = ends.is_open.copy()
    ends.is_open[at] = False
    is_orphan = np.ones(len(completions), np.bool_)
    is_orphan[at_completion] = False
    return ends, completions.select(is_orphan)


def close(ends: Ends, is_last: NDArray[np.bool_]) -> None:
    """Do not wait any longer for the completions of some ends.

    A receive behind a wildcard without a status counts as unresolved as well: which message it takes depends
    on the one before.
    """
    is_behind = np.zeros(len(ends), np.bool_)
    closed = ends.select(slice(None))
    closed.is_open = ends.is_open & is_last
    _hold_behind_wildcards(closed, is_behind)
    ends.is_wildcard[is_behind] = True
    ends.is_open[is_last] = False


def is_held_back(ends: Ends) -> NDArray[np.bool_]:
    """Which ends are open, or come after an open one of the same rank that may have the same key, (n,)."""
    is_held = ends.is_open.copy()
    if not is_held.any():
        return is_held
    _hold_behind_wildcards(ends, is_held)
    group = numbered(ends.columns("file", "is_send", *KEY))
    order = np.lexsort([ends.order, group])
    is_start = starts(group[order])
    held = np.cumsum(is_held[order])
    before = np.concatenate([[0], held])[np.flatnonzero(is_start)]
    is_held[order] = held > before[np.cumsum(is_start) - 1]
    return is_held


def _hold_behind_wildcards(ends: Ends, is_held: NDArray[np.bool_]) -> None:
    """Also hold receives that were posted after an open one with a wildcard that may take their message."""
    is_open = ends.is_open & ends.is_wildcard & ~ends.is_send
    if not is_open.any():
        return
    receives = np.flatnonzero(~ends.is_send & ~ends.is_partitioned & ~is_open)
    waiting, stated = ends.select(is_open), ends.select(receives)
    is_any_source, is_any_tag = waiting.source < 0, waiting.tag < 0
    for any_source, any_tag in ((True, False), (False, True), (True, True)):
        kind = waiting.select((is_any_source == any_source) & (is_any_tag == any_tag))
        if not len(kind):
            continue
        columns = [
            *zip(kind.columns("file", "communicator"), stated.columns("file", "communicator"), strict=True)
        ]
        columns += [] if any_source else [(kind.source, stated.source)]
        columns += [] if any_tag else [(kind.tag, stated.tag)]
        numbers = numbered([np.concatenate(pair) for pair in columns])
        first = np.full(int(numbers.max()) + 1, np.iinfo(np.int64).max)
        np.minimum.at(first, numbers[: len(kind)], kind.order)
        is_held[receives[stated.order > first[numbers[len(kind) :]]]] = True
