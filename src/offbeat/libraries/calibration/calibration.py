"""Calibrating a platform: measure this machine, fit the model, and write the platform file."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, structs

from offbeat.base.errors import BadInput
from offbeat.base.toml.template import comment
from offbeat.base.toml.write import round_numbers, toml_text
from offbeat.base.units import format_bandwidth, format_size, format_time, parse_size
from offbeat.libraries.calibration.driver_probe import DriverProbe, launch_driver, placement
from offbeat.libraries.calibration.fit import Residual, describe_residuals, fit, residuals
from offbeat.libraries.calibration.fit_memory import uneven, unsaturated_note
from offbeat.libraries.calibration.measured_times import Measurements
from offbeat.libraries.calibration.measurement_plan import LARGEST, Report, measure
from offbeat.libraries.installations.installation import Installation
from offbeat.model.platform.machine import Platform, from_structure
from offbeat.model.platform.schema import PlatformFile

MIN_LARGEST_BYTES = 1024
MAX_LARGEST_BYTES = 2**30
"""Limits of the largest measured message (``--largest``): smaller messages do not show the bandwidth."""


class CalibrationSettings(Struct, frozen=True, kw_only=True):
    """Where to measure (0: this machine or batch job), and the largest message in bytes.

    ``is_cold``: no message is in a cache; otherwise its sender has just written it.
    """

    nodes: int = 0
    ppn: int = 0
    hostfile: Path | None = None
    largest: int = LARGEST
    is_cold: bool = False


class Calibration(Struct, frozen=True, kw_only=True):
    """A fitted platform: its file, and the errors of the model."""

    platform: Platform
    notes: list[str]
    residuals: list[Residual]

    @property
    def text(self) -> str:
        """The platform file."""
        return platform_text(self.platform.file, self.notes, self.residuals)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings, and a row for each power of two, and for each time of several messages."""
        headings = ["", "size", "at once", "measured", "model", "error", "bandwidth"]
        rows = [one for one in self.residuals if one.flows > 1 or one.bytes.bit_count() == 1]
        return headings, [_row(residual) for residual in rows]

    def lines(self) -> list[str]:
        """The errors of the fit, and notes about it."""
        return [*describe_residuals(self.residuals), *(f"note: {note}" for note in self.notes)]


def parse_largest(text: str) -> int:
    """The bytes of the largest message. Raises :class:`BadInput`."""
    try:
        size = parse_size(text)
    except BadInput as error:
        raise BadInput(f"--largest: {error}") from None
    if not MIN_LARGEST_BYTES <= size <= MAX_LARGEST_BYTES:
        bounds = f"{format_size(MIN_LARGEST_BYTES)} and {format_size(MAX_LARGEST_BYTES)}"
        raise BadInput(f"--largest {text}: write a size between {bounds}")
    return size


def measure_here(installation: Installation, settings: CalibrationSettings, report: Report) -> Measurements:
    """Launch processes and measure. Raises BadInput for an impossible launch, RunFailed if it ends early."""
    nodes, ppn = placement(settings.nodes, settings.ppn, settings.hostfile)
    if nodes * ppn < 2:
        raise BadInput("a single process cannot send to another one: give --nodes 2, or --ppn 2")
    with launch_driver(installation, nodes, ppn, hostfile=settings.hostfile, report=report) as (
        driver,
        machine,
    ):
        probe = DriverProbe(driver, is_cold=settings.is_cold)
        measurements = measure(probe, machine, report, settings.largest)
    return structs.replace(measurements, is_cold=settings.is_cold)


def calibrate(measurements: Measurements, base: Platform | None = None) -> Calibration:
    """Fit a platform; values that were not measured are taken from ``base``."""
    platform_file = fit(measurements, base.file if base else None)
    comments = notes(measurements, base.name if base else "")
    if measurements.memory is not None and (fewer := uneven(measurements.memory.domains, platform_file)):
        comments.append(fewer)
    platform = from_structure(round_numbers(platform_file), "the calibrated platform")
    return Calibration(platform=platform, notes=comments, residuals=residuals(measurements, platform.file))


def _row(residual: Residual) -> list[str]:
    bandwidth = residual.flows * residual.bytes / residual.measured_s
    return [
        residual.where,
        format_size(residual.bytes),
        str(residual.flows),
        format_time(residual.measured_s),
        format_time(residual.model_s),
        f"{100 * residual.error:+.1f}%" if residual.is_tested else "unknown",
        format_bandwidth(bandwidth),
    ]


ONE_NODE = (
    "Only one node was measured, so nothing is known between nodes, and this file describes one node. For"
    " several nodes, set nodes and add a section [link] with bandwidth and latency, or calibrate with"
    " --base and a"
    " platform whose network is like yours, or on two nodes."
)

FROM_BASE = (
    "Only one node was measured: the costs of messages between nodes, and the topology, are those of {}."
)

NO_PAIR_INSIDE = "No two processes were on one node: messages inside a node cost what they cost between two."

COLD = "The messages were in no cache when they were sent (--cold)."

ALL_EAGER = "No sender waited for its receiver at any size that was tried."


def notes(measurements: Measurements, base: str) -> list[str]:
    """Notes for readers of the file; ``base`` is the name of the platform whose values were taken, if any."""
    sentences = [*measurements.warnings, *([COLD] if measurements.is_cold else [])]
    if measurements.between is None:
        sentences.append(FROM_BASE.format(base) if base else ONE_NODE)
    if measurements.inside is None and not base:
        sentences.append(NO_PAIR_INSIDE)
    if measurements.memory is not None and (
        partly := unsaturated_note(measurements.memory, measurements.cores)
    ):
        sentences.append(partly)
    pair = measurements.between or measurements.inside
    if pair is not None and not pair.eager_below and any(point.is_eager for point in pair.late):
        sentences.append(ALL_EAGER)
    return sentences


def platform_text(platform: PlatformFile, comments: list[str], fit_residuals: list[Residual]) -> str:
    """The platform file: notes and errors as comments, then every key that differs from its default."""
    head = [
        comment(sentence)
        for sentence in (*comments, *(f"{line}." for line in describe_residuals(fit_residuals)))
    ]
    return "\n".join([*head, toml_text(platform)])
