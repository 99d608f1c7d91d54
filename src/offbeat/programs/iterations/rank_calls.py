"""The MPI calls of one rank in the order of time, collectives and point-to-point calls alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offbeat.trace.calls.event_batches import PLACE_BITS, SITE_BITS, EventReader
from offbeat.trace.calls.lane_windows import Columns, LaneReader, windows
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import Trace
from offbeat.trace.messages.message_batches import MessageReader

ITERATION_LEVEL = 2
"""The level of MPI_Pcontrol with which an iteration begins, by convention."""

MARK = -1
"""The caller of a mark."""

_RECORDS_AT_ONCE = 32_768
_CALLER, _FUNCTION = (1 << PLACE_BITS) - 1, (1 << SITE_BITS) - 1
_TESTS = re.compile(r"MPI_(Test|Iprobe|Improbe|Probe|Mprobe|Parrived|Request_get_status)")


class RankCalls(Columns, eq=False):
    """Calls of a rank, (n,), and the marks of its iterations; times are on the shared clock.

    ``caller`` is a number for the pair of call site and function (:func:`site_and_function`), MARK of a mark.
    """

    caller: NDArray[np.int64] = np.empty(0, np.int64)
    enter_ns: NDArray[np.int64] = np.empty(0, np.int64)
    exit_ns: NDArray[np.int64] = np.empty(0, np.int64)


def site_and_function(caller: int) -> tuple[int, int]:
    """The numbers of the call site and of the function of a caller."""
    return caller >> SITE_BITS, caller & _FUNCTION


def rank_calls(trace: Trace, number: int) -> Iterator[RankCalls]:
    """The calls of the file with this number, in the order in which they ended, part by part.

    Each call appears once, however many requests it completed. Probes and tests are left out, also those that
    found something: how many a program needs is chance. A file without a clock has no calls.
    """
    file = trace.files[number]
    if trace.clocks.of_file[number] is None:
        return
    lanes = [
        LaneReader(
            number,
            pages,
            read=file.records,
            convert=_Records(trace, number).calls,
            records_a_page=file.records_a_page,
            part_records=_RECORDS_AT_ONCE,
        )
        for pages in file.lanes.values()
    ]
    lanes += [
        LaneReader(
            number,
            pages,
            read=file.messages,
            convert=_Messages(trace, number, lane).calls,
            records_a_page=form.MESSAGES_A_PAGE,
            part_records=_RECORDS_AT_ONCE,
        )
        for lane, pages in file.message_lanes.items()
    ]
    is_test = np.array([_TESTS.match(one.name) is not None for one in trace.functions] or [False])
    for window in windows(lanes):
        calls = RankCalls.concatenate(window)
        calls = calls.select(
            (calls.caller == MARK) | ~is_test[np.where(calls.caller == MARK, 0, calls.caller & _FUNCTION)]
        )
        yield calls.select(np.argsort(calls.exit_ns, kind="stable"))


class _Records:
    """Converts the records of one lane to calls."""

    def __init__(self, trace: Trace, number: int) -> None:
        self._reader = EventReader(trace, number, lambda pairs: np.zeros(len(pairs), np.int64))
        self._last = (-1, -1)

    def calls(self, records: NDArray[Any]) -> RankCalls:
        """The calls among some records, without those that complete what an earlier record began to."""
        events = self._reader.events(records)
        if not len(events):
            return RankCalls()
        enter, leave = events.enter_ns, events.exit_ns
        is_first = (int(enter[0]), int(leave[0])) != self._last
        is_call = np.concatenate([[is_first], (np.diff(enter) != 0) | (np.diff(leave) != 0)])
        is_call &= (events.flags & form.SHARED) == 0  # the messages of the same call stand for it
        self._last = (int(enter[-1]), int(leave[-1]))
        return RankCalls(events.caller & _CALLER, enter, leave).select(is_call)


class _Messages:
    """Converts the messages of one lane to calls and marks."""

    def __init__(self, trace: Trace, number: int, lane: int) -> None:
        self._reader = MessageReader(trace, number, lane, 0)

    def calls(self, messages: NDArray[Any]) -> RankCalls:
        """The calls and marks among some messages."""
        batch = self._reader.batch(messages)
        is_mark = batch.kind == form.MARK
        is_call = (batch.calls > 0) & (batch.kind != form.POLL) & ~is_mark
        is_call |= is_mark & (batch.tag == ITERATION_LEVEL)
        caller = np.where(is_mark, MARK, batch.site << SITE_BITS | batch.function)
        return RankCalls(caller, batch.enter_ns, batch.exit_ns).select(is_call)
