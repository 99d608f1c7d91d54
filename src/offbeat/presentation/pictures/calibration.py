"""A calibration as a picture: the measured times, those of the model, and the model's errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from offbeat.libraries.calibration.fit import FITTED_VALUES, Residual
from offbeat.libraries.calibration.measured_times import Measurements
from offbeat.presentation.drawing.axes import style_axes
from offbeat.presentation.drawing.palette import LINES
from offbeat.presentation.drawing.picture_files import write_picture


def picture(measured: Measurements, fit_residuals: list[Residual], path: Path) -> None:
    """Write the picture: PNG, SVG or PDF by the path's suffix. Raises :class:`BadInput`."""
    fit_residuals = [residual for residual in fit_residuals if residual.where not in FITTED_VALUES]
    several = any(residual.flows > 1 for residual in fit_residuals)
    figure = Figure(figsize=(12 if several else 8, 3.8), layout="constrained")
    where = measured.hosts[0] if len(measured.hosts) == 1 else f"{len(measured.hosts)} nodes"
    figure.suptitle(f"{where}, {measured.library}: dots are measured, lines are the model", fontsize=10)
    times, errors, *together = figure.subplots(1, 3 if several else 2)
    for name, colour in zip(dict.fromkeys(residual.where for residual in fit_residuals), LINES, strict=False):
        here = [residual for residual in fit_residuals if residual.where == name]
        _draw_alone(times, errors, [residual for residual in here if residual.flows == 1], colour)
        for axes in together:
            _draw_together(axes, here, colour)
    times.legend(fontsize=8, frameon=False)
    errors.axhline(0, color="0.5", linewidth=0.8)
    errors.set(xlabel="message size [B]", ylabel="model − measured [%]", xscale="log")
    for axes in together:
        axes.set(xlabel="messages at once", ylabel="bytes per second of all [GB/s]", ylim=(0, None))
    for axes in (times, errors, *together):
        axes.grid(alpha=0.25)
        style_axes(axes)
    write_picture(figure, path)


def _draw_alone(times: Axes, errors: Axes, alone: list[Residual], colour: str) -> None:
    """Half round trips by size, and the model's errors."""
    sizes = [residual.bytes for residual in alone]
    times.loglog(sizes, [residual.measured_s * 1e6 for residual in alone], "o", markersize=3, color=colour)
    model_us = [residual.model_s * 1e6 for residual in alone]
    times.loglog(sizes, model_us, linewidth=1, color=colour, label=alone[0].where)
    times.set(xlabel="message size [B]", ylabel="half a round trip [µs]")
    errors.plot(
        sizes, [100 * residual.error for residual in alone], "o-", markersize=3, linewidth=0.6, color=colour
    )


def _draw_together(axes: Axes, here: list[Residual], colour: str) -> None:
    """The total bandwidth of simultaneous messages; for a single message that of the largest size."""
    largest = max((residual for residual in here if residual.flows == 1), key=lambda residual: residual.bytes)
    rows = [largest, *(residual for residual in here if residual.flows > 1)]
    flows = np.array([residual.flows for residual in rows])
    moved = flows * np.array([residual.bytes for residual in rows]) / 1e9
    axes.plot(flows, moved / [residual.measured_s for residual in rows], "o", markersize=4, color=colour)
    axes.plot(flows, moved / [residual.model_s for residual in rows], linewidth=1, color=colour)
    axes.set_xticks(flows)
