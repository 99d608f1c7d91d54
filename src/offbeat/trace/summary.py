"""The summary of a trace: where the time in collectives goes, into waiting or into the operation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace import format as form
from offbeat.trace.calls import NONBLOCKING, STARTED, calls
from offbeat.trace.cells import ALONE, SEVERAL, Cells, quantile_ns
from offbeat.trace.match import MOST_RECORDS, Counts, Matcher
from offbeat.trace.read import Trace
from offbeat.trace.sites import named
from offbeat.units import counted

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles of times in a summary."""

MOST_LATEST = 3
"""So many latest ranks and nodes are named."""

Told = Callable[[int, int], None]
"""Called with the number of records read so far, and how many there are at most."""


class Times(Struct, frozen=True, kw_only=True):
    """A time of many calls, in seconds: its mean, and quantiles at SHARES to within 5%; NaN if of none."""

    mean_s: float
    quantiles_s: tuple[float, ...]

    @property
    def median_s(self) -> float:
        """Half of the calls take less."""
        return self.quantiles_s[2]


class Late(Struct, frozen=True, kw_only=True):
    """A rank (in the communicator) or a node: how late it is on average, and in what share of the calls it
    was the last to arrive.
    """

    name: str
    delay_s: float
    last_share: float


class Row(Struct, kw_only=True, eq=False):
    """Calls of one site, communicator, function and size.

    ``calls`` were matched, ``whole`` of them on all traced ranks; times and delays are of those. ``spent_s``
    is the time in the calls, summed over ranks, ``waited_s`` the part of it before the last rank arrived.
    ``stability`` says how much of what delays differ within a call is always the same: 1 always, 0 not at
    all; NaN where one call says nothing. ``delays_s`` is the mean delay of each rank, NaN where it is not
    traced, (size,); empty where communicators are not told apart. ``bound_s`` is the largest error of a time.
    """

    site: str
    place: str
    function: str
    collective: str
    kind: str
    communicator: str
    communicator_index: int
    processes: int
    calls: int
    whole: int
    failed: int
    in_place: bool
    least_bytes: int
    most_bytes: int
    all_bytes: int
    spent_s: float
    waited_s: float
    share: float
    skew: Times
    total_delay: Times
    last_delay: Times
    stability: float
    bound_s: float
    latest_ranks: list[Late]
    latest_nodes: list[Late]
    delays_s: NDArray[np.float64]
    key: tuple[int, int, int, int, int]

    @property
    def operation_s(self) -> float:
        """Time in the calls after the last rank had arrived (or, of issues, at all), summed over ranks."""
        return self.spent_s - self.waited_s


class Summary(Struct, kw_only=True, eq=False):
    """A whole trace.

    ``run_s`` is the time from MPI_Init to the end, summed over ranks; ``rows`` are sorted by ``spent_s``, the
    largest first. ``words`` is what must be known to judge the numbers.
    """

    directory: str
    program: str
    library: str
    processes: int
    traced: int
    hosts: list[str]
    records: int
    run_s: float
    bound_s: float
    rows: list[Row]
    words: list[str]

    @property
    def spent_s(self) -> float:
        """Time in collectives, summed over ranks."""
        return sum(row.spent_s for row in self.rows)

    @property
    def waited_s(self) -> float:
        """The part of it in which ranks waited for the last one to arrive."""
        return sum(row.waited_s for row in self.rows)


def summarize(trace: Trace, *, most_records: int = MOST_RECORDS, told: Told | None = None) -> Summary:
    """Read a trace once and sum it up; memory does not grow with its length.

    ``most_records`` are read at once, and what is found does not depend on it.
    """
    total = trace.most_records
    matcher = Matcher(
        trace, most_records=most_records, told=None if told is None else lambda done: told(done, total)
    )
    sizes = np.array([max(one.size, 1) for one in trace.communicators.all] or [1], dtype=np.int64)
    cells = Cells(sizes)
    lost = 0
    for matched in matcher.batches():
        worked_out = calls(matched)
        lost += len(matched.starts) - len(worked_out)
        cells.add(worked_out)
    run_s = _run_s(trace, matcher)
    rows = _rows(trace, cells, run_s)
    first = trace.headers[0]
    return Summary(
        directory=str(trace.directory),
        program=first.program,
        library=first.library,
        processes=trace.size,
        traced=len(trace.files),
        hosts=trace.hosts,
        records=matcher.counts.records,
        run_s=run_s,
        bound_s=max((row.bound_s for row in rows), default=0.0),
        rows=rows,
        words=[*trace.words, *_words(matcher.counts, rows, lost), *_cautions(trace)],
    )


