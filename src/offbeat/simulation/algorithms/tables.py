"""The catalogue of algorithms, and the outcomes of checks, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.text import Text

from offbeat.base.terminal_table import FittedTable
from offbeat.base.units import amount
from offbeat.simulation.algorithms.check import MAX_FINDINGS, Outcome, ReportedCall, wrong
from offbeat.simulation.algorithms.inspected import CatalogueAlgorithm


def catalogue_table(entries: Sequence[CatalogueAlgorithm]) -> FittedTable:
    """A row for each algorithm; collective and family only in the first row of each group."""
    headings = ["collective", "family", "algorithm", "combines in", "parameters and their defaults"]
    table = FittedTable(headings, texts=range(len(headings)))
    for (collective, family), group in groupby(entries, key=lambda entry: (entry.collective, entry.family)):
        for index, entry in enumerate(group):
            first = (collective, family) if index == 0 else ("", "")
            values = ", ".join(f"{name}={value}" for name, value in entry.parameters.items())
            table.add_row(*first, entry.name, "rank order" if entry.ordered else "", values)
    return table


PROOF_NOTE = (
    "Proved of each call, on symbols in place of data: every element of every output holds each contribution"
    " exactly once (in rank order where 'order' says so); every message is received, at its full length; no"
    " rank waits for ever, even where a send waits for its receive; and no data is touched while a message"
    " reads or writes it, nor used before it has arrived."
)


def outcomes_table(outcomes: Sequence[Outcome]) -> RenderableType:
    """A row for each algorithm, then the wrong calls, and what the check proves."""
    table = FittedTable(["algorithm", "proved", "refused", "wrong"])
    table.add_column("order", wraps=False)
    for outcome in outcomes:
        table.add_row(
            outcome.title,
            f"{outcome.proved + outcome.commutative_only:,}",
            f"{outcome.refused:,}" if outcome.refused else "",
            _format_count(len(outcome.findings)) if outcome.findings else "",
            _order(outcome),
        )
    parts: list[RenderableType] = [table, Text()]
    for outcome in wrong(outcomes):
        parts += [
            Text(f"{outcome.title}{_describe_call(entry)}: {entry.call.sentence}")
            for entry in outcome.findings[:3]
        ]
    return Group(*parts, Text(summary(outcomes)), Text(PROOF_NOTE))


def summary(outcomes: Sequence[Outcome]) -> str:
    """One line that summarises all outcomes."""
    proved_count = sum(outcome.proved + outcome.commutative_only for outcome in outcomes)
    refused_count = sum(outcome.refused for outcome in outcomes)
    wrong_count = len(wrong(outcomes))
    where = _numbers(sorted({p for outcome in outcomes for p in outcome.p}))
    text = f"{proved_count:,} calls of {amount(len(outcomes), 'algorithm')} at p = {where} are right"
    if refused_count:
        text += f", {refused_count:,} were refused by the algorithms themselves"
    if wrong_count:
        text += (
            f"; {amount(wrong_count, 'algorithm')} {'is' if wrong_count == 1 else 'are'} wrong in some call"
        )
    return f"{text}."


def _order(outcome: Outcome) -> str:
    """Whether rank order is kept: always, only for non-commutative operations, or not."""
    if outcome.ordered:
        return "always"
    if not outcome.reduces or outcome.findings:
        return ""
    return "not kept" if outcome.commutative_only else "when needed"


def _format_count(findings: int) -> str:
    return f"{findings}+" if findings >= MAX_FINDINGS else str(findings)


def _describe_call(entry: ReportedCall) -> str:
    call = entry.call
    values = "".join(f", {name} = {value}" for name, value in entry.parameters.items())
    root = f", root {call.root}" if call.root else ""
    order = "" if call.commutative else ", not commutative"
    return f" at p = {call.p}{root}, {amount(call.count, 'element')}{order}{values}"


def _numbers(numbers: Sequence[int]) -> str:
    """Returns ``1-16, 64``."""
    runs = []
    for _, group in groupby(enumerate(numbers), key=lambda entry: entry[1] - entry[0]):
        run = [number for _, number in group]
        runs.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ", ".join(runs) if len(runs) <= 6 else ", ".join([*runs[:3], "...", runs[-1]])
