"""Drawing arrival patterns as bars in the terminal.

With more ranks than columns, a column stands for several ranks and shows the largest of their delays, so that
a single late rank among thousands stays visible; a line below the bars says so.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offbeat.base.units import amount, format_time
from offbeat.model.pattern.pattern_file import Pattern
from offbeat.model.pattern.replay_file import Replay, mean_pattern
from offbeat.presentation.drawing.rank_delays import maxima_by_group

_BLOCKS = " ▁▂▃▄▅▆▇█"
BAND = (0.05, 0.95)
"""The quantiles over the calls of a replay between which its delays are drawn as a band."""

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def time_unit(largest_s: float) -> tuple[float, str]:
    """The unit, in seconds and by name, in which a time of this size reads as 1 to 999; seconds for 0."""
    if largest_s == 0:
        return 1.0, "s"
    return next(((scale, name) for scale, name in _UNITS if largest_s >= scale), _UNITS[-1])


def summary(pattern: Pattern) -> str:
    """A line with a pattern's name, p, partitions, skew, mean delay, and number of late ranks."""
    late = int(np.count_nonzero(pattern.delays_s.reshape(pattern.p, -1).any(axis=1)))
    partitions = f", {pattern.partitions} partitions" if pattern.partitions > 1 else ""
    mean = format_time(float(pattern.delays_s.mean()))
    return (
        f"{pattern.name}: p = {pattern.p}{partitions}, skew {format_time(pattern.skew_s)}, mean delay {mean},"
        f" {late} of {pattern.p} ranks late"
    )


def replay_summary(replay: Replay) -> str:
    """A line with a replay's name, p, number of calls, and the distribution of their skews."""
    mean_delay = format_time(float(replay.delays_s.mean()))
    low, median, high = (
        format_time(float(skew)) for skew in np.quantile(replay.skews_s, (BAND[0], 0.5, BAND[1]))
    )
    return (
        f"{replay.name}: p = {replay.p}, {amount(replay.calls, 'call')}, median skew {median}"
        f" (5% to 95% of the calls: {low} to {high}), mean delay {mean_delay}"
    )


def replay_bars(replay: Replay, *, width: int = 80, height: int = 8, blocks: bool = True) -> list[str]:
    """Draw the mean delay of each rank over the calls of a replay, with :func:`bars`."""
    heading = f"{replay_summary(replay)}; each rank's mean:"
    return bars(mean_pattern(replay), width=width, height=height, blocks=blocks, heading=heading)


def bars(
    pattern: Pattern, *, width: int = 80, height: int = 8, blocks: bool = True, heading: str = ""
) -> list[str]:
    """Draw a pattern as vertical bars over the ranks: lines of text at most ``width`` wide.

    ``heading`` replaces the pattern's summary above the bars. ``height`` is the number of lines of the
    tallest bar. ``blocks`` draws eighths of a line with Unicode blocks; without it ``#`` fills whole lines,
    and every character is ASCII.
    """
    labels = [format_time(pattern.skew_s), "0 s"]
    margin = max(map(len, labels)) + 1
    available = max(width - margin - 2, 8)
    heights_s, ranks_each = maxima_by_group(pattern.delays_s, available)
    wide = max(min(available // len(heights_s), 8), 1)
    gap = 1 if wide > 1 else 0
    levels = _levels(heights_s, height, blocks)
    corner, edge, floor = ("└", "│", "─") if blocks else ("+", "|", "-")
    lines = [heading or summary(pattern)]
    for row in reversed(range(height if pattern.skew_s else 0)):
        characters = "".join(
            _character(level - 8 * row, blocks) * (wide - gap) + " " * gap for level in levels
        )
        lines.append(f"{labels[0] if row == height - 1 else '':>{margin - 1}} {edge}{characters}".rstrip())
    span = wide * len(heights_s)
    lines.append(f"{labels[1]:>{margin - 1}} {corner}{floor * span}")
    lines.append(" " * (margin + 1) + _rank_axis(pattern.p, span))
    if ranks_each > 1:
        lines.append(" " * (margin + 1) + f"a column is {ranks_each} ranks and shows the latest of them")
    return lines if blocks else [line.replace("µ", "u") for line in lines]


def _levels(heights_s: NDArray[np.float64], height: int, blocks: bool) -> list[int]:
    """Bar heights in eighths of a line; a delay above 0 is always visible."""
    largest = float(heights_s.max()) or 1.0
    step = 1 if blocks else 8
    exact = heights_s / largest * 8 * height / step
    return [step * max(round(value), 1 if value > 0 else 0) for value in exact]


def _character(eighths: int, blocks: bool) -> str:
    filled = min(max(eighths, 0), 8)
    return _BLOCKS[filled] if blocks else " #"[filled == 8]


def _rank_axis(p: int, span: int) -> str:
    first, last = "rank 0", str(p - 1)
    if p == 1 or span < len(first) + len(last) + 1:
        return f"{first} to {last}" if p > 1 else first
    return first + last.rjust(span - len(first))
