"""Measuring a machine from point to point: what is asked of the driver, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.calibrate.fit import pieces_of
from offbeat.calibrate.measurements import LatePoint, Measurements, Pair, Point, StreamPoint, point
from offbeat.calibrate.sizes import LARGEST, between_bends, first_sizes, first_waiting
from offbeat.units import counted, format_size

ROUNDS = 5
"""So many times sizes are added where times bend."""

PASSES = 4
"""So many times all sizes are measured."""

TRIES = 3
DISTURBED = 1.3
"""A message that takes so many times as long as a larger one is measured again, so many times."""

LATE_SIZES = [1, 4, 16, 64]
"""Small messages to late receivers, for the overheads."""

WORK_SIZES = [2**10, 2**12, 2**14, 2**16, 2**18]
"""Sizes of local reductions and copies."""

Ranks = tuple[int, int]
"""A sender and its receiver."""

Told = Callable[[str], None]


class Probe(Protocol):
    """What can be measured; :class:`offbeat.calibrate.driver_probe.DriverProbe` asks the driver."""

    def pingpong(self, ranks: Ranks, size_bytes: int) -> NDArray[np.float64]:
        """Some half round trips between two processes (n,), in seconds."""

    def late(self, ranks: Ranks, size_bytes: int, shortest_s: float) -> LatePoint:
        """A message whose receiver comes much later than ``shortest_s``."""

    def stream(self, flows: Sequence[Ranks], size_bytes: int) -> StreamPoint:
        """A message of each flow at once."""

    def local(self, work: str, size_bytes: int) -> Point:
        """A local ``reduce`` or ``copy``."""


class Machine(Struct, frozen=True, kw_only=True):
    """Where the processes are: the host of each rank, the cores of a host, and the MPI library."""

    host_of_rank: list[str]
    cores: int
    library: str
    warnings: list[str] = []

    @property
    def hosts(self) -> list[str]:
        """Every host once."""
        return list(dict.fromkeys(self.host_of_rank))

    def ranks_of(self, host: str) -> list[int]:
        """The ranks of a host."""
        return [rank for rank, name in enumerate(self.host_of_rank) if name == host]

    def inside(self) -> list[Ranks]:
        """Pairs of processes on the first host that has two, none in two pairs."""
        for host in self.hosts:
            ranks = self.ranks_of(host)
            if len(ranks) > 1:
                return list(zip(ranks[::2], ranks[1::2], strict=False))
        return []

    def between(self) -> list[Ranks]:
        """Pairs of processes on the first two hosts, none in two pairs."""
        if len(self.hosts) < 2:
            return []
        return list(zip(self.ranks_of(self.hosts[0]), self.ranks_of(self.hosts[1]), strict=False))


def measure(probe: Probe, machine: Machine, told: Told, largest: int = LARGEST) -> Measurements:
    """Measure everything that the machine has: inside a node, between two, and local work."""
    inside, between = machine.inside(), machine.between()
    return Measurements(
        library=machine.library,
        hosts=machine.hosts,
        cores=machine.cores,
        inside=_pair(probe, inside, "inside a node", told, largest) if inside else None,
        between=_pair(probe, between, "between two nodes", told, largest) if between else None,
        reduce=_work(probe, "reduce", told),
        copy=_work(probe, "copy", told),
        warnings=machine.warnings,
    )


def _pair(probe: Probe, pairs: list[Ranks], where: str, told: Told, largest: int) -> Pair:
    """All figures of one distance."""
    ranks = pairs[0]
    taken = _Taken(probe, ranks, where, told)
    taken.add(first_sizes(largest))
    for _ in range(ROUNDS):
        so_far = Pair(messages=taken.points(), late=[], streams=[])
        more = [size for size in between_bends(pieces_of(so_far)) if size not in taken.times_s]
        if not more:
            break
        taken.add(more)
    messages = taken.points()
    late, waiting = _late(probe, ranks, messages, where, told)
    flows = sorted({min(2**power, len(pairs)) for power in range(len(pairs).bit_length() + 1)})
    told(f"{where}: up to {counted(flows[-1], 'message')} at once")
    streams = [probe.stream(pairs[:number], largest) for number in flows]
    return Pair(messages=messages, late=late, streams=streams, eager_below=waiting)


class _Taken:
    """Half round trips of a pair of processes: size → every repetition's time (n,) in seconds."""

    def __init__(self, probe: Probe, ranks: Ranks, where: str, told: Told) -> None:
        self.times_s: dict[int, NDArray[np.float64]] = {}
        self._probe = probe
        self._ranks = ranks
        self._where = where
        self._told = told

    def add(self, sizes: Sequence[int]) -> None:
        """Measure sizes, all of them several times over: a machine is not always the same."""
        smallest, largest = format_size(sizes[0]), format_size(sizes[-1])
        self._told(f"{self._where}: {counted(len(sizes), 'size')}, {smallest} to {largest}")
        for _ in range(PASSES):
            for size in sizes:
                self._repeat(size)
        for _ in range(TRIES):
            for size in self._disturbed():
                self._repeat(size)

    def points(self) -> list[Point]:
        """The figures of every size, ascending."""
        return [point(size, self.times_s[size]) for size in sorted(self.times_s)]

    def _repeat(self, size: int) -> None:
        times_s = self._probe.pingpong(self._ranks, size)
        self.times_s[size] = np.concatenate([self.times_s.get(size, np.zeros(0)), times_s])

    def _disturbed(self) -> list[int]:
        """The sizes that took clearly longer than a larger one: something else was using the machine."""
        found = []
        shortest_s = float("inf")
        for one in reversed(self.points()):
            if one.time_s > DISTURBED * shortest_s:
                found.append(one.bytes)
            shortest_s = min(shortest_s, one.time_s)
        return found


def _late(
    probe: Probe, ranks: Ranks, messages: list[Point], where: str, told: Told
) -> tuple[list[LatePoint], int]:
    """Calls whose receiver is late, and the least size whose sender waits for it."""
    told(f"{where}: which senders wait for their receivers")
    tried: dict[int, LatePoint] = {}

    def is_eager(size: int) -> bool:
        slower = min((one for one in messages if one.bytes >= size), key=lambda one: one.bytes)
        tried[size] = probe.late(ranks, size, slower.time_s)
        return tried[size].is_eager

    waiting = first_waiting(is_eager, messages[-1].bytes)
    for size in LATE_SIZES:
        if size not in tried and size <= messages[-1].bytes:
            is_eager(size)
    return [tried[size] for size in sorted(tried)], waiting


def _work(probe: Probe, work: str, told: Told) -> list[Point]:
    told(f"local work: {work}")
    return [probe.local(work, size) for size in WORK_SIZES]
