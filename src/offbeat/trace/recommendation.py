"""Ranks calls by the time that another algorithm can change, recommends those to tune first, and selects rows
of a summary.

Another algorithm can change the time after the last arrival of blocking collectives. It changes neither the
waiting for late ranks nor the time in other calls. This time is the last delay of a call for each of its
ranks: those that leave before the last one wait for it in a later call. Every command that ranks calls uses
:func:`changeable_s`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.units import amount, format_time
from offbeat.model.study.collectives import COLLECTIVES
from offbeat.trace.calls.call_bytes import collective_name
from offbeat.trace.calls.call_site_stats import CallSiteStats, description_of, size_text
from offbeat.trace.summary import Summary

NO_OPERATION = ("constructor", "initialisation")
"""Kinds of calls that transfer no data."""

_LITTLE = 0.01
"""Share of the run time below which a study is hardly worthwhile."""
_NEGLIGIBLE_SHARE = 0.0005
"""Share of the run time that is printed as 0.0%."""


class Candidate(Struct, kw_only=True):
    """A collective, number of processes and size, over all sites and communicators; times are summed over
    ranks. ``why_not`` says why its algorithm cannot be chosen, empty where it can.
    """

    collective: str
    processes: int
    rows: list[CallSiteStats]
    why_not: str = ""

    @property
    def changeable_s(self) -> float:
        """Time that another algorithm can change."""
        return sum(map(changeable_s, self.rows))

    @property
    def waited_s(self) -> float:
        """Time in which ranks waited for late ranks."""
        return sum(row.waited_s for row in self.rows)

    @property
    def is_compared(self) -> bool:
        """Whether the arrivals of any of its calls are known."""
        return any(row.is_compared for row in self.rows)

    @property
    def name(self) -> str:
        """``MPI_Alltoall at 32 KiB on 64 processes``."""
        smallest, largest = (
            min(row.least_bytes for row in self.rows),
            max(row.most_bytes for row in self.rows),
        )
        size = f" at {size_text(smallest, largest)}" if largest else ""
        processes_text = f" on {self.processes} processes" if self.processes else ""
        return f"{self.collective}{size}{processes_text}"


def changeable_s(row: CallSiteStats) -> float:
    """The time of a row's calls that another algorithm can change, summed over ranks: their last delay for
    each rank; the time of the ranks after the last arrival where it is unknown, and of nonblocking calls,
    whose last delay includes computation."""
    last_delay_s = row.last_delay.mean_s
    if math.isnan(last_delay_s) or row.kind != "blocking":
        return row.operation_s
    return row.run_calls * row.processes * last_delay_s


def candidates(summary: Summary) -> list[Candidate]:
    """Every collective, number of processes and size class, in descending order of the time that can change.

    Without constructors, initialisations and communicators with a single process.
    """
    by_key: dict[tuple[str, int, int, str], Candidate] = {}
    for row in summary.rows:
        if row.kind in NO_OPERATION or row.processes == 1:
            continue
        why_not = reason_not_tunable(row)
        name = row.collective if not why_not else row.function
        candidate = by_key.setdefault(
            (name, row.processes, row.key[3], why_not),
            Candidate(collective=name, processes=row.processes, rows=[], why_not=why_not),
        )
        candidate.rows.append(row)
    return sorted(by_key.values(), key=lambda candidate: -candidate.changeable_s)


def reason_not_tunable(row: CallSiteStats) -> str:
    """Why the algorithm of these calls cannot be chosen; empty if it can."""
    if collective_name(row.collective) not in COLLECTIVES:
        return "which has no selectable algorithms"
    if row.kind != "blocking":
        return f"which is {row.kind}: only blocking collectives are tuned"
    return "which is on inter-communicators: only intra-communicators are tuned" if row.is_inter else ""


def sentence(summary: Summary) -> str:
    """What to tune first and why, and whether waiting for late ranks takes longer than the operation."""
    ranking = [candidate for candidate in candidates(summary) if candidate.changeable_s > 0]
    to_tune = [candidate for candidate in ranking if not candidate.why_not]
    if not to_tune or summary.thread_run_s <= 0:
        kind = "blocking " if ranking else ""
        return f"There is nothing to tune: the trace has no {kind}collective on two processes or more." + (
            _larger(ranking[0], summary) if ranking else ""
        )
    first = to_tune[0]
    text = _first(first, summary) + _waiting_text(first, summary) + _clock_caveat(first)
    if summary.sampling:
        text += " The trace was sampled: in the whole run, these calls may take more."
    return text + (_larger(ranking[0], summary) if ranking[0].why_not else "")


def _first(candidate: Candidate, summary: Summary) -> str:
    calls, share = sum(row.calls for row in candidate.rows), candidate.changeable_s / summary.thread_run_s
    subject = "after the last arrival it takes" if candidate.is_compared else "it takes"
    percent = f"{share:.1%}" if share >= _NEGLIGIBLE_SHARE else "less than 0.1%"
    mean_s, suffix = mean_over_calls(candidate, "last_delay"), " each" if calls > 1 else ""
    duration_text = "" if math.isnan(mean_s) else f", {format_time(mean_s)}{suffix}"
    reason = f"{subject} {percent} of the run time ({amount(calls, 'call')}{duration_text})"
    if share < _LITTLE and not summary.sampling:
        return f"There is little to gain from tuning. {candidate.name} would be the first: {reason}"
    return f"Tune {candidate.name} first: {reason}"


def _waiting_text(candidate: Candidate, summary: Summary) -> str:
    """How long ranks wait for late ranks in these calls, and with which skew to measure algorithms."""
    if not candidate.is_compared:
        return ", on a single traced rank: how much of it is waiting for other ranks is unknown."
    share, waiting_share = (
        candidate.changeable_s / summary.thread_run_s,
        candidate.waited_s / summary.thread_run_s,
    )
    skew = mean_over_calls(candidate, "skew")
    if waiting_share < max(0.1 * share, _NEGLIGIBLE_SHARE) or math.isnan(skew):
        return ", and hardly any time is spent waiting for late ranks."
    if share < _LITTLE and waiting_share < _LITTLE and not summary.sampling:
        return f", and waiting for late ranks takes {waiting_share:.1%}."
    if waiting_share > share:
        return (
            f". Waiting for late ranks takes more ({waiting_share:.1%}), and no algorithm can avoid it:"
            f" balance the work. Measure algorithms with a skew of about {format_time(skew)}."
        )
    return (
        f", and waiting for late ranks takes another {waiting_share:.1%}: measure algorithms with a skew of"
        f" about {format_time(skew)}."
    )


def _clock_caveat(candidate: Candidate) -> str:
    """A caveat if the clock error is too large to separate waiting from the operation."""
    bound_s = max(row.bound_s for row in candidate.rows)
    if not bound_s > mean_over_calls(candidate, "last_delay"):  # also false for NaN
        return ""
    return (
        f" The clock error of up to {format_time(bound_s)} is longer than a call takes after the last"
        " arrival: the division into waiting and operation is uncertain."
    )


def _larger(candidate: Candidate, summary: Summary) -> str:
    share = candidate.changeable_s / summary.thread_run_s if summary.thread_run_s > 0 else math.nan
    return f" More time, {share:.1%}, is spent in {candidate.name}, {candidate.why_not}."


def mean_over_calls(candidate: Candidate, name: str) -> float:
    """The mean of a time over all calls for which it is known, in seconds."""
    parts = [(row.whole, getattr(row, name).mean_s) for row in candidate.rows]
    timed_parts = [(calls, mean_s) for calls, mean_s in parts if calls and not math.isnan(mean_s)]
    calls = sum(number for number, _ in timed_parts)
    return sum(number * mean_s for number, mean_s in timed_parts) / calls if calls else math.nan


_MOST_LABELS = 8


def choose_row(
    summary: Summary,
    *,
    collective: str = "",
    site: str = "",
    communicator: str = "",
    size: int | None = None,
) -> CallSiteStats:
    """The row that matches all arguments; without arguments, the recommended one.

    ``site`` is a part of a call site's label, ``collective`` an MPI name in any case. Of several rows, those
    whose algorithm can be chosen are preferred, then that with the most time that can change. Raises
    :class:`BadInput` without a row, and lists the rows.
    """
    if not (collective or site or communicator or size is not None):
        return _first_to_tune(summary)
    matching = [
        row
        for row in with_arrivals(summary.rows)
        if collective_name(collective) in ("", collective_name(row.collective), collective_name(row.function))
        and (site in row.site or site in row.path)
        and (not communicator or _is_on(row, communicator, summary))
        and (size is None or row.least_bytes <= size <= row.most_bytes)
    ]
    if not matching:
        raise BadInput(f"the trace {summary.directory} has no such calls; {_available(summary)}")
    return max(matching, key=lambda row: (not reason_not_tunable(row), changeable_s(row)))


def with_arrivals(rows: Sequence[CallSiteStats]) -> list[CallSiteStats]:
    """The rows with known arrivals on two processes or more, without calls that transfer no data."""
    return [row for row in rows if row.processes > 1 and len(row.delays_s) and row.kind not in NO_OPERATION]


def tuning_order(summary: Summary) -> list[CallSiteStats]:
    """The rows whose algorithm can be chosen, by candidate, then by the time that can change, descending."""
    return [
        row
        for candidate in candidates(summary)
        if not candidate.why_not
        for row in sorted(candidate.rows, key=lambda row: -changeable_s(row))
    ]


def _first_to_tune(summary: Summary) -> CallSiteStats:
    if rows := with_arrivals(tuning_order(summary)):
        return rows[0]
    other_rows = with_arrivals(summary.rows)
    choose = " choose with --collective, --site, --communicator or --size;" if other_rows else ""
    raise BadInput(
        f"the trace {summary.directory} has no calls with known arrivals whose algorithm can be chosen;"
        f"{choose} {_available(summary)}"
    )


def _is_on(row: CallSiteStats, communicator: str, summary: Summary) -> bool:
    """Whether this is the label of a row's communicators, or of one of them."""
    return communicator == row.communicator or any(
        summary.labels[index] == communicator for index in row.communicator_indices
    )


def _available(summary: Summary) -> str:
    """The rows that can be selected."""
    labels = list(dict.fromkeys(description_of(row) for row in with_arrivals(summary.rows)))
    if not labels:
        return f"{Path(summary.directory).name} has no calls on two or more traced ranks"
    more = "; ..." if len(labels) > _MOST_LABELS else ""
    return f"there are: {'; '.join(labels[:_MOST_LABELS])}{more}"
