"""Which collective and size to tune first: a few sentences, from a summary.

Another algorithm can change what happens after the last rank has arrived, of blocking collectives whose
algorithms can be chosen. It takes away neither the waiting for late ranks nor the time in other calls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.study.case import COLLECTIVES
from offbeat.trace.call_site_stats import CallSiteStats, description_of, size_text
from offbeat.trace.message_sizes import collective_name
from offbeat.trace.summary import Summary
from offbeat.units import counted, format_time

NO_OPERATION = ("constructor", "initialisation")
"""Kinds of calls that no data goes through: nobody asks how ranks arrive at them."""

_LITTLE = 0.01
"""Below this share of the run's time, another algorithm is hardly worth a study."""
_NOTHING = 0.0005
"""Below this share of the run's time, it is shown as 0.0%."""


class Candidate(Struct, kw_only=True):
    """A collective, number of processes and size, over all sites and communicators; times are summed over
    ranks. ``why_not`` says why its algorithm cannot be chosen, empty where it can.
    """

    collective: str
    processes: int
    least_bytes: int
    most_bytes: int
    rows: list[CallSiteStats]
    why_not: str = ""

    @property
    def operation_s(self) -> float:
        """Time after the last rank had arrived: what another algorithm can change."""
        return sum(row.operation_s for row in self.rows)

    @property
    def waited_s(self) -> float:
        """Time in which ranks waited for late ones."""
        return sum(row.waited_s for row in self.rows)

    @property
    def is_compared(self) -> bool:
        """Whether arrivals are known of any of its calls."""
        return any(row.is_compared for row in self.rows)

    @property
    def name(self) -> str:
        """``MPI_Alltoall at 32 KiB on 64 processes``."""
        size = f" at {size_text(self.least_bytes, self.most_bytes)}" if self.most_bytes else ""
        on = f" on {self.processes} processes" if self.processes else ""
        return f"{self.collective}{size}{on}"


def candidates(summary: Summary) -> list[Candidate]:
    """Every collective, number of processes and power of two of sizes, by the time in the operation itself.

    Those whose algorithm cannot be chosen are among them; constructors, initialisations and communicators of
    one process are not.
    """
    found: dict[tuple[str, int, int, str], Candidate] = {}
    for row in summary.rows:
        if row.kind in NO_OPERATION or row.processes == 1:
            continue
        why_not = reason_not_tunable(row)
        name = row.collective if not why_not else row.function
        one = found.setdefault(
            (name, row.processes, row.key[3], why_not),
            Candidate(
                collective=name,
                processes=row.processes,
                least_bytes=row.least_bytes,
                most_bytes=row.most_bytes,
                rows=[],
                why_not=why_not,
            ),
        )
        one.rows.append(row)
        one.least_bytes = min(one.least_bytes, row.least_bytes)
        one.most_bytes = max(one.most_bytes, row.most_bytes)
    return sorted(found.values(), key=lambda one: -one.operation_s)


def tunable(summary: Summary) -> list[Candidate]:
    """Those of :func:`candidates` whose algorithm can be chosen: what to tune first stands first."""
    return [one for one in candidates(summary) if not one.why_not]


def reason_not_tunable(row: CallSiteStats) -> str:
    """Why no other algorithm can be chosen for these calls; empty if one can."""
    if collective_name(row.collective) not in COLLECTIVES:
        return "which has no algorithms to choose from"
    if row.kind != "blocking":
        return f"which is {row.kind}: only blocking collectives are tuned"
    return "which is on inter-communicators: only others are tuned" if row.is_inter else ""


def sentence(summary: Summary) -> str:
    """What to tune first and why, and whether late ranks cost more than the operation does."""
    ranked = [one for one in candidates(summary) if one.operation_s > 0]
    to_tune = [one for one in ranked if not one.why_not]
    if not to_tune or summary.thread_run_s <= 0:
        what = "blocking " if ranked else ""
        return f"There is nothing to tune: the trace holds no {what}collective of two processes or more." + (
            _larger(ranked[0], summary) if ranked else ""
        )
    first = to_tune[0]
    said = _first(first, summary) + _lateness(first, summary) + _certainty(first) + _sampled(summary)
    return said + (_larger(ranked[0], summary) if ranked[0].why_not else "")


def _first(one: Candidate, summary: Summary) -> str:
    calls, share = sum(row.calls for row in one.rows), one.operation_s / summary.thread_run_s
    what = "the operation itself takes" if one.is_compared else "it takes"
    much = f"{share:.1%}" if share >= _NOTHING else "less than 0.1%"
    why = f"{what} {much} of the run's time ({counted(calls, 'call')}{_each(one)})"
    if share < _LITTLE and not summary.sampling:
        return f"There is little to gain from tuning. {one.name} would be the first: {why},"
    return f"Tune {one.name} first: {why},"


