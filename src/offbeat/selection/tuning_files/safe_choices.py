"""Choices that are right for every legal call; algorithms that break one are replaced.

A tuning file cannot distinguish the calls of a collective by their operation, datatype, root or buffers, so
an algorithm in it must be correct for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec

from offbeat.libraries.families.libraries import LIBRARIES
from offbeat.model.study.algorithm import DEFAULT, Verdict, WrongCall, in_words, kinds_of
from offbeat.selection.choices.choose import Choice
from offbeat.selection.choices.delay_table import Configuration
from offbeat.selection.choices.restrictions import ALLOW_WRONG_RESULTS, processes_covered, wrong_between

RuleKey = tuple[str, int, int | None]
"""What a tuning file of a library distinguishes: (collective, processes, bytes).

The processes are as :meth:`offbeat.libraries.families.library.Library.file_processes` has them; bytes are
None for a collective whose size the library does not read (``sizeless``).
"""


def rule_key(configuration: Configuration, family: str) -> RuleKey:
    """The rule that a configuration has in a tuning file of the library."""
    library, p, collective = LIBRARIES.get(family), configuration.p, configuration.collective
    if library is None:
        return collective, p, configuration.bytes
    size = None if collective in library.sizeless else configuration.bytes
    return collective, library.file_processes(p, configuration.processes), size


WrongCallsOf = Callable[[Choice, str], list[WrongCall]]
"""The calls, one of each kind, for which an algorithm would be wrong under the rule of a choice."""


def wrong_calls_of(
    choices: Iterable[Choice],
    verdicts: Sequence[Verdict],
    family: str,
    limited_to_measured_p: Collection[tuple[str, str]],
) -> WrongCallsOf:
    """The lookup for some choices; the library's default has no wrong calls."""
    library = LIBRARIES.get(family)
    ps: dict[str, set[int]] = {}
    for choice in choices:
        collective, processes, _ = rule_key(choice.configuration, family)
        ps.setdefault(collective, set()).add(processes)
    guarded_kinds = library.guarded_calls if library else ()

    def wrong_calls(choice: Choice, algorithm: str) -> list[WrongCall]:
        collective, p, _ = rule_key(choice.configuration, family)
        if algorithm == DEFAULT:
            return []
        low, high = processes_covered(p, ps[collective])
        if (collective, algorithm) in limited_to_measured_p:
            low = high = p
        if library and library.applies_to_smaller:
            low = 1
        wrong = wrong_between(collective, algorithm, low, high, verdicts)
        return [call for call in wrong if call.kind not in guarded_kinds]

    return wrong_calls


def replace_unsafe(
    choices: Sequence[Choice], wrong_calls: WrongCallsOf, allowed_kinds: Collection[str]
) -> tuple[list[Choice], list[str], list[str]]:
    """Choices in which every algorithm is right for every legal call, except for calls of the
    ``allowed_kinds`` kinds.

    Other algorithms are replaced by the best by score that is right, or by the library's default if that is
    better or no other algorithm is left. Also returns notes on them, each with a failing call, and sentences
    on the algorithms that remain although they are wrong for a legal call.
    """
    safe: list[Choice] = []
    left_out: dict[tuple[str, str], list[str]] = {}
    causes: dict[tuple[str, str], list[WrongCall]] = {}
    warnings: dict[str, None] = {}
    for choice in choices:
        wrong = wrong_calls(choice, choice.algorithm)
        failing_calls = [call for call in wrong if call.kind not in allowed_kinds]
        if not failing_calls:
            safe.append(choice)
            if wrong:
                warnings[_wrong_result_warning(choice, wrong)] = None
            continue
        instead = _replacement(choice, wrong_calls, allowed_kinds)
        safe.append(instead)
        key = (choice.configuration.collective, choice.algorithm)
        causes.setdefault(key, failing_calls)
        left_out.setdefault(key, []).append(_cost(choice, instead))
    notes = [
        f"{collective} by {algorithm} is not exported: it is wrong for {in_words(kinds_of(causes[key]))}"
        f" ({causes[key][0]}). Instead: {'; '.join(configurations)}."
        f" {_options(causes[key])} exports it anyway."
        for key, configurations in left_out.items()
        for collective, algorithm in [key]
    ]
    return safe, notes, list(warnings)


def _replacement(choice: Choice, wrong_calls: WrongCallsOf, allowed_kinds: Collection[str]) -> Choice:
    """The best algorithm by score that is right for every call that is not of an allowed kind."""
    right = [
        name
        for name in sorted(choice.scores, key=lambda name: (choice.scores[name], name))
        if all(call.kind in allowed_kinds for call in wrong_calls(choice, name))
    ]
    default = choice.reference_scores.get(DEFAULT)
    best = right[0] if right else DEFAULT
    if right and default is not None and default < choice.scores[best]:
        best = DEFAULT
    cost = default / choice.scores[best] - 1 if default is not None and best != DEFAULT else None
    return msgspec.structs.replace(choice, algorithm=best, cost_of_default=cost)


def _cost(original: Choice, replacement: Choice) -> str:
    score = {**original.reference_scores, **original.scores}.get(replacement.algorithm)
    name = "the library's default" if replacement.algorithm == DEFAULT else replacement.algorithm
    if score is None:
        return f"{name} for {original.configuration}"
    return f"{name} for {original.configuration}, {score / original.scores[original.algorithm] - 1:+.1%}"


def _wrong_result_warning(choice: Choice, wrong: Sequence[WrongCall]) -> str:
    return (
        f"WRONG RESULTS: {choice.configuration.collective} by {choice.algorithm} is wrong for"
        f" {in_words(kinds_of(wrong))}; for instance {wrong[0]}. It was exported because of"
        f" {_options(wrong)}: do not use it with programs that make such calls."
    )


def _options(wrong: Iterable[WrongCall]) -> str:
    return " ".join(f"{ALLOW_WRONG_RESULTS} {kind}" for kind in kinds_of(wrong))
