"""Records on the shared clock, as columns: what the calls of all ranks are brought together from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace import format as form
from offbeat.trace.frontier import Frontier
from offbeat.trace.message_sizes import MessageSizes
from offbeat.trace.rank_file import RankFile
from offbeat.trace.read import Trace

CHANNEL_BITS, PLACE_BITS, SITE_BITS = 33, 37, 13
"""How far a key is shifted to be a channel; how far a caller is shifted to be a place, or a site."""

_COLUMNS = {
    "key": np.int64,
    "caller": np.int64,
    "enter_ns": np.int64,
    "exit_ns": np.int64,
    "spent_ns": np.int64,
    "bytes": np.int64,
    "flags": np.uint16,
    "bound_ns": np.float32,
}


class Moments(Struct, eq=False):
    """Records, (n,) each; times are of the shared clock.

    ``key`` is channel << 33 | sequence << 1 | (is a completion): those of a call stand together when sorted,
    completions last. The channel is the communicator, or one persistent collective of it. ``caller`` is the
    place in the communicator << 37 | site << 13 | function: of several, the least is the first rank's.
    ``spent_ns`` was spent in the call; of a completion of several requests, its part of it.
    """

    key: NDArray[np.int64]
    caller: NDArray[np.int64]
    enter_ns: NDArray[np.int64]
    exit_ns: NDArray[np.int64]
    spent_ns: NDArray[np.int64]
    bytes: NDArray[np.int64]
    flags: NDArray[np.uint16]
    bound_ns: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.key)

    def taken(self, which: Any) -> Self:
        """Those that a slice, a mask or places choose."""
        return type(self)(*(getattr(self, name)[which] for name in _COLUMNS))

    @classmethod
    def none(cls) -> Self:
        """No records."""
        return cls(*(np.empty(0, kind) for kind in _COLUMNS.values()))

    @classmethod
    def joined(cls, parts: Sequence[Moments]) -> Self:
        """One part after another."""
        if not parts:
            return cls.none()
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS))


class RankReader:
    """Turns the records of one file into moments. ``last_exit_ns`` is the last that was seen."""

    def __init__(self, trace: Trace, number: int, frontier: Frontier) -> None:
        file, clock = trace.files[number], trace.clocks.of_file[number]
        assert clock is not None
        self._clock, self._frontier = clock, frontier
        self._sites = trace.sites_of(file)
        self._functions = trace.function_numbers(file)
        self._sizes = MessageSizes(file)
        self._within = trace.communicators.index_of_ids(file)
        self._places = _place_table(trace, file, self._within)
        self.last_exit_ns = int(np.iinfo(np.int64).min)

    def moments(self, records: NDArray[Any]) -> Moments:
        """Records as moments; those that make no sense are dropped."""
        known = np.minimum(records["communicator"], len(self._within) - 1)
        functions = self._functions[
            np.minimum(records["function"].astype(np.int32), len(self._functions) - 1)
        ]
        enter, leave = np.ascontiguousarray(records["enter_ns"]), np.ascontiguousarray(records["exit_ns"])
        sound = (self._places[known] >= 0) & (functions >= 0) & (records["bytes"] < 2**62)
        sound &= (leave >= enter) & (enter > 0)
        if not sound.all():
            records, known, functions = records[sound], known[sound], functions[sound]
            enter, leave = enter[sound], leave[sound]
        flags = np.ascontiguousarray(records["flags"])
        sites = self._sites.numbers(np.ascontiguousarray(records["address"]))
        shared_exit = self._clock.shared_ns(leave)
        if len(records):
            self.last_exit_ns = max(self.last_exit_ns, int(shared_exit.max()))
        places = self._places[known].astype(np.int64)
        return Moments(
            key=self._keys(self._within[known], records, flags),
            caller=(places << PLACE_BITS) | (sites.astype(np.int64) << SITE_BITS) | functions,
            enter_ns=self._clock.shared_ns(enter),
            exit_ns=shared_exit,
            spent_ns=_spent_ns(enter, leave, flags),
            bytes=self._sizes.sizes(records),
            flags=flags,
            bound_ns=self._clock.bound_ns(enter).astype(np.float32),
        )

    def _keys(
        self, within: NDArray[np.int32], records: NDArray[Any], flags: NDArray[np.uint16]
    ) -> NDArray[np.int64]:
        channels, sequences = within.astype(np.int64), records["sequence"].astype(np.int64)
        started = np.flatnonzero(records["round"])
        if len(started):
            pairs = np.stack([channels[started], sequences[started]], axis=1)
            met, back = np.unique(pairs, axis=0, return_inverse=True)
            channels[started] = self._frontier.channels(met)[back.reshape(-1)]
            sequences[started] = records["round"][started]
        done = (flags & form.PHASE) == form.COMPLETION
        return (channels << CHANNEL_BITS) | (sequences << 1) | done


def _place_table(trace: Trace, file: RankFile, ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """For one file: id of a communicator → this rank's place in it, -1 where it isn't."""
    within, places = trace.communicators.places_of(file.header.rank)
    if not len(within):
        return np.full(len(ids), -1, dtype=np.int32)
    at = np.minimum(np.searchsorted(within, ids), len(within) - 1)
    return np.where(within[at] == ids, places[at], -1).astype(np.int32)


def _spent_ns(
    enter: NDArray[np.int64], leave: NDArray[np.int64], flags: NDArray[np.uint16]
) -> NDArray[np.int64]:
    """Time in each call; where one call completes several requests, each has its part of it."""
    spent = leave - enter
    done = (flags & form.PHASE) == form.COMPLETION
    if not done.any():
        return spent
    same = (enter[1:] == enter[:-1]) & (leave[1:] == leave[:-1]) & done[1:] & done[:-1]
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    lengths = np.diff([*starts, len(spent)])
    return spent // np.repeat(lengths, lengths)
