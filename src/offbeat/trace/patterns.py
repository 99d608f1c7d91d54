"""Arrival patterns (mean, median, a single call, clusters) and replays from a trace, also for another p.

Clusters are found by k-means on centred delays. Their number is increased while a further one explains at
least five percentage points more of the variance, and leaves less than half of the variance that as many
clusters leave of normally distributed points with the same covariance (splitting any set explains some).
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

import offbeat
from offbeat.base.errors import BadInput
from offbeat.base.units import amount
from offbeat.model.pattern.pattern_file import Pattern
from offbeat.model.pattern.replay_file import Replay
from offbeat.model.pattern.shapes import check_processes
from offbeat.trace.calls.arrivals import Arrivals
from offbeat.trace.calls.call_site_stats import CallSiteStats, description_of, file_stem_of
from offbeat.trace.summary import Summary

SCALING = "blocks of neighbouring ranks; the latest of those that fall together; stretched to the same skew"
"""The rule of :func:`scale` in the header of a pattern file."""

MOST_DELAYS = 2**26
"""Limit of the delays of a scaled replay: 512 MiB, and a file of a gigabyte."""


def mean_pattern(summary: Summary, row: CallSiteStats) -> Pattern:
    """The mean delay of each rank over all calls of a row: the paper's scenario (figure 1)."""
    return _pattern(summary, row, row.delays_s, "mean", f"mean delay over {amount(row.whole, 'call')}")


def median_pattern(summary: Summary, arrivals: Arrivals) -> Pattern:
    """The median delay of each rank, which is robust against outliers."""
    delays = np.median(arrivals.delays_s, axis=0)
    description = f"median delay over {_calls(arrivals)}"
    return _pattern(summary, arrivals.row, delays, "median", description)


def call_pattern(summary: Summary, arrivals: Arrivals, number: int) -> Pattern:
    """The delays of a single call by its number, from 0. Raises :class:`BadInput` for an unknown call."""
    positions = np.flatnonzero(arrivals.number == number)
    if not len(positions):
        step = f", of which every {arrivals.step}th is kept" if arrivals.step > 1 else ""
        raise BadInput(
            f"there is no call {number}: {description_of(arrivals.row)} was recorded"
            f" {amount(arrivals.row.whole, 'time')}{step}, numbered from 0"
        )
    delays = arrivals.delays_s[positions[0]]
    return _pattern(summary, arrivals.row, delays, f"call{number}", f"call {number} alone")


def cluster_patterns(
    summary: Summary, arrivals: Arrivals, *, most_clusters: int = 6, seed: int = 1
) -> list[tuple[Pattern, Cluster]]:
    """Typical patterns, the most frequent first; a single one if the calls form no clusters."""
    is_traced = ~np.isnan(arrivals.delays_s[0])
    call_clusters = clusters(arrivals.delays_s[:, is_traced], most_clusters=most_clusters, seed=seed)
    patterns = []
    for index, cluster in enumerate(call_clusters):
        delays = np.full(len(is_traced), np.nan)
        delays[is_traced] = cluster.delays_s
        description = (
            f"pattern {index + 1} of {len(call_clusters)}: {cluster.share:.1%} of {_calls(arrivals)},"
            f" explains {cluster.variance_share:.1%} of the variance of their delays"
        )
        name = f"cluster{index + 1}" if len(call_clusters) > 1 else "typical"
        patterns.append((_pattern(summary, arrivals.row, delays, name, description), cluster))
    return patterns


Recording = TypeVar("Recording", Pattern, Replay)


def scale(recording: Recording, p: int) -> Recording:
    """A pattern, or each call of a replay, for another number of processes.

    New rank j of p represents the old ranks from ⌊j·p₀/p⌋ to ⌊(j + 1)·p₀/p⌋ - 1: with more processes,
    neighbours share a delay; with fewer, a rank has the largest delay of those that it represents, so that a
    single late rank is preserved. Then delays are scaled to the old skew, unless all are equal. Raises
    :class:`BadInput` as :func:`scaled_delays` does.
    """
    if p == recording.p:
        return recording
    return structs.replace(
        recording,
        name=f"{recording.name}-p{p}",
        delays_s=scaled_delays(recording.delays_s, p),
        header=recording.header | {"scaled_from": f"p = {recording.p}", "scaling": SCALING},
    )


