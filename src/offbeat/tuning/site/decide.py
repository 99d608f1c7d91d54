"""Which algorithm a centre's tuning file gets where entries measured the same calls.

A tuning file tells calls apart by collective, number of processes and message size. Each configuration that
an entry measured is a *vote* on such calls: the time of every algorithm relative to the library's default, by
the selection rule, and a weight. The weight is that of the entry, times the share of the program's run time
in these calls where it is known, divided among the entry's configurations of the same calls.

The rule: the algorithm with the smallest weighted mean of its relative times, if

- every vote has a time of it: it was measured everywhere, was proved to run and computed right results;
- no vote says that it is significantly slower than the default;
- the weighted mean is significantly smaller than 1.

Otherwise the calls are left to the library. If the weights are core-hours in these calls, the weighted mean
is the core-hours that they would take with the algorithm, divided by those with the default: the chosen
algorithm saves the most, and no entry pays for it. An entry of weight 0 has no vote.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from offbeat.base.units import format_size
from offbeat.model.study.algorithm import DEFAULT
from offbeat.selection.choices.against_default import RelativeTime
from offbeat.selection.choices.delay_table import Configuration
from offbeat.selection.choices.selection_rules import dictionary_order

Calls = tuple[str, int, int]
"""What a tuning file tells apart: collective, p, message size in bytes."""


class Vote(Struct, frozen=True, kw_only=True):
    """What one configuration of an entry says about some calls.

    ``times`` has the algorithms that may be chosen; ``excluded`` maps others to the reason.
    """

    entry: str
    configuration: Configuration
    weight: float
    times: dict[str, RelativeTime]
    excluded: dict[str, str] = {}

    @property
    def calls(self) -> Calls:
        """The calls that it is about."""
        return self.configuration.collective, self.configuration.p, self.configuration.bytes


class Decision(Struct, frozen=True, kw_only=True):
    """The algorithm for some calls; ``default`` leaves them to the library.

    ``times`` are the weighted mean times, relative to the default, of the algorithms that may be used, the
    best first; ``refused`` maps all others to the reason. ``own`` is the algorithm that each
    vote alone would get.
    """

    calls: Calls
    algorithm: str
    times: dict[str, RelativeTime]
    refused: dict[str, str]
    votes: list[Vote]
    own: list[str]

    @property
    def is_conflict(self) -> bool:
        """Whether votes alone would choose different algorithms."""
        return len(set(self.own)) > 1

    @property
    def weight(self) -> float:
        """The weight of all votes."""
        return math.fsum(vote.weight for vote in self.votes)

    def __str__(self) -> str:
        """The calls in words: ``reduce of 8 B on p=4``."""
        return calls_in_words(self.calls)


def calls_in_words(calls: Calls) -> str:
    """Calls in words: ``reduce of 8 B on p=4``."""
    collective, p, size = calls
    return f"{collective}{'' if collective == 'barrier' else f' of {format_size(size)}'} on p={p}"


def decisions(votes: Iterable[Vote]) -> list[Decision]:
    """The decision on all calls that there are votes on, ordered by calls."""
    by_calls: dict[Calls, list[Vote]] = {}
    for vote in votes:
        if vote.weight > 0:
            by_calls.setdefault(vote.calls, []).append(vote)
    return [_decide(calls, by_calls[calls]) for calls in sorted(by_calls)]


def divided(votes: Sequence[Vote], shares: Mapping[Calls, float] | None) -> list[Vote]:
    """The votes of one entry with their weights: its weight by shares, divided among votes on the same calls.

    With None the whole weight is that of the calls, as of a study; otherwise calls without a share have none.
    """
    counts = Counter(vote.calls for vote in votes)
    return [
        replace(vote, weight=vote.weight * _share(vote.calls, shares) / counts[vote.calls]) for vote in votes
    ]


def _share(calls: Calls, shares: Mapping[Calls, float] | None) -> float:
    return 1.0 if shares is None else shares.get(calls, 0.0)


def _decide(calls: Calls, votes: list[Vote]) -> Decision:
    algorithm, times, refused = _best(votes)
    own = [_best([vote])[0] for vote in votes]
    return Decision(calls=calls, algorithm=algorithm, times=times, refused=refused, votes=votes, own=own)


def _best(votes: Sequence[Vote]) -> tuple[str, dict[str, RelativeTime], dict[str, str]]:
    """The best algorithm, the weighted times of those that may be used, and why others may not."""
    usable: dict[str, RelativeTime] = {}
    refused: dict[str, str] = {}
    for name in sorted({name for vote in votes for name in [*vote.times, *vote.excluded]}):
        mean = weighted(votes, name)
        if reason := _why_not(votes, name, mean):
            refused[name] = reason
        elif mean is not None:
            usable[name] = mean
    ordered = sorted(usable, key=lambda name: (usable[name].ratio, dictionary_order(name)))
    return (ordered or [DEFAULT])[0], {name: usable[name] for name in ordered}, refused


def weighted(votes: Sequence[Vote], name: str) -> RelativeTime | None:
    """The weighted mean of an algorithm's relative times; None if a vote has none."""
    if name == DEFAULT:
        return RelativeTime(1.0, 0.0)
    if any(name not in vote.times for vote in votes):
        return None
    total = math.fsum(vote.weight for vote in votes)
    shares = [vote.weight / total for vote in votes]
    times = [vote.times[name] for vote in votes]
    return RelativeTime(
        math.fsum(share * time.ratio for share, time in zip(shares, times, strict=True)),
        math.hypot(*(share * time.half_width for share, time in zip(shares, times, strict=True))),
    )


def _why_not(votes: Sequence[Vote], name: str, mean: RelativeTime | None) -> str:
    """Why an algorithm may not be used; empty if it may."""
    for vote in votes:
        if name in vote.excluded:
            return f"{vote.excluded[name]} ({vote.entry})"
        if name not in vote.times:
            return f"not measured by {vote.entry}"
    slower = [vote for vote in votes if vote.times[name].is_slower]
    if slower:
        worst = max(slower, key=lambda vote: vote.times[name].ratio)
        return f"{worst.times[name].ratio - 1:.1%} slower than the default for {worst.entry}"
    if mean is None or not mean.is_faster:
        return "not significantly faster than the default"
    return ""
