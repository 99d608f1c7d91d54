"""Point-to-point measurements, summarised so that they can be stored and fitted again.

Every time is the median of the faster half of its repetitions, in seconds: disturbances make a message
slower, never faster. Low and high are the first decile and the median of all repetitions.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from offbeat.base.atomic_write import write_atomically, write_error
from offbeat.base.errors import BadInput
from offbeat.base.reading import decode_json, read_file

FASTER_HALF = 0.25
"""The quantile of all repetitions that is the median of their faster half."""


class Point(Struct, frozen=True, kw_only=True):
    """A time for a number of bytes."""

    bytes: int
    time_s: float
    low_s: float
    high_s: float
    repetitions: int

    @property
    def error(self) -> float:
        """Relative standard error of the time, as if times were normally distributed: low to high is 1.28 of
        their deviation, and that of a quartile is 1.36 divided by the root of their number."""
        deviation_s = (self.high_s - self.low_s) / 1.28
        return 1.36 * deviation_s / self.time_s / self.repetitions**0.5


class LateReceiverPoint(Struct, frozen=True, kw_only=True):
    """One message whose receiver was ``delay_s`` later than its sender: the durations of both calls."""

    bytes: int
    delay_s: float
    send_s: float
    receive_s: float

    @property
    def is_eager(self) -> bool:
        """Whether the send returned before the receiver began."""
        return self.send_s < self.delay_s / 2


class StreamPoint(Struct, frozen=True, kw_only=True):
    """Simultaneous messages from several senders to their receivers: the time until the last one arrived."""

    flows: int
    bytes: int
    time_s: float


class WorkPoint(Struct, frozen=True, kw_only=True):
    """Work that ``ranks`` processes of a memory domain did at a common start, ``amount`` each (bytes of
    memory traffic, or operations), and the time until the last of them had done it."""

    ranks: int
    amount: int
    time_s: float


class Memory(Struct, frozen=True, kw_only=True):
    """Measurements in one memory domain: ``traffic`` of 1 to n processes, and ``exchanges``, in which each of
    them sends several messages to the next one. ``domains`` are those of a node. ``flop_noise`` is the
    standard deviation of the time of ``flops``, divided by the median; 0 if unknown."""

    domains: int
    traffic: list[WorkPoint]
    exchanges: list[StreamPoint]
    flops: WorkPoint | None = None
    flop_noise: float = 0.0


class Pair(Struct, frozen=True, kw_only=True):
    """All measurements between two processes of one node, or of two nodes.

    ``messages`` are half round trips. ``eager_below`` is the smallest size whose sender waited for its
    receiver; 0 if no measured sender waited.
    """

    messages: list[Point]
    late: list[LateReceiverPoint]
    streams: list[StreamPoint]
    eager_below: int = 0


class Measurements(Struct, frozen=True, kw_only=True):
    """All measurements of a machine. ``between`` is missing if there was only one node.

    ``is_cold``: the messages of round trips were in no cache.
    """

    library: str
    hosts: list[str]
    cores: int
    inside: Pair | None = None
    between: Pair | None = None
    reduce: list[Point] = []
    copy: list[Point] = []
    memory: Memory | None = None
    warnings: list[str] = []
    is_cold: bool = False


def point(size_bytes: int, times_s: ArrayLike) -> Point:
    """The summary of one size from all its repetitions."""
    times = np.asarray(times_s, dtype=np.float64)
    low, fast, high = (float(time) for time in np.quantile(times, [0.1, FASTER_HALF, 0.5]))
    return Point(bytes=size_bytes, time_s=fast, low_s=low, high_s=high, repetitions=times.size)


def write(measurements: Measurements, path: Path) -> None:
    """Write measurements as JSON. Raises :class:`BadInput` if the file cannot be written."""
    text = msgspec.json.format(msgspec.json.encode(measurements), indent=2)
    try:
        write_atomically(path, text + b"\n")
    except OSError as error:
        raise write_error(path, error, "the measurements") from None


def read(path: Path) -> Measurements:
    """Read a file of :func:`write`. Raises :class:`BadInput`."""
    try:
        measurements = decode_json(read_file(path), Measurements)
    except OSError as error:
        raise BadInput(f"{path}: the measurements cannot be read: {error.strerror}") from None
    except msgspec.DecodeError as error:
        remedy = "'offbeat platform calibrate --measurements FILE' writes them"
        raise BadInput(f"{path}: this holds no measurements ({error}); {remedy}") from None
    for name, pair in (("inside", measurements.inside), ("between", measurements.between)):
        if pair is not None and not pair.messages:
            raise BadInput(f"{path}: {name}.messages is empty; measure again")
    if measurements.memory is not None and not measurements.memory.traffic:
        raise BadInput(f"{path}: memory.traffic is empty; measure again")
    if measurements.inside is None and measurements.between is None:
        raise BadInput(f"{path}: nothing was measured, neither inside a node nor between two; measure again")
    return measurements
