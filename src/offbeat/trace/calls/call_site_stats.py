"""Statistics of the calls of one call site: the rows of a summary, and their labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.base.units import amount, format_size, format_time
from offbeat.model.study.communicators import CommunicatorLayout, layout_of_all
from offbeat.trace.calls.call_aggregates import (
    BINS,
    SEVERAL_COMMUNICATORS,
    SINGLE_PROCESS,
    AggregateKey,
    CallAggregates,
    quantile_ns,
)
from offbeat.trace.calls.call_bytes import collective_name
from offbeat.trace.calls.call_sites import site_labels
from offbeat.trace.calls.call_times import NONBLOCKING, PERSISTENT
from offbeat.trace.calls.communicators import communicator_groups
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import Trace

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles of times in a summary."""

MOST_STRAGGLERS = 3
"""Number of latest ranks, and of latest nodes, in a row."""


class Times(Struct, frozen=True, kw_only=True):
    """Mean of a time over calls in seconds, and its quantiles at SHARES to within 5%; NaN without calls."""

    mean_s: float
    quantiles_s: tuple[float, ...]

    @property
    def median_s(self) -> float:
        """The quantile at 50%."""
        return self.quantiles_s[2]


class Straggler(Struct, frozen=True, kw_only=True):
    """A rank (in the communicator) or a node: its mean delay, and how often it was the last to arrive."""

    name: str
    delay_s: float
    last_share: float


class CallSiteStats(Struct, kw_only=True, eq=False):
    """Statistics of the calls of one call site, function, size class and communicator.

    Times are sums over ranks; skews and delays are over the ``whole`` calls, those on all traced ranks.

    - ``communicators``: number of communicators (1, or those of a group); ``memberships``: of different lists
      of ranks among them; ``communicator_indices``: their indices, empty where they are not distinguished;
      ``communicator_index``: the first of them.
    - ``calls``: matched calls; ``run_calls``: calls of the run, more if only every Nth was recorded;
      ``run_calls_at_least``: without those that may have followed the last recorded one.
    - ``spent_s``: time in the calls; ``waited_s``: the part of it before the last rank arrived.
    - ``stability``: share of the variance of delays within calls that the mean delays explain, or NaN.
    - ``delays_s``: mean delay of each rank, (size,), NaN where it is not traced; empty where unknown.
    - ``bound_s``: largest error of a time; ``key``: of the (first) aggregate.
    - ``histograms``: of skew, total and last delay (:mod:`offbeat.trace.calls.call_aggregates`).
    - ``blocks``, ``empty_blocks``: how many blocks the calls with counts for each process have, summed over
      calls and ranks, and how many of them have no bytes; ``largest_block_bytes``: the largest one. 0 where
      no counts were recorded.
    - ``layout``: how all processes are divided into the communicators of these calls; None if the processes
      are not divided evenly.
    - ``is_compared``: false where only one of several ranks is traced; times and delays are then unknown.
    """

    site: str
    location: str
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
    latest_ranks: list[Straggler]
    latest_nodes: list[Straggler]
    delays_s: NDArray[np.float64]
    key: AggregateKey
    communicators: int = 1
    memberships: int = 1
    path: str = ""
    is_compared: bool = True
    is_inter: bool = False
    histograms: NDArray[np.int64] = np.zeros((3, BINS), np.int64)
    communicator_indices: NDArray[np.int64] = np.empty(0, np.int64)
    run_calls: int = 0
    run_calls_at_least: int = 0
    layout: CommunicatorLayout | None = None
    blocks: int = 0
    empty_blocks: int = 0
    largest_block_bytes: int = 0

    @property
    def operation_s(self) -> float:
        """Time in the calls after the last arrival (for issues, the whole time), summed over ranks."""
        return self.spent_s - self.waited_s


_ByRank = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]
"""For each rank: the sum of its delays in ns, how often it was last, the calls that it counts in."""

_COUNTS = (
    *("calls", "whole", "failed", "least_bytes", "most_bytes", "all_bytes"),
    *("blocks", "empty_blocks", "largest_block_bytes"),
)


