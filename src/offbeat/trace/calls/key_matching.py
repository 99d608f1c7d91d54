"""Which rows of two tables with equal keys belong together: the k-th with the k-th."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray


def number_keys(columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """A number for each row of a table, (n,), given its columns: equal for equal rows, from 0."""
    codes, size = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        low = int(column.min(initial=0))
        span = int(column.max(initial=0)) - low + 1
        if size * span >= 2**62:
            codes = np.unique(codes, return_inverse=True)[1].reshape(-1)
            size = int(codes.max(initial=0)) + 1
        codes = codes * span + (column - low)
        size *= span
    return np.unique(codes, return_inverse=True)[1].reshape(-1)


class Matches(Struct, kw_only=True, eq=False):
    """Indices into sends and receives: the pairs, those that wait for a partner with how many are missing
    before each (``skipped_sends``, ``skipped_receives``), and those whose partner is missing."""

    send: NDArray[np.int64]
    receive: NDArray[np.int64]
    waiting_sends: NDArray[np.int64]
    skipped_sends: NDArray[np.int64]
    alone_sends: NDArray[np.int64]
    waiting_receives: NDArray[np.int64]
    skipped_receives: NDArray[np.int64]
    alone_receives: NDArray[np.int64]


def match(
    sends: Sequence[NDArray[np.int64]],
    receives: Sequence[NDArray[np.int64]],
    skipped_sends: NDArray[np.int64] | None = None,
    skipped_receives: NDArray[np.int64] | None = None,
) -> Matches:
    """Match the k-th rows of equal keys in two tables, given by the columns of the keys, in order of sends.

    ``gap_counts`` is the number of rows with the same key that are missing before each row. Where the rows of
    one table go on beyond those of the other, they wait.
    """
    numbers = number_keys([np.concatenate(pair) for pair in zip(sends, receives, strict=True)])
    count = len(sends[0])
    keys = (numbers[:count], numbers[count:])
    gap_counts = [
        np.zeros(len(key), np.int64) if given is None else given
        for key, given in zip(keys, (skipped_sends, skipped_receives), strict=True)
    ]
    positions = [_positions(key, gaps) for key, gaps in zip(keys, gap_counts, strict=True)]
    dense = number_keys([numbers, np.concatenate(positions)])
    _, send, receive = np.intersect1d(dense[:count], dense[count:], assume_unique=True, return_indices=True)
    order = np.argsort(send)
    ends = [np.zeros(int(numbers.max(initial=-1)) + 1, np.int64) for _ in keys]  # positions that exist
    for end, key, end_positions in zip(ends, keys, positions, strict=True):
        np.maximum.at(end, key, end_positions + 1)
    waits_s, gaps_s, alone_s = _left(keys[0], positions[0], gap_counts[0], ends[1], send)
    waits_r, gaps_r, alone_r = _left(keys[1], positions[1], gap_counts[1], ends[0], receive)
    return Matches(
        send=send[order],
        receive=receive[order],
        waiting_sends=waits_s,
        skipped_sends=gaps_s,
        alone_sends=alone_s,
        waiting_receives=waits_r,
        skipped_receives=gaps_r,
        alone_receives=alone_r,
    )


def _left(
    keys: NDArray[np.int64],
    positions: NDArray[np.int64],
    gap_counts: NDArray[np.int64],
    other_end: NDArray[np.int64],
    pair_rows: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The rows of one table that wait, how many are missing before each, and those without a partner."""
    is_left = np.ones(len(keys), np.bool_)
    is_left[pair_rows] = False
    is_beyond = positions >= other_end[keys] if len(keys) else is_left
    waits = np.flatnonzero(is_left & is_beyond)
    excess = positions[waits] - other_end[keys[waits]]
    return waits, np.minimum(gap_counts[waits], excess), np.flatnonzero(is_left & ~is_beyond)


def _positions(keys: NDArray[np.int64], gap_counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The position of each row among those with its key, (n,), including the missing ones before it."""
    order = np.argsort(keys, kind="stable")
    end_positions = np.cumsum(gap_counts[order] + 1)
    is_start = starts(keys[order])
    start_positions = (end_positions - gap_counts[order] - 1)[np.flatnonzero(is_start)]
    positions = np.empty(len(keys), np.int64)
    positions[order] = (
        end_positions - 1 - start_positions[np.cumsum(is_start) - 1] if len(keys) else end_positions
    )
    return positions


def starts(numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which numbers differ from the one before, (n,)."""
    differs = np.ones(len(numbers), np.bool_)
    differs[1:] = numbers[1:] != numbers[:-1]
    return differs
