"""What a sweep proved, in words, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from offbeat.algorithm.sweep import FINDINGS_KEPT, Outcome, Told, wrong
from offbeat.table import FittedTable
from offbeat.units import counted

PROVED = (
    "Proved of each call, on symbols in place of data: every element of every output holds each contribution"
    " exactly once (in rank order where 'order' says so); every message is received, at its full length; no"
    " rank waits for ever, even where a send waits for its receive; and no data is touched while a message"
    " reads or writes it, nor used before it is there."
)


SENTENCES = 3
"""Different sentences about one algorithm that is wrong."""


def verdict(outcomes: Sequence[Outcome]) -> RenderableType:
    """A row an algorithm, what is wrong, and what was proved."""
    table = FittedTable(["algorithm", "proved", "refused", "wrong"])
    table.add_column("order", wraps=False)
    for outcome in outcomes:
        table.add_row(
            outcome.title,
            f"{outcome.proved + outcome.commutative_only:,}",
            f"{outcome.refused:,}" if outcome.refused else "",
            _many(len(outcome.findings)) if outcome.findings else "",
            _order(outcome),
        )
    parts: list[RenderableType] = [table, Text()]
    for outcome in wrong(outcomes):
        parts += [
            Text(f"{outcome.title}{_call(told)}: {told.call.sentence}") for told in outcome.findings[:3]
        ]
    return Group(*parts, Text(summary(outcomes)), Text(PROVED))


def summary(outcomes: Sequence[Outcome]) -> str:
    """One line on everything."""
    proved = sum(outcome.proved + outcome.commutative_only for outcome in outcomes)
    refused = sum(outcome.refused for outcome in outcomes)
    bad = len(wrong(outcomes))
    where = _numbers(sorted({p for outcome in outcomes for p in outcome.p}))
    text = f"{proved:,} calls of {counted(len(outcomes), 'algorithm')} at p = {where} are right"
    if refused:
        text += f", {refused:,} were refused by the algorithms themselves"
    return f"{text}; {bad} of them {'does' if bad == 1 else 'do'} something wrong." if bad else f"{text}."


def encoded(outcomes: Sequence[Outcome]) -> str:
    """All outcomes as JSON."""
    return msgspec.json.format(msgspec.json.encode(outcomes), indent=2).decode()


def _order(outcome: Outcome) -> str:
    """Whether rank order was kept: always, when it was asked for, or not."""
    if outcome.ordered:
        return "always"
    if not outcome.reduces or outcome.findings:
        return ""
    return "not kept" if outcome.commutative_only else "when needed"


def _many(findings: int) -> str:
    return f"{findings}+" if findings >= FINDINGS_KEPT else str(findings)


def _call(told: Told) -> str:
    call = told.call
    values = "".join(f", {name} = {value}" for name, value in told.parameters.items())
    root = f", root {call.root}" if call.root else ""
    order = "" if call.commutative else ", not commutative"
    return f" at p = {call.p}{root}, {counted(call.count, 'element')}{order}{values}"


def _numbers(numbers: Sequence[int]) -> str:
    """``1-16, 64``."""
    runs = []
    for _, group in groupby(enumerate(numbers), key=lambda entry: entry[1] - entry[0]):
        run = [number for _, number in group]
        runs.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ", ".join(runs) if len(runs) <= 6 else ", ".join([*runs[:3], "...", runs[-1]])
