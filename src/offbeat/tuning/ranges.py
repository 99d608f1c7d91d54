"""Arranging a plan's rules as tuning files need them: by processes first, by size inside.

Libraries differ in what they call the message size. Where it grows with the number of processes, each number
needs thresholds of its own (:func:`steps`); where a library cannot look at the size, one rule must do
(:func:`one_rule_each_p`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise

from msgspec import Struct

from offbeat.tuning.plan import Rule
from offbeat.units import format_size

EXACT_STEPS = 256
"""A range of at most so many numbers of processes gets thresholds for each of them."""

COARSENESS = 32
"""Wider ranges get thresholds for groups whose largest member is at most 1/32 larger than their smallest."""


class ProcessRow(Struct, frozen=True, kw_only=True):
    """The rules that hold for ``p_low`` to ``p_high`` processes (inclusive), ordered by size."""

    p_low: int
    p_high: int
    rules: list[Rule]


class Segment(Struct, frozen=True, kw_only=True):
    """``rule`` holds for sizes ``low`` to ``high`` (inclusive), in whatever the library calls the message
    size."""

    low: int
    high: int
    rule: Rule


def process_rows(rules: Sequence[Rule]) -> list[ProcessRow]:
    """Cut the numbers of processes wherever a rule begins or ends; numbers without any rule are left out."""
    starts = {rule.p_low for rule in rules} | {rule.p_high + 1 for rule in rules}
    edges = sorted(starts)
    rows = []
    for low, after in pairwise(edges):
        held = sorted((r for r in rules if r.p_low <= low <= r.p_high), key=lambda rule: rule.bytes_low)
        if held:
            rows.append(ProcessRow(p_low=low, p_high=after - 1, rules=held))
    return rows


def steps(row: ProcessRow) -> list[tuple[int, int]]:
    """Cut a row's processes into the groups that share thresholds: each number alone, unless they are very
    many."""
    if row.p_high - row.p_low < EXACT_STEPS:
        return [(p, p) for p in range(row.p_low, row.p_high + 1)]
    groups = []
    measured = {rule.p for rule in row.rules}
    low = row.p_low
    while low <= row.p_high:
        high = min(low + low // COARSENESS, row.p_high)
        inside = [p for p in measured if low <= p <= high]
        if inside and low < inside[0]:
            high = inside[0] - 1
        elif inside:
            high = low
        groups.append((low, high))
        low = high + 1
    return groups


def segments(
    rules: Sequence[Rule], same: Callable[[Rule], Hashable], low_p: int = 1, high_p: int = 1
) -> list[Segment]:
    """Rules as ranges of size, neighbours that are the ``same`` to the library joined.

    Sizes are multiplied by the number of processes when it is given: a range then begins with its first size
    at ``low_p`` and ends before the next size at ``high_p``, but never inside the range that follows.
    """
    made: list[Segment] = []
    for rule in rules:
        low, high = rule.bytes_low * low_p, (rule.bytes_high + 1) * high_p - 1
        if made and made[-1].high >= low:
            made[-1] = Segment(low=made[-1].low, high=low - 1, rule=made[-1].rule)
        if made and made[-1].high + 1 == low and same(made[-1].rule) == same(rule):
            made[-1] = Segment(low=made[-1].low, high=high, rule=made[-1].rule)
        else:
            made.append(Segment(low=low, high=high, rule=rule))
    return made


def one_rule_each_p(rules: Sequence[Rule], why: str) -> tuple[list[Rule], list[str]]:
    """For a collective whose size a library cannot look at: one rule for each measured number of processes.

    The algorithm chosen at most measured sizes stands; of equals, the one chosen at the largest size. Returns
    the rules that stand, and a sentence (with ``why``) for each number of processes whose sizes chose
    differently.
    """
    kept, notes = [], []
    for p in sorted({rule.p for rule in rules}):
        rivals = [rule for rule in rules if rule.p == p]
        votes = Counter(rule.algorithm.name for rule in rivals)
        winner = max(rivals, key=lambda rule: (votes[rule.algorithm.name], rule.bytes))
        kept.append(winner)
        if len(votes) > 1:
            others = ", ".join(sorted(name for name in votes if name != winner.algorithm.name))
            same = [rule for rule in rivals if rule.algorithm.name == winner.algorithm.name]
            sizes = ", ".join(format_size(rule.bytes) for rule in same)
            notes.append(
                f"{winner.collective} on p={p}: {why}, so {winner.algorithm.name} (chosen at {sizes}) is used"
                f" for every size; other sizes chose {others}."
            )
    return kept, notes
