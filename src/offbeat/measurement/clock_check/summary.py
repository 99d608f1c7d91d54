"""The summary of a check's rows: skews, latencies with their ratios, costs, accuracies; and the verdict.

Times are seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.base.units import amount, format_time
from offbeat.measurement.clock_check.rows import (
    HARMONIZE,
    NO_COLLECTIVE,
    ON_TIME,
    Accuracy,
    Machine,
    Row,
    Start,
    Sync,
)
from offbeat.model.study.algorithm import DEFAULT

HIGH = 0.95
"""The quantile that is called high."""

ENOUGH = 5
"""The least number of harmonised starts on time for which late starts are left out."""


class Skew(Struct, frozen=True, kw_only=True):
    """The exit skew of one kind of start.

    Of ``starts`` starts, ``on_time`` count (for barriers all; also all if fewer than ENOUGH were on time:
    ``includes_late``). ``skews_s`` (n,) are the skews of the counted ones, ``high_s`` their 95th percentile,
    ``trusted_s`` that with the clock's error, ``error_s`` the skew that this error can hide. ``lags_s``: how
    long after the first process each rank typically leaves.
    """

    start: str
    starts: int
    on_time: int
    includes_late: bool
    skews_s: NDArray[np.float64]
    median_s: float
    high_s: float
    most_s: float
    trusted_s: float
    error_s: float
    lags_s: NDArray[np.float64]


class Latency(Struct, frozen=True, kw_only=True):
    """The time of a collective after one kind of start, as common benchmarks report it.

    ``average_s`` is the mean over all processes of what the call took each, ``longest_s`` the longest of
    them; both are medians over ``count`` repetitions.
    """

    start: str
    algorithm: str
    bytes: int
    average_s: float
    longest_s: float
    count: int


class Ratios(Struct, frozen=True, kw_only=True):
    """One collective at one size; ``latencies`` by (algorithm, start), without pairs that failed."""

    collective: str
    bytes: int
    algorithms: list[str]
    starts: list[str]
    latencies: dict[tuple[str, str], Latency]

    def ratio(self, algorithm: str, start: str, *, longest: bool = False) -> float:
        """Time after a barrier / time after a harmonised start (δ of section 6.1); NaN if unknown."""
        here, there = self.latencies.get((algorithm, start)), self.latencies.get((algorithm, HARMONIZE))
        if here is None or there is None:
            return float("nan")
        times = (here.longest_s, there.longest_s) if longest else (here.average_s, there.average_s)
        return times[0] / times[1] if times[1] > 0 else float("nan")

    def fastest(self, start: str) -> str:
        """The algorithm with the smallest average time after a start; empty if there is none."""
        latencies = [
            one for one in self.latencies.values() if one.start == start and one.algorithm != DEFAULT
        ]
        return min(latencies, key=lambda one: one.average_s).algorithm if latencies else ""


class SyncCost(Struct, frozen=True, kw_only=True):
    """The cost of a synchronisation by one method on ``processes`` processes; times are medians."""

    method: str
    processes: int
    distorted: bool
    taken_s: float
    high_s: float
    exchanges: float
    bound_s: float


class AgedAccuracy(Struct, frozen=True, kw_only=True):
    """The error of the clocks of one method at one age of their synchronisation.

    ``planned_s`` is the planned age, 0 for immediately, and ``age_s`` the actual age (median). ``error_s`` is
    the median over all comparisons of the midpoint of the error's interval, ``worst_s`` the largest;
    ``resolution_s`` is half the width of the interval (median). ``bound_s`` is the clock's own bound
    (median); ``broken`` counts comparisons in which the error certainly exceeded the bound.
    """

    method: str
    distorted: bool
    planned_s: float
    age_s: float
    error_s: float
    worst_s: float
    resolution_s: float
    bound_s: float
    count: int
    broken: int


class Summary(Struct, frozen=True, kw_only=True):
    """All results of a check. ``failures`` are (step, reason)."""

    skews: list[Skew]
    ratios: list[Ratios]
    costs: list[SyncCost]
    aged: list[AgedAccuracy]
    failures: list[tuple[str, str]]

    def skew(self, start: str) -> Skew | None:
        """The skew of one kind of start."""
        return next((one for one in self.skews if one.start == start), None)

    @property
    def barriers(self) -> list[Skew]:
        """The skews of the barriers."""
        return [one for one in self.skews if one.start != HARMONIZE]


def summary(rows: Sequence[Row], p: int) -> Summary:
    """Summarise rows; ``p`` is the number of processes."""
    starts = [row for row in rows if isinstance(row, Start) and not row.failure]
    return Summary(
        skews=_skews([row for row in starts if row.collective == NO_COLLECTIVE]),
        ratios=_ratios([row for row in starts if row.collective != NO_COLLECTIVE], p),
        costs=[_cost(row) for row in rows if isinstance(row, Sync) and not row.failure],
        aged=[aged for row in rows if isinstance(row, Accuracy) for aged in _accuracy_by_age(row)],
        failures=[(row.step, row.failure) for row in rows if row.failure],
    )


def _skews(rows: Sequence[Start]) -> list[Skew]:
    """The harmonised start first, then the barriers from the least skew to the largest."""
    skews = [_skew_after(name, [row for row in rows if row.start == name]) for name in _names(rows)]
    return sorted(skews, key=lambda one: (one.start != HARMONIZE, one.median_s))


def _skew_after(start: str, rows: Sequence[Start]) -> Skew:
    on_time, counts = _valid_starts(rows)
    skews_s, most_s = (
        _concatenate(getattr(row, name) for row in rows)[counts] * 1e-9
        for name in ("skew_ns", "most_skew_ns")
    )
    return Skew(
        start=start,
        starts=on_time.size,
        on_time=int(on_time.sum()),
        includes_late=bool(counts.sum() > on_time.sum()),
        skews_s=skews_s,
        median_s=float(np.median(skews_s)),
        high_s=float(np.quantile(skews_s, HIGH)),
        most_s=float(skews_s.max()),
        trusted_s=float(np.quantile(most_s, HIGH)),
        error_s=float(np.median(most_s - skews_s)),
        lags_s=np.median([row.lags_ns for row in rows], axis=0) * 1e-9,
    )


def _valid_starts(rows: Sequence[Start]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The repetitions that started on time, and those that count: the same, or all if fewer than ENOUGH."""
    on_time = _concatenate(row.verdicts for row in rows) == ON_TIME
    return on_time, on_time if on_time.sum() >= ENOUGH else np.ones_like(on_time)


