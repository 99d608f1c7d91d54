"""Which communicators the calls of a cell were on, where a program made them again and again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ENOUGH = 2**16
"""So many new pairs are gathered at least before they are put in order."""


class CalledOn:
    """Pairs of a cell and a communicator, each once: 8 bytes a pair, and as much again for new ones."""

    def __init__(self) -> None:
        self._pairs = np.empty(0, np.int64)
        self._fresh: list[NDArray[np.int64]] = []

    def add(self, cells: NDArray[np.int64], communicators: NDArray[np.int64]) -> None:
        """Calls of these cells were on these communicators, (n,) each."""
        self._fresh.append(np.unique(cells << 32 | communicators))
        if sum(map(len, self._fresh)) > len(self._pairs) + _ENOUGH:
            self._put_in_order()

    def of(self, cell: int) -> NDArray[np.int64]:
        """The communicators of a cell, rising."""
        self._put_in_order()
        begin, end = np.searchsorted(self._pairs, [cell << 32, (cell + 1) << 32])
        return self._pairs[begin:end] & 0xFFFFFFFF

    def _put_in_order(self) -> None:
        if self._fresh:
            self._pairs = np.unique(np.concatenate([self._pairs, *self._fresh]))
            self._fresh = []
