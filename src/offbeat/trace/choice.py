"""Which row of a summary a verb is about: what its user names, or else what is to be tuned first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from offbeat.errors import BadInput
from offbeat.trace.advice import NO_OPERATION, not_tuned, tunable
from offbeat.trace.row_words import bare, described
from offbeat.trace.rows import Row
from offbeat.trace.summary import Summary

_MOST_NAMED = 8


def choose_row(
    summary: Summary,
    *,
    collective: str = "",
    site: str = "",
    communicator: str = "",
    size: int | None = None,
) -> Row:
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
        if bare(collective) in ("", bare(row.collective), bare(row.function))
        and (site in row.site or site in row.path)
        and (not communicator or _is_on(row, communicator, summary))
        and (size is None or row.least_bytes <= size <= row.most_bytes)
    ]
    if not fit:
        raise BadInput(f"the trace {summary.directory} has no such calls; {_instead(summary)}")
    return max(fit, key=lambda row: (not not_tuned(row), row.operation_s))


def with_arrivals(rows: Sequence[Row]) -> list[Row]:
    """The rows of which it is known how ranks arrive, and that somebody could want to know it of."""
    return [row for row in rows if row.processes > 1 and len(row.delays_s) and row.kind not in NO_OPERATION]


def in_order_to_tune(summary: Summary) -> list[Row]:
    """The rows whose algorithm can be chosen: those of what to tune first stand first, and among them those
    whose operation takes the most time.
    """
    return [
        row
        for candidate in tunable(summary)
        for row in sorted(candidate.rows, key=lambda row: -row.operation_s)
    ]


def _first_to_tune(summary: Summary) -> Row:
    if rows := with_arrivals(in_order_to_tune(summary)):
        return rows[0]
    others = with_arrivals(summary.rows)
    choose = " choose with --collective, --site, --communicator or --size;" if others else ""
    raise BadInput(
        f"the trace {summary.directory} has no calls whose algorithm can be chosen and of which it is known"
        f" how ranks arrive, so none are taken unasked;{choose} {_instead(summary)}"
    )


def _is_on(row: Row, communicator: str, summary: Summary) -> bool:
    """Whether these are the words for a row's communicators, or for one of them."""
    return communicator == row.communicator or any(summary.labels[index] == communicator for index in row.on)


def _instead(summary: Summary) -> str:
    """What there is to choose from."""
    there = list(dict.fromkeys(described(row) for row in with_arrivals(summary.rows)))
    if not there:
        return f"{Path(summary.directory).name} holds no calls of two ranks or more that could be compared"
    more = "; ..." if len(there) > _MOST_NAMED else ""
    return f"there are: {'; '.join(there[:_MOST_NAMED])}{more}"
