"""The figure of a prediction: actual and expected run times (the paper's figure 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from offbeat.presentation.drawing.axes import POINTS, framed_axes, titled_figure
from offbeat.presentation.drawing.palette import BLUE, GREEN, GREY, INK, MUTED, ORANGE, PAPER, PURPLE, SKY
from offbeat.presentation.drawing.sheet import width_of
from offbeat.selection.choices.wording import common_unit, significant
from offbeat.tuning.prediction.measured_configuration import Estimate
from offbeat.tuning.prediction.prediction import ExpectedRun, Prediction
from offbeat.tuning.prediction.wording import WORDS

COLOURS = {"no_delay": ORANGE, "average": BLUE, "scenario": GREEN, "replay": PURPLE}
"""Okabe and Ito's tones; light blue, orange and blue mean what they mean in the paper's figure."""

_WIDTH, _TOP, _BOTTOM = 7.6, 1.35, 0.5
_MOST_WIDE_GROUPS = 6
"""With more algorithms, bars are narrower."""


def prediction_figure(prediction: Prediction, actual: Mapping[str, Estimate] | None = None) -> Figure:
    """A group of bars for each algorithm or choice, the expected fastest on top.

    ``actual`` has run times that were measured, by name. The dashed line is the recorded run.
    """
    actual_times = dict(actual or {})
    if prediction.ran and prediction.ran not in actual_times:
        actual_times[prediction.ran] = Estimate.exact(prediction.recorded.run_s)
    shown = [one for one in prediction.expected if one.run_s or one.name in actual_times]
    bars = [*(["run"] if actual_times else []), *prediction.conditions]
    each = 0.15 if len(shown) <= _MOST_WIDE_GROUPS else 0.11
    step = each * len(bars) + (0.16 if len(shown) <= _MOST_WIDE_GROUPS else 0.1)
    height = _TOP + step * max(len(shown), 1) + _BOTTOM
    run = prediction.recorded
    calls = "; ".join(part.calls.description for part in prediction.parts[:2])
    more = f" and {len(prediction.parts) - 2} more" if len(prediction.parts) > 2 else ""
    program = run.program.rsplit("/", 1)[-1] or "a program"
    subject = f"{program} on {run.processes} processes: {calls}{more}"
    library = f"algorithms: {prediction.parts[0].table.configuration.library}"
    figure = titled_figure(_WIDTH, height, "Expected run time", subject, library)
    keys = [(COLOURS[name], f"expected {WORDS[name]}") for name in prediction.conditions]
    _draw_keys(figure, [*([(SKY, "as run")] if actual_times else []), *keys], height)
    left = 0.3 + max((width_of(one.name, POINTS) for one in shown), default=0.5)
    axes = framed_axes(figure, left, _BOTTOM, 0.5, _TOP)
    unit, factor = common_unit(np.array([prediction.recorded.run_s]))
    for place, one in enumerate(shown):
        _group(axes, one, actual_times.get(one.name), prediction, place * step, each, factor)
    axes.axvline(prediction.recorded.run_s * factor, color=INK, linewidth=0.9, linestyle="--", zorder=3)
    axes.axvspan(0, prediction.recorded.computing_s * factor, color=GREY, alpha=0.18, linewidth=0, zorder=0)
    middle = each * (len(bars) - 1) / 2
    axes.set_yticks([place * step + middle for place in range(len(shown))], [one.name for one in shown])
    axes.set_ylim(step * len(shown) - each * 0.5, -each)
    axes.set_xlabel(f"run time [{unit}]", fontsize=POINTS + 1)
    ends_s = [time.high_s for one in shown for time in one.run_s.values()]
    ends_s += [prediction.recorded.run_s, *(time.high_s for time in actual_times.values())]
    axes.set_xlim(0, 1.06 * factor * max(ends_s))
    axes.tick_params(axis="y", length=0, colors=INK)
    axes.spines["left"].set_visible(False)
    return figure


def _draw_keys(figure: Figure, keys: Sequence[tuple[str, str]], height: float) -> None:
    x, y = 0.15, 0.82
    for colour, meaning in keys:
        width = 0.22 + width_of(meaning, POINTS) + 0.15
        if x + width > _WIDTH:
            x, y = 0.15, y + 0.17
        figure.text(x / _WIDTH, 1 - y / height, "■", fontsize=POINTS + 2, color=colour, va="center")
        figure.text((x + 0.17) / _WIDTH, 1 - y / height, meaning, fontsize=POINTS, color=INK, va="center")
        x += width
    legend = "dashed: the recorded run; grey: its computing time; lines at ends: 95% intervals"
    figure.text(
        0.15 / _WIDTH, 1 - (y + 0.18) / height, legend, fontsize=POINTS - 0.5, color=MUTED, va="center"
    )


def _group(
    axes: Axes,
    one: ExpectedRun,
    actual: Estimate | None,
    prediction: Prediction,
    top: float,
    each: float,
    factor: float,
) -> None:
    """The bars of one algorithm, from ``top`` on; the last one with its number."""
    known = actual is not None or bool(prediction.ran)
    times: list[tuple[str, Estimate | None]] = [(SKY, actual)] if known else []
    times += [(COLOURS[name], one.run_s.get(name)) for name in prediction.conditions]
    for number, (colour, time) in enumerate(times):
        if time is None:
            continue
        y = top + number * each
        axes.barh(y, time.time_s * factor, height=0.86 * each, color=colour, zorder=2)
        if time.high_s > time.low_s:
            ends = [time.low_s * factor, time.high_s * factor]
            axes.plot(ends, [y, y], color=INK, linewidth=0.8, zorder=3)
        axes.text(
            time.high_s * factor,
            y,
            f" {significant(time.time_s * factor)}",
            fontsize=POINTS - 2 if each < 0.13 else POINTS - 1.5,
            color=MUTED,
            va="center_baseline",
            zorder=4,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.4, "alpha": 0.75},
        )
