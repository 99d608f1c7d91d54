"""The trace of a simulated program, written while it is simulated.

The parts of the simulator's log become rows of the ranks' files: a step of work none, any other step its
calls (:mod:`offbeat.programs.simulation.simulated_calls`). The first call of a step begins, and the last
ends, when the simulated rank begins and ends the step. In between, a blocking send ends when the simulation
says so, and posting a message takes the platform's ``send_overhead``; but every call takes at least a
nanosecond, because calls of a trace differ by their times. Ranks whose steps take no time are therefore some
nanoseconds late.
"""

from __future__ import annotations

import re
import shutil
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat import __version__
from offbeat.base.atomic_write import write_error
from offbeat.base.errors import BadInput
from offbeat.base.units import amount, rounded_size
from offbeat.model.study.communicators import CommunicatorLayout
from offbeat.programs.simulation.simulate import Log, Progress, Run, Simulated
from offbeat.programs.simulation.simulated_calls import (
    CONSTRUCTOR,
    WORLD,
    call_definitions,
    calls_of,
    functions_of,
)
from offbeat.trace.files import encode, folder
from offbeat.trace.files import format as form
from offbeat.trace.files.rank_writer import RankWriter, file_bytes

MOST_BYTES = 10**9
"""The size of a trace that is written without being asked for certain iterations."""

BEGAN_NS = 1
"""The reading of the simulated clock at the beginning: times in traces are positive."""

_ENTRIES_AT_ONCE = 2**19
"""Of the log: then they become rows."""


class TracedIterations(Struct, frozen=True, kw_only=True):
    """A trace that is to be written: of the iterations from ``first``, counted from 0, up to ``end``."""

    directory: Path
    first: int
    end: int
    size_bytes: int


def selected_iterations(text: str) -> tuple[int, int] | None:
    """Iterations as people write them, from 1: ``5-10`` or ``5``; None for an empty text.

    Returns the first, from 0, and the one after the last. Raises :class:`BadInput`.
    """
    if not text:
        return None
    matched = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text.strip())
    first = int(matched[1]) if matched else 0
    last = int(matched[2] or first) if matched else 0
    if not 1 <= first <= last:
        raise BadInput(f"'{text}' are no iterations; write the first and the last one, from 1, such as 1-100")
    return first - 1, last


def plan(run: Run, directory: Path, iterations: tuple[int, int] | None = None) -> TracedIterations:
    """Check that a trace of these iterations (all if None; from 0, the end exclusively) can be written.

    Raises :class:`BadInput` for iterations that do not exist, a folder with a trace, a disk without room, and
    for all iterations if they need more than MOST_BYTES.
    """
    count = run.program.file.iterations
    first, end = iterations or (0, count)
    if not 0 <= first < end <= count:
        raise BadInput(
            f"iterations {first + 1}-{end}: the program has iterations 1 to {count}; give some of them"
        )
    size = _size_bytes(run, first, end)
    if iterations is None and size > MOST_BYTES:
        per_iteration = _size_bytes(run, 0, count) / count
        fitting = max(int(MOST_BYTES / per_iteration), 1)
        raise BadInput(
            f"the trace of {amount(count, 'iteration')} takes {rounded_size(size)}, and without"
            f" --trace-iterations it may take {rounded_size(MOST_BYTES)}: give for example"
            f" --trace-iterations 1-{fitting}, or --trace-iterations 1-{count} for all of them"
        )
    folder.check_unused(directory, "--trace")
    folder.create(directory)
    free = shutil.disk_usage(directory).free
    if size > free:
        raise BadInput(
            f"the trace takes {rounded_size(size)}, and {directory} has {rounded_size(free)}"
            " left: give fewer iterations with --trace-iterations, or a folder on another disk"
        )
    return TracedIterations(directory=directory, first=first, end=end, size_bytes=size)


def simulate_traced(run: Run, traced: TracedIterations, on_progress: Progress | None = None) -> Simulated:
    """Simulate a run and write its trace. The begins of phases are not kept.

    Raises :class:`BadInput` and :class:`RunFailed` for what cannot be written; what was written by then can
    be read.
    """
    run.detailed = (traced.first, traced.end)
    trace = _TraceOfRun(run, traced)
    simulated = run.simulate(on_progress, trace.add)
    trace.finish(simulated)
    return simulated


def _size_bytes(run: Run, first: int, end: int) -> int:
    """The size of the files of these iterations."""
    calls = calls_of(run.program, run.steps, len(run.node_of_rank))
    every = np.array([step[2] for step in run.steps.steps] + [1])
    executed = end // every - first // every
    messages = calls.per_step(np.diff(calls.first_row)) @ executed
    records = int((executed * (calls.records["function"] > 0)).sum())
    defined = call_definitions(run.program)
    numbers, ranks = np.unique(messages, return_counts=True)
    return sum(
        int(count) * file_bytes(defined, int(number), records)
        for number, count in zip(numbers, ranks, strict=True)
    )


