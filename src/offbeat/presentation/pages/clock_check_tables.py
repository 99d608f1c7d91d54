"""The tables and grids of a check for the terminal and the report: headings and rows of text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from offbeat.base.document.grid import Grid, Heading, Key, Row, Square
from offbeat.base.document.tables import Table
from offbeat.base.units import amount, format_size, format_time
from offbeat.measurement.clock_check.rows import HARMONIZE, CheckedAlgorithms, Machine
from offbeat.measurement.clock_check.summary import AgedAccuracy, Ratios, Skew, Summary, SyncCost
from offbeat.model.study.algorithm import DEFAULT, MEASURED
from offbeat.model.study.evidence import short

HARMONISED = "harmonised"
"""The label of the harmonised start."""

NOTHING_KNOWN = "–"

NOTABLY = 1.1
"""Two times are considered different if their ratio is at least this."""


def label(start: str) -> str:
    """The label of a kind of start."""
    return HARMONISED if start == HARMONIZE else start


def tables(summary: Summary, machine: Machine) -> list[Table]:
    """Every table that has rows."""
    several = len({one.bytes for one in summary.ratios}) > 1
    all_tables = [
        *([_skews(summary.skews, machine)] if summary.skews else []),
        *(_ratios(one, several=several) for one in summary.ratios),
        *(_costs(summary.costs, distorted=distorted) for distorted in _sorts(summary.costs)),
        *(_aged(summary.aged, distorted=distorted) for distorted in _sorts(summary.aged)),
    ]
    return [table for table in all_tables if table.rows]


def left_out(checked: CheckedAlgorithms) -> Table:
    """The algorithms that were not measured, and why."""
    rows = dict.fromkeys(
        (one.collective, one.algorithm, one.status.replace("_", " "), one.reason)
        for one in checked.verdicts
        if one.status not in MEASURED
    )
    title = "Algorithms that were not measured"
    return _verdicts("left-out", title, "reason", [list(row) for row in rows])


def proofs(checked: CheckedAlgorithms) -> Table:
    """What was executed when each algorithm was forced."""
    names = {DEFAULT: "default (the library's own choice)"}
    rows = [
        [
            *(one.collective, names.get(one.algorithm, one.algorithm), one.status),
            short(one.evidence) if one.evidence else NOTHING_KNOWN,
        ]
        for one in checked.verdicts
        if one.status in MEASURED
    ]
    return _verdicts("proofs", "Observed executions", "evidence", rows)


def _verdicts(name: str, title: str, last_heading: str, rows: list[list[str]]) -> Table:
    headings = ["collective", "algorithm", "verdict", last_heading]
    return Table(name=name, title=title, headings=headings, rows=rows, texts=(0, 1, 2, 3))


def ratio_text(ratio: float) -> str:
    """A ratio with two decimals below 10, else without: 0.81, 1.00, 14, 2300."""
    if math.isnan(ratio):
        return NOTHING_KNOWN
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def ranking(ratios: Ratios) -> str:
    """A sentence on whether the fastest algorithm depends on the start; empty for fewer than two algorithms.

    Another algorithm counts only if it is NOTABLY faster after the barrier, and notably slower after a
    harmonised start.
    """
    best = ratios.fastest(HARMONIZE)
    if not best or len([name for name in ratios.algorithms if name != DEFAULT]) < 2:
        return ""
    misled: dict[str, list[str]] = {}
    for start in ratios.starts:
        other = ratios.fastest(start)
        if other and _misleads(ratios, start, other, best):
            misled.setdefault(other, []).append(label(start))
    if not misled:
        return (
            f"After a harmonised start {best} is the fastest; no barrier makes another one look 10% faster."
        )
    others = "; ".join(f"{name} after {', '.join(starts)}" for name, starts in misled.items())
    return (
        f"After a harmonised start {best} is the fastest; after some barriers another algorithm looks"
        f" fastest: {others}."
    )


def _misleads(ratios: Ratios, start: str, other: str, best: str) -> bool:
    times = [ratios.latencies.get(pair) for pair in ((other, start), (best, start), (other, HARMONIZE))]
    true = ratios.latencies.get((best, HARMONIZE))
    if true is None or any(one is None for one in times):
        return False
    here, there, truly = (one.average_s for one in times if one is not None)
    return here * NOTABLY < there and truly > true.average_s * NOTABLY


def _skews(skews: Sequence[Skew], machine: Machine) -> Table:
    rows = [
        [
            label(one.start),
            str(one.starts),
            f"{one.on_time}" if one.start == HARMONIZE else NOTHING_KNOWN,
            _time(one.median_s),
            _time(one.high_s),
            _time(one.most_s),
            f"±{_time(one.error_s)}" if one.error_s else "0",
        ]
        for one in skews
    ]
    notes = ["Exit skew: the time from the first process that leaves the start to the last."]
    if any(one.includes_late for one in skews):
        notes.append("So few harmonised starts were on time that late starts are counted as well.")
    return Table(
        name="skew",
        title=f"How far apart {machine.p} processes leave a start",
        headings=["start", "starts", "on time", "median", "95%", "most", "clock's error"],
        rows=rows,
        notes=notes,
    )


def _ratios(one: Ratios, *, several: bool) -> Table:
    """For each algorithm, its time after a harmonised start, and after each barrier the ratio to it."""
    barriers = [start for start in one.starts if start != HARMONIZE]
    rows = []
    for algorithm in one.algorithms:
        there = one.latencies.get((algorithm, HARMONIZE))
        ratios = [ratio_text(one.ratio(algorithm, start)) for start in barriers]
        rows.append([algorithm, _time(there.average_s) if there else NOTHING_KNOWN, *ratios])
    ranked = ranking(one)
    size = format_size(one.bytes)
    return Table(
        name=f"{one.collective}-{one.bytes}" if several else one.collective,
        title=f"{one.collective}, {size}: the average time after each start",
        headings=[one.collective, HARMONISED, *(f"{label(start)} ×" for start in barriers)],
        rows=rows,
        notes=[
            "Columns with ×: the time after the barrier divided by the time after a harmonised start. Above 1"
            " the barrier makes the algorithm look slow, below 1 fast.",
            *([ranked] if ranked else []),
        ],
    )


def _costs(costs: Sequence[SyncCost], *, distorted: bool) -> Table:
    here = [one for one in costs if one.distorted == distorted]
    methods = list(dict.fromkeys(one.method for one in here))
    at = {(one.method, one.processes): one for one in here}
    rows = [
        [
            str(p),
            *(_time(at[method, p].taken_s) if (method, p) in at else NOTHING_KNOWN for method in methods),
        ]
        for p in sorted({one.processes for one in here})
    ]
    return Table(
        name="sync-bent" if distorted else "sync",
        title=f"How long a sync takes, {_clocks(distorted)}",
        headings=["processes", *methods],
        rows=rows,
    )


def _aged(aged: Sequence[AgedAccuracy], *, distorted: bool) -> Table:
    """Ages down, methods across: the typical error, and the clock's own bound."""
    here = [one for one in aged if one.distorted == distorted]
    methods = list(dict.fromkeys(one.method for one in here))
    at = {(one.method, one.planned_s): one for one in here}
    rows = [
        [
            _time(planned_s) if planned_s else "at once",
            *(
                f"{_time(one.error_s)} (≤ {_time(one.bound_s)}){' !' if one.broken else ''}"
                if (one := at.get((name, planned_s)))
                else NOTHING_KNOWN
                for name in methods
            ),
        ]
        for planned_s in sorted({one.planned_s for one in here})
    ]
    resolution = max((one.resolution_s for one in here), default=0.0)
    broken = sum(one.broken for one in here)
    comparisons = amount(sum(one.count for one in here), "comparison")
    return Table(
        name="accuracy-bent" if distorted else "accuracy",
        title=f"How wrong a clock is by the age of its sync (and its own bound), {_clocks(distorted)}",
        headings=["age", *methods],
        rows=rows,
        notes=[
            f"Errors are known to ±{_time(resolution)}. The error of a clock certainly exceeded its bound in"
            f" {broken} of {comparisons}."
        ],
    )