def _lateness(one: Candidate, summary: Summary) -> str:
    """What late ranks cost in these calls, and what that means for measuring algorithms."""
    if not one.is_compared:
        return " as far as one rank alone tells: what of it is waiting for others is not known."
    share, waited = one.operation_s / summary.thread_run_s, one.waited_s / summary.thread_run_s
    skew = _skew_s(one)
    if waited < max(0.1 * share, _NOTHING) or math.isnan(skew):
        return " and hardly any rank waits for a late one."
    if share < _LITTLE and waited < _LITTLE and not summary.sampling:
        return f" and waiting for late ranks {waited:.1%}."
    if waited > share:
        return (
            f" but more goes into waiting for late ranks, {waited:.1%}, which no algorithm takes away:"
            f" balance the work, and measure algorithms with a skew of about {format_time(skew)}."
        )
    return (
        f" and ranks wait another {waited:.1%} for late ones: measure algorithms with a skew of about"
        f" {format_time(skew)}."
    )


def _certainty(one: Candidate) -> str:
    """Where clocks are not right enough to tell waiting from working."""
    bound_s = max(row.bound_s for row in one.rows)
    if not bound_s > _mean(one, "last_delay"):  # also where that is not known
        return ""
    return (
        f" Clocks are right to {format_time(bound_s)} only, more than a call takes after the last arrival:"
        " what is waiting and what is the operation is not certain."
    )


def _sampled(summary: Summary) -> str:
    """Where calls were left out on purpose, their share of the run's time is larger than what is known."""
    if not summary.sampling:
        return ""
    return " Calls were left out when the trace was recorded: in the whole run, these may take more."


def _larger(one: Candidate, summary: Summary) -> str:
    share = one.operation_s / summary.thread_run_s if summary.thread_run_s > 0 else math.nan
    return f" More time, {share:.1%}, goes into {one.name}, {one.why_not}."


def _each(one: Candidate) -> str:
    mean_s = _mean(one, "last_delay")
    each = " each" if sum(row.calls for row in one.rows) > 1 else ""
    return "" if math.isnan(mean_s) else f", {format_time(mean_s)}{each} after the last arrival"


def _skew_s(one: Candidate) -> float:
    """The mean skew over all calls, in seconds."""
    return _mean(one, "skew")


def _mean(one: Candidate, name: str) -> float:
    """The mean of a time over all calls that it is known of, in seconds."""
    parts = [(row.whole, getattr(row, name).mean_s) for row in one.rows]
    timed = [(calls, mean_s) for calls, mean_s in parts if calls and not math.isnan(mean_s)]
    calls = sum(number for number, _ in timed)
    return sum(number * mean_s for number, mean_s in timed) / calls if calls else math.nan


# FROM: Which row of a summary a verb is about: what its user names, or else what is to be tuned first.

_MOST_NAMED = 8


def choose_row(
    summary: Summary,
    *,
    collective: str = "",
    site: str = "",
    communicator: str = "",
    size: int | None = None,
) -> CallSiteStats:
    """The row that fits every wish; without any, the one to tune first, as the summary names it.

    A wish fits a site if it is part of its words, a collective by its MPI name in any case, with or without
    ``MPI_``, a communicator that the row has calls on by its words. Of several that fit, calls whose
    algorithm can be chosen come before others, then those whose operation takes the most time. Raises
    :class:`BadInput` where nothing fits, with what there is.
    """
    if not (collective or site or communicator or size is not None):
        return _first_to_tune(summary)
    fit = [
        row
        for row in with_arrivals(summary.rows)
        if collective_name(collective) in ("", collective_name(row.collective), collective_name(row.function))
        and (site in row.site or site in row.path)
        and (not communicator or _is_on(row, communicator, summary))
        and (size is None or row.least_bytes <= size <= row.most_bytes)
    ]
    if not fit:
        raise BadInput(f"the trace {summary.directory} has no such calls; {_instead(summary)}")
    return max(fit, key=lambda row: (not reason_not_tunable(row), row.operation_s))


def with_arrivals(rows: Sequence[CallSiteStats]) -> list[CallSiteStats]:
    """The rows of which it is known how ranks arrive, and that somebody could want to know it of."""
    return [row for row in rows if row.processes > 1 and len(row.delays_s) and row.kind not in NO_OPERATION]


def tuning_order(summary: Summary) -> list[CallSiteStats]:
    """The rows whose algorithm can be chosen: those of what to tune first stand first, and among them those
    whose operation takes the most time.
    """
    return [
        row
        for candidate in tunable(summary)
        for row in sorted(candidate.rows, key=lambda row: -row.operation_s)
    ]


def _first_to_tune(summary: Summary) -> CallSiteStats:
    if rows := with_arrivals(tuning_order(summary)):
        return rows[0]
    others = with_arrivals(summary.rows)
    choose = " choose with --collective, --site, --communicator or --size;" if others else ""
    raise BadInput(
        f"the trace {summary.directory} has no calls whose algorithm can be chosen and of which it is known"
        f" how ranks arrive, so none are taken unasked;{choose} {_instead(summary)}"
    )


def _is_on(row: CallSiteStats, communicator: str, summary: Summary) -> bool:
    """Whether these are the words for a row's communicators, or for one of them."""
    return communicator == row.communicator or any(
        summary.labels[index] == communicator for index in row.communicator_indices
    )


def _instead(summary: Summary) -> str:
    """What there is to choose from."""
    there = list(dict.fromkeys(description_of(row) for row in with_arrivals(summary.rows)))
    if not there:
        return f"{Path(summary.directory).name} holds no calls of two ranks or more that could be compared"
    more = "; ..." if len(there) > _MOST_NAMED else ""
    return f"there are: {'; '.join(there[:_MOST_NAMED])}{more}"
