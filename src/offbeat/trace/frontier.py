"""How far every rank has come on every communicator that it is in, and so what is behind all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from offbeat.trace.read import Trace

_PAST_ALL = 2**33


class Frontier:
    """The last sequence number of each rank on each channel: a communicator, or one persistent collective.

    ``communicators`` has the communicator of each channel, ``traced`` how many of its ranks are traced. The
    first channels are the communicators themselves.
    """

    def __init__(self, trace: Trace) -> None:
        files_by_rank = np.full(trace.size, -1, dtype=np.int32)
        for number, file in enumerate(trace.files):
            if trace.clocks.of_file[number] is not None:
                files_by_rank[file.header.rank] = number
        self._members = [
            np.where(one.members >= 0, files_by_rank[one.members], -1).astype(np.int32)
            for one in trace.communicators.all
        ]
        self._alive = np.ones(len(trace.files), np.bool_)
        self._numbers: dict[tuple[int, int], int] = {}
        self._files = np.concatenate([*self._members, np.empty(0, np.int32)])
        self._last = np.full(len(self._files), -1, dtype=np.int64)
        lengths = np.array([len(members) for members in self._members], dtype=np.int64)
        self._starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.communicators = np.arange(len(trace.communicators.all))
        self.traced = np.array([np.count_nonzero(members >= 0) for members in self._members], dtype=np.int64)

    def channels(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The channels of starts of persistent collectives, (n,); ``pairs`` are communicators and numbers."""
        wanted = [(communicator, sequence) for communicator, sequence in pairs.tolist()]
        fresh = [pair for pair in dict.fromkeys(wanted) if pair not in self._numbers]
        if fresh:
            self._add(fresh)
        return np.array([self._numbers[pair] for pair in wanted], dtype=np.int64)

    def _add(self, fresh: Sequence[tuple[int, int]]) -> None:
        first = len(self.communicators)
        self._numbers |= {pair: first + place for place, pair in enumerate(fresh)}
        communicators = np.array([communicator for communicator, _ in fresh], dtype=np.int64)
        members = [self._members[communicator] for communicator in communicators]
        ends = self._starts[-1] + np.cumsum([len(one) for one in members])
        self._files = np.concatenate([self._files, *members])
        self._last = np.concatenate([self._last, np.full(len(self._files) - len(self._last), -1)])
        self._starts = np.concatenate([self._starts, ends])
        self.communicators = np.concatenate([self.communicators, self.communicators[communicators]])
        self.traced = np.concatenate([self.traced, self.traced[communicators]])

    def passed(
        self,
        channels: NDArray[np.int64],
        sequences: NDArray[np.int64],
        places: NDArray[np.int64],
        alive: Iterable[int],
    ) -> None:
        """Moments were read, sorted by channel and sequence; ``alive`` are the files that have more."""
        self._alive = np.zeros_like(self._alive)
        self._alive[list(alive)] = True
        latest = np.full(len(self._last), -1)
        latest[self._starts[channels] + places] = sequences  # of several, the last one stays
        np.maximum(self._last, latest, out=self._last)

    def has_ended(self, channels: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether nothing else comes from these ranks, (n,)."""
        return ~self._alive[self._files[self._starts[channels] + places]]

    def reached(self) -> NDArray[np.int64]:
        """For every channel the last sequence number that all ranks have reached, (channels,)."""
        if not len(self._files):
            return np.empty(0, np.int64)
        waited_for = (self._files >= 0) & self._alive[self._files]
        return np.minimum.reduceat(np.where(waited_for, self._last, _PAST_ALL), self._starts[:-1])