class StatsBuilder:
    """Builds rows from aggregates; ``run_s`` is the run time summed over ranks and their threads."""

    def __init__(self, trace: Trace, aggregates: CallAggregates, run_s: float) -> None:
        self._trace, self._aggregates, self._run_s = trace, aggregates, run_s
        self._sites, self._labels = trace.sites.sites, site_labels(trace.sites.sites)
        hosts = [""] * trace.size
        for file, clock in zip(trace.files, trace.clocks.of_file, strict=True):
            hosts[file.header.rank] = (file.header.host or "unknown") if clock is not None else ""
        self._hosts = np.array(hosts)
        self._is_never_freed = np.array([one.calls < 0 for one in trace.communicators.table], np.bool_)

    def per_communicator(self) -> list[CallSiteStats]:
        """A row for every aggregate, in descending order of time."""
        return _by_time([self._row([number]) for number in range(len(self._aggregates.keys))])

    def per_group(self) -> list[CallSiteStats]:
        """The statistics with one row for each communicator group."""
        first = communicator_groups(self._trace.communicators)
        groups: dict[AggregateKey, list[int]] = {}
        for number, key in enumerate(self._aggregates.keys):
            communicator = int(first[key[4]]) if key[4] >= 0 else key[4]
            groups.setdefault((*key[:4], communicator), []).append(number)
        return _by_time([self._row(group) for group in groups.values()])

    def _row(self, group: Sequence[int]) -> CallSiteStats:
        """The row of aggregates that differ only in their communicator."""
        aggregates, trace = self._aggregates, self._trace
        site, function_number, kind, _, index = key = aggregates.keys[group[0]]
        indices = np.concatenate([aggregates.communicators(number) for number in group])
        function = trace.functions[function_number]
        counts = aggregates.sums(group)
        is_compared = self._is_compared(index)
        # On each communicator that was never freed, 0 to every - 1 calls followed the last recorded one.
        uncertain_calls = int(np.count_nonzero(self._is_never_freed[indices])) * (trace.sampling_interval - 1)
        by_rank = [self._by_rank(number) for number in group] if is_compared and index >= 0 else []
        delays, last, stability = self._pattern(by_rank, counts)
        return CallSiteStats(
            site=self._labels[site],
            location=self._sites[site].location,
            path=self._sites[site].path,
            function=function.name,
            collective=function.collective,
            kind=_kind(kind, function.mode),
            communicator=self._communicator(group, indices),
            communicator_index=int(indices[0]) if len(indices) else index,
            processes=trace.communicators.table[index].size if index >= 0 else int(index == SINGLE_PROCESS),
            **{name: counts[name] for name in _COUNTS},
            **self._times(group, counts, is_compared),
            in_place=counts["in_place"] > 0,
            spent_s=counts["spent_ns"] / 1e9,
            waited_s=counts["waited_ns"] / 1e9,
            share=counts["spent_ns"] / 1e9 / self._run_s if self._run_s > 0 else math.nan,
            stability=stability,
            bound_s=counts["bound_ns"] / 1e9,
            latest_ranks=_stragglers([str(place) for place in range(len(delays))], delays, last),
            latest_nodes=self._straggler_nodes(group, by_rank) if len(delays) else [],
            delays_s=delays,
            key=key,
            communicators=max(len(indices), 1),
            memberships=len(group),
            is_compared=is_compared,
            is_inter=index >= 0 and trace.communicators.table[index].is_inter,
            communicator_indices=indices,
            layout=self._layout(group),
            run_calls=counts["run_calls"],
            run_calls_at_least=max(counts["run_calls"] - uncertain_calls, counts["calls"]),
        )

    def _layout(self, group: Sequence[int]) -> CommunicatorLayout | None:
        """The layout whose communicators are exactly those of the aggregates; None without one."""
        communicators = self._trace.communicators.table
        members = [
            communicators[index].members
            for number in group
            if (index := self._aggregates.keys[number][4]) >= 0
        ]
        return layout_of_all(members, self._trace.size)

    def _times(self, group: Sequence[int], counts: dict[str, Any], is_compared: bool) -> dict[str, Any]:
        """Skew, total and last delay; NaN where ranks are not compared."""
        histograms = self._aggregates.histograms[group].sum(axis=0, dtype=np.int64) * is_compared
        complete_calls, timed_calls = counts["whole"] * is_compared, counts["timed"] * is_compared
        return {
            "skew": _times(counts["skew_ns"], complete_calls, histograms[0]),
            "total_delay": _times(counts["total_ns"], timed_calls, histograms[1]),
            "last_delay": _times(counts["last_ns"], timed_calls, histograms[2]),
            "histograms": histograms,
        }

    def _is_compared(self, index: int) -> bool:
        """Whether a communicator has a single rank, or several traced ones."""
        members = self._trace.communicators.table[index].members if index >= 0 else np.empty(0, np.int32)
        return len(members) < 2 or int(np.count_nonzero(self._hosts_of(members) != "")) > 1

    def _communicator(self, group: Sequence[int], indices: NDArray[np.int64]) -> str:
        index = self._aggregates.keys[group[0]][4]
        if index == SINGLE_PROCESS:
            return "communicators of one process"
        if index == SEVERAL_COMMUNICATORS:
            return "several communicators"
        communicator = self._trace.communicators.table[indices[0]]
        label = communicator.label if len(group) == 1 else communicator.name or communicator.constructor
        return label if len(indices) == 1 else f"{len(indices)} × {label}"

    def _pattern(
        self, by_rank: Sequence[_ByRank | None], counts: dict[str, Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Mean delay of each rank, share of calls in which it was last, and stability; empty if unknown."""
        available = [part for part in by_rank if part is not None]
        if counts["whole"] == 0 or not available or len(available) < len(by_rank):
            return np.empty(0), np.empty(0), math.nan
        delay_ns, latest, call_counts = (np.sum(column, axis=0) for column in zip(*available, strict=True))
        # The calls of each rank: not every rank is a member of all communicators of the group.
        calls_of_rank = np.where(call_counts > 0, call_counts, np.nan)
        delays, last = delay_ns / calls_of_rank / 1e9, latest / calls_of_rank
        square = counts["centred_square"] / 1e18
        return delays, last, _stability(delays[~np.isnan(delays)], counts["whole"], square)

    def _by_rank(self, number: int) -> _ByRank | None:
        """Of each rank of an aggregate; None if unknown."""
        members = self._trace.communicators.table[self._aggregates.keys[number][4]].members
        sums = self._aggregates.by_rank(number, len(members))
        if sums is None:
            return None
        return *sums, (self._hosts_of(members) != "") * int(self._aggregates.counts[number]["whole"])

    def _hosts_of(self, members: NDArray[np.int32]) -> NDArray[np.str_]:
        """The node of each world rank; empty for ranks that are not traced, unknown, or without a clock."""
        return np.where(members >= 0, self._hosts[members], "")

    def _straggler_nodes(self, group: Sequence[int], by_rank: Sequence[_ByRank | None]) -> list[Straggler]:
        """The nodes with the largest mean delay of their ranks."""
        indices = [self._aggregates.keys[number][4] for number in group]
        hosts_of = [self._hosts_of(self._trace.communicators.table[index].members) for index in indices]
        hosts, host_of_rank = np.unique(np.concatenate(hosts_of), return_inverse=True)
        delay_ns, latest, call_counts = (
            np.bincount(
                host_of_rank, weights=np.concatenate([part[column] for part in by_rank if part is not None])
            )
            for column in range(3)
        )
        calls = np.zeros(len(hosts))
        for number, there in zip(group, hosts_of, strict=True):
            calls[np.isin(hosts, there)] += int(self._aggregates.counts[number]["whole"])
        has_calls = (call_counts > 0) & (hosts != "")
        delays = np.divide(delay_ns, call_counts, out=np.full(len(hosts), np.nan), where=has_calls) / 1e9
        last = np.divide(latest, calls, out=np.zeros(len(hosts)), where=has_calls)
        return _stragglers(hosts.tolist(), delays, np.minimum(last, 1.0))


def _by_time(rows: list[CallSiteStats]) -> list[CallSiteStats]:
    return sorted(
        rows, key=lambda row: (-row.spent_s, row.location, row.communicator, row.function, row.most_bytes)
    )


def _kind(kind: int, mode: int) -> str:
    if mode == form.CONSTRUCTOR:
        return "constructor"
    if kind == NONBLOCKING:
        return "nonblocking"
    if kind == PERSISTENT:
        return "persistent"
    return "initialisation" if mode == form.PERSISTENT else "blocking"


def _times(total_ns: float, count: int, histogram: NDArray[Any]) -> Times:
    mean = float(total_ns) / count / 1e9 if count else math.nan
    return Times(mean_s=mean, quantiles_s=tuple(quantile_ns(histogram, share) / 1e9 for share in SHARES))


def _stragglers(
    names: Sequence[str], delays_s: NDArray[np.float64], last: NDArray[np.float64]
) -> list[Straggler]:
    """The largest delays, without NaN."""
    order = np.argsort(-np.nan_to_num(delays_s, nan=-1.0), kind="stable")[:MOST_STRAGGLERS]
    return [
        Straggler(name=names[place], delay_s=float(delays_s[place]), last_share=float(last[place]))
        for place in order
        if not math.isnan(delays_s[place])
    ]


def _stability(delays_s: NDArray[np.float64], calls_: int, square_s2: float) -> float:
    """‖mean of the centred delays‖² / mean of ‖centred delays‖², corrected for 1 / calls of random delays."""
    if calls_ < 2 or len(delays_s) < 2 or square_s2 <= 0:
        return math.nan
    deviations_s = delays_s - delays_s.mean()
    ratio = float(deviations_s @ deviations_s) / (square_s2 / calls_)
    return max(0.0, (calls_ * min(ratio, 1.0) - 1) / (calls_ - 1))


LEAST_EXPLAINED = 0.5
"""Below this stability, the mean pattern is not representative of the calls."""

_FEWEST_CALLS = 4
"""Stability is not judged for fewer calls."""


def size_text(smallest: int, largest: int) -> str:
    """``32 KiB``, or ``20 KiB to 32 KiB``."""
    return (
        format_size(smallest) if smallest == largest else f"{format_size(smallest)} to {format_size(largest)}"
    )


def is_mixed(row: CallSiteStats) -> bool:
    """Whether the mean pattern of a row explains little of the arrivals in its calls."""
    return row.whole >= _FEWEST_CALLS and row.stability < LEAST_EXPLAINED and row.skew.mean_s > row.bound_s


def mixed_note(row: CallSiteStats) -> str:
    """The note on the mean pattern of a row that :func:`is_mixed`."""
    skew_s = float(np.nanmax(row.delays_s) - np.nanmin(row.delays_s))
    return (
        f"the mean pattern explains {row.stability:.0%} of the arrivals in {amount(row.whole, 'call')}: its"
        f" skew is {format_time(skew_s)}, the mean skew of a call {format_time(row.skew.mean_s)};"
        " --what clusters finds the typical patterns, --what calls writes every call"
    )


def description_of(row: CallSiteStats) -> str:
    """``MPI_Alltoall of 32 KiB at transpose (ft.c:118) on MPI_COMM_WORLD``."""
    size = f" of {size_text(row.least_bytes, row.most_bytes)}" if row.most_bytes else ""
    return f"{row.function}{size} at {row.site} on {row.communicator}"


def file_stem_of(row: CallSiteStats) -> str:
    """A name for files: ``alltoall-32KiB``."""
    size = format_size(row.most_bytes).replace(" ", "")
    return f"{collective_name(row.collective)}-{size}" if row.most_bytes else collective_name(row.collective)
