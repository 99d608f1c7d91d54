"""Converts local to shared times, with a bound on the error (native/trace/format.h, "Times")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from offbeat.trace.files.format import ClockPoint
from offbeat.trace.files.rank_file import Header

SYSTEM_SOURCES = ("CLOCK_MONOTONIC", "CLOCK_MONOTONIC_RAW")
"""Clocks that give all processes of a node the same time."""


class RankClock:
    """A rank's piecewise linear map from local to shared time.

    ``points`` are the clock points of its file in the order in which they were written. ``stamps_wrong_ns``
    is the largest difference of the local times of records from the local clock.
    """

    def __init__(
        self, points: Sequence[ClockPoint], drift_limit: float, wander: float, stamps_wrong_ns: int = 0
    ) -> None:
        last = {point.local_ns: point for point in points}
        sorted_points = [last[local_ns] for local_ns in sorted(last)]
        self._local0 = sorted_points[0].local_ns
        self._offset0 = sorted_points[0].shared_ns - sorted_points[0].local_ns
        self._local = np.array([point.local_ns - self._local0 for point in sorted_points], dtype=np.float64)
        offsets = [point.shared_ns - point.local_ns - self._offset0 for point in sorted_points]
        self._offsets = np.array(offsets, dtype=np.float64)
        self._bounds = np.array([point.bound_ns for point in sorted_points], dtype=np.float64)
        self._rates = (sorted_points[0].rate, sorted_points[-1].rate)
        self._are_shared = np.array([point.is_shared for point in sorted_points])
        self._drift_limit, self._wander = drift_limit, wander
        self._stamps_wrong_ns = stamps_wrong_ns
        self._is_same = bool(self._are_shared.all() and not offsets[0] and not self._bounds.any())
        self._is_plain = self._is_same and self._offset0 == 0 and not self._offsets.any()

    def shared_ns(self, local_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Shared times of local times, (n,), rounded to nanoseconds."""
        if self._is_plain:
            return local_ns
        local_times_ns = (local_ns - self._local0).astype(np.float64)
        offsets = np.interp(local_times_ns, self._local, self._offsets)
        is_before, is_after = local_times_ns < self._local[0], local_times_ns > self._local[-1]
        if is_before.any():
            offsets[is_before] += (local_times_ns[is_before] - self._local[0]) * self._rates[0]
        if is_after.any():
            offsets[is_after] += (local_times_ns[is_after] - self._local[-1]) * self._rates[1]
        return local_ns + self._offset0 + np.rint(offsets).astype(np.int64)

    def bound_ns(self, local_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Upper limit of the error of :meth:`shared_ns`, (n,) in ns."""
        if self._is_same:
            return np.full(len(local_ns), float(self._stamps_wrong_ns))
        local_times_ns = (local_ns - self._local0).astype(np.float64)
        bounds = np.interp(local_times_ns, self._local, self._bounds) + self._stamps_wrong_ns
        bounds += self._bound_growth_ns(local_times_ns)
        for end, is_beyond in ((0, local_times_ns < self._local[0]), (-1, local_times_ns > self._local[-1])):
            if is_beyond.any() and not self._are_shared[end]:
                bounds[is_beyond] += np.abs(local_times_ns[is_beyond] - self._local[end]) * self._drift_limit
        return bounds

    def _bound_growth_ns(self, local_times_ns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Error by a changing rate between two points: wander · d² / 8; 0 if both read the same clock."""
        if len(self._local) < 2:
            return np.zeros(len(local_times_ns))
        gaps = np.diff(self._local)
        is_exact = self._are_shared & (self._bounds == 0)
        wide = np.where(is_exact[:-1] & is_exact[1:], 0.0, self._wander * gaps * gaps / 8)
        interval = np.searchsorted(self._local, local_times_ns, side="right") - 1
        is_inside = (interval >= 0) & (interval < len(gaps))
        return np.where(is_inside, wide[np.clip(interval, 0, len(gaps) - 1)], 0.0)


class Clocks:
    """The clocks of all files of a trace. ``notes`` state their uncertainties.

    A rank without clock points uses those of another rank of its node if both read the node's system clock.
    If no rank has clock points, times are compared by each node's wall clock.
    """

    def __init__(self, headers: Sequence[Header], points: Sequence[Sequence[ClockPoint]]) -> None:
        self.notes: list[str] = []
        self.of_file: list[RankClock | None] = [
            RankClock(points_of_rank, header.drift_limit, header.wander, header.stamps_wrong_ns)
            if points_of_rank
            else None
            for header, points_of_rank in zip(headers, points, strict=True)
        ]
        if any(points):
            self._share_within_nodes(headers)
        else:
            self._use_wall_clocks(headers)

    def _share_within_nodes(self, headers: Sequence[Header]) -> None:
        system_clocks = {
            (header.host, header.source): clock
            for header, clock in zip(headers, self.of_file, strict=True)
            if clock is not None and header.source in SYSTEM_SOURCES
        }
        ranks_without_clock = []
        for number, header in enumerate(headers):
            if self.of_file[number] is None:
                self.of_file[number] = system_clocks.get((header.host, header.source))
                if self.of_file[number] is None:
                    ranks_without_clock.append(header.rank)
        if ranks_without_clock:
            ranks = ", ".join(map(str, ranks_without_clock[:8])) + (
                ", ..." if len(ranks_without_clock) > 8 else ""
            )
            noun = "Rank" if len(ranks_without_clock) == 1 else "Ranks"
            verb = "has" if len(ranks_without_clock) == 1 else "have"
            self.notes.append(
                f"{noun} {ranks} {verb} no clock points and cannot be compared with other ranks: ignored"
            )

    def _use_wall_clocks(self, headers: Sequence[Header]) -> None:
        """Use one offset per node, from its first rank: ranks of a node remain exactly comparable."""
        offsets: dict[tuple[str, str], int] = {}
        hosts = {header.host for header in headers}
        for number, header in enumerate(headers):
            key = (header.host, header.source)
            if header.source not in SYSTEM_SOURCES:
                key = (header.host, f"{header.source} of rank {header.rank}")
            offset = offsets.setdefault(key, header.began_unix_ns - header.began_ns)
            point = ClockPoint(header.began_ns, header.began_ns + offset, 0, 0.0, True)
            self.of_file[number] = RankClock(
                [point], header.drift_limit, header.wander, header.stamps_wrong_ns
            )
        if len(offsets) > 1:
            clocks = f"of {len(hosts)} nodes" if len(hosts) > 1 else "of processes with separate clocks"
            self.notes.append(
                f"The trace has no clock points: times {clocks} are compared by wall clock time, which may"
                " differ by milliseconds; smaller delays are meaningless"
            )
        else:
            self.notes.append("The trace has no clock points; all its processes read the clock of one node")
