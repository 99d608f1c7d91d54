"""Choices that break no legal program: algorithms that are wrong for a legal call give way to others.

A tuning file cannot tell the calls of a collective apart by their operation, datatype, root or buffers, so an
algorithm in it must be right for all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from offbeat.select.restrictions import ALLOW_WRONG_RESULTS, processes_covered, wrong_between
from offbeat.study.algorithm import DEFAULT, Algorithm, Verdict
from offbeat.study.legal import WrongCall, in_words, kinds_of

if TYPE_CHECKING:
    from offbeat.select.choose import Choice

GUARDED = {"mpich": ("noncommutative",)}
"""Kinds of calls that a family's files keep from an algorithm that is wrong for them."""

MATCHES_SMALLER = ("intelmpi",)
"""Families whose settings act on all smaller communicators of a program, too."""


class Safe(Struct, frozen=True, kw_only=True):
    """Choices without algorithms that break legal programs.

    ``notes`` say what was left out, for which call, and what that costs; ``insisted`` what stands although it
    is wrong for a legal call.
    """

    choices: list[Choice]
    notes: list[str]
    insisted: list[str]


class Wrongs:
    """Of which calls an algorithm would be wrong under the rule of one choice."""

    def __init__(
        self,
        choices: Iterable[Choice],
        known: Mapping[tuple[str, str], Algorithm],
        verdicts: Sequence[Verdict],
        family: str,
        keeps_to_measured_p: Collection[tuple[str, str]],
    ) -> None:
        self._ps: dict[str, set[int]] = {}
        for choice in choices:
            self._ps.setdefault(choice.configuration.collective, set()).add(choice.configuration.p)
        self._known = known
        self._verdicts = verdicts
        self._family = family
        self._kept = keeps_to_measured_p

    def of(self, choice: Choice, algorithm: str) -> list[WrongCall]:
        """The calls, one of each kind; none for the library's own decision."""
        configuration = choice.configuration
        if algorithm == DEFAULT:
            return []
        low, high = processes_covered(configuration.p, self._ps[configuration.collective])
        if (configuration.collective, algorithm) in self._kept:
            low = high = configuration.p
        if self._family in MATCHES_SMALLER:
            low = 1
        wrong = wrong_between(configuration.collective, algorithm, low, high, self._verdicts)
        return [call for call in wrong if call.kind not in GUARDED.get(self._family, ())]


def make_safe(choices: Sequence[Choice], wrongs: Wrongs, allowed: Collection[str]) -> Safe:
    """Choices in which every algorithm is right for every legal call, but for calls of the ``allowed`` kinds.

    In the place of another stands the best by score that is right, or the library's own decision if that is
    better or nothing else is left.
    """
    made: list[Choice] = []
    left_out: dict[tuple[str, str], list[str]] = {}
    causes: dict[tuple[str, str], list[WrongCall]] = {}
    insisted: dict[str, None] = {}
    for choice in choices:
        wrong = wrongs.of(choice, choice.algorithm)
        barring = [call for call in wrong if call.kind not in allowed]
        if not barring:
            made.append(choice)
            if wrong:
                insisted[_insisted(choice, wrong)] = None
            continue
        instead = _replaced(choice, wrongs, allowed)
        made.append(instead)
        key = (choice.configuration.collective, choice.algorithm)
        causes.setdefault(key, barring)
        left_out.setdefault(key, []).append(_cost(choice, instead))
    notes = [
        f"{collective} by {algorithm} is not exported: it is wrong for {in_words(kinds_of(causes[key]))}"
        f" ({causes[key][0]}). In its place: {'; '.join(configurations)}."
        f" {_options(causes[key])} exports it nevertheless."
        for key, configurations in left_out.items()
        for collective, algorithm in [key]
    ]
    return Safe(choices=made, notes=notes, insisted=list(insisted))


def _replaced(choice: Choice, wrongs: Wrongs, allowed: Collection[str]) -> Choice:
    """The choice with the best algorithm by score that is right for every call that is not allowed."""
    right = [
        name
        for name in sorted(choice.scores, key=lambda name: (choice.scores[name], name))
        if all(call.kind in allowed for call in wrongs.of(choice, name))
    ]
    default = choice.reference_scores.get(DEFAULT)
    best = right[0] if right else DEFAULT
    if right and default is not None and default < choice.scores[best]:
        best = DEFAULT
    cost = default / choice.scores[best] - 1 if default is not None and best != DEFAULT else None
    return msgspec.structs.replace(choice, algorithm=best, cost_of_default=cost)


def _cost(before: Choice, after: Choice) -> str:
    """What stands in a configuration now, and how much worse its score is."""
    score = {**before.reference_scores, **before.scores}.get(after.algorithm)
    name = "the library's own decision" if after.algorithm == DEFAULT else after.algorithm
    if score is None:
        return f"{name} for {before.configuration}"
    return f"{name} for {before.configuration}, {score / before.scores[before.algorithm] - 1:+.1%}"


def _insisted(choice: Choice, wrong: Sequence[WrongCall]) -> str:
    return (
        f"WRONG RESULTS: {choice.configuration.collective} by {choice.algorithm} is wrong for"
        f" {in_words(kinds_of(wrong))}; for instance {wrong[0]}. It stands here because of"
        f" {_options(wrong)}: do not use it with programs that make such calls."
    )


def _options(wrong: Iterable[WrongCall]) -> str:
    return " ".join(f"{ALLOW_WRONG_RESULTS} {kind}" for kind in kinds_of(wrong))
