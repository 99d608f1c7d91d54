"""Which calls of a trace a prediction is about."""

from __future__ import annotations

import math
from collections.abc import Sequence

from offbeat.errors import BadInput
from offbeat.predict.cells import Source, cell_for
from offbeat.predict.recorded import BLOCKING, calls_of
from offbeat.trace.row_words import described
from offbeat.trace.rows import Row
from offbeat.trace.summary import Summary


def covered(summary: Summary, source: Source) -> list[Row]:
    """The rows that some measured cell stands for, those whose operation takes the most time first.

    Raises :class:`BadInput` where there is none, with what is missing for the first.
    """
    rows = _replaceable(summary.families)
    found = [row for row in rows if not _why_not(row, summary, source)]
    if found:
        return found
    if not rows:
        raise BadInput(
            f"the trace {summary.directory} has no blocking collective of two processes or more that was"
            " recorded from the first arrival to the last exit, so there is nothing to predict"
        )
    raise BadInput(_why_not(rows[0], summary, source))


def first_covered(summary: Summary, source: Source) -> tuple[Row, list[str]]:
    """The row to tune first, among those that some measured cell stands for; and a sentence if it is another.

    Raises :class:`BadInput` as :func:`covered` does.
    """
    rows = covered(summary, source)
    first = _replaceable(summary.families)[0]
    if rows[0] is first:
        return first, []
    return rows[0], [
        f"most time goes into {described(first)}, which these results do not cover: this is about"
        f" {described(rows[0])}"
    ]


def _replaceable(rows: Sequence[Row]) -> list[Row]:
    fit = [row for row in rows if row.kind == BLOCKING and row.processes > 1 and _is_timed(row)]
    return sorted(fit, key=lambda row: -row.operation_s)


def _is_timed(row: Row) -> bool:
    return not row.is_inter and not math.isnan(row.last_delay.mean_s)


def _why_not(row: Row, summary: Summary, source: Source) -> str:
    try:
        cell_for(calls_of(row, summary.processes), source)
    except BadInput as reason:
        return str(reason)
    return ""
