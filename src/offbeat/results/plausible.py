"""Whether the numbers of a case can be true together, whoever measured them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from offbeat.results.layout import UNFINISHED_CASE
from offbeat.units import format_time

LONGEST_S = 10 * 86400.0
"""No single call, delay or error takes longer than ten days; a time that says so is damaged."""

EARLIEST_S = -1e-3
"""A delay can be a little below 0 by the clocks' error; never by more than this."""

STATUSES = ("measured", UNFINISHED_CASE, "incomplete", "quarantined")
"""What a case can be of which anything was measured or tried."""

_ROUNDING = 1e-9
"""Relative difference by which a number may miss its bounds: decimal fractions are not exact."""

_COUNTS = {"p": 1, "nodes": 0, "ppn": 0, "bytes": 0, "root": 0, "repetitions": 0, "invalid": 0}
"""Columns that hold a whole number → the least that it can be."""

_DELAYS = ("last_delay_s", "last_delay_low_s", "last_delay_high_s", "total_delay_s")
_TIMES = ("skew_s", "overshoot_s", "clock_bound_s")


def implausible(row: Mapping[str, Any]) -> str:
    """Why a row of CASES cannot be true; empty if it can."""
    for name, least in _COUNTS.items():
        if row[name] < least:
            return f"{name} is {row[name]}, less than {least}"
    for name in (*_DELAYS, *_TIMES):
        if fault := implausible_time(row[name], EARLIEST_S if name in _DELAYS else 0.0):
            return f"{name} is {fault}"
    if row["status"] not in STATUSES:
        return f"its status is {row['status']!r}, none of {', '.join(STATUSES)}"
    return outside_interval(row)


def implausible_time(time_s: float | None, earliest_s: float = 0.0) -> str:
    """Why a time in seconds cannot be true, behind "is"; empty if it can or is not known."""
    if time_s is None:
        return ""
    if not math.isfinite(time_s):
        return "not a finite number"
    if time_s > LONGEST_S:
        return f"{time_s:.3g} s, longer than ten days"
    return f"{format_time(time_s)}, which is negative" if time_s < earliest_s else ""


def outside_interval(row: Mapping[str, Any]) -> str:
    """Whether the interval does not hold its own middle."""
    low, middle, high = row["last_delay_low_s"], row["last_delay_s"], row["last_delay_high_s"]
    if middle is None:
        return "" if low is None and high is None else "it has an interval without a last delay"
    slack = abs(middle) * _ROUNDING
    if (low is not None and low > middle + slack) or (high is not None and high < middle - slack):
        ends = [format_time(end) if end is not None else "unknown" for end in (low, high)]
        return f"its last delay, {format_time(middle)}, is outside of its interval, {' to '.join(ends)}"
    return ""
