"""Driving an engine of which many cases can be under way at once.

A study becomes a list of batches: one algorithm of one group under several patterns. All batches without
delay come first, because the skews of the others may multiply their runtimes. A replay is a batch of its own,
and is simulated in pieces where it has many calls. Batches are begun in this order, ahead of what is
finished, and put on disk in this order, several at a time: so results are the same however many workers there
are, and a run that was killed goes on as if it had not been.
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

from offbeat.engines.base import Batch, BatchEngine, Exits
from offbeat.engines.repeat import no_samples
from offbeat.engines.session import NO_SKEW, Session, algorithm_of
from offbeat.engines.skew import UnknownSkew
from offbeat.engines.told import Told
from offbeat.results.blocks import Samples
from offbeat.study.case import Case
from offbeat.study.cases import REPLAY, group_of

SECONDS_BETWEEN_WRITES = 0.5
"""Simulated cases are cheap and waiting for a disk is not: what a kill loses is this much, or one batch."""

VALUES_HELD = 2**24
"""Delays and exits that may wait to be written, a number each: 128 MiB."""

FINISHED_AHEAD = 16
"""So many times ``batches_ahead`` batches may be finished and wait for an earlier one."""


def measure_in_batches(
    everything: Sequence[Case],
    done: Collection[str],
    session: Session,
    engine: BatchEngine,
    told: Told,
    out_of_time: Callable[[float], bool],
) -> int:
    """Measure the cases that are not done, until time runs out; how many were."""
    queue = _Ahead(session, engine, told)
    for cases in batches_of(everything, done, engine.patterns_at_once):
        if out_of_time(queue.longest_s):
            break
        queue.begin(cases)
    return queue.finish()


def batches_of(
    everything: Sequence[Case], done: Collection[str], at_once: Callable[[Case], int]
) -> Iterator[list[Case]]:
    """The cases that are not done, in batches of at most so many.

    The order is that of the study, but all cases without delay come first, and sizes of an algorithm stand
    together, as they may share its schedule. It does not depend on what is done.
    """
    places: dict[tuple[object, ...], dict[object, list[Case]]] = {}
    for case in everything:
        call = (case.p, case.nodes, case.ppn, case.collective, case.op, case.datatype, case.root)
        place = places.setdefault((case.skew_policy != "none", *call, case.algorithm), {})
        place.setdefault(case.bytes, []).append(case)
    without_delay_first = sorted(places.items(), key=lambda entry: bool(entry[0][0]))
    for _, by_size in without_delay_first:
        for cases in by_size.values():
            todo = [case for case in cases if case.id not in done]
            single = [case for case in todo if case.skew_policy != REPLAY]
            most = at_once(cases[0])
            for start in range(0, len(single), most):
                yield single[start : start + most]
            yield from ([case] for case in todo if case.skew_policy == REPLAY)


class _Begun(Struct, kw_only=True):
    """A batch under way: its cases, their delays (cases × p, of a replay calls × p) in seconds, and why some
    were never begun. ``futures`` are its pieces, in order.
    """

    cases: list[Case]
    delays_s: NDArray[np.float64]
    without_skew: list[tuple[Case, str]]
    futures: list[Future[Exits]]
    at_s: float

    @property
    def is_reference(self) -> bool:
        """Whether later skews may multiply its runtimes."""
        return any(case.skew_policy == "none" for case in self.cases)

    @property
    def is_replay(self) -> bool:
        """Whether it is a single case of many calls."""
        return self.cases[0].skew_policy == REPLAY if self.cases else False

    @property
    def is_done(self) -> bool:
        """Whether waiting for it would take no time."""
        return all(future.done() for future in self.futures)


class _Ahead:
    """Batches that were begun and are not on disk, in their order. ``longest_s`` is the longest that one
    took."""

    def __init__(self, session: Session, engine: BatchEngine, told: Told) -> None:
        self.longest_s = 0.0
        self._session = session
        self._engine = engine
        self._told = told
        self._begun: deque[_Begun] = deque()
        self._running = 0
        self._ended: SimpleQueue[float] = SimpleQueue()
        self._unwritten: list[tuple[Case, NDArray[np.float64], Samples]] = []
        self._written = 0
        self._last_write_s = time.monotonic()

    def begin(self, cases: list[Case]) -> None:
        """Begin a batch, as soon as there is room for it and its skews are known."""
        self._await_references(cases)
        while self._is_full():
            self._await_one()
        begun = self._prepare(cases)
        self._told.say(f"{cases[0].collective} {cases[0].bytes} B {cases[0].algorithm}")
        if len(begun.cases):
            algorithm = algorithm_of(self._engine, cases[0])
            for rows in _pieces(begun, self._engine.patterns_at_once(cases[0])):
                while self._running >= self._engine.batches_ahead:
                    self._await_one()
                batch = Batch(algorithm=algorithm, cases=begun.cases, delays_s=begun.delays_s[rows])
                future = self._engine.submit(batch)
                future.add_done_callback(lambda _: self._ended.put(begun.at_s))
                begun.futures.append(future)
                self._running += 1
        self._begun.append(begun)

    def finish(self) -> int:
        """Wait for everything and put it on disk; how many cases are there now."""
        while self._begun:
            self._take_first()
        self._write()
        return self._written

    def _prepare(self, cases: list[Case]) -> _Begun:
        known: list[Case] = []
        delays: list[NDArray[np.float64]] = []
        unknown: list[tuple[Case, str]] = []
        for case in cases:
            try:
                delays.append(self._session.delays_s(case))
                known.append(case)
            except UnknownSkew as reason:
                unknown.append((case, f"{NO_SKEW}{reason}"))
        stacked = np.vstack(delays) if delays else np.zeros((0, cases[0].p))
        return _Begun(cases=known, delays_s=stacked, without_skew=unknown, futures=[], at_s=time.monotonic())

    def _await_references(self, cases: list[Case]) -> None:
        """Take what is finished until no runtime is missing that the skews of these cases multiply."""
        if all(case.skew_policy in ("none", "file", "fixed", REPLAY) for case in cases):
            return
        group = group_of(cases[0])
        while any(one.is_reference and group_of(one.cases[0]) == group for one in self._begun):
            self._take_first()

    def _is_full(self) -> bool:
        held = sum(one.delays_s.size for one in self._begun)
        return (
            self._running >= self._engine.batches_ahead
            or len(self._begun) >= FINISHED_AHEAD * self._engine.batches_ahead
            or (bool(self._begun) and held >= VALUES_HELD)
        )

    def _await_one(self) -> None:
        """Wait until any batch ends, and take those from the front that have."""
        if self._running:
            self._note_end(self._ended.get())
        while self._begun and self._begun[0].is_done:
            self._take_first()

    def _note_end(self, began_s: float) -> None:
        self._running -= 1
        self.longest_s = max(self.longest_s, time.monotonic() - began_s)

    def _take_first(self) -> None:
        """Wait for the first batch, and keep what it yields."""
        first = self._begun.popleft()
        if first.futures:
            exits = _joined([future.result() for future in first.futures])
            self._told.simulated(exits.messages)
            for entry in _samples(first, exits):
                self._session.note(entry[0], entry[2])
                self._unwritten.append(entry)
        for case, reason in first.without_skew:
            self._unwritten.append((case, np.zeros(case.p), no_samples(case.p, reason)))
        while not self._ended.empty():
            self._note_end(self._ended.get())
        waited_s = time.monotonic() - self._last_write_s
        values = sum(delays.size for _, delays, _ in self._unwritten)
        if waited_s >= SECONDS_BETWEEN_WRITES or values >= VALUES_HELD:
            self._write()

    def _write(self) -> None:
        cases, self._unwritten = self._unwritten, []
        for (case, _, _), status in zip(cases, self._session.keep(cases), strict=True):
            self._told.finished(case, status)
        self._written += len(cases)
        self._last_write_s = time.monotonic()


def _pieces(begun: _Begun, at_once: int) -> list[slice]:
    """What is submitted together: the whole batch, or so many calls of a replay."""
    rows = len(begun.delays_s)
    most = at_once if begun.is_replay else rows
    return [slice(start, start + most) for start in range(0, rows, most)]


def _joined(pieces: Sequence[Exits]) -> Exits:
    """The exits of all pieces, or the first failure."""
    if len(pieces) == 1:
        return pieces[0]
    messages = sum(piece.messages for piece in pieces)
    failure = next((piece.failure for piece in pieces if piece.failure), "")
    exits = np.zeros((0, 0)) if failure else np.concatenate([piece.exits_s for piece in pieces])
    return Exits(exits_s=exits, messages=messages, failure=failure)


def _samples(begun: _Begun, exits: Exits) -> Iterable[tuple[Case, NDArray[np.float64], Samples]]:
    """One repetition of each case of a batch; of a replay, one of each call."""
    if begun.is_replay:
        case, calls = begun.cases[0], np.arange(len(begun.delays_s))
        yield case, begun.delays_s, _exact(case, begun.delays_s, exits, slice(None), calls)
        return
    for number, case in enumerate(begun.cases):
        yield case, begun.delays_s[number], _exact(case, begun.delays_s, exits, slice(number, number + 1))


def _exact(
    case: Case,
    delays_s: NDArray[np.float64],
    exits: Exits,
    rows: slice,
    calls: NDArray[np.int64] | None = None,
) -> Samples:
    """What is known of a case from some rows of its batch."""
    if exits.failure:
        return no_samples(case.p, exits.failure)
    arrivals = delays_s[rows]
    valid = np.ones(len(arrivals), dtype=np.bool_)
    return Samples(arrivals_s=arrivals, exits_s=exits.exits_s[rows], valid=valid, calls=calls, is_exact=True)
