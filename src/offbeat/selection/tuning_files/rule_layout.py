"""Arranging the rules of a plan for tuning files: by processes first, by size inside.

Libraries differ in their definition of the message size. If it grows with the number of processes, each
number needs its own thresholds (:func:`steps`).

Some parameters of algorithms (Open MPI's radix of the k-nomial broadcast, Intel MPI's segment sizes) are
plain variables of the library with one value per launch. Rules that need different values of one parameter
cannot be used together (:func:`compatible_rules`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from msgspec import Struct

from offbeat.base.units import format_size
from offbeat.selection.tuning_files.tuning_plan import NO_END, Rule

EXACT_STEPS = 256
"""A range of at most this many numbers of processes gets thresholds for each of them."""

GROUP_STEPS = 32
"""Wider ranges get thresholds for groups whose largest member is at most 1/32 larger than their smallest."""

ItemT = TypeVar("ItemT")


class ProcessRow(Struct, frozen=True, kw_only=True):
    """The rules that hold for ``p_low`` to ``p_high`` processes (inclusive), ordered by size."""

    p_low: int
    p_high: int
    rules: list[Rule]


class Segment(NamedTuple):
    """``rule`` holds for the library's message sizes ``low`` to ``high`` (inclusive)."""

    low: int
    high: int
    rule: Rule


def process_rows(rules: Sequence[Rule]) -> list[ProcessRow]:
    """Split the numbers of processes wherever a rule begins or ends; numbers without any rule are omitted."""
    starts = {rule.p_low for rule in rules} | {rule.p_high + 1 for rule in rules}
    edges = sorted(starts)
    rows = []
    for low, next_edge in pairwise(edges):
        rules_in_row = sorted(
            (r for r in rules if r.p_low <= low <= r.p_high), key=lambda rule: rule.bytes_low
        )
        if rules_in_row:
            rows.append(ProcessRow(p_low=low, p_high=next_edge - 1, rules=rules_in_row))
    return rows


def with_gaps(
    ranges: Iterable[tuple[int, int, ItemT]], first: int = 0
) -> Iterator[tuple[int, int, ItemT | None]]:
    """Ascending ranges (low, high, item) from ``first`` on, with the gaps before and between them and all
    that follows the last range, unless it ends at :data:`NO_END`; the item of a gap is None."""
    free_from = first
    for low, high, item in ranges:
        if low > free_from:
            yield free_from, low - 1, None
        yield low, high, item
        free_from = high + 1
    if free_from <= NO_END:
        yield free_from, NO_END, None


def steps(row: ProcessRow) -> list[tuple[int, int]]:
    """Split a row's processes into groups that share thresholds: one a number, unless there are many."""
    if row.p_high - row.p_low < EXACT_STEPS:
        return [(p, p) for p in range(row.p_low, row.p_high + 1)]
    groups = []
    measured_ps = {rule.measured_p for rule in row.rules}
    low = row.p_low
    while low <= row.p_high:
        high = min(low + low // GROUP_STEPS, row.p_high)
        ps_in_row = [p for p in measured_ps if low <= p <= high]
        if ps_in_row and low < ps_in_row[0]:
            high = ps_in_row[0] - 1
        elif ps_in_row:
            high = low
        groups.append((low, high))
        low = high + 1
    return groups


def segments(
    rules: Sequence[Rule], key_of: Callable[[Rule], Hashable], low_p: int = 1, high_p: int = 1
) -> list[Segment]:
    """Rules as ranges of size; neighbours with the same ``key_of`` are joined, because the library
    cannot distinguish them.

    Sizes are multiplied by the number of processes if it is given: a range then begins with its first size at
    ``low_p`` and ends before the next size at ``high_p``, but never inside the following range.
    """
    merged_segments: list[Segment] = []
    for rule in rules:
        low, high = rule.bytes_low * low_p, (rule.bytes_high + 1) * high_p - 1
        if merged_segments and merged_segments[-1].high >= low:
            merged_segments[-1] = Segment(
                low=merged_segments[-1].low, high=low - 1, rule=merged_segments[-1].rule
            )
        if (
            merged_segments
            and merged_segments[-1].high + 1 == low
            and key_of(merged_segments[-1].rule) == key_of(rule)
        ):
            merged_segments[-1] = Segment(
                low=merged_segments[-1].low, high=high, rule=merged_segments[-1].rule
            )
        else:
            merged_segments.append(Segment(low=low, high=high, rule=rule))
    return merged_segments


def compatible_rules(
    rules: Sequence[Rule], parameters_of: Callable[[Rule], Mapping[str, str]]
) -> tuple[list[Rule], dict[str, str], list[str]]:
    """The rules that can be used in one launch.

    ``parameters_of`` returns a rule's variables other than the choice of the algorithm itself. Returns the
    compatible rules in their order, the variables for the launch, and sentences on the rules left out: of
    contradicting values the one chosen in most configurations wins, if there are several, the first.
    """
    votes: dict[str, Counter[tuple[tuple[str, str], ...]]] = {}
    for rule in rules:
        votes.setdefault(_base(rule), Counter())[_sorted_items(parameters_of(rule))] += 1
    winners = {base: counts.most_common(1)[0][0] for base, counts in votes.items()}
    variables: dict[str, str] = {}
    compatible, notes = [], []
    for rule in rules:
        parameters, winner = _sorted_items(parameters_of(rule)), winners[_base(rule)]
        if parameters != winner or any(variables.get(name, value) != value for name, value in parameters):
            notes.append(
                f"{rule.collective} of {format_size(rule.bytes)} on p={rule.p} is left to the library's"
                f" default: {rule.name} needs"
                f" {_assignments(parameters) or f'the default, but others need {_assignments(winner)}'}, and"
                " a launch has one value only."
            )
        else:
            variables |= dict(parameters)
            compatible.append(rule)
    return compatible, variables, notes


def _sorted_items(parameters: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(parameters.items()))


def _base(rule: Rule) -> str:
    """The algorithm without its parameters: rules with the same base use the same variables."""
    return f"{rule.collective}:{rule.algorithm.name.partition('(')[0]}"


def _assignments(parameters: Sequence[tuple[str, str]]) -> str:
    return " and ".join(f"{name}={value}" for name, value in parameters)
