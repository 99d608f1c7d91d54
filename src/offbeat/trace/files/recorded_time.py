"""Which part of each rank's run was recorded: shares of time are relative to that part.

A rank is recorded from MPI_Init to its end, except outside of OFFBEAT_TRACE_WINDOW, while MPI_Pcontrol(0) has
paused the tracer, and after its file was full (OFFBEAT_TRACE_BYTES, or no space): then the part ends with the
last record of each thread.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from offbeat.base.units import amount, format_time
from offbeat.trace.files.rank_file import RankFile
from offbeat.trace.files.trace_folder import Trace

PAUSE, RESUME = 0, 1
"""Levels of MPI_Pcontrol."""

Marks = Mapping[int, Sequence[tuple[int, int]]]
"""Index of a file → shared time and level of its rank's calls of MPI_Pcontrol, in the order of time."""

_WINDOW = re.compile(r"OFFBEAT_TRACE_WINDOW=([\d.]+)-([\d.]*)")

_LEAST_UNRECORDED = 0.005
"""A smaller share of the run is not worth a note: the last record of a rank precedes its end."""


class RecordedTime(Struct):
    """Times in seconds, summed over ranks.

    ``run_s`` is the time from MPI_Init to the end, or to the last record of a rank that did not end normally;
    ``recorded_s`` is the recorded part of it; ``thread_recorded_s`` is that of each rank's threads that call
    MPI concurrently. ``cut`` counts the ranks whose files were full.
    """

    run_s: float = 0.0
    recorded_s: float = 0.0
    thread_recorded_s: float = 0.0
    cut: int = 0

    def notes(self, ranks: int) -> list[str]:
        """A note where a part of the run was not recorded; ``ranks`` is the number of traced ranks."""
        if self.recorded_s >= self.run_s * (1 - _LEAST_UNRECORDED):
            return []
        full = f", as the files of {amount(self.cut, 'rank')} were full" if self.cut else ""
        mean_s, recorded_s = self.run_s / ranks, self.recorded_s / ranks
        return [
            f"{format_time(recorded_s)} of the run time of {format_time(mean_s)} were recorded"
            f" ({self.recorded_s / self.run_s:.1%}, mean over ranks){full}: shares are of the recorded part"
        ]


def recorded_time(trace: Trace, last_exits_ns: Mapping[int, int], marks: Marks) -> RecordedTime:
    """The recorded time of a trace.

    ``last_exits_ns`` maps the index of each file with a clock to the shared time of its last exit: the
    smallest integer without one.
    """
    began_ns = {
        number: _shared_ns(trace, number, trace.files[number].header.began_ns) for number in last_exits_ns
    }
    first_ns = min(began_ns.values(), default=0)
    sums = RecordedTime()
    for number, last_ns in last_exits_ns.items():
        file, begin_ns = trace.files[number], began_ns[number]
        end_ns = max(last_ns, begin_ns)
        if file.header.ended_ns:
            end_ns = max(end_ns, _shared_ns(trace, number, file.header.ended_ns))
        from_ns, until_ns = _window(file, first_ns, (begin_ns, end_ns, last_ns))
        pauses = _pauses(marks.get(number, ()), end_ns)
        ends_ns = [until_ns] * file.threads
        if file.header.lost_count:
            sums.cut += 1
            ends_ns = [min(until_ns, _shared_ns(trace, number, at_ns)) for at_ns in _lane_ends_ns(file)]
        lengths = [_unpaused_ns(from_ns, end, pauses) for end in ends_ns]
        sums.run_s += (end_ns - begin_ns) / 1e9
        sums.recorded_s += max(lengths, default=0) / 1e9
        sums.thread_recorded_s += sum(lengths) / 1e9
    return sums


def _shared_ns(trace: Trace, number: int, local_ns: int) -> int:
    clock = trace.clocks.of_file[number]
    assert clock is not None
    return int(clock.shared_ns(np.array([local_ns]))[0])


def _window(file: RankFile, first_ns: int, times_ns: tuple[int, int, int]) -> tuple[int, int]:
    """From when until when OFFBEAT_TRACE_WINDOW lets calls be recorded; the last one may end later.

    ``times_ns`` are the begin and the end of the run, and the last exit.
    """
    begin_ns, end_ns, last_ns = times_ns
    window_match = _WINDOW.search(file.header.sampling)
    if window_match is None:
        return begin_ns, end_ns
    from_ns = min(max(begin_ns, first_ns + round(float(window_match[1]) * 1e9)), end_ns)
    until_ns = first_ns + round(float(window_match[2]) * 1e9) if window_match[2] else end_ns
    return from_ns, max(from_ns, min(end_ns, max(until_ns, last_ns)))


def _lane_ends_ns(file: RankFile) -> list[int]:
    """The local time of the last exit in each lane."""
    ends: dict[int, int] = {}
    for lanes, read in ((file.lanes, file.records), (file.message_lanes, file.messages)):
        for lane, pages in lanes.items():
            rows = read(pages[-1:])
            if len(rows):
                ends[lane] = max(ends.get(lane, 0), int(rows["exit_ns"][-1]))
    return list(ends.values())


def _pauses(marks: Sequence[tuple[int, int]], end_ns: int) -> list[tuple[int, int]]:
    """Begin and end of each pause."""
    pauses: list[tuple[int, int]] = []
    pause_start_ns: int | None = None
    for at_ns, level in marks:
        if level == PAUSE and pause_start_ns is None:
            pause_start_ns = at_ns
        elif level == RESUME and pause_start_ns is not None:
            pauses.append((pause_start_ns, at_ns))
            pause_start_ns = None
    return pauses if pause_start_ns is None else [*pauses, (pause_start_ns, end_ns)]


def _unpaused_ns(from_ns: int, until_ns: int, pauses: Sequence[tuple[int, int]]) -> int:
    paused_ns = sum(max(min(until_ns, end) - max(from_ns, begin), 0) for begin, end in pauses)
    return max(until_ns - from_ns - paused_ns, 0)