def _ratios(rows: Sequence[Start], p: int) -> list[Ratios]:
    ratios = []
    for collective, size in dict.fromkeys((row.collective, row.bytes) for row in rows):
        here = [row for row in rows if (row.collective, row.bytes) == (collective, size)]
        algorithms = sorted({row.algorithm for row in here}, key=lambda name: (name != DEFAULT, name))
        latencies = {
            (algorithm, start): _latency(group, p)
            for algorithm in algorithms
            for start in _names(here)
            if (group := [row for row in here if (row.algorithm, row.start) == (algorithm, start)])
        }
        ratios.append(
            Ratios(
                collective=collective,
                bytes=size,
                algorithms=algorithms,
                starts=_names(here),
                latencies=latencies,
            )
        )
    return ratios


def _latency(rows: Sequence[Start], p: int) -> Latency:
    _, counts = _valid_starts(rows)
    return Latency(
        start=rows[0].start,
        algorithm=rows[0].algorithm,
        bytes=rows[0].bytes,
        average_s=float(np.median(_concatenate(row.taken_ns for row in rows)[counts])) / p * 1e-9,
        longest_s=float(np.median(_concatenate(row.longest_ns for row in rows)[counts])) * 1e-9,
        count=int(counts.sum()),
    )


def _names(rows: Iterable[Start]) -> list[str]:
    """The starts: harmonised first, the library's own choice of barrier next, then by name."""
    names = {row.start for row in rows}
    return sorted(names, key=lambda name: (name != HARMONIZE, name != DEFAULT, name))


def _cost(row: Sync) -> SyncCost:
    return SyncCost(
        method=row.method,
        processes=row.processes,
        distorted=row.is_distorted,
        taken_s=float(np.median(row.taken_ns)) * 1e-9,
        high_s=float(np.quantile(row.taken_ns, HIGH)) * 1e-9,
        exchanges=float(np.median(row.exchanges)),
        bound_s=float(np.median(row.bound_ns)) * 1e-9,
    )


