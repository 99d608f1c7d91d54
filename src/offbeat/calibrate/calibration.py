"""The whole way: measure what is here, fit, and say how good the fit is."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from offbeat.calibrate import write
from offbeat.calibrate.driver_probe import DriverProbe
from offbeat.calibrate.fit import fit
from offbeat.calibrate.launched import launched, placement
from offbeat.calibrate.measure import Told, measure
from offbeat.calibrate.measurements import Measurements
from offbeat.calibrate.residuals import Residual, in_words, residuals
from offbeat.calibrate.sizes import LARGEST
from offbeat.errors import BadInput
from offbeat.mpi.installation import Installation
from offbeat.platform.machine import Platform, loads
from offbeat.units import format_bandwidth, format_size, format_time, parse_size

SMALLEST_LARGEST = 1024
"""With smaller messages alone no bandwidth can be told."""

LARGEST_LARGEST = 2**30


class Wanted(Struct, frozen=True, kw_only=True):
    """Where to measure (0: as it is here), and the largest message in bytes."""

    nodes: int = 0
    ppn: int = 0
    hostfile: Path | None = None
    largest: int = LARGEST


class Calibration(Struct, frozen=True, kw_only=True):
    """A fitted platform: its file, and how far it is from what was measured."""

    platform: Platform
    notes: list[str]
    residuals: list[Residual]

    @property
    def text(self) -> str:
        """The platform file."""
        return self.platform.text

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings, and a row for each power of two, and for each time of several messages."""
        headings = ["", "size", "at once", "measured", "model", "error", "bandwidth"]
        shown = [one for one in self.residuals if one.flows > 1 or one.bytes.bit_count() == 1]
        return headings, [_row(residual) for residual in shown]

    def words(self) -> list[str]:
        """How good the fit is, and what must be known about it."""
        return [*in_words(self.residuals), *(f"note: {note}" for note in self.notes)]


def parse_largest(text: str) -> int:
    """The bytes of the largest message. Raises :class:`BadInput`."""
    try:
        size = parse_size(text)
    except BadInput as error:
        raise BadInput(f"--largest: {error}") from None
    if not SMALLEST_LARGEST <= size <= LARGEST_LARGEST:
        bounds = f"{format_size(SMALLEST_LARGEST)} and {format_size(LARGEST_LARGEST)}"
        raise BadInput(f"--largest {text}: write a size between {bounds}")
    return size


def measure_here(installation: Installation, wanted: Wanted, told: Told) -> Measurements:
    """Launch processes and measure. Raises BadInput for what cannot be launched, RunFailed where it dies."""
    nodes, ppn = placement(wanted.nodes, wanted.ppn, wanted.hostfile)
    if nodes * ppn < 2:
        raise BadInput("one process has nobody to send to: give --nodes 2, or --ppn 2")
    with launched(installation, nodes, ppn, hostfile=wanted.hostfile, told=told) as (driver, machine):
        return measure(DriverProbe(driver), machine, told, wanted.largest)


def calibrate(measured: Measurements, base: Platform | None = None) -> Calibration:
    """Fit a platform; what was not measured is that of ``base``."""
    fitted = fit(measured, base.file if base else None)
    told = write.notes(measured, base.name if base else "")
    found = residuals(measured, fitted)
    platform = loads(write.text(fitted, told, found), "the calibrated platform")
    return Calibration(platform=platform, notes=told, residuals=residuals(measured, platform.file))


def _row(residual: Residual) -> list[str]:
    moved = residual.flows * residual.bytes / residual.measured_s
    return [
        residual.where,
        format_size(residual.bytes),
        str(residual.flows),
        format_time(residual.measured_s),
        format_time(residual.model_s),
        f"{100 * residual.error:+.1f}%",
        format_bandwidth(moved),
    ]