def _run_s(trace: Trace, matcher: Matcher) -> float:
    """From MPI_Init to the end, or to the last record of what did not end in order; summed over ranks."""
    total = 0
    for number, file in enumerate(trace.files):
        clock, header = trace.clocks.of_file[number], file.header
        if clock is None:
            continue
        began = int(clock.shared_ns(np.array([header.began_ns]))[0])
        last = int(matcher.last_exit_ns[number])
        if header.ended_ns:
            last = max(last, int(clock.shared_ns(np.array([header.ended_ns]))[0]))
        total += max(last - began, 0)
    return total / 1e9


def _words(counts: Counts, rows: list[Row], lost: int) -> list[str]:
    said = []
    if counts.strange:
        said.append(f"{counted(counts.strange, 'record')} that make no sense: left out")
    if counts.untimed:
        said.append(f"records of ranks without a clock: left out, {counts.untimed} at most")
    if lost:
        said.append(f"{counted(lost, 'call')} of which only the completion was recorded: left out")
    if counts.forced:
        said.append(
            f"{counted(counts.forced, 'call')} waited too long for records of other ranks and were taken as"
            " they were"
        )
    partial = sum(row.calls - row.whole for row in rows)
    if partial:
        said.append(
            f"{counted(partial, 'call')} on which some traced ranks are missing: they count as calls and time"
            " and not for arrivals and delays"
        )
    return said


def _cautions(trace: Trace) -> list[str]:
    """What sampling left out on purpose, and what threads do to shares."""
    wishes = sorted({file.header.sampling for file in trace.files if file.header.sampling})
    return (
        [f"the trace was sampled ({'; '.join(wishes)}): numbers are of what was recorded"] if wishes else []
    )


def _rows(trace: Trace, cells: Cells, run_s: float) -> list[Row]:
    names = named(trace.sites.all)
    rows = []
    host_of = {file.header.rank: file.header.host for file in trace.files}
    for number, key in enumerate(cells.keys):
        site, function_number, kind, _, index = key
        function = trace.functions[function_number]
        counts = cells.counts_of(number)
        histograms = cells.histograms[number]
        whole, timed = int(counts["whole"]), int(counts["timed"])
        delays, late_ranks, late_nodes, stability = _pattern(trace, cells, number, index, host_of)
        where = names[site]
        rows.append(
            Row(
                site=where.text,
                place=f"{where.site.path}+{where.site.offset:#x}",
                function=function.name,
                collective=function.collective,
                kind=_kind(kind, function.mode),
                communicator=_communicator(trace, index),
                communicator_index=index,
                processes=trace.communicators.all[index].size if index >= 0 else 1 if index == ALONE else 0,
                calls=int(counts["calls"]),
                whole=whole,
                failed=int(counts["failed"]),
                in_place=bool(counts["in_place"]),
                least_bytes=int(counts["least_bytes"]),
                most_bytes=int(counts["most_bytes"]),
                all_bytes=int(counts["all_bytes"]),
                spent_s=int(counts["spent_ns"]) / 1e9,
                waited_s=int(counts["waited_ns"]) / 1e9,
                share=int(counts["spent_ns"]) / 1e9 / run_s if run_s > 0 else math.nan,
                skew=_times(counts["skew_ns"], whole, histograms[0]),
                total_delay=_times(counts["total_ns"], timed, histograms[1]),
                last_delay=_times(counts["last_ns"], timed, histograms[2]),
                stability=stability,
                bound_s=float(counts["bound_ns"]) / 1e9,
                latest_ranks=late_ranks,
                latest_nodes=late_nodes,
                delays_s=delays,
                key=key,
            )
        )
    return sorted(
        rows, key=lambda row: (-row.spent_s, row.place, row.communicator, row.function, row.most_bytes)
    )


