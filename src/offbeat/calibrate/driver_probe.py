"""Asking the driver for point-to-point times: how often, and with how many messages in a repetition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from offbeat.calibrate.measure import Ranks
from offbeat.calibrate.measurements import FASTER_HALF, LatePoint, Point, StreamPoint, point
from offbeat.errors import RunFailed
from offbeat.mpi.driver import Driver, DriverLost, Refused

PATIENCE_S = 120.0
"""Silence after which a launch is given up."""

REPETITION_S = 20e-6
"""A repetition takes about so long, or one round trip: much longer than reading a clock."""

SIZE_S = 0.025
"""The repetitions of one pass over a size take about so long."""

FEWEST, MOST = 8, 100
"""Repetitions of a pass."""

STREAM_REPETITIONS = 20

LATE_REPETITIONS = 15

LATENESS_S = 5e-4
"""A late receiver comes so much later, or many times the message's time."""


class DriverProbe:
    """See :class:`offbeat.calibrate.measure.Probe`. Raises :class:`RunFailed` when the launch dies."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def pingpong(self, ranks: Ranks, size_bytes: int) -> NDArray[np.float64]:
        """Half round trips; first a few, to know how many are worth their time."""
        words = {"from": ranks[0], "to": ranks[1], "bytes": size_bytes}
        first_s = float(self._times("pingpong", "taken_ns", repetitions=3, **words).min())
        trips, repetitions = _how_often(first_s)
        times_s = self._times("pingpong", "taken_ns", repetitions=repetitions, messages=trips, **words)
        return times_s / trips / 2

    def late(self, ranks: Ranks, size_bytes: int, shortest_s: float) -> LatePoint:
        """A few messages whose receiver is late."""
        delay_s = max(LATENESS_S, 20 * shortest_s)
        answer = self._ask(
            "late",
            **{"from": ranks[0], "to": ranks[1]},
            bytes=size_bytes,
            delay_ns=round(delay_s * 1e9),
            repetitions=LATE_REPETITIONS,
        )
        return LatePoint(
            bytes=size_bytes,
            delay_s=delay_s,
            send_s=_typical(_seconds(answer["send_ns"])),
            receive_s=_typical(_seconds(answer["receive_ns"])),
        )

    def stream(self, flows: Sequence[Ranks], size_bytes: int) -> StreamPoint:
        """One message of each flow at a common start."""
        times_s = self._times(
            "stream",
            "taken_ns",
            senders=",".join(str(sender) for sender, _ in flows),
            receivers=",".join(str(receiver) for _, receiver in flows),
            bytes=size_bytes,
            repetitions=STREAM_REPETITIONS,
            warmups=2,
        )
        return StreamPoint(flows=len(flows), bytes=size_bytes, time_s=_typical(times_s))

    def local(self, work: str, size_bytes: int) -> Point:
        """Several pieces of work a repetition, as their memory is then as warm as in a collective."""
        words = {"work": work, "bytes": size_bytes, "messages": 8, "repetitions": STREAM_REPETITIONS}
        return point(size_bytes, self._times("local", "taken_ns", **words) / 8)

    def _times(self, verb: str, key: str, **values: object) -> NDArray[np.float64]:
        return _seconds(self._ask(verb, **values)[key])

    def _ask(self, verb: str, **values: object) -> dict[str, object]:
        try:
            return self._driver.ask(verb, timeout_s=PATIENCE_S, **values)
        except DriverLost as lost:
            raise RunFailed(
                f"the launch was lost at '{verb}' of {values.get('bytes')} bytes: {lost}"
            ) from None
        except Refused as refused:
            raise RunFailed(f"'{verb}' of {values.get('bytes')} bytes was refused: {refused}") from None


def _how_often(round_trip_s: float) -> tuple[int, int]:
    """Round trips of a repetition, and repetitions."""
    trips = int(np.clip(REPETITION_S / max(round_trip_s, 1e-9), 1, 100))
    return trips, int(np.clip(SIZE_S / (trips * max(round_trip_s, 1e-9)), FEWEST, MOST))


def _typical(times_s: NDArray[np.float64]) -> float:
    return float(np.quantile(times_s, FASTER_HALF))


def _seconds(times_ns: object) -> NDArray[np.float64]:
    assert isinstance(times_ns, list)
    return np.maximum(np.array(times_ns, dtype=np.float64), 1.0) * 1e-9
