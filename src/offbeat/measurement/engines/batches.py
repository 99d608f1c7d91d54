"""Driving an engine that computes many cases at the same time.

A study becomes a list of batches: one algorithm of one group under several patterns. All batches without
delay come first, because the skews of the others may be multiples of their runtimes. A replay is a batch of
its own, and is divided if it has many calls. Batches begin in this order before earlier ones have finished,
and are written to disk in this order, several at a time. So the results do not depend on the number of
workers, nor on whether a run was killed and resumed.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from queue import SimpleQueue

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.measurement.engines.engine import Batch, BatchEngine, Exits
from offbeat.measurement.results.blocks import Samples
from offbeat.measurement.runs.repetition import no_samples
from offbeat.measurement.runs.run_progress import ProgressListener
from offbeat.measurement.runs.session import NO_SKEW, Session, algorithm_of
from offbeat.model.study.case import Case
from offbeat.model.study.case_expansion import group_of
from offbeat.model.study.skew_policy import UnknownSkew

SECONDS_BETWEEN_WRITES = 0.5
"""Simulated cases are cheap and waiting for a disk is not: a kill loses this much work, or one batch."""

MOST_VALUES_WAITING = 2**24
"""How many delays and exits may wait to be written: 128 MiB."""

MOST_FINISHED_PER_BATCH = 16
"""At most this multiple of ``batches_ahead`` batches may have finished and wait for an earlier one."""


def measure_in_batches(
    plan: Sequence[Case],
    finished_ids: Collection[str],
    session: Session,
    engine: BatchEngine,
    listener: ProgressListener,
    out_of_time: Callable[[float], bool],
) -> int:
    """Measure the cases that are not done, until time runs out; returns how many were measured."""
    pipeline = _BatchPipeline(session, engine, listener)
    for cases in batches_of(plan, finished_ids, engine.patterns_at_once):
        if out_of_time(pipeline.longest_s):
            break
        pipeline.begin(cases)
    return pipeline.finish()


def batches_of(
    plan: Sequence[Case], finished_ids: Collection[str], largest_batch: Callable[[Case], int]
) -> Iterator[list[Case]]:
    """The cases that are not done, in batches of limited size.

    The order is that of the study, except that all cases without delay come first, and that the sizes of an
    algorithm are adjacent, because they may share its schedule. It does not depend on ``finished_ids``.
    """
    groups: dict[tuple[object, ...], dict[object, list[Case]]] = {}
    for case in plan:
        call = (case.layout, case.nodes, case.ppn, case.collective, case.op, case.datatype, case.root)
        by_size = groups.setdefault((case.is_delayed, *call, case.algorithm), {})
        by_size.setdefault(case.bytes, []).append(case)
    without_delay_first = sorted(groups.items(), key=lambda entry: bool(entry[0][0]))
    for _, by_size in without_delay_first:
        for cases in by_size.values():
            remaining_cases = [case for case in cases if case.id not in finished_ids]
            single = [case for case in remaining_cases if not case.is_replay]
            largest = largest_batch(cases[0])
            for start in range(0, len(single), largest):
                yield single[start : start + largest]
            yield from ([case] for case in remaining_cases if case.is_replay)


class _PendingBatch(Struct, kw_only=True):
    """A batch that has begun: its cases, their delays (cases × p, for a replay calls × p) in seconds, and the
    reasons why some cases have no skew and were not begun. ``futures`` are its parts, in order.
    """

    cases: list[Case]
    delays_s: NDArray[np.float64]
    without_skew: list[tuple[Case, str]]
    futures: list[Future[Exits]]
    at_s: float

    @property
    def is_reference(self) -> bool:
        """Whether later skews may be multiples of its runtimes."""
        return any(not case.is_delayed for case in self.cases)

    @property
    def is_replay(self) -> bool:
        return self.cases[0].is_replay if self.cases else False

    @property
    def is_done(self) -> bool:
        return all(future.done() for future in self.futures)


class _BatchPipeline:
    """Begun batches that are not on disk yet, in order. ``longest_s`` is the time of the slowest so far."""

    def __init__(self, session: Session, engine: BatchEngine, listener: ProgressListener) -> None:
        self.longest_s = 0.0
        self._session = session
        self._engine = engine
        self._listener = listener
        self._batches: deque[_PendingBatch] = deque()
        self._running_count = 0
        self._ends: SimpleQueue[float] = SimpleQueue()
        self._unwritten: list[tuple[Case, NDArray[np.float64], Samples]] = []
        self._written_count = 0
        self._last_write_s = time.monotonic()

    def begin(self, cases: list[Case]) -> None:
        """Begin a batch as soon as the pipeline is not full and the batch's skews are known."""
        self._await_references(cases)
        while self._is_full():
            self._await_one()
        pending_batch = self._prepare(cases)
        self._listener.say(f"{cases[0].collective} {cases[0].bytes} B {cases[0].algorithm}")
        if len(pending_batch.cases):
            algorithm = algorithm_of(self._engine, cases[0])
            for rows in _part_rows(pending_batch, self._engine.patterns_at_once(cases[0])):
                while self._running_count >= self._engine.batches_ahead:
                    self._await_one()
                batch = Batch(
                    algorithm=algorithm, cases=pending_batch.cases, delays_s=pending_batch.delays_s[rows]
                )
                future = self._engine.submit(batch)
                future.add_done_callback(lambda _: self._ends.put(pending_batch.at_s))
                pending_batch.futures.append(future)
                self._running_count += 1
        self._batches.append(pending_batch)

    def finish(self) -> int:
        while self._batches:
            self._take_first()
        self._write()
        return self._written_count

    def _prepare(self, cases: list[Case]) -> _PendingBatch:
        with_skew: list[Case] = []
        delays: list[NDArray[np.float64]] = []
        without_skew: list[tuple[Case, str]] = []
        for case in cases:
            try:
                delays.append(self._session.delays_s(case))
                with_skew.append(case)
            except UnknownSkew as reason:
                without_skew.append((case, f"{NO_SKEW}{reason}"))
        delays_s = np.vstack(delays) if delays else np.zeros((0, cases[0].p))
        return _PendingBatch(
            cases=with_skew, delays_s=delays_s, without_skew=without_skew, futures=[], at_s=time.monotonic()
        )

    def _await_references(self, cases: list[Case]) -> None:
        """Process finished batches until all runtimes are known that the skews of these cases depend on."""
        if not any(case.policy.needs_runtimes for case in cases):
            return
        group = group_of(cases[0])
        while any(one.is_reference and group_of(one.cases[0]) == group for one in self._batches):
            self._take_first()

    def _is_full(self) -> bool:
        waiting_values = sum(one.delays_s.size for one in self._batches)
        return (
            self._running_count >= self._engine.batches_ahead
            or len(self._batches) >= MOST_FINISHED_PER_BATCH * self._engine.batches_ahead
            or (bool(self._batches) and waiting_values >= MOST_VALUES_WAITING)
        )

    def _await_one(self) -> None:
        """Wait until any batch ends, and process finished batches at the front."""
        if self._running_count:
            self._note_end(self._ends.get())
        while self._batches and self._batches[0].is_done:
            self._take_first()

    def _note_end(self, began_s: float) -> None:
        self._running_count -= 1
        self.longest_s = max(self.longest_s, time.monotonic() - began_s)

    def _take_first(self) -> None:
        """Wait for the first batch and record its results."""
        first = self._batches.popleft()
        if first.futures:
            exits = _concatenate([future.result() for future in first.futures])
            self._listener.report_messages(exits.messages)
            for entry in _samples(first, exits):
                self._session.note_runtime(entry[0], entry[2])
                self._unwritten.append(entry)
        for case, reason in first.without_skew:
            self._unwritten.append((case, np.zeros(case.p), no_samples(case.processes, reason)))
        while not self._ends.empty():
            self._note_end(self._ends.get())
        waited_s = time.monotonic() - self._last_write_s
        values = sum(delays.size for _, delays, _ in self._unwritten)
        if waited_s >= SECONDS_BETWEEN_WRITES or values >= MOST_VALUES_WAITING:
            self._write()

    def _write(self) -> None:
        cases, self._unwritten = self._unwritten, []
        for (case, _, _), status in zip(cases, self._session.save(cases), strict=True):
            self._listener.report_case(case, status)
        self._written_count += len(cases)
        self._last_write_s = time.monotonic()


