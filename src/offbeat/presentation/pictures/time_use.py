"""The picture of a program's time: the whole run, and its collectives by cause."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from offbeat.presentation.drawing.axes import POINTS, framed_axes, titled_figure
from offbeat.presentation.drawing.palette import BLUE, GREEN, GREY, INK, MUTED, ORANGE, PALE_BLUE
from offbeat.presentation.drawing.sheet import shortened, width_of
from offbeat.tuning.pipeline.time_use import TimeUse, Use, shown_uses

CAUSES = (
    ("tunable", BLUE, "after the last arrival: another algorithm can change it"),
    ("waited", ORANGE, "waiting for late ranks"),
    ("fixed", GREY, "cannot be changed: nonblocking or not selectable"),
    ("undivided", PALE_BLUE, "not divided: arrivals are unknown"),
)
"""The parts of a bar from the left: field of :class:`Use`, colour, meaning."""

OUTSIDE = "#e3e6ea"
"""Computation and everything else outside of the calls."""

_WIDTH, _BAR, _STEP = 7.6, 0.2, 0.27
_LABEL_WIDTH = 1.9
"""Inches for the names of collectives; longer ones are shortened."""

_LEAST_LABEL = 0.04
"""A part has its number inside if it takes this share of the axis."""


def time_use_figure(use: TimeUse, subject: str) -> Figure:
    """A bar for the whole run, and below it, at a larger scale, one for each of the heaviest collectives."""
    uses = shown_uses(use.collectives)
    names = [shortened(one.name, POINTS, _LABEL_WIDTH) for one in uses]
    left = 0.35 + max((width_of(name, POINTS) for name in [*names, "whole run"]), default=0.5)
    used = [one for one in CAUSES if getattr(use.together, one[0]) > 0]
    keys = [Patch(color=colour, label=meaning) for _, colour, meaning in used]
    keys += [Patch(color=GREEN, label="point-to-point calls")] if use.messages else []
    keys.append(Patch(color=OUTSIDE, label="computation, and everything else outside of these calls"))
    key_rows = (len(keys) + 1) // 2
    below_keys = 0.65 + 0.19 * key_rows
    lower = _STEP * max(len(uses), 1) + 0.1
    height = below_keys + _STEP + 0.5 + lower + 0.5
    figure = titled_figure(_WIDTH, height, "Run time by collective and cause", subject)
    figure.legend(
        handles=keys,
        loc="upper left",
        bbox_to_anchor=(0.1 / _WIDTH, 1 - 0.52 / height),
        ncols=2,
        fontsize=POINTS - 0.5,
        frameon=False,
        handlelength=1.0,
        handleheight=0.9,
        columnspacing=1.5,
    )
    whole = framed_axes(figure, left, height - below_keys - _STEP, 0.5, below_keys)
    _whole_run(whole, use)
    if uses:
        axes = framed_axes(figure, left, 0.5, 0.5, below_keys + _STEP + 0.5)
        _collectives(axes, uses, names)
    return figure


def _whole_run(axes: Axes, use: TimeUse) -> None:
    parts = [(getattr(use.together, name), colour) for name, colour, _ in CAUSES]
    _stack(axes, 0, [*parts, (use.messages or 0.0, GREEN), (use.outside, OUTSIDE)], 1.0)
    _style(axes, ["whole run"], 1.0, "")


def _collectives(axes: Axes, uses: Sequence[Use], names: Sequence[str]) -> None:
    limit = 1.12 * max(one.total for one in uses)
    for place, one in enumerate(uses):
        _stack(axes, place, [(getattr(one, name), colour) for name, colour, _ in CAUSES], limit)
        axes.text(one.total, place, f" {_percent(one.total)}", fontsize=POINTS - 1, color=INK, va="center")
    _style(axes, names, limit, "share of the run time, summed over ranks")


def _stack(axes: Axes, place: int, parts: Sequence[tuple[float, str]], limit: float) -> None:
    """A bar of parts, from the left; large ones have their number inside, if there are several."""
    start = 0.0
    several = sum(share > 0 for share, _ in parts) > 1
    for share, colour in parts:
        axes.barh(place, share, left=start, height=_BAR / _STEP, color=colour, linewidth=0)
        if several and share >= _LEAST_LABEL * limit * (1.5 if share < 0.1 else 1):
            ink = "white" if colour == BLUE else INK
            axes.text(
                start + share / 2,
                place,
                _percent(share),
                fontsize=POINTS - 1.5,
                color=ink,
                ha="center",
                va="center_baseline",
            )
        start += share


def _style(axes: Axes, names: Sequence[str], limit: float, label: str) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, limit)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * float(value):.6g}%"))
    axes.tick_params(axis="y", length=0, colors=INK)
    axes.tick_params(axis="x", colors=MUTED)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(label, fontsize=POINTS + 0.5)


def _percent(share: float) -> str:
    return f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"
