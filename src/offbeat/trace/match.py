"""Calls across ranks: records of all files brought together by communicator, sequence and round.

Files are read side by side, a window of time after another, so that memory holds the calls in flight and not
the trace. A call is given out as soon as no rank can add to it: every rank that is traced has gone past it on
its communicator, or its file has ended, and what was issued has been completed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace import format as form
from offbeat.trace.rank_file import RankFile
from offbeat.trace.read import Trace

MOST_RECORDS = 2_000_000
"""Records that are read at once, of all ranks together."""

MOST_WAITING = 3_000_000
"""Records that may wait for others; beyond it the oldest calls are given out as they are."""

MOMENT = np.dtype(
    [
        ("key", "<i8"),  # channel << 33 | sequence << 1 | is a completion
        ("enter_ns", "<i8"),  # shared clock
        ("exit_ns", "<i8"),
        ("spent_ns", "<i8"),  # in the call; of a completion of several requests, its part
        ("bytes", "<i8"),
        ("channel", "<i4"),
        ("communicator", "<i4"),
        ("place", "<i4"),  # in the communicator
        ("file", "<i4"),
        ("site", "<i4"),
        ("root", "<i4"),
        ("function", "<i2"),
        ("flags", "<u2"),
        ("bound_ns", "<f4"),
    ]
)
"""A record on the shared clock. The channel is the communicator, or one persistent collective of it."""

Told = Callable[[int], None]
"""Called with the number of records read so far."""


class Matched(Struct, kw_only=True, eq=False):
    """Calls that nothing will be added to. ``starts`` has where each begins in ``moments``, which are sorted:
    first the calls (or issues), then the completions of each. ``expected`` is how many ranks of each
    communicator are traced, (calls,).
    """

    moments: NDArray[Any]
    starts: NDArray[np.int64]
    expected: NDArray[np.int64]


class Counts(Struct):
    """What became of the records: ``strange`` ones make no sense and are left out; at most ``untimed`` are of
    ranks without a clock, and are not read; ``forced`` calls were given out because too many were waiting.
    """

    records: int = 0
    strange: int = 0
    untimed: int = 0
    forced: int = 0


class _Lane:
    """One lane of a file, read piece by piece: some pages at once, or a page in some parts."""

    def __init__(
        self, number: int, file: RankFile, pages: NDArray[np.int64], pages_each: int, parts: int
    ) -> None:
        self.number, self.file = number, file
        self._pages, self._pages_each, self._parts = pages, pages_each, parts
        self._next = self._part = 0
        self.held: NDArray[Any] = np.empty(0, MOMENT)

    @property
    def has_more(self) -> bool:
        return self._next < len(self._pages)

    def next_records(self) -> NDArray[Any]:
        pages = self._pages[self._next : self._next + self._pages_each]
        records = self.file.records(pages)
        if self._parts == 1:
            self._next += len(pages)
            return records
        begin, end = (len(records) * part // self._parts for part in (self._part, self._part + 1))
        self._part = (self._part + 1) % self._parts
        self._next += self._part == 0
        return records[begin:end].copy()


class Matcher:
    """Reads a trace once from its beginning to its end."""

    def __init__(self, trace: Trace, *, most_records: int = MOST_RECORDS, told: Told | None = None) -> None:
        self.trace, self.counts = trace, Counts()
        self._told = told
        self._functions = [trace.function_numbers(file) for file in trace.files]
        self._ids = [trace.communicators.index_of_ids(file) for file in trace.files]
        self._places = [
            self._place_table(file, ids) for file, ids in zip(trace.files, self._ids, strict=True)
        ]
        lanes = sum(len(file.lanes) for file in trace.files)
        each = most_records // max(lanes, 1)
        pages_each, parts = max(1, each // form.RECORDS_A_PAGE), -(-form.RECORDS_A_PAGE // max(2 * each, 64))
        self._lanes = [
            _Lane(number, file, pages, pages_each, parts)
            for number, file in enumerate(trace.files)
            for pages in file.lanes.values()
            if trace.clocks.of_file[number] is not None
        ]
        self._channels: dict[tuple[int, int], int] = {}
        self._frontier = _Frontier(trace)
        self.last_exit_ns = np.full(len(trace.files), np.iinfo(np.int64).min)
        self.counts.untimed = sum(
            file.record_pages * form.RECORDS_A_PAGE
            for number, file in enumerate(trace.files)
            if trace.clocks.of_file[number] is None
        )

    def _place_table(self, file: RankFile, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """For one file: id of a communicator → this rank's place in it, -1 where it isn't."""
        within, places = self.trace.communicators.places_of(file.header.rank)
        if not len(within):
            return np.full(len(ids), -1, dtype=np.int32)
        at = np.minimum(np.searchsorted(within, ids), len(within) - 1)
        return np.where(within[at] == ids, places[at], -1).astype(np.int32)

    def batches(self) -> Iterator[Matched]:
        """Every call of the trace once; which calls come together depends on how much is read at once."""
        waiting = np.empty(0, MOMENT)
        for fresh in self._windows():
            moments = np.concatenate([waiting, fresh])
            moments = moments[np.argsort(moments["key"], kind="stable")]
            self._frontier.passed(fresh, {lane.number for lane in self._lanes if self._is_alive(lane)})
            given, waiting = self._split(moments)
            if len(given):
                yield self._grouped(given)
        if len(waiting):
            yield self._grouped(waiting)

    def _is_alive(self, lane: _Lane) -> bool:
        return lane.has_more or len(lane.held) > 0

    def _windows(self) -> Iterator[NDArray[Any]]:
        """The records of all files up to a moment, then up to a later one, and so on."""
        while True:
            for lane in self._lanes:
                while lane.has_more and not len(lane.held):
                    lane.held = self._read(lane)
            alive = [lane for lane in self._lanes if len(lane.held)]
            if not alive:
                return
            open_ends = [int(lane.held["exit_ns"].max()) for lane in alive if lane.has_more]
            until = min(open_ends) if open_ends else np.iinfo(np.int64).max
            parts = []
            for lane in alive:
                late = np.flatnonzero(lane.held["exit_ns"] > until)
                cut = int(late[0]) if len(late) else len(lane.held)
                parts.append(lane.held[:cut])
                lane.held = lane.held[cut:]
            yield np.concatenate(parts)

    def _read(self, lane: _Lane) -> NDArray[Any]:
        records = lane.next_records()
        self.counts.records += len(records)
        if self._told:
            self._told(self.counts.records)
        moments = self._moments(lane, records)
        self.counts.strange += len(records) - len(moments)
        return moments

    def _moments(self, lane: _Lane, records: NDArray[Any]) -> NDArray[Any]:
        """Records as moments on the shared clock; those that make no sense are dropped."""
        clock = self.trace.clocks.of_file[lane.number]
        assert clock is not None
        ids = self._ids[lane.number]
        known = np.minimum(records["communicator"], len(ids) - 1)
        within, places = ids[known], self._places[lane.number][known]
        numbers = self._functions[lane.number]
        functions = numbers[np.minimum(records["function"], len(numbers) - 1)]
        sound = (within >= 0) & (functions >= 0) & (places >= 0)
        sound &= (records["exit_ns"] >= records["enter_ns"]) & (records["enter_ns"] > 0)
        sound &= records["bytes"] < 2**62
        if not sound.all():
            records, within, functions, places = (
                records[sound],
                within[sound],
                functions[sound],
                places[sound],
            )
        made = np.empty(len(records), MOMENT)
        made["enter_ns"] = clock.shared_ns(records["enter_ns"])
        made["exit_ns"] = clock.shared_ns(records["exit_ns"])
        made["bound_ns"] = 0 if clock.is_same else clock.bound_ns(records["enter_ns"])
        made["communicator"], made["function"], made["place"] = within, functions, places
        made["file"] = lane.number
        made["site"] = self.trace.sites_of(lane.file).numbers(records["address"])
        for name in ("bytes", "root", "flags"):
            made[name] = records[name]
        made["spent_ns"] = _spent_ns(records)
        if len(made):
            last = int(made["exit_ns"].max())
            self.last_exit_ns[lane.number] = max(last, int(self.last_exit_ns[lane.number]))
        self._give_keys(made, records)
        return made

    def _give_keys(self, made: NDArray[Any], records: NDArray[Any]) -> None:
        channels = made["communicator"].copy()
        sequences = records["sequence"].astype(np.int64)
        started = np.flatnonzero(records["round"])
        if len(started):
            pairs = np.stack([channels[started].astype(np.int64), sequences[started]], axis=1)
            met, back = np.unique(pairs, axis=0, return_inverse=True)
            numbers = np.array([self._channel(int(one), int(two)) for one, two in met], dtype=np.int32)
            channels[started] = numbers[back.reshape(-1)]
            sequences[started] = records["round"][started]
        made["channel"] = channels
        done = (records["flags"] & form.PHASE) == form.COMPLETION
        made["key"] = (channels.astype(np.int64) << 33) | (sequences << 1) | done

    def _channel(self, communicator: int, sequence: int) -> int:
        """The channel of the starts of one persistent collective."""
        number = self._channels.get((communicator, sequence))
        if number is None:
            number = self._frontier.add(communicator)
            self._channels[(communicator, sequence)] = number
        return number

    def _split(self, moments: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """What can be given out, and what waits."""
        calls = moments["key"] >> 1
        final = (calls & 0xFFFFFFFF) <= self._frontier.of_channels()[moments["channel"]]
        phases = moments["flags"] & form.PHASE
        if phases.any():
            issued = (phases == form.ISSUE) | (phases == form.START)
            starts = _starts(calls)
            balance = issued.astype(np.int64) - (phases == form.COMPLETION)
            balance[~self._frontier.alive[moments["file"]]] = 0  # of an ended file nothing else comes
            is_open = np.repeat(np.add.reduceat(balance, starts) > 0, np.diff([*starts, len(calls)]))
            final &= ~is_open
        given, waiting = moments[final], moments[~final]
        if len(waiting) <= MOST_WAITING:
            return given, waiting
        starts = _starts(waiting["key"] >> 1)
        ends = np.maximum.reduceat(waiting["exit_ns"], starts)
        is_old = ends <= np.median(ends)
        self.counts.forced += int(np.count_nonzero(is_old))
        old = np.repeat(is_old, np.diff([*starts, len(waiting)]))
        given = np.concatenate([given, waiting[old]])
        return given[np.argsort(given["key"], kind="stable")], waiting[~old]

    def _grouped(self, moments: NDArray[Any]) -> Matched:
        starts = _starts(moments["key"] >> 1)
        expected = self._frontier.traced[moments["communicator"][starts]]
        return Matched(moments=moments, starts=starts, expected=expected)


class _Frontier:
    """How far every rank has come on every communicator that it is in, and so what is behind all of them."""

    def __init__(self, trace: Trace) -> None:
        timed = [clock is not None for clock in trace.clocks.of_file]
        self._rank = [file.header.rank for file in trace.files]
        self.alive = np.array([bool(file.lanes) and ok for file, ok in zip(trace.files, timed, strict=True)])
        self._begin: list[int] = []
        files_by_rank = np.full(trace.size + 1, -1, dtype=np.int32)
        for number, file in enumerate(trace.files):
            if timed[number]:
                files_by_rank[file.header.rank] = number
        self._members = [
            np.where(one.members < trace.size, files_by_rank[one.members], -1).astype(np.int32)
            for one in trace.communicators.all
        ]
        self.traced = np.array(
            [int(np.count_nonzero(members >= 0)) for members in self._members], dtype=np.int64
        )
        self._files = np.concatenate([*self._members, np.empty(0, np.int32)])
        lengths = [len(members) for members in self._members]
        self._starts = [0, *np.cumsum(lengths).tolist()]
        self._last = np.full(len(self._files), -1, dtype=np.int64)

    def add(self, communicator: int) -> int:
        """A channel more, with the members of a communicator; its number."""
        members = self._members[communicator]
        self._members.append(members)
        self._files = np.concatenate([self._files, members])
        self._last = np.concatenate([self._last, np.full(len(members), -1)])
        self._starts.append(len(self._files))
        return len(self._members) - 1

    def passed(self, moments: NDArray[Any], alive: set[int]) -> None:
        """Some records were read; ``alive`` are the files that have more."""
        self.alive = np.isin(np.arange(len(self.alive)), list(alive))
        places = np.asarray(self._starts)[moments["channel"]] + moments["place"]
        np.maximum.at(self._last, places, (moments["key"] >> 1) & 0xFFFFFFFF)

    def of_channels(self) -> NDArray[np.int64]:
        """For every channel the last sequence number that all ranks have reached, (channels,)."""
        waited_for = (self._files >= 0) & self.alive[self._files]
        last = np.where(waited_for, self._last, 2**33)
        if not len(last):
            return np.empty(0, np.int64)
        return np.minimum.reduceat(last, self._starts[:-1])


def _spent_ns(records: NDArray[Any]) -> NDArray[np.int64]:
    """Time in each call; where one call completes several requests, each has its part of it."""
    spent = records["exit_ns"] - records["enter_ns"]
    done = (records["flags"] & form.PHASE) == form.COMPLETION
    if not done.any():
        return spent
    same = (records["enter_ns"][1:] == records["enter_ns"][:-1]) & (
        records["exit_ns"][1:] == records["exit_ns"][:-1]
    )
    starts = np.flatnonzero(np.concatenate([[True], ~(same & done[1:] & done[:-1])]))
    lengths = np.diff([*starts, len(records)])
    return spent // np.repeat(lengths, lengths)


def _starts(calls: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each run of equal numbers begins."""
    return (
        np.flatnonzero(np.concatenate([[True], calls[1:] != calls[:-1]])) if len(calls) else np.empty(0, int)
    )
