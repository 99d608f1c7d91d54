"""Fitting a platform to measurements, and the residuals of the fit.

A message takes send overhead + latency × factor + (bytes + header) / (bandwidth × factor) + receive overhead
(:mod:`offbeat.model.platform.message_times`). Overheads come from messages whose receiver is late: then the
duration of a call is the work of that process. The remainder of a half round trip is fitted piecewise.

Each piece is time = start + bytes × slope, fitted by non-negative least squares of the relative errors. The
boundaries of pieces result from dynamic programming over all partitions (Bellman, On the Approximation of
Curves by Line Segments Using Dynamic Programming, 1961); the fit may be discontinuous. Each piece must reduce
the squared errors by more than the penalty of the Bayesian information criterion for its three parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.optimize import nnls

from offbeat.base.units import amount
from offbeat.libraries.calibration.fit_memory import traffic_s, with_memory
from offbeat.libraries.calibration.measured_times import Measurements, Memory, Pair, Point
from offbeat.model.platform.message_times import (
    MessagePath,
    concurrent_message_s,
    message_paths,
    message_s,
    shared_message_s,
)
from offbeat.model.platform.schema import InsideSection, LinkSection, MessagesSection, PlatformFile

Array = NDArray[np.float64]

LEAST_POINTS = 3
"""The least number of sizes in a piece."""

LEAST_LAST_POINTS = 4
"""The least number of sizes in the last piece: its slope is the bandwidth of all larger messages."""

MAX_BANDWIDTH_RATIO = 10.0
"""The largest bandwidth of a piece relative to the fastest message, so that it is finite."""


class Piece(Struct, frozen=True, kw_only=True):
    """From ``from_bytes`` on, a message takes ``start_s`` and ``per_byte_s`` for each byte.

    ``after_bytes`` is the largest measured size before the piece: the true boundary lies between both.
    """

    from_bytes: int
    after_bytes: int
    start_s: float
    per_byte_s: float


def fit_pieces(sizes: Array, times_s: Array, *, floor_s: float = 0.0, error: float = 0.02) -> list[Piece]:
    """The pieces through times (n,) at ascending sizes (n,).

    No piece has a start below ``floor_s``. ``error`` is the accepted relative error of measurements and
    model. The first piece begins at 0.
    """
    costs, lines = _all_lines(sizes, times_s, floor_s)
    penalty = 3 * np.log(max(len(sizes), 2)) * error**2
    ends = _best_partition(costs + penalty)
    starts = [0, *ends[:-1]]
    return [
        Piece(
            from_bytes=int(sizes[start]) if start else 0,
            after_bytes=int(sizes[start - 1]) if start else 0,
            start_s=lines[start][end][0],
            per_byte_s=lines[start][end][1],
        )
        for start, end in zip(starts, ends, strict=True)
    ]


def _all_lines(
    sizes: Array, times_s: Array, floor_s: float
) -> tuple[Array, list[dict[int, tuple[float, float]]]]:
    """The squared relative errors (n, n + 1) of every run of sizes [start, end), and its line."""
    count = len(sizes)
    costs = np.full((count, count + 1), np.inf)
    lines: list[dict[int, tuple[float, float]]] = [{} for _ in range(count)]
    flattest = 1 / (MAX_BANDWIDTH_RATIO * float((sizes / times_s).max()))
    for start in range(count):
        least = min(start + LEAST_POINTS, count)
        ends = [*range(least, count), *([count] if start == 0 or start + LEAST_LAST_POINTS <= count else [])]
        for end in ends:
            run = slice(start, end)
            line, cost = _line(sizes[run], times_s[run], floor_s, flattest)
            costs[start, end], lines[start][end] = cost, line
    return costs, lines


def _line(sizes: Array, times_s: Array, floor_s: float, flattest: float) -> tuple[tuple[float, float], float]:
    """Start and slope of one piece, each above its lower limit, and the squared relative errors."""
    weights = 1 / times_s
    target = 1 - (floor_s + flattest * sizes) * weights
    scale = float(sizes.max()) or 1.0  # keeps the two columns comparable
    solution, residual = nnls(np.column_stack([weights, sizes / scale * weights]) * times_s.mean(), target)
    solution = solution * times_s.mean()
    return (floor_s + float(solution[0]), flattest + float(solution[1]) / scale), float(residual) ** 2


def _best_partition(costs: Array) -> list[int]:
    """The ends of the runs with the smallest total cost."""
    count = costs.shape[0]
    best = np.full(count + 1, np.inf)
    best[0] = 0.0
    begins = np.zeros(count + 1, dtype=int)
    for end in range(1, count + 1):
        totals = best[:end] + costs[:end, end]
        begins[end] = int(totals.argmin())
        best[end] = totals[begins[end]]
    ends = [count]
    while begins[ends[0]]:
        ends.insert(0, int(begins[ends[0]]))
    return ends


LARGEST_OVERHEAD = 0.9
"""Overheads are at most this share of the shortest half round trip: late calls find cold caches."""

UNSHARED_SHARE = 0.95
"""A message that gets this share of a link is limited only by the link."""

NEVER = 2**31 - 1
"""A size that no message reaches, for machines on which no sender waited for its receiver."""


class Curve(Struct, frozen=True, kw_only=True):
    """The figures of one distance: ``bandwidth`` is that of the largest messages in bytes per second.

    ``factors`` has the keys of the platform file that give latency and bandwidth of smaller messages.
    """

    latency_s: float
    bandwidth: float
    factors: dict[str, Any]


class Overheads(Struct, frozen=True, kw_only=True):
    """The time in seconds that sender and receiver of a message are busy."""

    send_s: float
    receive_s: float

    @property
    def both_s(self) -> float:
        """The sum, which is part of a half round trip."""
        return self.send_s + self.receive_s


def fit(measurements: Measurements, base: PlatformFile | None = None) -> PlatformFile:
    """The platform that fits best; values that were not measured are those of ``base``, if there is one."""
    pairs = [pair for pair in (measurements.between, measurements.inside) if pair is not None]
    start = base or PlatformFile(
        nodes=len(measurements.hosts),
        cores=measurements.cores,
        inside=InsideSection(bandwidth=0.0, latency=0.0),
    )
    link, inside_section = start.link, start.inside
    if base is not None and measurements.between is None:
        link, messages = _with_room(base, pairs)
    else:
        messages = _messages(pairs, measurements)
    busy = Overheads(send_s=messages.send_overhead, receive_s=messages.receive_overhead)
    if measurements.between is not None:
        link, messages = _fit_link(measurements.between, busy, messages)
    if measurements.inside is not None:
        inside_curve = curve(measurements.inside.messages, busy, messages.header)
        inside_section = InsideSection(
            bandwidth=inside_curve.bandwidth, latency=inside_curve.latency_s, **inside_curve.factors
        )
    elif base is None:  # the same as between two nodes
        inside_section = InsideSection(
            bandwidth=messages.flow_bandwidth or link.bandwidth, latency=2 * link.latency
        )
    platform: PlatformFile = msgspec.structs.replace(
        start,
        name="calibrated",
        source=source(measurements),
        inside=inside_section,
        link=link,
        messages=messages,
    )
    return with_memory(platform, measurements.memory) if measurements.memory is not None else platform


def _with_room(base: PlatformFile, pairs: Sequence[Pair]) -> tuple[LinkSection, MessagesSection]:
    """The link and the messages of ``base`` with overheads below the measured half round trips.

    What the overheads lose is added to the latency of the link: small messages between nodes take as long.
    """
    messages = base.messages
    busy_s = messages.send_overhead + messages.receive_overhead
    room_s = LARGEST_OVERHEAD * min(min(point.time_s for point in pair.messages) for pair in pairs)
    if busy_s <= room_s:
        return base.link, messages
    share = room_s / busy_s
    shorter: MessagesSection = msgspec.structs.replace(
        messages,
        send_overhead=share * messages.send_overhead,
        receive_overhead=share * messages.receive_overhead,
    )
    latency_s = base.link.latency + (busy_s - room_s) / 2
    return msgspec.structs.replace(base.link, latency=latency_s), shorter


def source(measurements: Measurements) -> str:
    """The origin of the values, in one line."""
    hosts = measurements.hosts
    where = hosts[0] if len(hosts) == 1 else f"{len(hosts)} nodes, {hosts[0]} to {hosts[-1]}"
    return f"offbeat platform calibrate on {where}, {measurements.library}"


def overheads(pairs: Sequence[Pair]) -> Overheads:
    """The overheads of sender and receiver, from small messages to late receivers.

    The first of ``pairs`` with such messages counts; the overheads are limited by the shortest half round
    trip of all pairs.
    """
    shortest_s = min(min(point.time_s for point in pair.messages) for pair in pairs)
    eager = next((eager for pair in pairs if (eager := [one for one in pair.late if one.is_eager])), [])
    if not eager:
        return Overheads(send_s=0.0, receive_s=0.0)
    small = sorted(eager, key=lambda one: one.bytes)[:4]
    send_s = float(np.median([point.send_s for point in small]))
    receive_s = float(np.median([point.receive_s for point in small]))
    room_s = LARGEST_OVERHEAD * shortest_s
    send_s = min(send_s, room_s / 2)
    return Overheads(send_s=send_s, receive_s=min(receive_s, room_s - send_s))


def curve(points: Sequence[Point], busy: Overheads, header: int) -> Curve:
    """Latency and bandwidth by size, from half round trips at ascending sizes."""
    sizes = np.array([point.bytes for point in points], dtype=np.float64) + header
    times_s = np.array([point.time_s for point in points])
    shortest_s = float(times_s.min())
    rest_s = max(shortest_s - busy.both_s, (1 - LARGEST_OVERHEAD) * shortest_s)
    pieces = fit_pieces(sizes, times_s, floor_s=busy.both_s + 0.01 * rest_s, error=error_of(points))
    latency_s = pieces[0].start_s - busy.both_s
    bandwidth = 1 / pieces[-1].per_byte_s
    return Curve(
        latency_s=latency_s,
        bandwidth=bandwidth,
        factors={
            "from_sizes": [piece.from_bytes for piece in pieces],
            "latency_factors": [(piece.start_s - busy.both_s) / latency_s for piece in pieces],
            "bandwidth_factors": [1 / piece.per_byte_s / bandwidth for piece in pieces],
        },
    )


def pieces_of(pair: Pair) -> list[Piece]:
    """A first fit of a pair's times, which shows where further sizes should be measured."""
    sizes = np.array([point.bytes for point in pair.messages], dtype=np.float64)
    times_s = np.array([point.time_s for point in pair.messages])
    return fit_pieces(sizes, times_s, error=error_of(pair.messages))


