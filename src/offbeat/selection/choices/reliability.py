"""Warnings about unreliable numbers of a study: the observation, why it matters, and the remedy.

They are derived from the results: the cases and the facts about the machine. ``run``, ``select`` and
``export`` print them; the report shows them with its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, TypeVar

import polars as pl
from msgspec import Struct

from offbeat.base.units import amount, format_time
from offbeat.measurement.results.layout import UNFINISHED_CASE
from offbeat.measurement.results.read import Results
from offbeat.selection.choices import wording

FEW_REPETITIONS = 10
"""With fewer valid repetitions than this, a median and its interval are a rough estimate."""

INVALID_SHARE = 0.1
"""A larger share of invalid repetitions (a process missed its start) is reported."""

BOUND_SHARE = 0.1
"""A clock bound or start error above this share of the measured time is reported."""

BUSY_SHARE = 0.25
"""A machine was busy if its load before the study exceeded this share of its hardware threads."""

HAS_TIME = ("measured", UNFINISHED_CASE, "incomplete")
"""Statuses of cases that have a time."""


class Notice(Struct, frozen=True, kw_only=True):
    """A warning: ``observation`` was observed, ``why`` it matters, the ``remedy``, and where it holds."""

    observation: str
    why: str
    remedy: str = ""
    details: list[str] = []

    @property
    def sentence(self) -> str:
        """What was observed, and the remedy."""
        return f"{self.observation} {self.remedy}".strip()


class Evidence(Struct, frozen=True, kw_only=True, dict=True):  # dict=True: for cached_property
    """The input of notices."""

    results: Results

    @cached_property
    def measured_cases(self) -> pl.DataFrame:
        """The cases that have a time."""
        return self.results.cases.filter(pl.col("status").is_in(list(HAS_TIME)))

    def count_of(self, rows: pl.DataFrame) -> str:
        """The number of rows among the measured cases: ``3 of 84 cases``."""
        return f"{rows.height} of {amount(self.measured_cases.height, 'case')}"


EvidenceT = TypeVar("EvidenceT", bound=Evidence)


def reliability(results: Results) -> list[Notice]:
    """Every notice that can change a decision, the most important first."""
    return notices(CHECKS, Evidence(results=results))


def notices(checks: Iterable[Callable[[EvidenceT], Notice | None]], evidence: EvidenceT) -> list[Notice]:
    """The notices of those checks that find something, in their order."""
    return [notice for check in checks if (notice := check(evidence))]


def threads_of(provenance: Mapping[str, Any]) -> int | None:
    """The number of hardware threads of a node available to the processes; None if not recorded."""
    topology = provenance.get("topology")
    if not isinstance(topology, Mapping):
        return None
    limits = [topology.get(name) for name in ("threads", "usable_threads", "container_cpus")]
    return min(
        (int(limit) for limit in limits if isinstance(limit, int | float) and limit >= 1), default=None
    )


def oversubscription(evidence: Evidence) -> Notice | None:
    """More processes than cores."""
    threads = threads_of(evidence.results.provenance)
    if threads is None:
        return None
    nodes = pl.col("nodes").replace(0, 1)
    rows = evidence.measured_cases.filter((pl.col("engine") == "mpi") & (pl.col("p") > nodes * threads))
    if not rows.height:
        return None
    return Notice(
        observation=f"Up to {_largest(rows['p']):.0f} processes shared {amount(threads, 'hardware thread')}:"
        f" the machine was oversubscribed in {evidence.count_of(rows)}.",
        why="Processes waited for a core as well as for each other, so the times depend on the operating"
        " system's scheduling as much as on the algorithm. Use them for a first look, not for tuning.",
        remedy="Measure with no more processes than the machine has cores ([processes]), or on more nodes.",
    )


def busy(evidence: Evidence) -> Notice | None:
    """A machine that was busy with other work when the study began."""
    threads = threads_of(evidence.results.provenance)
    loads = evidence.results.provenance.get("load_average")
    load = loads[0] if isinstance(loads, list) and loads else None
    if not isinstance(load, int | float) or not threads or evidence.results.is_deterministic:
        return None
    if load <= BUSY_SHARE * threads:
        return None
    return Notice(
        observation=f"The machine was busy when the study began: a load of {load:.1f} on"
        f" {amount(threads, 'hardware thread')}.",
        why="Other work takes cores, caches and memory bandwidth from the measured processes.",
        remedy="Measure on a machine without other work.",
    )


def clock_bound(evidence: Evidence) -> Notice | None:
    """A shared clock whose error bound is large compared with the skews or the delays."""
    is_above_skew = ((pl.col("skew_s") > 0) & (pl.col("clock_bound_s") > pl.col("skew_s"))).fill_null(False)
    relative = (pl.col("clock_bound_s") > BOUND_SHARE * pl.col("last_delay_s")).fill_null(False)
    rows = evidence.measured_cases.filter(is_above_skew | relative)
    if not rows.height:
        return None
    above_skew = rows.filter(is_above_skew).height
    return Notice(
        observation="The shared clock’s error bound"
        f" (up to {format_time(_largest(rows['clock_bound_s']))}) is above {wording.percent(BOUND_SHARE)}"
        f" of the last delay in {evidence.count_of(rows)}"
        + (f", and above the skew in {above_skew} of them." if above_skew else "."),
        why="Arrival and exit times of different processes are compared on that clock:"
        " differences below its bound cannot be measured.",
        remedy="Use larger skews ([skew] factors or times) or larger messages,"
        " and keep the cores free of other work.",
    )


def late_starts(evidence: Evidence) -> Notice | None:
    """Start errors that are large against the skew."""
    late = (pl.col("skew_s") > 0) & (pl.col("overshoot_s") > BOUND_SHARE * pl.col("skew_s"))
    rows = evidence.measured_cases.filter(late.fill_null(False))
    if not rows.height:
        return None
    return Notice(
        observation=f"In {evidence.count_of(rows)} a process started later than planned by more than"
        f" {wording.percent(BOUND_SHARE)} of the skew (up to {format_time(_largest(rows['overshoot_s']))}).",
        why="The applied pattern then differs from the requested one.",
        remedy="Lower tolerance in [start], use a larger skew, or use fewer processes than cores.",
    )


def invalid_share(evidence: Evidence) -> Notice | None:
    """Many repetitions in which a process missed its start."""
    valid, invalid = (int(evidence.measured_cases[name].sum() or 0) for name in ("repetitions", "invalid"))
    share = invalid / (valid + invalid) if invalid else 0.0
    if share <= INVALID_SHARE:
        return None
    return Notice(
        observation=f"{wording.percent(share)} of the repetitions were invalid: a process missed its start.",
        why="They were repeated and are not evaluated, but they show that the processes are disturbed.",
        remedy="Use fewer processes than cores, bind them, or raise tolerance in [start].",
    )


def few_repetitions(evidence: Evidence) -> Notice | None:
    """Cases with few valid repetitions."""
    rows = evidence.measured_cases.filter(
        (pl.col("engine") == "mpi") & (pl.col("repetitions") < FEW_REPETITIONS)
    )
    if not rows.height:
        return None
    return Notice(
        observation=f"{evidence.count_of(rows)} have fewer than {FEW_REPETITIONS} valid repetitions"
        f" (minimum: {min(rows['repetitions'])}).",
        why="A single disturbance can change the median of so few, and its interval is a rough estimate.",
        remedy="Raise minimum and time_cap in [repetitions] and run the study again.",
    )


def wide_intervals(evidence: Evidence) -> Notice | None:
    """Cases that reached the limit of repetitions or time before the requested interval width."""
    requested_half_width = requested_width(evidence.results.study)
    if requested_half_width is None:
        return None
    ends = pl.col("last_delay_low_s"), pl.col("last_delay_high_s")
    rows = evidence.measured_cases.filter(
        is_wide(*ends, pl.col("last_delay_s"), requested_half_width).fill_null(False)
    )
    if not rows.height:
        return None
    return Notice(
        observation=f"In {evidence.count_of(rows)} the delay's confidence interval is wider than the"
        f" requested ±{wording.share_label(requested_half_width)}.",
        why="They reached the limit of repetitions or time first."
        " Differences smaller than the intervals are not significant.",
        remedy="Raise blocks and maximum in [repetitions] and run the study again, or measure on a quieter"
        " machine.",
    )


def quarantined_cases(evidence: Evidence) -> Notice | None:
    """Cases that crashed, hung or aborted the job."""
    cases = evidence.results.cases
    rows = cases.filter(pl.col("status") == "quarantined")
    if not rows.height:
        return None
    reasons = rows.group_by("collective", "algorithm", "reason", maintain_order=True).len()
    return Notice(
        observation=f"{rows.height} of {amount(cases.height, 'case')} were quarantined.",
        why="They crashed, hung or aborted the job; the study continued without them.",
        remedy="Leave the algorithm out ([[collective]] algorithms);"
        " if it is only slow, raise hang_after in [repetitions] and run the study again with --retry.",
        details=[
            f"{collective} {algorithm}, {amount(number, 'case')}: {reason or 'no reason recorded'}"
            for collective, algorithm, reason, number in reasons.iter_rows()
        ],
    )


def _largest(values: pl.Series) -> float:
    largest = values.max()
    return float(largest) if isinstance(largest, int | float) else 0.0


CHECKS: tuple[Callable[[Evidence], Notice | None], ...] = (
    oversubscription,
    busy,
    clock_bound,
    late_starts,
    invalid_share,
    few_repetitions,
    wide_intervals,
    quarantined_cases,
)


_ROUNDING = 1.001
"""Intervals that are wider than requested by less than this factor are not reported."""


def requested_width(study: Mapping[str, Any]) -> float | None:
    """The half width of intervals that a study requests, as a share; None if it requests none."""
    section = study.get("repetitions")
    width = section.get("confidence_width") if isinstance(section, dict) else None
    return float(width) if width else None


def is_wide(low_s: Any, high_s: Any, middle_s: Any, requested_half_width: float) -> Any:
    """Which intervals are wider than ``requested_half_width``, for arrays or polars columns."""
    return (high_s - low_s) / 2 > requested_half_width * _ROUNDING * middle_s
