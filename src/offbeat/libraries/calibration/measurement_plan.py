"""Point-to-point measurements of a machine: which messages are measured, and in which order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.base.units import amount, format_size
from offbeat.libraries.calibration.fit import Piece, pieces_of
from offbeat.libraries.calibration.measured_times import (
    LateReceiverPoint,
    Measurements,
    Memory,
    Pair,
    Point,
    StreamPoint,
    WorkPoint,
    point,
)

LARGEST = 2**23
"""The default size of the largest message."""

CLOSE = 1.05
"""A bend in the times is located if it lies between two sizes whose ratio is at most this."""

ROUNDS = 5
"""How often further sizes are measured near bends."""

PASSES = 4
"""How often all sizes are measured."""

TRIES = 3
DISTURBANCE_FACTOR = 1.3
"""A message that takes DISTURBED times as long as a larger one is measured again, up to TRIES times."""

LATE_SIZES = [1, 4, 16, 64]
"""Small messages to late receivers, for the overheads."""

WORK_SIZES = [2**10, 2**12, 2**14, 2**16, 2**18]
"""Sizes of local reductions and copies."""

TRAFFIC = 2**24
"""Memory traffic of a process in a repetition: less than a millisecond, in which few ranks are disturbed."""

FLOPS = 2**23
"""Operations in a repetition: the same."""

EXCHANGE_SIZES = [2**16, 2**18, 2**20, 2**22]
"""Sizes of the messages of an exchange in a memory domain."""

EXCHANGE_MESSAGES = 2
"""Messages that each process sends in an exchange, as programs do on a ring."""

SHARED_PASSES = 8
"""How often memory traffic, exchanges and operations are measured."""

QUIET = 0.1
"""The quantile of their times that counts: they last for only as long as no process is disturbed."""

Times = NDArray[np.float64]

Ranks = tuple[int, int]
"""A sender and its receiver."""

Report = Callable[[str], None]


class Probe(Protocol):
    """The measurements; :class:`offbeat.libraries.calibration.driver_probe.DriverProbe` takes them with the
    driver.
    """

    def pingpong(self, ranks: Ranks, size_bytes: int) -> NDArray[np.float64]:
        """Half round trips between two processes (n,), in seconds."""

    def late(self, ranks: Ranks, size_bytes: int, shortest_s: float) -> LateReceiverPoint:
        """A message whose receiver is delayed by much more than ``shortest_s``."""

    def stream(self, flows: Sequence[Ranks], size_bytes: int) -> StreamPoint:
        """One simultaneous message of each flow."""

    def local(self, work: str, size_bytes: int) -> Point:
        """A local ``reduce`` or ``copy``."""

    def traffic(self, ranks: Sequence[int], size_bytes: int) -> Times:
        """Memory traffic of several processes at the same time: (n,) in seconds."""

    def flops(self, rank: int, count: int) -> Times:
        """Floating-point operations of one process: (n,) in seconds."""

    def exchange(self, ranks: Sequence[int], size_bytes: int, messages: int) -> Times:
        """Simultaneous messages of each of these processes to the next one, and of the last to the first:
        (n,) in seconds. No message is in a cache, as after work that draws from the memory."""


class Machine(Struct, frozen=True, kw_only=True):
    """The measured machine: the host of each rank and its memory domain there (empty: one domain), the cores
    and the domains of a host, and the MPI library."""

    host_of_rank: list[str]
    cores: int
    library: str
    warnings: list[str] = []
    domain_of_rank: list[int] = []
    domains: int = 1

    @property
    def hosts(self) -> list[str]:
        """The hosts, each once."""
        return list(dict.fromkeys(self.host_of_rank))

    def ranks_of(self, host: str) -> list[int]:
        """The ranks of a host."""
        return [rank for rank, name in enumerate(self.host_of_rank) if name == host]

    def ranks_of_domain(self) -> list[int]:
        """The ranks of the memory domain of the first host that has most of them."""
        ranks = self.ranks_of(self.hosts[0])
        domain = dict.fromkeys(ranks, 0)
        if self.domain_of_rank:
            domain = {rank: self.domain_of_rank[rank] for rank in ranks}
        largest_domain = Counter(domain.values()).most_common(1)[0][0]
        return [rank for rank in ranks if domain[rank] == largest_domain]

    def pairs_inside(self) -> list[Ranks]:
        """Disjoint pairs of processes on the first host that has two."""
        for host in self.hosts:
            ranks = self.ranks_of(host)
            if len(ranks) > 1:
                return list(zip(ranks[::2], ranks[1::2], strict=False))
        return []

    def pairs_between(self) -> list[Ranks]:
        """Disjoint pairs of processes on the first two hosts."""
        if len(self.hosts) < 2:
            return []
        return list(zip(self.ranks_of(self.hosts[0]), self.ranks_of(self.hosts[1]), strict=False))


def measure(probe: Probe, machine: Machine, report: Report, largest: int = LARGEST) -> Measurements:
    """Measure all that the machine allows: messages inside a node, between two nodes, and local work."""
    inside_pairs, between_pairs = machine.pairs_inside(), machine.pairs_between()
    return Measurements(
        library=machine.library,
        hosts=machine.hosts,
        cores=machine.cores,
        inside=_pair(probe, inside_pairs, "inside a node", report, largest) if inside_pairs else None,
        between=_pair(probe, between_pairs, "between two nodes", report, largest) if between_pairs else None,
        reduce=_work(probe, "reduce", report),
        copy=_work(probe, "copy", report),
        memory=measure_memory(probe, machine, report),
        warnings=machine.warnings,
    )


def _pair(probe: Probe, pairs: list[Ranks], where: str, report: Report, largest: int) -> Pair:
    """Measures everything for one distance."""
    ranks = pairs[0]
    round_trips = _RoundTripTimes(probe, ranks, where, report)
    round_trips.add(first_sizes(largest))
    for _ in range(ROUNDS):
        so_far = Pair(messages=round_trips.points(), late=[], streams=[])
        more = [size for size in between_bends(pieces_of(so_far)) if size not in round_trips.times_s]
        if not more:
            break
        round_trips.add(more)
    messages = round_trips.points()
    late, eager_below = _late(probe, ranks, messages, where, report)
    flows = sorted({min(2**power, len(pairs)) for power in range(len(pairs).bit_length() + 1)})
    report(f"{where}: up to {amount(flows[-1], 'message')} at once")
    streams = [probe.stream(pairs[:number], largest) for number in flows]
    return Pair(messages=messages, late=late, streams=streams, eager_below=eager_below)


def measure_memory(probe: Probe, machine: Machine, report: Report) -> Memory:
    """The memory traffic of 1, 2, 4, ... processes of a domain, their exchanges, and operations."""
    ranks = machine.ranks_of_domain()
    counts = sorted({min(2**power, len(ranks)) for power in range(len(ranks).bit_length() + 1)})
    sizes = EXCHANGE_SIZES if len(ranks) > 1 else []
    report(f"memory traffic and messages of up to {amount(counts[-1], 'rank')} of a domain, and operations")
    traffic: dict[int, list[Times]] = {count: [] for count in counts}
    exchanges: dict[int, list[Times]] = {size: [] for size in sizes}
    flops: list[Times] = []
    for _ in range(SHARED_PASSES):
        for count in counts:
            traffic[count].append(probe.traffic(ranks[:count], TRAFFIC))
        for size in sizes:
            exchanges[size].append(probe.exchange(ranks, size, EXCHANGE_MESSAGES))
        flops.append(probe.flops(ranks[0], FLOPS))
    return Memory(
        domains=machine.domains,
        traffic=[
            WorkPoint(ranks=count, amount=TRAFFIC, time_s=_quiet_s(times)) for count, times in traffic.items()
        ],
        exchanges=[
            StreamPoint(flows=EXCHANGE_MESSAGES * len(ranks), bytes=size, time_s=_quiet_s(times))
            for size, times in exchanges.items()
        ],
        flops=WorkPoint(ranks=1, amount=FLOPS, time_s=_quiet_s(flops)),
        flop_noise=_noise(flops),
    )


def _quiet_s(passes: list[Times]) -> float:
    """The time of work that several processes do together, each of which other programs can disturb."""
    return float(np.quantile(np.concatenate(passes), QUIET))


def _noise(passes: list[Times]) -> float:
    """The standard deviation of a normal distribution with the same quartiles, divided by the median.

    The variation inside each pass counts, not that from pass to pass, which is that of the core's frequency.
    """
    from scipy.stats import iqr  # loads slowly

    relative = np.concatenate([times / np.median(times) for times in passes])
    return min(float(iqr(relative, scale="normal")), 1.0)


class _RoundTripTimes(Struct):
    """Half round trips of a pair of processes: size → every repetition's time (n,) in seconds."""

    probe: Probe
    ranks: Ranks
    where: str
    report: Report
    times_s: dict[int, NDArray[np.float64]] = {}

    def add(self, sizes: Sequence[int]) -> None:
        """Measure all sizes in several passes, because the state of a machine changes."""
        smallest, largest = format_size(sizes[0]), format_size(sizes[-1])
        self.report(f"{self.where}: {amount(len(sizes), 'size')}, {smallest} to {largest}")
        for _ in range(PASSES):
            for size in sizes:
                self._repeat(size)
        for _ in range(TRIES):
            for size in self._disturbed_sizes():
                self._repeat(size)

    def points(self) -> list[Point]:
        """The summary of every size, ascending."""
        return [point(size, self.times_s[size]) for size in sorted(self.times_s)]

    def _repeat(self, size: int) -> None:
        times_s = self.probe.pingpong(self.ranks, size)
        self.times_s[size] = np.concatenate([self.times_s.get(size, np.zeros(0)), times_s])

    def _disturbed_sizes(self) -> list[int]:
        """The sizes that took clearly longer than a larger one, because other programs used the machine."""
        sizes = []
        shortest_s = float("inf")
        for half_trip in reversed(self.points()):
            if half_trip.time_s > DISTURBANCE_FACTOR * shortest_s:
                sizes.append(half_trip.bytes)
            shortest_s = min(shortest_s, half_trip.time_s)
        return sizes


