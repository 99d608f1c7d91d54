"""The tables of a check, as headings and rows of text: for the terminal and for the page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from offbeat.clock.rows import HARMONIZE, Found, Machine
from offbeat.clock.summary import Aged, Cost, Ratios, Skew, Summary
from offbeat.study.algorithm import DEFAULT, MEASURED, Verdict
from offbeat.study.evidence import short
from offbeat.units import counted, format_size, format_time

HARMONISED = "harmonised"
"""What the harmonised start is called beside the barriers."""

NOTHING_KNOWN = "–"

NOTABLY = 1.1
"""A time is another one if it differs by so many times."""


class Table(Struct, frozen=True, kw_only=True):
    """A table: the first column is text, the others are numbers unless ``texts`` says otherwise.

    ``title`` says what it shows, ``notes`` are sentences below it.
    """

    name: str
    title: str
    headings: list[str]
    rows: list[list[str]]
    notes: list[str] = []
    texts: tuple[int, ...] = (0,)


def label(start: str) -> str:
    """What a kind of start is called."""
    return HARMONISED if start == HARMONIZE else start


def tables(found: Summary, machine: Machine) -> list[Table]:
    """Every table that there is something for."""
    several = len({one.bytes for one in found.ratios}) > 1
    made = [
        *([_skews(found.skews, machine)] if found.skews else []),
        *(_ratios(one, several=several) for one in found.ratios),
        *(_costs(found.costs, bent=bent) for bent in _sorts(found.costs)),
        *(_aged(found.aged, bent=bent) for bent in _sorts(found.aged)),
    ]
    return [table for table in made if table.rows]


def left_out(found: Found) -> Table:
    """The algorithms that were not measured, and why."""
    rows = [
        [one.collective, one.algorithm, one.status.replace("_", " "), one.reason]
        for one in found.verdicts
        if one.status not in MEASURED
    ]
    return Table(
        name="left-out",
        title="Algorithms that were not measured",
        headings=["collective", "algorithm", "verdict", "reason"],
        rows=[list(row) for row in dict.fromkeys(map(tuple, rows))],
        texts=(0, 1, 2, 3),
    )


def proofs(found: Found) -> Table:
    """What was seen to run when each algorithm was forced."""
    return Table(
        name="proofs",
        title="What was seen to run",
        headings=["collective", "algorithm", "verdict", "seen"],
        rows=[_proof(one) for one in found.verdicts if one.status in MEASURED],
        texts=(0, 1, 2, 3),
    )


def ratio_text(ratio: float) -> str:
    """A ratio with two digits that say something: 0.81, 1.0, 14, 2.3e+03 as 2300."""
    if math.isnan(ratio):
        return NOTHING_KNOWN
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def ranking(ratios: Ratios) -> str:
    """Whether the start decides which algorithm looks fastest; empty with fewer than two to choose from.

    Another algorithm counts only where it is NOTABLY faster behind the barrier, and notably slower behind a
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
        return f"Behind a harmonised start {best} is the fastest, and no barrier says otherwise by 10%."
    words = "; ".join(f"{name} behind {', '.join(starts)}" for name, starts in misled.items())
    return f"Behind a harmonised start {best} is the fastest; barriers make another one look so: {words}."


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
    notes = ["Exit skew: the last process leaves the start so long after the first one."]
    if any(one.forgiven for one in skews):
        notes.append("So few harmonised starts were on time that the others are counted, too.")
    return Table(
        name="skew",
        title=f"How far apart {machine.p} processes leave a start",
        headings=["start", "starts", "on time", "median", "95%", "most", "clock's error"],
        rows=rows,
        notes=notes,
    )


def _ratios(one: Ratios, *, several: bool) -> Table:
    """Behind a harmonised start a time, behind each barrier the ratio to it."""
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
        title=f"{one.collective}, {size}: the average time behind each start",
        headings=[one.collective, HARMONISED, *(f"{label(start)} ×" for start in barriers)],
        rows=rows,
        notes=[
            "Behind a barrier: so many times as long as behind a harmonised start (above 1 the barrier makes"
            " the algorithm look slow, below 1 fast).",
            *([ranked] if ranked else []),
        ],
    )


def _costs(costs: Sequence[Cost], *, bent: bool) -> Table:
    here = [one for one in costs if one.bent == bent]
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
        name="sync-bent" if bent else "sync",
        title=f"How long a sync takes, {_clocks(bent)}",
        headings=["processes", *methods],
        rows=rows,
    )


def _aged(aged: Sequence[Aged], *, bent: bool) -> Table:
    """Ages down, methods across: the typical error, and the clock's own bound."""
    here = [one for one in aged if one.bent == bent]
    methods = list(dict.fromkeys(one.method for one in here))
    at = {(one.method, one.planned_s): one for one in here}
    rows = [
        [
            _time(planned_s) if planned_s else "at once",
            *(
                _accuracy(at[name, planned_s]) if (name, planned_s) in at else NOTHING_KNOWN
                for name in methods
            ),
        ]
        for planned_s in sorted({one.planned_s for one in here})
    ]
    resolution = max((one.resolution_s for one in here), default=0.0)
    broken = sum(one.broken for one in here)
    comparisons = counted(sum(one.count for one in here), "comparison")
    return Table(
        name="accuracy-bent" if bent else "accuracy",
        title=f"How wrong a clock is by the age of its sync (and its own bound), {_clocks(bent)}",
        headings=["age", *methods],
        rows=rows,
        notes=[
            f"Errors can be seen to ±{_time(resolution)}. Of {comparisons}"
            f" {broken or 'none'} showed a clock that was beyond its bound for certain."
        ],
    )


def _accuracy(one: Aged) -> str:
    mark = " !" if one.broken else ""
    return f"{_time(one.error_s)} (≤ {_time(one.bound_s)}){mark}"


def _clocks(bent: bool) -> str:
    return "clocks bent by up to 20 ppm on purpose" if bent else "clocks as they are"


def _sorts(listed: Sequence[Cost] | Sequence[Aged]) -> list[bool]:
    return sorted({one.bent for one in listed})


def _proof(one: Verdict) -> list[str]:
    seen = short(one.evidence) if one.evidence else NOTHING_KNOWN
    name = one.algorithm if one.algorithm != DEFAULT else "default (the library's own choice)"
    return [one.collective, name, one.status, seen]


def _time(time_s: float) -> str:
    return format_time(time_s, 2)
