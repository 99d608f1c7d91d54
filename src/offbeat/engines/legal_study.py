"""Which algorithms of a study are right for every legal call: found out once for each collective and p."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from offbeat.engines.launches import Launches, Where
from offbeat.engines.legal_calls import few_sizes, legal_calls
from offbeat.engines.legal_outcomes import try_calls, wrong_calls
from offbeat.engines.verdicts import Observation
from offbeat.study import evidence
from offbeat.study.algorithm import DEFAULT, Algorithm, Verdict, WrongCall
from offbeat.study.case import Case

Forcing = Callable[[Algorithm, Case], tuple[Where, list[str]]]
"""How an algorithm is forced for a case: in which launch, and with which words in it."""


def with_legal_calls(
    verdicts: Sequence[Verdict],
    seen: Sequence[tuple[Observation, Case]],
    launches: Launches,
    forcing: Forcing,
    patience_s: float,
    told: Callable[[str], None],
) -> list[Verdict]:
    """The verdicts, with the legal calls of which each algorithm is wrong.

    ``seen`` are the observations of one collective at one p, on which the verdicts were made. Calls are tried
    with each algorithm that works at all at one of the sizes; algorithms that run the same code share the
    result.
    """
    first = seen[0][1]
    sizes = few_sizes([case.bytes for _, case in seen])
    calls = legal_calls(first.collective, first.p, sizes, first.datatype, first.op)
    outcomes: dict[object, list[str]] = {}
    wrong: dict[str, list[WrongCall]] = {}
    for algorithm, code in _worth_trying(seen):
        if code not in outcomes:
            told(f"trying legal calls of {first.collective} {algorithm.name}, p = {first.p}")
            where, words = forcing(algorithm, first)
            outcomes[code] = try_calls(launches, where, words, calls, patience_s)
        reference = outcomes.get(DEFAULT, [""] * len(calls))
        wrong[algorithm.name] = [] if code == DEFAULT else wrong_calls(calls, outcomes[code], reference)
    return [
        msgspec.structs.replace(verdict, wrong_calls=wrong[verdict.algorithm], legal_calls=len(calls))
        if verdict.algorithm in wrong
        else verdict
        for verdict in verdicts
    ]


def _worth_trying(seen: Sequence[tuple[Observation, Case]]) -> list[tuple[Algorithm, object]]:
    """Each algorithm that works, the library's own choice first, with what tells its code from others'."""
    found: dict[str, list[tuple[Observation, Case]]] = {}
    for one, case in seen:
        if not (one.lost or one.error or one.wrong):
            found.setdefault(one.algorithm.name, []).append((one, case))
    ordered = sorted(found.items(), key=lambda item: item[0] != DEFAULT)
    return [(own[0][0].algorithm, _code(name, own)) for name, own in ordered]


def _code(name: str, own: Sequence[tuple[Observation, Case]]) -> object:
    """Equal for two algorithms that ran the same functions at every size with the same parameters."""
    if name == DEFAULT or not all(evidence.shows_identity(one.evidence) for one, _ in own):
        return name
    return name.partition("(")[1:], tuple((repr(case), one.evidence) for one, case in own)
