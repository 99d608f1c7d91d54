"""Plausibility of the numbers of a case: ranges of single values, and consistency among them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from offbeat.base.units import format_time
from offbeat.measurement.results.layout import UNFINISHED_CASE
from offbeat.model.study.case import OPTIONAL, PARTITIONED_SEND, PARTS

MAX_TIME_S = 10 * 86400.0
"""No call, delay or error takes longer than ten days; a longer time is damaged."""

MIN_DELAY_S = -1e-3
"""A delay can be slightly negative because of clock errors, but not below this."""

STATUSES = ("measured", UNFINISHED_CASE, "incomplete", "quarantined")
"""The statuses of cases in ``cases.jsonl``."""

_ROUNDING = 1e-9
"""Relative tolerance of bounds: decimal fractions are not exact."""

_COUNTS = {
    **dict.fromkeys(("p", *OPTIONAL), 1),
    **dict.fromkeys(("nodes", "ppn", "bytes", "root", "repetitions", "invalid"), 0),
}
"""Columns that hold a whole number → its minimum."""

_DELAYS = ("last_delay_s", "last_delay_low_s", "last_delay_high_s", "total_delay_s")
_TIMES = ("skew_s", "overshoot_s", "clock_bound_s")


def implausible(row: Mapping[str, Any]) -> str:
    """Why a row of CASES is implausible; empty if it is plausible."""
    for name, minimum in _COUNTS.items():
        if row[name] < minimum:
            return f"{name} is {row[name]}, less than {minimum}"
    for name in (*_DELAYS, *_TIMES):
        if fault := implausible_time(row[name], MIN_DELAY_S if name in _DELAYS else 0.0):
            return f"{name} is {fault}"
    for name in OPTIONAL:
        if row[name] > 1 and (row["collective"] == PARTITIONED_SEND) != (name in PARTS):
            only = f"only a {PARTITIONED_SEND}" if name in PARTS else "only a collective"
            return f"it has {row[name]} {name}, but {only} has several"
    if row["communicators"] % row["stride"]:
        return f"its stride, {row['stride']}, does not divide its {row['communicators']} communicators"
    if row["status"] not in STATUSES:
        return f"its status is {row['status']!r}, none of {', '.join(STATUSES)}"
    return outside_interval(row)


def implausible_time(time_s: float | None, earliest_s: float = 0.0) -> str:
    """Why a time in seconds is implausible, to follow "is"; empty if it is plausible or unknown."""
    if time_s is None:
        return ""
    if not math.isfinite(time_s):
        return "not a finite number"
    if time_s > MAX_TIME_S:
        return f"{time_s:.3g} s, longer than ten days"
    return f"{format_time(time_s)}, which is negative" if time_s < earliest_s else ""


def outside_interval(row: Mapping[str, Any]) -> str:
    """Why the interval does not contain its estimate; empty if it does."""
    low, estimate, high = row["last_delay_low_s"], row["last_delay_s"], row["last_delay_high_s"]
    if estimate is None:
        return "" if low is None and high is None else "it has an interval without a last delay"
    tolerance = abs(estimate) * _ROUNDING
    if (low is not None and low > estimate + tolerance) or (high is not None and high < estimate - tolerance):
        ends = [format_time(end) if end is not None else "unknown" for end in (low, high)]
        return f"its last delay, {format_time(estimate)}, is outside of its interval, {' to '.join(ends)}"
    return ""
