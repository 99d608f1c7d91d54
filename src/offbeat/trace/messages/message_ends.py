"""The ends of messages, sends and receives, and when their positions among those of one key are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offbeat.trace.calls.key_matching import number_keys, starts
from offbeat.trace.calls.lane_windows import Columns
from offbeat.trace.files import format as form


class Ends(Columns, eq=False):
    """Sends or receives, (n,) each; times are on the shared clock.

    ``posted_ns`` and ``posted_until_ns`` are the times of the call that posted the message (a blocking call,
    MPI_Isend, MPI_Start), ``enter_ns`` and ``exit_ns`` those of the call that completed it: for a blocking
    call the same. ``lane`` is that of the post, or of a receive of the completion. ``call`` is the number of
    the completing call, -1 if there is none. ``posting_function`` is the index of the function that posted
    it. ``source`` and ``destination`` are world ranks. ``order`` is the position among the rank's posts; of
    ends whose post was not recorded, before all others.
    """

    file: NDArray[np.int64]
    is_send: NDArray[np.bool_]
    communicator: NDArray[np.int64]
    source: NDArray[np.int64]
    destination: NDArray[np.int64]
    tag: NDArray[np.int64]
    is_partitioned: NDArray[np.bool_]
    gap_counts: NDArray[np.int64]
    bytes: NDArray[np.int64]
    flags: NDArray[np.uint16]
    request: NDArray[np.int64]
    round: NDArray[np.int64]
    posting_function: NDArray[np.int64]
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


def complete(ends: Ends, completions: Ends) -> tuple[Ends, Ends]:
    """The ends with what their completions state, and the completions of posts that are not recorded."""
    if not len(completions):
        return ends, completions
    open_ends = np.flatnonzero(ends.is_open)
    key = ("file", "request", "round")
    columns_of_both = zip(ends.select(open_ends).columns(*key), completions.columns(*key), strict=True)
    numbers = number_keys([np.concatenate(columns) for columns in columns_of_both])
    of_ends, of_completions = numbers[: len(open_ends)], numbers[len(open_ends) :]
    _, at_end, at_completion = np.intersect1d(of_ends, of_completions, return_indices=True)
    completed_ends, matching_completions = open_ends[at_end], completions.select(at_completion)
    ends = ends.select(slice(None))
    for name in ("source", "destination", "tag", "is_wildcard", "call", "enter_ns", "exit_ns", "bytes"):
        column = getattr(ends, name).copy()
        column[completed_ends] = getattr(matching_completions, name)
        setattr(ends, name, column)
    ends.lane = ends.lane.copy()
    ends.lane[completed_ends] = np.where(
        matching_completions.is_send, ends.lane[completed_ends], matching_completions.lane
    )
    ends.flags = ends.flags.copy()
    ends.flags[completed_ends] |= matching_completions.flags & (form.FAILED | form.CANCELLED)
    ends.gap_counts = ends.gap_counts.copy()
    ends.gap_counts[completed_ends] += matching_completions.gap_counts
    ends.is_open = ends.is_open.copy()
    ends.is_open[completed_ends] = False
    is_orphan = np.ones(len(completions), np.bool_)
    is_orphan[at_completion] = False
    return ends, completions.select(is_orphan)


def close(ends: Ends, is_last: NDArray[np.bool_]) -> None:
    """Do not wait any longer for the completions of some ends.

    A receive behind a wildcard without a status counts as unresolved as well: which message it takes depends
    on the one before.
    """
    is_behind = np.zeros(len(ends), np.bool_)
    ends_now = ends.select(slice(None))
    ends_now.is_open = ends.is_open & is_last
    _hold_behind_wildcards(ends_now, is_behind)
    ends.is_wildcard[is_behind] = True
    ends.is_open[is_last] = False


def is_held_back(ends: Ends) -> NDArray[np.bool_]:
    """Which ends are open, or come after an open one of the same rank that may have the same key, (n,)."""
    is_held = ends.is_open.copy()
    if not is_held.any():
        return is_held
    _hold_behind_wildcards(ends, is_held)
    group = number_keys(ends.columns("file", "is_send", *KEY))
    order = np.lexsort([ends.order, group])
    is_start = starts(group[order])
    held_count = np.cumsum(is_held[order])
    count_at_start = np.concatenate([[0], held_count])[np.flatnonzero(is_start)]
    is_held[order] = held_count > count_at_start[np.cumsum(is_start) - 1]
    return is_held


def _hold_behind_wildcards(ends: Ends, is_held: NDArray[np.bool_]) -> None:
    """Also hold receives that were posted after an open one with a wildcard that may take their message."""
    is_open = ends.is_open & ends.is_wildcard & ~ends.is_send
    if not is_open.any():
        return
    receives = np.flatnonzero(~ends.is_send & ~ends.is_partitioned & ~is_open)
    open_receives, all_receives = ends.select(is_open), ends.select(receives)
    is_any_source, is_any_tag = open_receives.source < 0, open_receives.tag < 0
    for any_source, any_tag in ((True, False), (False, True), (True, True)):
        kind = open_receives.select((is_any_source == any_source) & (is_any_tag == any_tag))
        if not len(kind):
            continue
        columns = [
            *zip(
                kind.columns("file", "communicator"),
                all_receives.columns("file", "communicator"),
                strict=True,
            )
        ]
        columns += [] if any_source else [(kind.source, all_receives.source)]
        columns += [] if any_tag else [(kind.tag, all_receives.tag)]
        numbers = number_keys([np.concatenate(pair) for pair in columns])
        first = np.full(int(numbers.max()) + 1, np.iinfo(np.int64).max)
        np.minimum.at(first, numbers[: len(kind)], kind.order)
        is_held[receives[all_receives.order > first[numbers[len(kind) :]]]] = True