def error_of(points: Sequence[Point]) -> float:
    """The relative error that the fit allows: 3%, or the typical error of the times where that is more."""
    return max(0.03, float(np.median([point.error for point in points])))


def _messages(pairs: Sequence[Pair], measurements: Measurements) -> MessagesSection:
    """The parameters that do not depend on the distance."""
    busy = overheads(pairs)
    eager = eager_below(pairs[0])
    return MessagesSection(
        header=0,
        eager_below=eager,
        detached_below=eager,
        send_overhead=busy.send_s,
        receive_overhead=busy.receive_s,
        reduce_bandwidth=_speed(measurements.reduce),
        copy_bandwidth=_speed(measurements.copy),
    )


def eager_below(pair: Pair) -> int:
    """The least size whose sender waits for its receiver; NEVER where none did."""
    if pair.eager_below:
        return pair.eager_below
    return NEVER if any(point.is_eager for point in pair.late) else 0


def _speed(points: Sequence[Point]) -> float:
    """Bytes per second of local work: the median over sizes; 0 where nothing was measured."""
    if not points:
        return 0.0
    return float(np.median([point.bytes / point.time_s for point in points]))


def _fit_link(pair: Pair, busy: Overheads, messages: MessagesSection) -> tuple[LinkSection, MessagesSection]:
    """A node's link, and the parameters of a message on it; a message passes two such links."""
    link_curve = curve(pair.messages, busy, messages.header)
    latency_s = busy.both_s + link_curve.latency_s * link_curve.factors["latency_factors"][-1]
    together = [one.flows * one.bytes / max(one.time_s - latency_s, 1e-12) for one in pair.streams]
    capacity = max([link_curve.bandwidth, *together])
    alone = link_curve.bandwidth if link_curve.bandwidth < UNSHARED_SHARE * capacity else 0.0
    link = LinkSection(
        bandwidth=capacity if alone else link_curve.bandwidth, latency=link_curve.latency_s / 2
    )
    link_messages: MessagesSection = msgspec.structs.replace(
        messages, flow_bandwidth=alone, **link_curve.factors
    )
    return link, link_messages


