"""The paper's figure 2 as a grid: algorithms of a collective across the starts, by time and by ratio."""

from __future__ import annotations

import math

from offbeat.clock.rows import HARMONIZE
from offbeat.clock.summary import Ratios
from offbeat.clock.tables import label, ranking, ratio_text
from offbeat.report.grids import Grid, Heading, Key, Row, Square
from offbeat.study.algorithm import DEFAULT
from offbeat.units import format_size, format_time

FAR = 1.25
"""A ratio beyond this, or below its inverse, is marked: the start makes the algorithm look another one."""


def latency_grid(ratios: Ratios, *, longest: bool = False) -> Grid:
    """Times behind each start; tone and mark say what a barrier makes of them.

    The time is the average over the processes, or ``longest`` that of the process that it takes longest.
    """
    what = "Longest" if longest else "Average"
    noun = "the longest time of a process" if longest else "the processes' average time"
    ranked = "" if longest else ranking(ratios)
    return Grid(
        kind="longest" if longest else "average",
        title=f"{what} time of {ratios.collective} behind each start",
        subject=f"{ratios.collective}, {format_size(ratios.bytes)}",
        caption=f"Median of {noun} in the call. Below it: so many times as long as behind a harmonised start."
        f" {ranked}".rstrip(),
        columns=[Heading(name=label(start), strong=start == HARMONIZE) for start in ratios.starts],
        rows=[
            Row(
                heading=Heading(name=name if name != DEFAULT else "default", strong=False),
                squares=[_square(ratios, name, start, longest=longest) for start in ratios.starts],
            )
            for name in ratios.algorithms
        ],
        keys=[
            Key(
                tone="faster", mark="−", meaning=f"looks faster behind this barrier, by {FAR:g} times or more"
            ),
            Key(tone="same", mark="", meaning="much the same"),
            Key(tone="slower", mark="+", meaning=f"looks slower, by {FAR:g} times or more"),
        ],
    )


def _square(ratios: Ratios, algorithm: str, start: str, *, longest: bool) -> Square:
    found = ratios.latencies.get((algorithm, start))
    if found is None:
        return Square(text="–", tone="missing", note="failed")
    time = format_time(found.longest_s if longest else found.average_s, 2)
    note = f"{algorithm} behind {label(start)}, {found.count} repetitions"
    if start == HARMONIZE:
        return Square(text=time, tone="plain", note=note)
    ratio = ratios.ratio(algorithm, start, longest=longest)
    tone, mark = _look(ratio)
    return Square(text=time, tone=tone, mark=mark, small=f"× {ratio_text(ratio)}", note=note)


def _look(ratio: float) -> tuple[str, str]:
    if math.isnan(ratio):
        return "missing", ""
    if ratio >= FAR:
        return "slower", "+"
    return ("faster", "−") if ratio <= 1 / FAR else ("same", "")
