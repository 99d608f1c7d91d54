"""What weakens the means over a replay's calls: calls not measured, wide intervals, single calls that weigh.

Nothing is left out of a mean. Where a call was measured once or twice, or took long in some repetitions
alone, a process that lost its core for a moment cannot be told from an algorithm that takes long; then it is
said how much hangs on that call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from offbeat.results.statistics import MeasuredCalls, by_call
from offbeat.select.certainty import Repeated
from offbeat.select.precision import is_wide
from offbeat.select.rules import Rule
from offbeat.select.table import DelayTable
from offbeat.select.wording import share_label
from offbeat.units import format_time

FAR = 10.0
"""A call stands out if it takes so many times as long as the algorithm's median call, as the same call does
with the other algorithms, and as it did in its quickest repetition."""

WEIGHTY = 0.05
"""A call weighs if what it takes beyond the median call is a larger share of all calls together."""

FEW = 2
"""The median of so many repetitions or fewer follows each of them."""

_NAMED = 3


def replay_cautions(
    table: DelayTable, rule: Rule, samples: Mapping[str, Repeated] | None, asked: float | None
) -> list[str]:
    """Sentences about the replays that a rule looks at; without ``samples``, numbers are exact."""
    sentences = []
    for row in (row for row in rule.rows(table) if row in table.replays):
        sentences += _partial(table, row)
        if samples is not None:
            sentences += _wide(table, row, asked) if asked is not None else []
            sentences += _standing_out(table, row, samples)
    return sentences


def _partial(table: DelayTable, row: int) -> list[str]:
    """Whether some candidate was not measured in every call."""
    if table.incomplete is None:
        return []
    names = [table.algorithms[j] for j in np.flatnonzero(table.incomplete[row] & table.candidates)]
    if not names:
        return []
    return [
        f"not every call of {table.patterns[row]} could be measured of {', '.join(names)}: the means"
        " are not over the same calls; give the study a larger repetitions.time_cap, or fewer calls."
    ]


def _wide(table: DelayTable, row: int, asked: float) -> list[str]:
    """Whether the mean of some candidate is known less well than was asked for."""
    wide = is_wide(table.low_s[row], table.high_s[row], table.last_delay_s[row], asked)
    columns = np.flatnonzero(wide & table.candidates)
    if not len(columns):
        return []
    half = (table.high_s[row] - table.low_s[row]) / 2 / table.delays_s()[row]
    widest = columns[np.argsort(-half[columns], kind="stable")]
    named = [f"{table.algorithms[j]} ±{half[j]:.0%}" for j in widest[:_NAMED]]
    return [
        f"the mean over the calls of {table.patterns[row]} is known less well than the"
        f" ±{share_label(asked)} asked for: of {_listed(named, len(widest))}; differences that are"
        " smaller may be none. Raise repetitions.maximum and time_cap, or measure on a quieter machine."
    ]


def _standing_out(table: DelayTable, row: int, samples: Mapping[str, Repeated]) -> list[str]:
    """Whether a single call that may not always take so long makes up much of some candidate's mean."""
    every = _by_call(table, row, samples)
    found = [one for name in every if (one := _heaviest(name, every))]
    if not found:
        return []
    named = [
        f"{name} ({share:.0%} of all: call {call}, {format_time(time_s)})"
        for share, name, call, time_s in sorted(found, reverse=True)[:_NAMED]
    ]
    return [
        f"single calls of {table.patterns[row]} weigh in the mean of {_listed(named, len(found))}: they"
        " take ten times as long as others, and the repetitions do not show that they always would: the"
        " machine may have been busy with other work. Nothing is left out; give the study a larger"
        " repetitions.time_cap, or measure on a quieter machine."
    ]


def _by_call(table: DelayTable, row: int, samples: Mapping[str, Repeated]) -> dict[str, MeasuredCalls]:
    """The calls of each candidate that repetitions are on record of."""
    made = {}
    for column in np.flatnonzero(table.candidates):
        repeated = samples.get(table.cases[row][column]) if table.cases is not None else None
        if repeated is not None and repeated.calls is not None:
            made[table.algorithms[column]] = by_call(repeated.last_delay_s, repeated.calls)
    return made


def _heaviest(name: str, every: Mapping[str, MeasuredCalls]) -> tuple[float, str, int, float] | None:
    """The heaviest of one algorithm's calls that stand out: its share of all, the name, number and time."""
    numbers, times, least, counts = every[name]
    usual = float(np.median(times))
    excess = times - usual
    for place in np.argsort(-times, kind="stable"):
        share = float(excess[place] / times.sum()) if times.sum() > 0 else 0.0
        if share < WEIGHTY or times[place] < FAR * usual:
            return None
        others = _of_others(int(numbers[place]), name, every)
        is_alone = not others or times[place] >= FAR * np.median(others)
        if is_alone and (counts[place] <= FEW or times[place] >= FAR * least[place]):
            return share, name, int(numbers[place]), float(times[place])
    return None


def _of_others(number: int, name: str, every: Mapping[str, MeasuredCalls]) -> list[float]:
    """What a call takes with the other algorithms."""
    return [
        float(calls.medians[place])
        for other, calls in every.items()
        if other != name
        for place in np.flatnonzero(calls.numbers == number)
    ]


def _listed(named: Sequence[str], total: int) -> str:
    more = total - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")