def _late(
    probe: Probe, ranks: Ranks, messages: list[Point], where: str, report: Report
) -> tuple[list[LateReceiverPoint], int]:
    """Messages to a late receiver, and the smallest size whose sender waits for its receiver."""
    report(f"{where}: which senders wait for their receivers")
    points: dict[int, LateReceiverPoint] = {}

    def is_eager(size: int) -> bool:
        slower = min((one for one in messages if one.bytes >= size), key=lambda one: one.bytes)
        points[size] = probe.late(ranks, size, slower.time_s)
        return points[size].is_eager

    eager_below = first_waiting(is_eager, messages[-1].bytes)
    for size in LATE_SIZES:
        if size not in points and size <= messages[-1].bytes:
            is_eager(size)
    return [points[size] for size in sorted(points)], eager_below


def _work(probe: Probe, work: str, report: Report) -> list[Point]:
    report(f"local work: {work}")
    return [probe.local(work, size) for size in WORK_SIZES]


def first_sizes(largest: int = LARGEST) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, ... up to ``largest``, which is one of them."""
    octaves = range(max(largest, 1).bit_length())
    sizes = {size for octave in octaves for size in (2**octave, 3 * 2**octave // 2) if size <= largest}
    return sorted(sizes | {largest})


def between_bends(pieces: Sequence[Piece]) -> list[int]:
    """A size in each gap between one piece and the next, unless the gap is small."""
    gaps = [(piece.after_bytes, piece.from_bytes) for piece in pieces[1:]]
    wide = [(low, high) for low, high in gaps if high > low + 1 and high > CLOSE * max(low, 1)]
    return [round(math.sqrt(max(low, 1) * high)) for low, high in wide]


def first_waiting(is_eager: Callable[[int], bool], largest: int) -> int:
    """The smallest size whose sender waits for its receiver, as all larger ones, by bisection; 0 if none."""
    eager_size, size = 0, 1
    while size <= largest and is_eager(size):
        eager_size, size = size, size * 4
    if size > largest:
        if eager_size == largest or is_eager(largest):
            return 0
        size = largest
    while size > eager_size + 1:
        middle = (eager_size + size) // 2
        eager_size, size = (middle, size) if is_eager(middle) else (eager_size, middle)
    return size
