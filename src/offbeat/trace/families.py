"""Communicators that are alike: the rows of a grid of processes, say, which one call of all ranks has made.

They are of the same parent, maker, size and name, and no rank is in two of them. Those that were made again
in the same way count once (:class:`offbeat.trace.communicators.Communicators`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offbeat.trace.communicators import Communicators


def families(communicators: Communicators) -> NDArray[np.int64]:
    """For each communicator the index of the first one of its family, (n,)."""
    ranks = 1 + max((int(one.members.max(initial=-1)) for one in communicators.all), default=-1)
    kinds: dict[tuple[int, str, int, str], _Families] = {}
    first = communicators.first.copy()
    for one in communicators.all:
        if one.is_inter or not one.made_by or first[one.index] != one.index:
            continue
        parent = int(communicators.first[one.parent]) if one.parent >= 0 else -1
        of_kind = kinds.setdefault((parent, one.made_by, one.size, one.name), _Families(ranks))
        first[one.index] = of_kind.joined(one.index, one.members[one.members >= 0])
    return first[communicators.first]


class _Families:
    """The families of one kind: of each, its first communicator, and which ranks are in one of it."""

    def __init__(self, ranks: int) -> None:
        self._first: list[int] = []
        self._taken = np.zeros((1, ranks), np.bool_)

    def joined(self, index: int, members: NDArray[np.int32]) -> int:
        """The first of the family that a communicator joins: the oldest that has none of its ranks."""
        number = len(self._first)
        free = np.flatnonzero(~self._taken[:number, members].any(axis=1))
        place = int(free[0]) if len(free) else number
        if place == number:
            self._first.append(index)
        if place == len(self._taken):
            self._taken = np.concatenate([self._taken, np.zeros_like(self._taken)])
        self._taken[place, members] = True
        return self._first[place]
