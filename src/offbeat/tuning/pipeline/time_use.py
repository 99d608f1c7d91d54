"""Where a program's time goes, by collective and by cause, and what would help more than tuning.

Times are shares of the run time of all ranks (of all their threads that call MPI), from MPI_Init to the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from offbeat.base.units import amount, format_time
from offbeat.trace.calls.call_site_stats import CallSiteStats, description_of, is_mixed
from offbeat.trace.recommendation import NO_OPERATION, reason_not_tunable
from offbeat.trace.summary import Summary
from offbeat.trace.summary_tables import straggler_text

MOST_BARS = 8
"""The collectives that are shown by name; the others are one bar."""

LEAST_SHARE = 0.01
"""From this share of the run time on, something is listed as a help."""

LEAST_OVERLAP = 0.05
"""Overlapping calls with computation changes a program a lot: it is listed from this share on."""

SMALL_BYTES, MANY_CALLS = 1024, 100
"""Calls up to this size and from this number on could be joined: their time hardly depends on the size."""


class Use(Struct, frozen=True, kw_only=True):
    """The time in the calls of a function, by cause.

    ``tunable``: after the last arrival in blocking collectives, which another algorithm can change;
    ``waited``: for late ranks; ``fixed``: in calls whose algorithm cannot be chosen, and after the last
    arrival of nonblocking ones; ``undivided``: the arrivals are unknown.
    """

    name: str
    tunable: float = 0.0
    waited: float = 0.0
    fixed: float = 0.0
    undivided: float = 0.0

    @property
    def total(self) -> float:
        """The time from all causes."""
        return self.tunable + self.waited + self.fixed + self.undivided

    def plus(self, other: Use, name: str = "") -> Use:
        """Both together."""
        return Use(
            name=name or self.name,
            tunable=self.tunable + other.tunable,
            waited=self.waited + other.waited,
            fixed=self.fixed + other.fixed,
            undivided=self.undivided + other.undivided,
        )


class TimeUse(Struct, frozen=True, kw_only=True):
    """The whole run: the collectives in descending order of time, all of them together, and the rest.

    ``messages`` is the time in point-to-point calls, None if they were not recorded, and then a part of
    ``outside``: computation, and everything else outside of the recorded calls.
    """

    collectives: list[Use]
    together: Use
    messages: float | None
    outside: float


def time_use(summary: Summary) -> TimeUse | None:
    """The time of a traced program; None if its run time is unknown."""
    run_s = summary.thread_run_s
    if run_s <= 0:
        return None
    uses: dict[str, Use] = {}
    for row in summary.group_rows:
        one = _use(row, run_s)
        uses[one.name] = uses[one.name].plus(one) if one.name in uses else one
    ranked = sorted(uses.values(), key=lambda one: (-one.total, one.name))
    together = Use(name="collectives")
    for one in ranked:
        together = together.plus(one)
    messages = summary.messages_spent_s / run_s if summary.has_messages else None
    return TimeUse(
        collectives=ranked,
        together=together,
        messages=messages,
        outside=max(1 - together.total - (messages or 0.0), 0.0),
    )


def shown_uses(uses: list[Use]) -> list[Use]:
    """The heaviest ones, and the others as one; those without any time are left out."""
    timed = [one for one in uses if one.total > 0]
    if len(timed) <= MOST_BARS:
        return timed
    rest = timed[MOST_BARS - 1 :]
    others = Use(name=f"{len(rest)} others")
    for one in rest:
        others = others.plus(one)
    return [*timed[: MOST_BARS - 1], others]


def _use(row: CallSiteStats, run_s: float) -> Use:
    if row.kind in NO_OPERATION or row.processes == 1:
        return Use(name=row.function, fixed=row.spent_s / run_s)
    if not row.is_compared:
        return Use(name=row.function, undivided=row.spent_s / run_s)
    waited, rest = row.waited_s / run_s, row.operation_s / run_s
    if reason_not_tunable(row):
        return Use(name=row.function, waited=waited, fixed=rest)
    return Use(name=row.function, waited=waited, tunable=rest)


class Help(Struct, frozen=True, kw_only=True):
    """Something that would make a program faster, and the largest share of the run time that it can save."""

    what: str
    share: float
    why: str


def helps(summary: Summary) -> list[Help]:
    """What would help, apart from another algorithm; the most first."""
    use = time_use(summary)
    if use is None:
        return []
    run_s = summary.thread_run_s
    found = [
        one
        for row in summary.group_rows
        if row.kind not in NO_OPERATION and row.processes != 1 and row.is_compared
        for one in (_balance(row, run_s), *_changes(row, run_s, use.outside))
    ]
    return sorted(_large(found), key=lambda one: -one.share)


def _large(found: Iterable[Help]) -> Iterator[Help]:
    return (one for one in found if one.share >= LEAST_SHARE)


def _balance(row: CallSiteStats, run_s: float) -> Help:
    """Balancing the work of ranks that are mostly late, or finding out why others are late in each call."""
    share, skew_text = row.waited_s / run_s, format_time(row.skew.mean_s)
    if is_mixed(row):
        return Help(
            what=f"find out what delays ranks before {description_of(row)}",
            share=share,
            why=f"mean skew {skew_text}, but the ranks' mean delays explain only {row.stability:.0%} of the"
            " variance: other ranks are late in each call, because of noise or of work that varies",
        )
    late = straggler_text(row.latest_ranks) or "unknown"
    return Help(
        what=f"balance the work before {description_of(row)}",
        share=share,
        why=f"ranks wait for late ones: mean skew {skew_text}; latest ranks: {late}",
    )


def _changes(row: CallSiteStats, run_s: float, outside: float) -> Iterator[Help]:
    """Joining small calls, and overlapping large ones with computation."""
    share = row.operation_s / run_s
    if row.most_bytes <= SMALL_BYTES and row.calls >= MANY_CALLS and row.kind == "blocking":
        yield Help(
            what=f"join calls of {description_of(row)}",
            share=share * (1 - 1 / row.calls),
            why=f"{amount(row.calls, 'small call')} of {format_time(row.last_delay.mean_s)} each after the"
            " last arrival: a joined call takes hardly longer than a single one",
        )
    elif row.kind == "blocking" and min(share, outside) >= LEAST_OVERLAP:
        yield Help(
            what=f"overlap {description_of(row)} with computation",
            share=min(share, outside),
            why="a nonblocking call, completed later, hides what computation does not depend on",
        )
    elif row.kind != "blocking":
        yield Help(
            what=f"complete {description_of(row)} later",
            share=min(share, outside),
            why="the time between its issue and its completion is too short to hide it",
        )
