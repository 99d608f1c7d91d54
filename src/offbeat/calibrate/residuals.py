"""How far the fitted platform is from what was measured."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from offbeat.calibrate.measurements import Measurements, Pair
from offbeat.platform.message_times import MessagePath, concurrent_message_s, message_paths, message_s
from offbeat.platform.schema import PlatformFile


class Residual(Struct, frozen=True, kw_only=True):
    """One measured time and the model's. ``flows`` messages were under way at once."""

    where: str
    bytes: int
    flows: int
    measured_s: float
    model_s: float

    @property
    def error(self) -> float:
        """How much longer the model's time is, relative to the measured one."""
        return self.model_s / self.measured_s - 1


def residuals(measured: Measurements, platform: PlatformFile) -> list[Residual]:
    """One for each size of each distance, then for several messages at once."""
    return [
        residual for pair, way in _pairs(measured, platform) for residual in _of_pair(pair, way, platform)
    ]


def in_words(found: list[Residual]) -> list[str]:
    """A sentence for each distance: how large the errors are, and where the largest is."""
    told = []
    for where in dict.fromkeys(residual.where for residual in found):
        alone = [residual for residual in found if residual.where == where and residual.flows == 1]
        errors = np.abs([residual.error for residual in alone])
        worst = alone[int(errors.argmax())]
        told.append(
            f"{where}: the model is off by {100 * np.median(errors):.1f}% in the median of"
            f" {len(alone)} sizes, by {100 * errors.max():.1f}% at most (at {worst.bytes} B)"
        )
    return told


def _pairs(measured: Measurements, platform: PlatformFile) -> Iterator[tuple[Pair, MessagePath]]:
    listed = message_paths(platform)
    if measured.inside is not None:
        yield measured.inside, listed[0]
    if measured.between is not None:
        yield measured.between, listed[1]


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