def _accuracy_by_age(row: Accuracy) -> Iterable[AgedAccuracy]:
    """Comparisons of one method that were meant for one age."""
    if row.failure:
        return
    methods, planned_ages = np.array(row.methods), np.array(row.planned_ns)
    ages_s, low_s, high_s, bound_s = (
        np.array(column) * 1e-9 for column in (row.ages_ns, row.low_ns, row.high_ns, row.bound_ns)
    )
    middle_s = np.abs(low_s + high_s) / 2
    is_exceeded = (low_s > bound_s) | (high_s < -bound_s)
    for number, name in enumerate(row.names):
        for age in sorted(set(row.planned_ns)):
            group = (methods == number) & (planned_ages == age)
            if group.any():
                yield AgedAccuracy(
                    method=name,
                    distorted=row.is_distorted,
                    planned_s=age / 1e9,
                    age_s=float(np.median(ages_s[group])),
                    error_s=float(np.median(middle_s[group])),
                    worst_s=float(middle_s[group].max()),
                    resolution_s=float(np.median(high_s[group] - low_s[group])) / 2,
                    bound_s=float(np.median(bound_s[group])),
                    count=int(group.sum()),
                    broken=int(is_exceeded[group].sum()),
                )


def _concatenate(lists: Iterable[Sequence[int]]) -> NDArray[np.float64]:
    return np.concatenate([np.array(one, dtype=np.float64) for one in lists])


FEWEST_STARTS = 20
"""The least number of starts on time for a 95th percentile."""


def trusted_s(results: Summary) -> float | None:
    """The smallest skew in seconds that exceeds the start's own skew; None if there is none."""
    skew = results.skew(HARMONIZE)
    if skew is None or skew.includes_late or exceeded_bounds(results):
        return None
    return skew.trusted_s


def sentence(results: Summary, machine: Machine) -> str:
    """The verdict."""
    return "; ".join(_sentence_parts(results, machine)) + "."


def exceeded_bounds(results: Summary) -> int:
    """The number of comparisons in which a clock's error certainly exceeded its bound, over all methods."""
    return sum(aged.broken for aged in results.aged)


def _sentence_parts(results: Summary, machine: Machine) -> Iterator[str]:
    skew = results.skew(HARMONIZE)
    if skew is None:
        yield "No verdict yet: no harmonised start was measured"
    elif exceeded_bounds(results):
        checks = sum(aged.count for aged in results.aged)
        methods = ", ".join(dict.fromkeys(aged.method for aged in results.aged if aged.broken))
        yield (
            f"Start skew is unknown here: in {exceeded_bounds(results)} of {amount(checks, 'comparison')} a"
            f" clock's error exceeded its bound ({methods}): a clock was set during the check, or its drift"
            " exceeds the assumed limits"
        )
    elif skew.includes_late:
        yield (
            f"Harmonised starts are not reliable here: {skew.on_time} of {skew.starts} were on"
            f" time, and the median skew of all is {format_time(skew.median_s, 2)}"
        )
    else:
        yield _skew_sentence(skew, machine)
        if skew.on_time < FEWEST_STARTS:
            yield f"only {skew.on_time} starts were on time: measure more with --repetitions"
    yield from _barriers(results)
    if machine.oversubscribed:
        cores = amount(machine.cores, "core") if machine.cores else "fewer cores"
        yield (
            f"but {machine.p} processes share {cores} here, so these times are mostly waiting for a core:"
            " check again with a core for each process"
        )


def _skew_sentence(skew: Skew, machine: Machine) -> str:
    share = skew.on_time / skew.starts
    percent = "100%" if share == 1 else f"{min(99.9, 100 * share):.3g}%"
    clock = (
        "all processes read one physical clock, which adds no error"
        if machine.shared
        else f"of which {format_time(skew.error_s, 2)} are the clocks' error"
    )
    return (
        f"95th percentile of start skew: {format_time(skew.trusted_s, 2)} for {machine.p} processes"
        f" with a harmonised start ({percent} of {skew.starts} starts were on time), {clock}"
    )


def _barriers(results: Summary) -> Iterator[str]:
    """The 95th percentile of the observed skew of the best barrier and of the library's own choice."""
    if not results.barriers:
        return
    best = min(results.barriers, key=lambda one: one.high_s)
    default = next((one for one in results.barriers if one.start == DEFAULT), None)
    text = f"with the best barrier ({best.start}) it is {format_time(best.high_s, 2)}"
    if default is not None and default is not best:
        text += f", with the library's own choice {format_time(default.high_s, 2)}"
    yield text
