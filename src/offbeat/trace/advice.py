"""Which collective and size to tune first: one sentence, from a summary."""

from __future__ import annotations

import math

from msgspec import Struct

from offbeat.trace.summary import Row, Summary
from offbeat.units import counted, format_size, format_time

_UNTUNABLE = ("constructor", "initialisation")


class Candidate(Struct, kw_only=True):
    """A collective and size over all its sites and communicators; times are summed over ranks."""

    collective: str
    least_bytes: int
    most_bytes: int
    rows: list[Row]

    @property
    def operation_s(self) -> float:
        """Time after the last rank had arrived: what another algorithm can change."""
        return sum(row.operation_s for row in self.rows)

    @property
    def waited_s(self) -> float:
        """Time in which ranks waited for late ones."""
        return sum(row.waited_s for row in self.rows)


def candidates(summary: Summary) -> list[Candidate]:
    """Every collective and power of two of sizes, by the time in the operation itself, the largest first.

    Left out: what has nothing to tune (constructors, initialisations, communicators of one process).
    """
    found: dict[tuple[str, int], Candidate] = {}
    for row in summary.rows:
        if row.kind in _UNTUNABLE or row.processes == 1:
            continue
        key = (row.collective, row.key[3])
        one = found.setdefault(
            key,
            Candidate(
                collective=row.collective, least_bytes=row.least_bytes, most_bytes=row.most_bytes, rows=[]
            ),
        )
        one.rows.append(row)
        one.least_bytes = min(one.least_bytes, row.least_bytes)
        one.most_bytes = max(one.most_bytes, row.most_bytes)
    return sorted(found.values(), key=lambda one: -one.operation_s)


def sizes(least: int, most: int) -> str:
    """``32 KiB``, or ``20 KiB to 32 KiB``."""
    return format_size(least) if least == most else f"{format_size(least)} to {format_size(most)}"


def sentence(summary: Summary) -> str:
    """What to tune first and why, and whether late ranks cost more than the operation does."""
    ranked = candidates(summary)
    if not ranked or ranked[0].operation_s <= 0 or summary.run_s <= 0:
        return "There is nothing to tune: the trace holds no collective of two processes or more."
    first = ranked[0]
    size = "" if first.most_bytes == 0 else f" at {sizes(first.least_bytes, first.most_bytes)}"
    calls = sum(row.calls for row in first.rows)
    share, waited = first.operation_s / summary.run_s, first.waited_s / summary.run_s
    said = (
        f"Tune {first.collective}{size} first: the operation itself takes {share:.1%} of the run's time"
        f" ({counted(calls, 'call')}{_each(first)}),"
    )
    skew = _skew_s(first)
    if waited < 0.1 * share or math.isnan(skew):
        return f"{said} and hardly any rank waits for a late one."
    if waited > share:
        return (
            f"{said} but more goes into waiting for late ranks, {waited:.1%}, which no algorithm takes away:"
            f" balance the work, and measure algorithms with a skew of about {format_time(skew)}."
        )
    return (
        f"{said} and ranks wait another {waited:.1%} for late ones: measure algorithms with a skew of about"
        f" {format_time(skew)}."
    )


def _each(one: Candidate) -> str:
    timed = [(row.whole, row.last_delay.mean_s) for row in one.rows if not math.isnan(row.last_delay.mean_s)]
    calls = sum(number for number, _ in timed)
    if not calls:
        return ""
    mean = sum(number * mean_s for number, mean_s in timed) / calls
    return f", {format_time(mean)} each after the last arrival"


def _skew_s(one: Candidate) -> float:
    """The mean skew over all calls, in seconds."""
    parts = [(row.whole, row.skew.mean_s) for row in one.rows if row.whole]
    calls = sum(number for number, _ in parts)
    return sum(number * mean for number, mean in parts) / calls if calls else math.nan