def _kind(kind: int, mode: int) -> str:
    if mode == form.CONSTRUCTOR:
        return "constructor"
    if kind == NONBLOCKING:
        return "nonblocking"
    if kind == STARTED:
        return "persistent"
    return "initialisation" if mode == form.PERSISTENT else "blocking"


def _communicator(trace: Trace, index: int) -> str:
    if index == ALONE:
        return "communicators of one process"
    return "several communicators" if index == SEVERAL else trace.communicators.all[index].label


def _times(total_ns: float, count: int, histogram: NDArray[np.uint32]) -> Times:
    mean = float(total_ns) / count / 1e9 if count else math.nan
    return Times(mean_s=mean, quantiles_s=tuple(quantile_ns(histogram, share) / 1e9 for share in SHARES))


def _pattern(
    trace: Trace, cells: Cells, number: int, index: int, host_of: dict[int, str]
) -> tuple[NDArray[np.float64], list[Late], list[Late], float]:
    """Mean delays by rank, who is the latest, and how stable the pattern is."""
    whole = int(cells.counts_of(number)["whole"])
    if index < 0 or whole == 0:
        return np.empty(0), [], [], math.nan
    members = trace.communicators.all[index].members
    sums = cells.by_rank(number, len(members))
    if sums is None:
        return np.empty(0), [], [], math.nan
    traced = np.array([int(rank) in host_of for rank in members])
    delays = np.where(traced, sums[0] / whole / 1e9, np.nan)
    last = sums[1] / whole
    ranks = [
        Late(name=str(place), delay_s=float(delays[place]), last_share=float(last[place]))
        for place in np.argsort(-np.where(traced, delays, -1.0), kind="stable")[:MOST_LATEST]
        if traced[place]
    ]
    by_host: dict[str, list[int]] = {}
    for place in np.flatnonzero(traced):
        by_host.setdefault(host_of[int(members[place])], []).append(int(place))
    nodes = [
        Late(name=host, delay_s=float(delays[of].mean()), last_share=min(float(last[of].sum()), 1.0))
        for host, of in by_host.items()
    ]
    nodes.sort(key=lambda node: -node.delay_s)
    square = float(cells.counts_of(number)["centred_square"]) / 1e18
    return delays, ranks, nodes[:MOST_LATEST], _stability(delays[traced], whole, square)


def _stability(delays_s: NDArray[np.float64], calls_: int, square_s2: float) -> float:
    """‖mean of the centred delays‖² over the mean of their squares, without what chance alone would give.

    With random delays the ratio would be 1 / calls; it is taken out, so that no pattern means 0 for few calls
    and for many.
    """
    if calls_ < 2 or len(delays_s) < 2 or square_s2 <= 0:
        return math.nan
    centred = delays_s - delays_s.mean()
    ratio = float(centred @ centred) / (square_s2 / calls_)
    return max(0.0, (calls_ * min(ratio, 1.0) - 1) / (calls_ - 1))


def as_plain(summary: Summary) -> dict[str, Any]:
    """A summary for JSON: names as in the structures, NaN as null."""
    return {
        **{name: getattr(summary, name) for name in Summary.__struct_fields__ if name != "rows"},
        "rows": [_plain_row(row) for row in summary.rows],
    }


def _plain_row(row: Row) -> dict[str, Any]:
    plain: dict[str, Any] = {
        name: getattr(row, name) for name in Row.__struct_fields__ if name not in ("delays_s", "key")
    }
    plain["operation_s"] = row.operation_s
    plain["delays_s"] = [None if math.isnan(delay) else delay for delay in row.delays_s.tolist()]
    return plain