TRAFFIC = "memory"
EXCHANGE = "exchange in a domain"
FITTED_VALUES = {TRAFFIC: 2, EXCHANGE: 1}
"""What is measured for several processes of a memory domain at once, and how many values are fitted to it.
With no more measurements than values, the model agrees with all of them: its error is unknown."""


class Residual(Struct, frozen=True, kw_only=True):
    """One measured time and the model's. ``flows`` messages, or pieces of work, were under way at once."""

    where: str
    bytes: int
    flows: int
    measured_s: float
    model_s: float
    is_tested: bool = True  # more measurements were made than values were fitted to them

    @property
    def error(self) -> float:
        """The relative error of the model's time; positive if it is longer than the measured one."""
        return self.model_s / self.measured_s - 1


def residuals(measurements: Measurements, platform: PlatformFile) -> list[Residual]:
    """The residual of each size of each distance, then of several messages at once."""
    of_pairs = [
        residual for pair, way in _pairs(measurements, platform) for residual in _of_pair(pair, way, platform)
    ]
    return [
        *of_pairs,
        *(_of_memory(measurements.memory, platform) if measurements.memory is not None else []),
    ]


def describe_residuals(fit_residuals: list[Residual]) -> list[str]:
    """A sentence for each distance with the model's median and largest error."""
    sentences = []
    for where in dict.fromkeys(residual.where for residual in fit_residuals):
        here = [residual for residual in fit_residuals if residual.where == where]
        if not here[0].is_tested:
            sentences.append(f"{where}: the model's error is unknown, as {_determination(len(here))}")
            continue
        alone = here if where in FITTED_VALUES else [residual for residual in here if residual.flows == 1]
        errors = np.abs([residual.error for residual in alone])
        worst = alone[int(errors.argmax())]
        sentences.append(
            f"{where}: the model's median error is {100 * np.median(errors):.1f}% over {len(alone)}"
            f" {'measurements' if where in FITTED_VALUES else 'sizes'}, the largest {100 * errors.max():.1f}%"
            f" (at {worst.bytes} B{f' of {worst.flows}' if where in FITTED_VALUES else ''})"
        )
    return sentences


