"""Rows of a summary: what is known of the calls of a site, out of the sums over them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace import format as form
from offbeat.trace.calls import NONBLOCKING, STARTED
from offbeat.trace.cells import ALONE, BINS, SEVERAL, Cells, Key, quantile_ns
from offbeat.trace.families import families
from offbeat.trace.read import Trace
from offbeat.trace.sites import texts

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles of times in a summary."""

MOST_LATEST = 3
"""So many latest ranks and nodes are named."""


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
    """Calls of one site, function and size, on a communicator, or on so many ``communicators`` that are
    alike, of ``memberships`` different lists of ranks; ``on`` has their indices, empty where they are not
    told apart, and ``communicator_index`` is the first of them.

    ``calls`` were matched, ``whole`` of them on all traced ranks; times and delays are of those. Where every
    so many-th was recorded, the run made ``made`` of them, ``made_at_least`` if communicators that were not
    seen to be freed had no call after. ``spent_s`` is the time in the calls, summed over ranks, ``waited_s``
    the part of it before the last rank arrived. ``stability`` says how much of what delays differ within a
    call is always the same: 1 always, 0 not at all; NaN where one call says nothing. ``delays_s`` is the mean
    delay of each rank, NaN where it is not traced, (size,); empty where communicators are not told apart.
    ``bound_s`` is the largest error of a time. ``histograms`` has how often skew, total and last delay fell
    into each bin (offbeat.trace.cells). Where one rank of several is traced alone, it cannot be compared with
    others: ``is_compared`` is false, and times and delays are not known. ``key`` is that of the cell; of
    several, that of the first.
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
    key: Key
    communicators: int = 1
    memberships: int = 1
    path: str = ""
    is_compared: bool = True
    is_inter: bool = False
    histograms: NDArray[np.int64] = np.zeros((3, BINS), np.int64)
    on: NDArray[np.int64] = np.empty(0, np.int64)
    made: int = 0
    made_at_least: int = 0

    @property
    def operation_s(self) -> float:
        """Time in the calls after the last rank had arrived (or, of issues, at all), summed over ranks."""
        return self.spent_s - self.waited_s


_NOTHING = (np.empty(0), np.empty(0), math.nan)
"""What is known of delays where ranks are not compared."""


_COUNTED = ("calls", "whole", "failed", "least_bytes", "most_bytes", "all_bytes")


class RowMaker:
    """Makes rows out of cells; ``run_s`` is the time of the run, summed over ranks and their
    threads."""

    def __init__(self, trace: Trace, cells: Cells, run_s: float) -> None:
        self._trace, self._cells, self._run_s = trace, cells, run_s
        self._sites, self._texts = trace.sites.all, texts(trace.sites.all)
        hosts = [""] * trace.size
        for file, clock in zip(trace.files, trace.clocks.of_file, strict=True):
            hosts[file.header.rank] = (file.header.host or "unknown") if clock is not None else ""
        self._hosts = np.array(hosts)
        self._is_unending = np.array([one.calls < 0 for one in trace.communicators.all], np.bool_)

    def each(self) -> list[Row]:
        """A row for every cell, those with the most time first."""
        return _sorted([self._row([number]) for number in range(len(self._cells.keys))])

    def together(self) -> list[Row]:
        """The same, but one row for communicators that are alike."""
        first = families(self._trace.communicators)
        groups: dict[Key, list[int]] = {}
        for number, key in enumerate(self._cells.keys):
            communicator = int(first[key[4]]) if key[4] >= 0 else key[4]
            groups.setdefault((*key[:4], communicator), []).append(number)
        return _sorted([self._row(group) for group in groups.values()])

    def _row(self, group: Sequence[int]) -> Row:
        """The row of some cells that differ in nothing but the communicator."""
        cells, trace = self._cells, self._trace
        site, function_number, kind, _, index = key = cells.keys[group[0]]
        on = np.concatenate([cells.communicators(number) for number in group])
        function = trace.functions[function_number]
        counts = cells.summed(group)
        is_compared = self._is_compared(index)
        delays, last, stability = self._pattern(group) if is_compared else _NOTHING
        return Row(
            site=self._texts[site],
            place=self._sites[site].place,
            path=self._sites[site].path,
            function=function.name,
            collective=function.collective,
            kind=_kind(kind, function.mode),
            communicator=self._communicator(group, on),
            communicator_index=int(on[0]) if len(on) else index,
            processes=trace.communicators.all[index].size if index >= 0 else 1 if index == ALONE else 0,
            **{name: counts[name] for name in _COUNTED},
            **self._times(group, is_compared),
            in_place=counts["in_place"] > 0,
            spent_s=counts["spent_ns"] / 1e9,
            waited_s=counts["waited_ns"] / 1e9,
            share=counts["spent_ns"] / 1e9 / self._run_s if self._run_s > 0 else math.nan,
            stability=stability,
            bound_s=counts["bound_ns"] / 1e9,
            latest_ranks=_latest([str(place) for place in range(len(delays))], delays, last),
            latest_nodes=self._latest_nodes(group) if len(delays) else [],
            delays_s=delays,
            key=key,
            communicators=max(len(on), 1),
            memberships=len(group),
            is_compared=is_compared,
            is_inter=index >= 0 and trace.communicators.all[index].is_inter,
            on=on,
            made=counts["made"],
            made_at_least=max(counts["made"] - self._unsure(on), counts["calls"]),
        )

    def _times(self, group: Sequence[int], is_compared: bool) -> dict[str, Any]:
        """Skew, total and last delay; of none where ranks are not compared."""
        counts = self._cells.summed(group)
        histograms = self._cells.histograms[group].sum(axis=0, dtype=np.int64) * is_compared
        whole, timed = counts["whole"] * is_compared, counts["timed"] * is_compared
        return {
            "skew": _times(counts["skew_ns"], whole, histograms[0]),
            "total_delay": _times(counts["total_ns"], timed, histograms[1]),
            "last_delay": _times(counts["last_ns"], timed, histograms[2]),
            "histograms": histograms,
        }

    def _is_compared(self, index: int) -> bool:
        """Whether more than one rank of a communicator is traced, or it has but one."""
        members = self._trace.communicators.all[index].members if index >= 0 else np.empty(0, np.int32)
        return len(members) < 2 or int(np.count_nonzero(self._hosts_of(members) != "")) > 1

    def _unsure(self, on: NDArray[np.int64]) -> int:
        """How many calls more than were made are counted at most: after the last recorded one there can be
        none or every - 1 on each communicator of which it is not known how many it had."""
        return int(np.count_nonzero(self._is_unending[on])) * (self._trace.every - 1)

    def _communicator(self, group: Sequence[int], on: NDArray[np.int64]) -> str:
        index = self._cells.keys[group[0]][4]
        if index == ALONE:
            return "communicators of one process"
        if index == SEVERAL:
            return "several communicators"
        one = self._trace.communicators.all[on[0]]
        words = one.label if len(group) == 1 else one.name or one.made_by
        return words if len(on) == 1 else f"{len(on)} × {words}"

    def _pattern(self, group: Sequence[int]) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Mean delay of each rank, how often it was the last, and how stable that is; empty if unknown."""
        index = self._cells.keys[group[0]][4]
        sums = self._cells.summed(group)
        parts = [self._by_rank(number) for number in group] if index >= 0 else [None]
        if sums["whole"] == 0 or any(part is None for part in parts):
            return _NOTHING
        traced = sum(part[2].astype(np.int64) for part in parts if part is not None)
        delay_ns = sum(part[0] for part in parts if part is not None)
        latest = sum(part[1] for part in parts if part is not None)
        # A rank is counted where it is traced: not every one is in all communicators that are alike.
        each = np.where(traced > 0, np.asarray(traced), np.nan)
        delays, last = np.asarray(delay_ns) / each / 1e9, np.asarray(latest) / each
        square = sums["centred_square"] / 1e18
        return delays, last, _stability(delays[~np.isnan(delays)], sums["whole"], square)

    def _by_rank(
        self, number: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]] | None:
        """Of one cell: sum of delays in ns, how often a rank was the last, in how many calls it counts."""
        members = self._trace.communicators.all[self._cells.keys[number][4]].members
        sums = self._cells.by_rank(number, len(members))
        if sums is None:
            return None
        return *sums, (self._hosts_of(members) != "") * int(self._cells.counts[number]["whole"])

    def _hosts_of(self, members: NDArray[np.int32]) -> NDArray[np.str_]:
        """The node of each world rank; empty for those that are not traced, not known, or without a clock."""
        return np.where(members >= 0, self._hosts[members], "")

    def _latest_nodes(self, group: Sequence[int]) -> list[Late]:
        """The nodes whose ranks are the latest on average."""
        parts = [self._by_rank(number) for number in group]
        indices = [self._cells.keys[number][4] for number in group]
        hosts_of = [self._hosts_of(self._trace.communicators.all[index].members) for index in indices]
        hosts, of = np.unique(np.concatenate(hosts_of), return_inverse=True)
        delay_ns, latest, counted = (
            np.bincount(of, weights=np.concatenate([part[column] for part in parts if part is not None]))
            for column in range(3)
        )
        calls = np.zeros(len(hosts))
        for number, there in zip(group, hosts_of, strict=True):
            calls[np.isin(hosts, there)] += int(self._cells.counts[number]["whole"])
        known = (counted > 0) & (hosts != "")
        delays = np.divide(delay_ns, counted, out=np.full(len(hosts), np.nan), where=known) / 1e9
        last = np.divide(latest, calls, out=np.zeros(len(hosts)), where=known)
        return _latest(hosts.tolist(), delays, np.minimum(last, 1.0))


def _sorted(rows: list[Row]) -> list[Row]:
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


def _times(total_ns: float, count: int, histogram: NDArray[Any]) -> Times:
    mean = float(total_ns) / count / 1e9 if count else math.nan
    return Times(mean_s=mean, quantiles_s=tuple(quantile_ns(histogram, share) / 1e9 for share in SHARES))


def _latest(names: Sequence[str], delays_s: NDArray[np.float64], last: NDArray[np.float64]) -> list[Late]:
    """The latest, NaN left out."""
    order = np.argsort(-np.nan_to_num(delays_s, nan=-1.0), kind="stable")[:MOST_LATEST]
    return [
        Late(name=names[place], delay_s=float(delays_s[place]), last_share=float(last[place]))
        for place in order
        if not math.isnan(delays_s[place])
    ]


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
