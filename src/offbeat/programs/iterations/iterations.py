"""The iterations of a traced program: when each rank begins them.

A program marks them by MPI_Pcontrol(2). Without marks they are found by the sequence of call sites
(:mod:`offbeat.programs.iterations.repetition`). An iteration begins with its mark, or when the rank leaves
the last call before the computation that precedes the anchor: first the rank computes, then it communicates.
The last iteration ends with its last call; the first call at a site that occurs in no earlier iteration is
after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from offbeat.base.errors import BadInput
from offbeat.base.units import amount
from offbeat.programs.iterations.rank_calls import MARK, RankCalls, rank_calls, site_and_function
from offbeat.programs.iterations.repetition import Anchor, anchors
from offbeat.trace.files.trace_folder import Progress, Trace, spans

MARKS, CALL_SITES = "marks", "sites"
"""Ways of finding iterations."""

NEVER = np.iinfo(np.int64).max
"""The begin of an iteration that a rank did not execute."""

MOST_CELLS = 2**22
"""Limit of the rows of all ranks: with what is computed from it, the table then takes about 1 GiB."""

SEQUENCE_CALLS = 200_000
"""The calls in which a repetition is sought."""

_MOST_LAST = 100_000
"""The most calls of the last iteration."""


class Iterations(Struct, kw_only=True, eq=False):
    """When ranks begin iterations. Empty (no rows) if none were found; ``notes`` say why, and other caveats.

    ``ranks`` (p,) are the ranks with a clock and ``file`` (p,) the indices of their files. A row is
    ``each`` iterations, 1 unless there are too many. ``edges_ns`` (p, rows + 1) on the shared clock is when
    each rank begins each row and ends the last one; NEVER after its last. ``rows_of`` (p,) is the number of
    rows of each rank, ``counts`` (p,) that of iterations. ``begun_by`` says what begins an iteration.
    """

    ranks: NDArray[np.int64]
    file: NDArray[np.int64]
    counts: NDArray[np.int64]
    rows_of: NDArray[np.int64]
    edges_ns: NDArray[np.int64]
    way: str = ""
    begun_by: str = ""
    each: int = 1
    notes: list[str] = []

    @property
    def rows(self) -> int:
        """The number of rows of the rank with the most."""
        return self.edges_ns.shape[1] - 1

    @property
    def count(self) -> int:
        """The number of iterations of the rank with the most."""
        return int(self.counts.max(initial=0))

    def complete(self) -> tuple[Iterations, NDArray[np.int64]]:
        """Ranks and rows without gaps, and the places of these ranks.

        By marks, rows have the same numbers on all ranks, so that the first ones can be compared although
        some ranks have more, as after a kill: as many ranks and rows as possible. Otherwise the ranks that
        have the usual number of rows.
        """
        if self.way == MARKS:
            sizes = {rows: rows * np.count_nonzero(self.rows_of >= rows) for rows in self.rows_of.tolist()}
            rows = max(sizes, key=lambda one: (sizes[one], one), default=0)
            places = np.flatnonzero(self.rows_of >= rows)
        else:
            rows = usual(self.rows_of)
            places = np.flatnonzero(self.rows_of == rows)
        kept = structs.replace(
            self,
            ranks=self.ranks[places],
            file=self.file[places],
            counts=np.where(self.rows_of > rows, rows * self.each, self.counts)[places],
            rows_of=np.full(len(places), rows),
            edges_ns=self.edges_ns[places, : rows + 1],
        )
        return kept, places


def find_iterations(
    trace: Trace,
    *,
    way: str = "",
    anchor: str = "",
    most_cells: int = MOST_CELLS,
    on_progress: Progress | None = None,
) -> Iterations:
    """Find the iterations by marks, if there are any, or else by call sites; ``way`` prescribes one of them.

    ``anchor`` is a part of the label of the call site that begins iterations. Raises :class:`BadInput` if no
    call site, or more than one, has it.
    """
    if way not in ("", MARKS, CALL_SITES):
        raise BadInput(f"--iterations {way}: give {MARKS} or {CALL_SITES}")
    if way == MARKS and anchor:
        raise BadInput("--anchor names a call site: give it without --iterations marks")
    files = [number for number, clock in enumerate(trace.clocks.of_file) if clock is not None]
    found = Iterations(
        ranks=np.array([trace.files[number].header.rank for number in files], np.int64),
        file=np.array(files, np.int64),
        counts=np.zeros(len(files), np.int64),
        rows_of=np.zeros(len(files), np.int64),
        edges_ns=np.full((len(files), 1), NEVER),
    )
    if not files:
        found.notes = ["no rank has a clock: there are no iterations to show"]
        return found
    sequence = _sequence(trace, max(files, key=lambda one: _pages(trace, one)))
    is_marked = bool((sequence.caller == MARK).any()) or way == MARKS
    if is_marked and way != CALL_SITES and not anchor:
        found.way, found.begun_by, begins = MARKS, "MPI_Pcontrol(2)", [Anchor(MARK)]
    else:
        begins, labels = _anchors(trace, sequence, anchor)
        found.way, found.begun_by = CALL_SITES, labels
    if not begins:
        found.notes = [_nothing_found(trace, sequence)]
        return found
    scanned = _scanned(trace, files, begins, max(2, most_cells // len(files)), on_progress)
    _fill(trace, found, scanned)
    return found


def usual(counts: Sequence[int] | NDArray[np.int64]) -> int:
    """The most frequent of some numbers, of several the largest; 0 of none."""
    frequency = Counter(map(int, counts))
    return max(frequency, key=lambda count: (frequency[count], count), default=0)


def began_ns(trace: Trace, number: int) -> int:
    """When the rank of a file returned from MPI_Init, on the shared clock; the file has a clock."""
    clock = trace.clocks.of_file[number]
    assert clock is not None
    return int(clock.shared_ns(np.array([trace.files[number].header.began_ns]))[0])


def caller_label(trace: Trace, caller: int) -> str:
    """``MPI_Allreduce at dot (cg.c:5) from step (cg.c:20)``."""
    site, function = site_and_function(caller)
    return f"{trace.functions[function].name} at {trace.sites.sites[site].path}"


def _pages(trace: Trace, number: int) -> int:
    return trace.files[number].most_records + trace.files[number].most_messages


def _sequence(trace: Trace, number: int) -> RankCalls:
    """The first calls of a file."""
    parts, held = [RankCalls()], 0
    for calls in rank_calls(trace, number):
        parts.append(calls)
        held += len(calls)
        if held >= SEQUENCE_CALLS:
            break
    return RankCalls.concatenate(parts)


def _anchors(trace: Trace, sequence: RankCalls, text: str) -> tuple[list[Anchor], str]:
    """What may begin iterations, the best first, and its description."""
    calls = sequence.select(sequence.caller != MARK)
    found = [one for one, _ in anchors(calls)]
    if text:
        caller = _named(trace, calls, text)
        found = [one for one in found if one.caller == caller] or [Anchor(caller)]
    return found, f"the computation before {caller_label(trace, found[0].caller)}" if found else ""


def _named(trace: Trace, calls: RankCalls, text: str) -> int:
    """The only caller whose label contains a text. Raises :class:`BadInput`."""
    labels = {caller: caller_label(trace, caller) for caller in np.unique(calls.caller).tolist()}
    matching = [caller for caller, label in labels.items() if text in label]
    if len(matching) == 1:
        return int(matching[0])
    listed = [labels[caller] for caller in matching] or list(labels.values())
    more = f", and {len(listed) - 8} more" if len(listed) > 8 else ""
    which = "more than one call site matches" if matching else "no call site matches; there are"
    raise BadInput(f"--anchor {text}: {which}: {'; '.join(listed[:8])}{more}")


def _nothing_found(trace: Trace, sequence: RankCalls) -> str:
    if not len(sequence):
        return "the trace has no calls, and so no iterations"
    remedy = "mark iterations by MPI_Pcontrol(2), or name a call site with --anchor"
    if not trace.has_messages:
        remedy = f"record point-to-point calls as well ('offbeat trace run --messages'), {remedy}"
    if trace.sampling_interval > 1:
        remedy = f"record every collective (the trace was sampled), {remedy}"
    return f"no iterations were found: the trace has no marks, and its call sites do not repeat; {remedy}"


class _Scan:
    """Finds the begins of the iterations of one rank, call by call; keeps every ``each``-th of them."""

    def __init__(self, anchor: Anchor, most_kept: int) -> None:
        self._anchor, self._most = anchor, most_kept
        self._last_caller = MARK - 1
        self._anchors = 0
        self._latest_exit = np.iinfo(np.int64).min
        self._kept: list[NDArray[np.int64]] = []
        self._held = 0
        self._seen: set[int] = {MARK}
        self._last: list[RankCalls] = []
        self.each = 1
        self.count = 0

    def add(self, calls: RankCalls) -> None:
        """Add the next calls of the rank."""
        if self._anchor.caller != MARK:
            calls = calls.select(calls.caller != MARK)
        if not len(calls):
            return
        latest = np.maximum.accumulate(np.concatenate([[self._latest_exit], calls.exit_ns]))
        at = self._begins(calls.caller)
        begins_ns = calls.enter_ns[at] if self._anchor.caller == MARK else latest[at]
        self._keep(begins_ns)
        self._follow(calls, at)
        self._latest_exit, self._last_caller = int(latest[-1]), int(calls.caller[-1])

    def edges_ns(self, began_ns: int) -> NDArray[np.int64]:
        """The begins and the end of the last row, (rows + 1,); ``began_ns`` is the begin of the run."""
        begins = np.concatenate([np.empty(0, np.int64), *self._kept])
        if not len(begins):
            return begins
        begins = np.maximum.accumulate(np.maximum(begins, began_ns))  # damaged times may decrease
        if self.count % self.each == 0:
            begins = np.append(begins, max(self._end_ns(), int(begins[-1])))
        return begins

    def thin(self, each: int) -> None:
        """Keep fewer begins."""
        while self.each < each:
            self._kept = [np.concatenate(self._kept or [np.empty(0, np.int64)])[::2]]
            self._held, self.each = len(self._kept[0]), 2 * self.each

    def _begins(self, caller: NDArray[np.int64]) -> NDArray[np.int64]:
        """The indices of the calls that begin an iteration."""
        is_anchor = caller == self._anchor.caller
        if self._anchor.is_group:
            is_anchor &= np.concatenate([[self._last_caller], caller[:-1]]) != self._anchor.caller
        at = np.flatnonzero(is_anchor)
        number = self._anchors + np.arange(len(at)) - self._anchor.first
        self._anchors += len(at)
        return at[(number >= 0) & (number % self._anchor.every == 0)]

    def _keep(self, begins_ns: NDArray[np.int64]) -> None:
        number = self.count + np.arange(len(begins_ns))
        self.count += len(begins_ns)
        kept = begins_ns[number % self.each == 0]
        self._kept.append(kept)
        self._held += len(kept)
        while self._held > self._most:
            self.thin(2 * self.each)

    def _follow(self, calls: RankCalls, at: NDArray[np.int64]) -> None:
        """Remember the call sites of finished iterations, and the calls of the one that may be the last."""
        if not self.count:
            return
        if len(at):
            for one in self._last:
                self._seen.update(np.unique(one.caller).tolist())
            self._seen.update(np.unique(calls.caller[at[0] : at[-1]]).tolist())
            if self.count > len(at):  # the calls before the first begin here are of the iteration before
                self._seen.update(np.unique(calls.caller[: at[0]]).tolist())
            self._last, calls = [], calls.select(slice(int(at[-1]), None))
        if sum(map(len, self._last)) < _MOST_LAST:
            self._last.append(calls)

    def _end_ns(self) -> int:
        """When the last call of the last iteration ended."""
        last = RankCalls.concatenate(self._last)
        is_new = ~np.isin(last.caller, list(self._seen))
        is_new &= self.count > 1
        end = int(is_new.argmax()) if is_new.any() else len(last)
        return int(last.exit_ns[: max(end, 1)].max())


def _scanned(
    trace: Trace, files: list[int], begins: list[Anchor], most_kept: int, on_progress: Progress | None
) -> list[_Scan]:
    """The scan of each file. A rank without the calls of the first anchor begins by another one."""
    scans, done, total = [], 0, sum(_pages(trace, number) for number in files)
    for number in files:
        scans.append(_scan(trace, number, begins[0], most_kept))
        done += _pages(trace, number)
        if on_progress is not None:
            on_progress(done, total)
    most_have = usual([scan.count for scan in scans])
    for place, number in enumerate(files):
        if scans[place].count == most_have or begins[0].caller == MARK:
            continue
        own = [one for one, count in anchors(_sequence(trace, number)) if count == most_have]
        for other in chain(begins[1:4], own[:1]):
            scan = _scan(trace, number, other, most_kept)
            if scan.count == most_have:
                scans[place] = scan
                break
    return scans


def _scan(trace: Trace, number: int, anchor: Anchor, most_kept: int) -> _Scan:
    scan = _Scan(anchor, most_kept)
    for calls in rank_calls(trace, number):
        scan.add(calls)
    return scan


def _fill(trace: Trace, found: Iterations, scans: list[_Scan]) -> None:
    """Set the edges, and the notes on ranks that differ; the scans are of the files ``found.file``."""
    found.each = max(scan.each for scan in scans)
    for scan in scans:
        scan.thin(found.each)
    edges = [scan.edges_ns(began_ns(trace, number)) for number, scan in zip(found.file, scans, strict=True)]
    rows = max(max(len(one) - 1 for one in edges), 0)
    found.edges_ns = np.full((len(scans), rows + 1), NEVER)
    for place, one in enumerate(edges):
        found.edges_ns[place, : len(one)] = one
    found.counts = np.array([scan.count for scan in scans])
    found.rows_of = np.array([max(len(one) - 1, 0) for one in edges])
    if not rows:
        found.notes.append(f"no iterations were found: no rank has a call of {found.begun_by}")
        return
    if found.each > 1:
        found.notes.append(
            f"the table of {found.count} iterations would be too large: a row is {found.each} iterations"
        )
    most_have = usual([scan.count for scan in scans])
    for count in np.unique(found.counts[found.counts != most_have]).tolist():
        ranks = found.ranks[found.counts == count].tolist()
        noun, verb = ("rank", "has") if len(ranks) == 1 else ("ranks", "have")
        found.notes.append(
            f"{noun} {spans(ranks)} {verb} {amount(count, 'iteration')}, the others {most_have}"
        )
