"""Records read from one rank's file as batches of events on the shared clock.

An event is the part of a collective that one record describes: a blocking call, an issue, a start or a
completion. :mod:`offbeat.trace.calls.call_matching` groups the events of all ranks into calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offbeat.trace.calls.call_bytes import MessageSizes
from offbeat.trace.calls.lane_windows import Columns
from offbeat.trace.files import format as form
from offbeat.trace.files.rank_file import RankFile
from offbeat.trace.files.trace_folder import Trace

CHANNEL_BITS, PLACE_BITS, SITE_BITS = 33, 37, 13
"""The lowest bit of the channel in a key, and of the position and the call site in a caller."""

_NO_NUMBERS = np.empty(0, np.int64)


class EventBatch(Columns, eq=False):
    """Events, one per entry, (n,); times are on the shared clock.

    ``key`` is channel << 33 | sequence << 1 | (is a completion): sorting by it groups the events of a call,
    completions last. A channel is a communicator, or one persistent collective of a communicator. ``caller``
    is the rank in the communicator << 37 | call site << 13 | function, so that the minimum over a call is the
    entry of its lowest rank. ``spent_ns`` is the time in the MPI function; a function that completes several
    requests is divided among their completions. ``blocks``, ``empty_blocks`` and ``largest_block_bytes`` are
    those of calls with counts for each process, else 0.
    """

    key: NDArray[np.int64] = _NO_NUMBERS
    caller: NDArray[np.int64] = _NO_NUMBERS
    enter_ns: NDArray[np.int64] = _NO_NUMBERS
    exit_ns: NDArray[np.int64] = _NO_NUMBERS
    spent_ns: NDArray[np.int64] = _NO_NUMBERS
    bytes: NDArray[np.int64] = _NO_NUMBERS
    flags: NDArray[np.uint16] = np.empty(0, np.uint16)
    bound_ns: NDArray[np.float32] = np.empty(0, np.float32)
    blocks: NDArray[np.uint32] = np.empty(0, np.uint32)
    empty_blocks: NDArray[np.uint32] = np.empty(0, np.uint32)
    largest_block_bytes: NDArray[np.int64] = _NO_NUMBERS


class EventReader:
    """Converts the records of one file into events.

    ``last_exit_ns`` is the latest exit of all records so far. ``channels_of`` maps pairs of communicator and
    sequence number of a persistent collective, (n, 2), to channels, (n,).
    """

    def __init__(
        self, trace: Trace, number: int, channels_of: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    ) -> None:
        file, clock = trace.files[number], trace.clocks.of_file[number]
        assert clock is not None
        self._clock, self._channels_of = clock, channels_of
        self._sites = trace.sites_of(file)
        self._functions = trace.function_numbers(file)
        self._sizes = MessageSizes(file)
        self._communicators = trace.communicators.index_of_ids(file)
        self._own_ranks = _rank_by_communicator_id(trace, file, self._communicators)
        self.last_exit_ns = int(np.iinfo(np.int64).min)

    def events(self, records: NDArray[Any]) -> EventBatch:
        """Records as events, without invalid records."""
        ids = np.minimum(records["communicator"], len(self._communicators) - 1)
        functions = self._functions.indices(records)
        enter, leave = np.ascontiguousarray(records["enter_ns"]), np.ascontiguousarray(records["exit_ns"])
        valid = (self._own_ranks[ids] >= 0) & (functions >= 0) & (records["bytes"] < 2**62)
        valid &= (leave >= enter) & (enter > 0)
        if not valid.all():
            records, ids, functions = records[valid], ids[valid], functions[valid]
            enter, leave = enter[valid], leave[valid]
        flags = np.ascontiguousarray(records["flags"])
        sites = self._sites.numbers(np.ascontiguousarray(records["address"]))
        shared_exit = self._clock.shared_ns(leave)
        if len(records):
            self.last_exit_ns = max(self.last_exit_ns, int(shared_exit.max()))
        own_ranks = self._own_ranks[ids].astype(np.int64)
        return EventBatch(
            key=self._keys(self._communicators[ids], records, flags),
            caller=(own_ranks << PLACE_BITS) | (sites.astype(np.int64) << SITE_BITS) | functions,
            enter_ns=self._clock.shared_ns(enter),
            exit_ns=shared_exit,
            spent_ns=_spent_ns(enter, leave, flags),
            bytes=self._sizes.sizes(records),
            flags=flags,
            bound_ns=self._clock.bound_ns(enter).astype(np.float32),
            blocks=np.ascontiguousarray(records["blocks"]),
            empty_blocks=np.ascontiguousarray(records["empty_blocks"]),
            largest_block_bytes=records["largest_bytes"].astype(np.int64),
        )

    def _keys(
        self, communicators: NDArray[np.int32], records: NDArray[Any], flags: NDArray[np.uint16]
    ) -> NDArray[np.int64]:
        channels, sequences = communicators.astype(np.int64), records["sequence"].astype(np.int64)
        persistent = np.flatnonzero(records["round"])
        if len(persistent):
            pairs = np.stack([channels[persistent], sequences[persistent]], axis=1)
            unique_pairs, inverse = np.unique(pairs, axis=0, return_inverse=True)
            channels[persistent] = self._channels_of(unique_pairs)[inverse.reshape(-1)]
            sequences[persistent] = records["round"][persistent]
        is_completion = (flags & form.PHASE) == form.COMPLETION
        return (channels << CHANNEL_BITS) | (sequences << 1) | is_completion


def _rank_by_communicator_id(trace: Trace, file: RankFile, ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """For one file: id of a communicator → rank of this process in it, -1 where it is no member."""
    communicators, ranks = trace.communicators.ranks_of(file.header.rank)
    if not len(communicators):
        return np.full(len(ids), -1, dtype=np.int32)
    positions = np.minimum(np.searchsorted(communicators, ids), len(communicators) - 1)
    return np.where(communicators[positions] == ids, ranks[positions], -1).astype(np.int32)


def _spent_ns(
    enter: NDArray[np.int64], leave: NDArray[np.int64], flags: NDArray[np.uint16]
) -> NDArray[np.int64]:
    """Time in each MPI function; completions by the same function share its time equally."""
    durations_ns = leave - enter
    durations_ns[(flags & form.SHARED) != 0] = 0  # the messages of the same call have its time
    is_completion = (flags & form.PHASE) == form.COMPLETION
    if not is_completion.any():
        return durations_ns
    is_same_wait = (
        (enter[1:] == enter[:-1]) & (leave[1:] == leave[:-1]) & is_completion[1:] & is_completion[:-1]
    )
    starts = np.flatnonzero(np.concatenate([[True], ~is_same_wait]))
    lengths = np.diff(starts, append=len(durations_ns))
    return durations_ns // np.repeat(lengths, lengths)
