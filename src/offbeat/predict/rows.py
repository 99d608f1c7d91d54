"""Which calls of a trace a prediction is about."""

from __future__ import annotations

from msgspec import structs

from offbeat.errors import BadInput
from offbeat.predict.cells import Source, cell_for
from offbeat.predict.recorded import calls_of
from offbeat.trace.choice import in_order_to_tune
from offbeat.trace.row_words import described
from offbeat.trace.rows import Row
from offbeat.trace.summary import Summary


def covered(summary: Summary, source: Source) -> list[Row]:
    """The rows that some measured cell stands for, those to tune first before others.

    Raises :class:`BadInput` where there is none, with what is missing for the first.
    """
    rows = _ranked(summary)
    found = [row for row in rows if not _why_not(row, summary, source)]
    if found:
        return found
    if not rows:
        raise BadInput(
            f"the trace {summary.directory} has no blocking collective of two processes or more whose"
            " algorithm can be chosen, so there is nothing to predict"
        )
    raise BadInput(_why_not(rows[0], summary, source))


def first_covered(summary: Summary, source: Source) -> tuple[Row, list[str]]:
    """The row to tune first, as the summary names it, among those that some measured cell stands for; and a
    sentence if another one would be the first.

    Raises :class:`BadInput` as :func:`covered` does.
    """
    row, first = covered(summary, source)[0], _ranked(summary)[0]
    if row is first:
        return row, []
    why_not = _why_not(first, summary, source)
    return row, [f"this is about {described(row)}, and not about what is to be tuned first: {why_not}"]


def _ranked(summary: Summary) -> list[Row]:
    """What is to be tuned first stands first; communicators that are alike are one row."""
    together = structs.replace(summary, rows=summary.families)
    return [row for row in in_order_to_tune(together) if row.processes > 1]


def _why_not(row: Row, summary: Summary, source: Source) -> str:
    try:
        cell_for(calls_of(row, summary), source)
    except BadInput as reason:
        return str(reason)
    return ""