def scaled_delays(delays_s: NDArray[np.float64], p: int) -> NDArray[np.float64]:
    """Delays (..., p₀) for p processes, (..., p), as :func:`scale`. Raises :class:`BadInput`."""
    check_processes(p)
    old = delays_s.shape[-1]
    if (calls := delays_s.size // old) * p > MOST_DELAYS:
        raise BadInput(
            f"{amount(calls, 'call')} on {p} processes are {calls * p} delays, and the limit of a replay is"
            f" {MOST_DELAYS}; use at most {amount(MOST_DELAYS // p, 'call')} with --most"
        )
    first = np.arange(p) * old // p
    delays = delays_s[..., first] if p > old else np.maximum.reduceat(delays_s, first, axis=-1)
    delays = delays - delays.min(axis=-1, keepdims=True)
    largest = delays.max(axis=-1, keepdims=True)
    stretch = np.divide(
        delays_s.max(axis=-1, keepdims=True), largest, out=np.zeros_like(largest), where=largest > 0
    )
    return np.asarray(delays * stretch)


def _pattern(
    summary: Summary, row: CallSiteStats, delays_s: NDArray[np.float64], kind: str, description: str
) -> Pattern:
    """A pattern with its origin in the header; ranks that were not traced get the nearest rank's delay."""
    traced_ranks = np.flatnonzero(~np.isnan(delays_s))
    if not len(traced_ranks):
        raise BadInput(
            f"{description_of(row)}: no call was recorded on all traced ranks, so there is no pattern"
        )
    header = origin(summary, row) | {"pattern": description} | stand_ins(traced_ranks, len(delays_s))
    complete_delays_s = delays_s[nearest(traced_ranks, len(delays_s))]
    name = f"{file_stem_of(row)}-{kind}"
    return Pattern(name=name, delays_s=complete_delays_s - complete_delays_s.min(), header=header)


def origin(summary: Summary, row: CallSiteStats) -> dict[str, str]:
    """The header entries on the calls that a file is extracted from."""
    header = {
        "producer": f"offbeat {offbeat.__version__}",
        "trace": str(Path(summary.directory).absolute()),
        "program": summary.program,
        "library": summary.library,
        "calls": description_of(row),
        "clock_bound_s": repr(row.bound_s),
    }
    if row.stability == row.stability:
        header["stability"] = f"{row.stability:.3f}"
    return header


def nearest(traced_ranks: NDArray[np.int64], p: int) -> NDArray[np.int64]:
    """For each of p ranks the nearest traced rank, (p,), of two the lower one."""
    ranks = np.arange(p)
    next_index = np.clip(np.searchsorted(traced_ranks, ranks), 1, max(len(traced_ranks) - 1, 1))
    lower, upper = traced_ranks[next_index - 1], traced_ranks[np.minimum(next_index, len(traced_ranks) - 1)]
    return np.where(ranks - lower <= upper - ranks, lower, upper)


def stand_ins(traced_ranks: NDArray[np.int64], p: int) -> dict[str, str]:
    """The header entry on ranks that were not traced; empty if all were."""
    if len(traced_ranks) == p:
        return {}
    return {"untraced": f"{p - len(traced_ranks)} of {p} ranks; each has the delay of the nearest traced one"}


def _calls(arrivals: Arrivals) -> str:
    call_count = len(arrivals.delays_s)
    if arrivals.step == 1:
        return amount(call_count, "call")
    return f"every {arrivals.step}th of {amount(arrivals.row.whole, 'call')}"


def recorded_calls(summary: Summary, arrivals: Arrivals, *, most_calls: int | None = None) -> Replay:
    """The recorded calls in their order as a replay, or at most ``most_calls`` of them, evenly spaced.

    Ranks that were not traced have the delay of the nearest traced one. Raises :class:`BadInput` if none was.
    """
    row, delays = arrivals.row, arrivals.delays_s
    count = len(delays) if most_calls is None else min(len(delays), most_calls)
    sampled_calls = np.arange(count) * len(delays) // max(count, 1)
    traced_ranks = np.flatnonzero(~np.isnan(delays).any(axis=0))
    if not len(traced_ranks) or not len(sampled_calls):
        raise BadInput(
            f"{description_of(row)}: no call was recorded on all traced ranks, so there is no replay"
        )
    complete_delays_s = delays[sampled_calls][:, nearest(traced_ranks, row.processes)]
    description = f"{count} of {amount(row.whole, 'call')}, evenly chosen"
    if count == row.whole:
        description = f"all {amount(count, 'call')}"
    return Replay(
        name=f"{file_stem_of(row)}-calls",
        delays_s=complete_delays_s - complete_delays_s.min(axis=1, keepdims=True),
        header=origin(summary, row) | {"replay": description} | stand_ins(traced_ranks, row.processes),
    )


LEAST_GAIN = 0.05
"""The smallest share of the variance that a further cluster must explain."""

LEAST_AGAINST_CLOUD = 0.5
"""The largest remaining variance of clusters, relative to that of as many clusters of normally distributed
points."""

_SAMPLE, _STARTS, _ROUNDS = 2000, 4, 50
"""k-means: the most calls from which clusters are computed, the starts, the most rounds of each start."""

_OUTLIER_FACTOR, _MAX_OUTLIER_SHARE = 10.0, 0.01
"""Outliers are ignored: norms above the first × the median, if at most the second share of the calls."""

Array = NDArray[np.float64]


class Cluster(Struct, kw_only=True, eq=False):
    """Similar calls: ``delays_s`` is their mean delay by rank, (p,).

    ``share`` is their share of the calls, ``skew_share`` their share of the total skew, ``variance_share``
    the share of the variance of their delays that the mean explains. ``calls`` has the indices of the calls.
    """

    delays_s: Array
    share: float
    skew_share: float
    variance_share: float
    calls: NDArray[np.int64]


def clusters(delays_s: Array, *, most_clusters: int = 6, seed: int = 1) -> list[Cluster]:
    """The typical patterns among calls, (calls, p), the most frequent first; at least one."""
    random = np.random.default_rng(seed)
    deviations_s = delays_s - delays_s.mean(axis=1, keepdims=True)
    typical = deviations_s[~_outliers(deviations_s)]
    if len(typical) > _SAMPLE:
        typical = typical[random.choice(len(typical), _SAMPLE, replace=False)]
    centres = _best_number(typical, most_clusters, random)
    cluster_of_call = nearest_centres(deviations_s, centres)
    call_clusters = [
        _cluster(delays_s, deviations_s, np.flatnonzero(cluster_of_call == place))
        for place in np.unique(cluster_of_call)
    ]
    return sorted(call_clusters, key=lambda one: -one.share)


def _outliers(deviations_s: Array) -> NDArray[np.bool_]:
    norms = np.sqrt((deviations_s * deviations_s).sum(axis=1))
    far = norms > _OUTLIER_FACTOR * np.median(norms)
    return far if far.sum() <= _MAX_OUTLIER_SHARE * len(norms) else np.zeros(len(norms), np.bool_)


def _best_number(points: Array, most_clusters: int, random: np.random.Generator) -> Array:
    """The centres, (k, p), for the best number of clusters."""
    best = points.mean(axis=0, keepdims=True)
    total, remaining_square = _square(points), _square(points - best)
    if total == 0 or remaining_square <= LEAST_GAIN * total:
        return best
    cloud = _cloud(points, random)
    for number in range(2, min(most_clusters, len(points)) + 1):
        centres, residual = k_means(points, number, random)
        _, of_cloud = k_means(cloud, number, random)
        is_better = remaining_square - residual >= LEAST_GAIN * total
        if is_better and residual < LEAST_AGAINST_CLOUD * of_cloud:
            best, remaining_square = centres, residual
        elif not is_better:
            break
    return best


def _cloud(points: Array, random: np.random.Generator) -> Array:
    """As many normally distributed points of the same mean and covariance."""
    middle = points.mean(axis=0)
    _, scales, axes = np.linalg.svd(points - middle, full_matrices=False)
    samples = random.standard_normal((len(points), len(scales)))
    return middle + samples * (scales / np.sqrt(len(points))) @ axes


def k_means(points: Array, number: int, random: np.random.Generator) -> tuple[Array, float]:
    """Centres (number, dimensions) of points (n, dimensions), n ≥ number, and the remaining sum of squares:
    the best of several starts by k-means++."""
    from scipy.cluster.vq import ClusterError, kmeans2  # loads slowly

    best, least = points[:number], np.inf
    for _ in range(_STARTS):
        try:
            with np.errstate(invalid="ignore"):  # equal points have no distances to choose by
                centres, labels = kmeans2(
                    points, number, iter=_ROUNDS, minit="++", missing="raise", seed=random
                )
        except ClusterError:  # fewer different points than clusters
            continue
        remaining_square = _square(points - centres[labels])
        if remaining_square < least:
            best, least = centres, remaining_square
    if least == np.inf:
        least = _square(points - best[nearest_centres(points, best)])
    return best, float(least)


def nearest_centres(points: Array, centres: Array) -> NDArray[np.int64]:
    """The nearest centre of each point, (n,)."""
    from scipy.cluster.vq import vq  # loads slowly

    return np.asarray(vq(points, centres)[0], dtype=np.int64)


def _cluster(delays_s: Array, deviations_s: Array, calls: NDArray[np.int64]) -> Cluster:
    in_cluster = deviations_s[calls]
    total, skew = _square(in_cluster), delays_s.max(axis=1)
    residual = _square(in_cluster - in_cluster.mean(axis=0))
    return Cluster(
        delays_s=delays_s[calls].mean(axis=0),
        share=len(calls) / len(delays_s),
        skew_share=float(skew[calls].sum() / skew.sum()) if skew.sum() > 0 else len(calls) / len(delays_s),
        variance_share=1.0 - residual / total if total > 0 else 1.0,
        calls=calls,
    )


def _square(values: Array) -> float:
    return float((values * values).sum())