def _determination(measurements: int) -> str:
    verb, values = ("determine", "values") if measurements > 1 else ("determines", "value")
    return f"{amount(measurements, 'measurement')} {verb} the fitted {values}"


def _of_memory(memory: Memory, platform: PlatformFile) -> Iterator[Residual]:
    for point in memory.traffic:
        yield Residual(
            where=TRAFFIC,
            bytes=point.amount,
            flows=point.ranks,
            measured_s=point.time_s,
            model_s=traffic_s(platform.memory, point.amount, point.ranks),
            is_tested=len(memory.traffic) > FITTED_VALUES[TRAFFIC],
        )
    for exchange in memory.exchanges:
        yield Residual(
            where=EXCHANGE,
            bytes=exchange.bytes,
            flows=exchange.flows,
            measured_s=exchange.time_s,
            model_s=shared_message_s(platform, exchange.bytes, exchange.flows),
            is_tested=len(memory.exchanges) > FITTED_VALUES[EXCHANGE],
        )


def _pairs(measurements: Measurements, platform: PlatformFile) -> Iterator[tuple[Pair, MessagePath]]:
    paths = message_paths(platform)
    if measurements.inside is not None:
        yield measurements.inside, paths[0]
    if measurements.between is not None:
        yield measurements.between, paths[1]


def _of_pair(pair: Pair, way: MessagePath, platform: PlatformFile) -> Iterator[Residual]:
    where = "between two nodes" if way.hops else way.name
    model_s = message_s(platform, way, [point.bytes for point in pair.messages])
    for point, time_s in zip(pair.messages, model_s, strict=True):
        yield Residual(
            where=where, bytes=point.bytes, flows=1, measured_s=point.time_s, model_s=float(time_s)
        )
    for stream in pair.streams:
        if stream.flows > 1:
            yield Residual(
                where=where,
                bytes=stream.bytes,
                flows=stream.flows,
                measured_s=stream.time_s,
                model_s=concurrent_message_s(platform, way, stream.bytes, stream.flows),
            )