def _clocks(distorted: bool) -> str:
    return "artificial clock drift up to 20 ppm" if distorted else "unmodified clocks"


def _sorts(listed: Sequence[SyncCost] | Sequence[AgedAccuracy]) -> list[bool]:
    return sorted({one.distorted for one in listed})


def _time(time_s: float) -> str:
    return format_time(time_s, 2)


FAR = 1.25
"""A ratio beyond this, or below its inverse, is marked: the algorithm looks slower, or faster."""


def latency_grid(ratios: Ratios, *, longest: bool = False) -> Grid:
    """Times after each start, average or ``longest`` over processes; tone and mark compare barriers."""
    what = "Longest" if longest else "Average"
    noun = "the longest time of a process" if longest else "the processes' average time"
    ranked = "" if longest else ranking(ratios)
    return Grid(
        kind="longest" if longest else "average",
        title=f"{what} time of {ratios.collective} after each start",
        subject=f"{ratios.collective}, {format_size(ratios.bytes)}",
        caption=f"Median of {noun} in the call. After ×: this time divided by the time after a harmonised"
        f" start. {ranked}".rstrip(),
        columns=[Heading(name=label(start), strong=start == HARMONIZE) for start in ratios.starts],
        rows=[
            Row(
                heading=Heading(name=name if name != DEFAULT else "default", strong=False),
                squares=[_square(ratios, name, start, longest=longest) for start in ratios.starts],
            )
            for name in ratios.algorithms
        ],
        keys=[
            Key(tone="faster", mark="−", meaning=f"looks faster after this barrier: × {1 / FAR:g} or less"),
            Key(tone="same", mark="", meaning="looks about the same"),
            Key(tone="slower", mark="+", meaning=f"looks slower after this barrier: × {FAR:g} or more"),
        ],
    )


def _square(ratios: Ratios, algorithm: str, start: str, *, longest: bool) -> Square:
    latency = ratios.latencies.get((algorithm, start))
    if latency is None:
        return Square(text="–", tone="missing", note="failed")
    time = format_time(latency.longest_s if longest else latency.average_s, 2)
    note = f"{algorithm} after {label(start)}, {latency.count} repetitions"
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
