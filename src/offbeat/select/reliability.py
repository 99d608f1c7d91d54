"""What makes the numbers of a study unreliable: what was seen, why it matters, and how to remedy it.

Every notice is judged from the results themselves: the cases and the facts about the machine. The limits
stand at the top of the file, and the sentences name them. ``run``, ``select`` and ``export`` print them, and
the report has them with its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl
from msgspec import Struct

from offbeat.results.layout import UNFINISHED_CASE
from offbeat.select import wording
from offbeat.select.precision import asked_width, is_wide
from offbeat.units import counted, format_time

if TYPE_CHECKING:
    from offbeat.results.read import Results

FEW_REPETITIONS = 10
"""Fewer valid repetitions than this make a median, and its interval, rough."""

INVALID_SHARE = 0.1
"""A larger share of repetitions in which a process missed its start is high."""

BOUND_SHARE = 0.1
"""A clock bound or start error above this share of what is measured blurs it."""

BUSY_SHARE = 0.25
"""A machine whose load, before the study began, was above this share of its hardware threads was busy."""

HAS_TIME = ("measured", UNFINISHED_CASE, "incomplete")
"""Statuses of cases that have a time."""


class Notice(Struct, frozen=True, kw_only=True):
    """One warning: ``what`` was seen, ``why`` it matters, what would ``mend`` it; ``details`` say where it
    holds.
    """

    what: str
    why: str
    mend: str = ""
    details: list[str] = []


class Measured(Struct, frozen=True, kw_only=True):
    """What notices are judged from; ``measured`` are the cases that have a time."""

    results: Results
    measured: pl.DataFrame

    def of_measured(self, rows: pl.DataFrame) -> str:
        """How many of the measured cases some rows are: ``3 of 84 cases``."""
        return f"{rows.height} of {counted(self.measured.height, 'case')}"


def measured_of(results: Results) -> Measured:
    """The results with their cases that have a time."""
    return Measured(results=results, measured=results.cases.filter(pl.col("status").is_in(list(HAS_TIME))))


def reliability(results: Results) -> list[Notice]:
    """Every notice that can change a decision, the gravest first."""
    evidence = measured_of(results)
    found = [judge(evidence) for judge in JUDGES]
    return [notice for notice in found if notice is not None]


def threads_of(provenance: Mapping[str, Any]) -> int | None:
    """How many hardware threads a node offered to the processes; None when the provenance does not tell."""
    topology = provenance.get("topology")
    if not isinstance(topology, Mapping):
        return None
    known = [topology.get(name) for name in ("threads", "usable_threads", "container_cpus")]
    return min((int(limit) for limit in known if isinstance(limit, int | float) and limit >= 1), default=None)


def oversubscribed(evidence: Measured) -> Notice | None:
    """More processes than cores."""
    threads = threads_of(evidence.results.provenance)
    if threads is None:
        return None
    nodes = pl.col("nodes").replace(0, 1)
    rows = evidence.measured.filter((pl.col("engine") == "mpi") & (pl.col("p") > nodes * threads))
    if not rows.height:
        return None
    return Notice(
        what=f"Up to {_largest(rows['p']):.0f} processes shared {counted(threads, 'hardware thread')}:"
        f" the machine was oversubscribed in {evidence.of_measured(rows)}.",
        why="Processes waited for a core as well as for each other, so the times tell how the operating"
        " system shares cores as much as how the algorithm communicates. Use them to try things out,"
        " not to tune.",
        mend="Measure with no more processes than the machine has cores ([processes]), or on more nodes.",
    )


def busy(evidence: Measured) -> Notice | None:
    """A machine that was busy with other work when the study began."""
    threads = threads_of(evidence.results.provenance)
    loads = evidence.results.provenance.get("load_average")
    load = loads[0] if isinstance(loads, list) and loads else None
    if not isinstance(load, int | float) or not threads or evidence.results.is_deterministic:
        return None
    if load <= BUSY_SHARE * threads:
        return None
    return Notice(
        what=f"The machine was busy when the study began: a load of {load:.1f} on"
        f" {counted(threads, 'hardware thread')}.",
        why="Other work takes cores, caches and memory bandwidth from the processes that are measured.",
        mend="Measure on a machine without other work.",
    )


def clock_bound(evidence: Measured) -> Notice | None:
    """A shared clock that is less sure than the skews or the delays are long."""
    above = ((pl.col("skew_s") > 0) & (pl.col("clock_bound_s") > pl.col("skew_s"))).fill_null(False)
    blurred = (pl.col("clock_bound_s") > BOUND_SHARE * pl.col("last_delay_s")).fill_null(False)
    rows = evidence.measured.filter(above | blurred)
    if not rows.height:
        return None
    beyond = rows.filter(above).height
    return Notice(
        what=f"The shared clock’s error bound (up to {format_time(_largest(rows['clock_bound_s']))}) is above"
        f" {wording.percent(BOUND_SHARE)} of the last delay in {evidence.of_measured(rows)}"
        + (f", and above the skew in {beyond} of them." if beyond else "."),
        why="Arrival and exit times of different processes are compared on that clock:"
        " what is smaller than its bound cannot be seen.",
        mend="Ask for larger skews ([skew] factors or times) or larger messages,"
        " and keep the cores free of other work.",
    )


def late_starts(evidence: Measured) -> Notice | None:
    """Start errors that are large against the skew."""
    late = (pl.col("skew_s") > 0) & (pl.col("overshoot_s") > BOUND_SHARE * pl.col("skew_s"))
    rows = evidence.measured.filter(late.fill_null(False))
    if not rows.height:
        return None
    return Notice(
        what=f"In {evidence.of_measured(rows)} a process started later than planned by more than"
        f" {wording.percent(BOUND_SHARE)} of the skew (up to {format_time(_largest(rows['overshoot_s']))}).",
        why="The pattern that was applied is then not quite the one asked for.",
        mend="Lower tolerance in [start], ask for a larger skew, or use fewer processes than cores.",
    )


def invalid_share(evidence: Measured) -> Notice | None:
    """Many repetitions in which a process missed its start."""
    valid, invalid = (int(evidence.measured[name].sum() or 0) for name in ("repetitions", "invalid"))
    share = invalid / (valid + invalid) if invalid else 0.0
    if share <= INVALID_SHARE:
        return None
    return Notice(
        what=f"{wording.percent(share)} of the repetitions were invalid: a process missed its start.",
        why="They were repeated and do not count, but they show that something disturbs the processes.",
        mend="Use fewer processes than cores, bind them, or raise tolerance in [start].",
    )


def few_repetitions(evidence: Measured) -> Notice | None:
    """Cases with few valid repetitions."""
    rows = evidence.measured.filter((pl.col("engine") == "mpi") & (pl.col("repetitions") < FEW_REPETITIONS))
    if not rows.height:
        return None
    return Notice(
        what=f"{evidence.of_measured(rows)} rest on fewer than {FEW_REPETITIONS} valid repetitions"
        f" (the fewest: {min(rows['repetitions'])}).",
        why="The median of so few is easily moved by one disturbance, and its interval is hardly known.",
        mend="Raise minimum and time_cap in [repetitions].",
    )


def wide_intervals(evidence: Measured) -> Notice | None:
    """Cases that ran out of repetitions or time before their delay was known well enough."""
    asked = asked_width(evidence.results.study)
    if asked is None:
        return None
    ends = pl.col("last_delay_low_s"), pl.col("last_delay_high_s")
    rows = evidence.measured.filter(is_wide(*ends, pl.col("last_delay_s"), asked).fill_null(False))
    if not rows.height:
        return None
    return Notice(
        what=f"In {evidence.of_measured(rows)} the delay is known less well than the"
        f" ±{wording.share_label(asked)} asked for.",
        why="Their repetitions or their time ran out first."
        " Differences that are smaller than the intervals may be none.",
        mend="Raise maximum and time_cap in [repetitions], or measure on a quieter machine.",
    )


def quarantined(evidence: Measured) -> Notice | None:
    """Cases that crashed, hung or aborted the job."""
    cases = evidence.results.cases
    lost = cases.filter(pl.col("status") == "quarantined")
    if not lost.height:
        return None
    reasons = lost.group_by("collective", "algorithm", "reason", maintain_order=True).len()
    return Notice(
        what=f"{lost.height} of {counted(cases.height, 'case')} were quarantined.",
        why="They crashed, hung or aborted the job, and were set aside so that the study could go on.",
        mend="Leave the algorithm out ([[collective]] algorithms);"
        " if it is only slow, raise hang_after in [repetitions].",
        details=[
            f"{collective} {algorithm}, {counted(number, 'case')}: {reason or 'no reason on record'}"
            for collective, algorithm, reason, number in reasons.iter_rows()
        ],
    )


def _largest(values: pl.Series) -> float:
    largest = values.max()
    return float(largest) if isinstance(largest, int | float) else 0.0


JUDGES: tuple[Callable[[Measured], Notice | None], ...] = (
    oversubscribed,
    busy,
    clock_bound,
    late_starts,
    invalid_share,
    few_repetitions,
    wide_intervals,
    quarantined,
)