class _Steps(Struct, kw_only=True, eq=False):
    """Steps that ranks have executed, (n,) each, in the order of ranks and of time.

    ``entry`` is the place in the log ``time_s`` at which a step begins.
    """

    time_s: NDArray[np.float64]
    entry: NDArray[np.int64]
    end_s: NDArray[np.float64]
    rank: NDArray[np.int64]
    step: NDArray[np.int64]


class _TraceOfRun:
    """The files of all ranks while a run is simulated."""

    def __init__(self, run: Run, traced: TracedIterations) -> None:
        p = len(run.node_of_rank)
        self._calls = calls_of(run.program, run.steps, p)
        self._overhead_s = run.platform.file.messages.send_overhead
        every = np.array([step[2] for step in run.steps.steps] + [1])
        earlier = traced.first // every
        on = self._calls.records["communicator"]
        self._sequences = {number: np.full(p, earlier[on == number].sum()) for number in self._calls.layouts}
        self._request, self._end_ns = np.zeros(p, np.int64), np.zeros(p, np.int64)
        self._logs: list[Log] = []
        self._directory = traced.directory
        try:
            self._writers = _writers(run, traced, self._calls.layouts)
        except OSError as error:
            raise write_error(traced.directory, error, "the trace") from error

    def add(self, log: Log) -> None:
        """Write what ranks have completed by now."""
        self._logs.append(log)
        if sum(len(one) for one in self._logs) >= _ENTRIES_AT_ONCE:
            self._write_steps()

    def finish(self, run: Simulated) -> None:
        """Write the rest, and complete the files."""
        self._write_steps()
        ends = BEGAN_NS + np.rint(1e9 * run.iteration_end_s[-1]).astype(np.int64)
        try:
            for writer, end_ns in zip(self._writers, np.maximum(ends, self._end_ns).tolist(), strict=True):
                writer.finish(end_ns)
        except OSError as error:
            raise write_error(self._directory, error, "the trace") from error

    def _write_steps(self) -> None:
        steps, rest = _completed(self._logs, self._calls.steps - 1)
        self._logs = [rest]
        messages, records = self._rows(steps)
        p = len(self._writers)
        is_record = self._calls.records["function"][steps.step] > 0
        counts = np.diff(self._calls.first_row)[steps.rank * self._calls.steps + steps.step]
        message_ends = np.cumsum(np.bincount(steps.rank, counts, p)).astype(np.int64)
        record_ends = np.cumsum(np.bincount(steps.rank, is_record, p)).astype(np.int64)
        try:
            for rank, writer in enumerate(self._writers):
                own = slice(message_ends[rank - 1] if rank else 0, message_ends[rank])
                own_records = slice(record_ends[rank - 1] if rank else 0, record_ends[rank])
                writer.append(messages[own], records[own_records])
        except OSError as error:
            raise write_error(self._directory, error, "the trace") from error

    def _rows(self, steps: _Steps) -> tuple[NDArray[Any], NDArray[Any]]:
        """The messages and records of steps, rank by rank."""
        calls = self._calls
        place = steps.rank * calls.steps + steps.step
        points_ns, first_point = self._points_ns(steps, place)
        step_of_row, row = _expanded(calls.first_row, place)
        messages = calls.rows[row]
        messages["enter_ns"] = points_ns[first_point[step_of_row] + calls.enter[row]]
        messages["exit_ns"] = points_ns[first_point[step_of_row] + calls.exit[row]]
        base = _counted_on(self._request, steps.rank, calls.requests[place])
        has_request = messages["request"] > 0
        messages["request"][has_request] += base[step_of_row[has_request]].astype(np.uint32)
        is_record = calls.records["function"][steps.step] > 0
        records = calls.records[steps.step[is_record]]
        for number, counted_calls in self._sequences.items():
            is_on = calls.records["communicator"][steps.step] == number
            sequence = _counted_on(counted_calls, steps.rank, is_on.astype(np.int64))
            records["sequence"][is_on[is_record]] = sequence[is_on]
        records["enter_ns"] = points_ns[first_point[is_record]]
        records["exit_ns"] = points_ns[first_point[is_record] + 1]
        return messages, records

    def _points_ns(
        self, steps: _Steps, place: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The times at which the calls of steps begin and end, and where those of each step begin."""
        calls = self._calls
        owner, point = _expanded(calls.first_point, place)
        number = calls.points[point].astype(np.int64)
        begin_s, end_s = steps.time_s[steps.entry], steps.end_s
        posted_s = np.minimum(begin_s[owner] + self._overhead_s * number, end_s[owner])
        logged_s = steps.time_s[np.minimum(steps.entry[owner] + number, len(steps.time_s) - 1)]
        within_s = np.where(calls.is_blocking[steps.step[owner]], logged_s, posted_s)
        points_ns = BEGAN_NS + np.rint(1e9 * np.where(number < 0, end_s[owner], within_s)).astype(np.int64)
        counts = np.diff(calls.first_point)[place]
        first_point = np.cumsum(counts) - counts
        is_later = np.ones(len(owner), np.int64)
        is_later[first_point[counts > 0]] = 0
        self._separate(points_ns, np.cumsum(is_later), steps.rank[owner])
        return points_ns, first_point

    def _separate(
        self, points_ns: NDArray[np.int64], least_ns: NDArray[np.int64], rank: NDArray[np.int64]
    ) -> None:
        """Move points of a rank that are too early: ``least_ns`` grows by what is between points at least."""
        bounds = np.searchsorted(rank, np.arange(len(self._end_ns) + 1))
        points_ns -= least_ns
        for one in np.flatnonzero(np.diff(bounds)).tolist():
            own = points_ns[bounds[one] : bounds[one + 1]]
            own[0] = max(own[0], self._end_ns[one] - least_ns[bounds[one]])
            np.maximum.accumulate(own, out=own)
        points_ns += least_ns
        has_points = np.diff(bounds) > 0
        self._end_ns[has_points] = points_ns[bounds[1:][has_points] - 1]


def _writers(run: Run, traced: TracedIterations, layouts: dict[int, CommunicatorLayout]) -> list[RankWriter]:
    """The files of all ranks with their definitions. Raises OSError."""
    program, file = run.program, run.program.file
    p, common = len(run.node_of_rank), call_definitions(program)
    common.append(encode.clock_point(BEGAN_NS, BEGAN_NS, is_shared=True))
    header = {
        "size": p,
        "run": _identity(run),
        "began_ns": BEGAN_NS,
        "has_messages": 1,
        "program": str(Path(program.path).absolute())[:1023],
        "library": f"simulation on {run.platform.name}, seed {file.seed}, offbeat {__version__}"[:1023],
        "source": "simulated time",
    }
    if traced.end - traced.first < file.iterations:
        header["sampling"] = f"iterations {traced.first + 1} to {traced.end} of {file.iterations}"
    writers = []
    constructor = functions_of(program).get(CONSTRUCTOR, 0)
    communicators = [_communicators(number, layout, constructor) for number, layout in layouts.items()]
    for rank in range(p):
        own = [definition for of_rank in communicators for definition in of_rank[rank]]
        own.append(encode.note(f"{form.MEMORY_DOMAIN_NOTE}{run.domain_of_rank[rank]}", BEGAN_NS))
        node = {"host": f"node{run.node_of_rank[rank]}", "pid": rank + 1}
        writers.append(RankWriter(traced.directory, rank, header | node, [*own, *common]))
    return writers


def _communicators(number: int, layout: CommunicatorLayout, constructor: int) -> list[list[bytes]]:
    """The definitions of its communicator in a layout by each rank; the first member lists the members."""
    by_rank: list[list[bytes]] = [[] for _ in range(layout.total)]
    origin = {} if number == WORLD else {"parent": WORLD, "constructor": constructor}
    for communicator, ranks in enumerate(layout.ranks):
        group = (number + (communicator << 32), 0)  # like a hash of the members: no two have the same
        for member, rank in enumerate(ranks.tolist()):
            by_rank[rank].append(encode.communicator(number, group, (layout.p, 0), member, **origin))
        by_rank[int(ranks[0])].append(encode.members(number, ranks))
    return by_rank


def _identity(run: Run) -> int:
    """The number of a run: the same for all ranks, and for a repetition of the same simulation."""
    file = run.program.file
    content = (run.program.toml, run.platform.toml, file.ranks, file.iterations, file.seed)
    return zlib.crc32(repr(content).encode())


def _completed(logs: list[Log], steps: int) -> tuple[_Steps, Log]:
    """The steps that logs say to be complete, and the rest of the logs: the last step of each rank."""
    whole = Log.concatenate(logs)
    whole = whole.select(np.argsort(whole.rank, kind="stable"))
    begins = np.flatnonzero(whole.step <= steps)
    ranks = whole.rank[begins].astype(np.int64)
    is_complete = np.append(ranks[1:] == ranks[:-1], False)[: len(ranks)]
    entry = begins[is_complete]
    last = np.zeros(int(ranks.max(initial=0)) + 1, np.int64)
    last[ranks[~is_complete]] = begins[~is_complete]
    rest = whole.select(np.arange(len(whole)) >= last[whole.rank])
    completed = _Steps(
        time_s=whole.time_s,
        entry=entry,
        end_s=whole.time_s[np.append(begins[1:], 0)[: len(begins)][is_complete]],
        rank=ranks[is_complete],
        step=whole.step[entry].astype(np.int64),
    )
    return completed, rest


def _expanded(
    firsts: NDArray[np.int64], places: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For places one after the other: which of them each of their entries belongs to, and its index."""
    counts = (firsts[1:] - firsts[:-1])[places]
    owner = np.repeat(np.arange(len(places)), counts)
    within = np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]
    return owner, firsts[places][owner] + within


def _counted_on(
    totals: NDArray[np.int64], ranks: NDArray[np.int64], amounts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """What each rank has counted before each of its amounts, (n,), which are added to its total."""
    before = np.cumsum(amounts) - amounts
    bounds = np.searchsorted(ranks, np.arange(len(totals)))
    first = np.append(before, 0)[np.minimum(bounds, len(before))]
    counted_before = totals[ranks] + before - first[ranks]
    totals += np.bincount(ranks, amounts, len(totals)).astype(np.int64)
    return counted_before