def _part_rows(batch: _PendingBatch, most_calls: int) -> list[slice]:
    """The rows that are submitted together: the whole batch, or ``most_calls`` calls of a replay."""
    rows = len(batch.delays_s)
    part_calls = most_calls if batch.is_replay else rows
    return [slice(start, start + part_calls) for start in range(0, rows, part_calls)]


def _concatenate(parts: Sequence[Exits]) -> Exits:
    """The exits of all parts of a batch, or the first failure."""
    if len(parts) == 1:
        return parts[0]
    messages = sum(part.messages for part in parts)
    failure = next((part.failure for part in parts if part.failure), "")
    exits = np.zeros((0, 0)) if failure else np.concatenate([part.exits_s for part in parts])
    return Exits(exits_s=exits, messages=messages, failure=failure)


def _samples(batch: _PendingBatch, exits: Exits) -> Iterable[tuple[Case, NDArray[np.float64], Samples]]:
    """One repetition of each case of a batch; for a replay, one per call."""
    if batch.is_replay:
        yield batch.cases[0], batch.delays_s, _exact(batch, exits, 0, slice(None))
        return
    for number, case in enumerate(batch.cases):
        yield case, batch.delays_s[number], _exact(batch, exits, number, slice(number, number + 1))


def _exact(batch: _PendingBatch, exits: Exits, number: int, rows: slice) -> Samples:
    """The samples of one case of a batch, which has these rows."""
    if exits.failure:
        return no_samples(batch.cases[number].processes, exits.failure)
    layout = batch.cases[number].layout
    arrivals = layout.for_all(batch.delays_s[rows])
    return Samples(
        arrivals_s=arrivals,
        exits_s=exits.exits_s[rows],
        valid=np.ones(len(arrivals), dtype=np.bool_),
        calls=np.arange(len(arrivals)) if batch.is_replay else None,
        is_exact=True,
        layout=layout,
    )
