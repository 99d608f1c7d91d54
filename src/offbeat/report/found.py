"""x"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from offbeat.study.algorithm import Verdict
from offbeat.study.legal import in_words, kinds_of
from offbeat.units import format_size

if TYPE_CHECKING:
    from offbeat.results.read import Results

MARKS = {
    "proved": "✓",
    "duplicate": "=",
    "fell_back": "↩",
    "indistinguishable": "≈",
    "unproved": "?",
    "wrong": "✗",
    "refused": "⊘",
    "quarantined": "!",
}
"""A mark for each verdict, so that verdicts do not differ only by colour."""

MEANINGS = {
    "proved": "ran when forced, and computed the right result",
    "duplicate": "ran the same code as another one; not measured again",
    "fell_back": "the library silently ran something else; not measured",
    "indistinguishable": "ran, but cannot be distinguished from another one; measured, selected only on request",
    "unproved": "set, but what ran could not be observed; measured, never selected",
    "wrong": "computed a wrong result; not measured",
    "refused": "the library answered with an error; not measured",
    "quarantined": "crashed, hung or aborted the job; not measured",
}


class VerdictLine(Struct, frozen=True, kw_only=True):
    """One verdict on one algorithm. ``where`` is empty if it holds everywhere; ``evidence`` lists what was
    observed to run, each once."""

    algorithm: str
    settings: str
    status: str
    where: str
    reason: str
    evidence: list[str]


class CollectiveAlgorithms(Struct, frozen=True, kw_only=True):
    """The algorithms of one collective: the number with each verdict, and the lines."""

    collective: str
    counts: dict[str, int]
    lines: list[VerdictLine]


def algorithm_verdicts(results: Results) -> list[CollectiveAlgorithms]:
    """Every collective's algorithms with their verdicts, in the library's order."""
    collectives = dict.fromkeys(
        [algorithm.collective for algorithm in results.algorithms]
        + [verdict.collective for verdict in results.verdicts]
    )
    return [_collective(results, collective) for collective in collectives]


def _collective(results: Results, collective: str) -> CollectiveAlgorithms:
    settings = {
        algorithm.name: " ".join(f"{name}={value}" for name, value in algorithm.settings.items())
        for algorithm in results.algorithms
        if algorithm.collective == collective
    }
    verdicts = [verdict for verdict in results.verdicts if verdict.collective == collective]
    names = dict.fromkeys([*settings, *(verdict.algorithm for verdict in verdicts)])
    lines = [
        line
        for name in names
        for line in _lines(name, settings.get(name, ""), [v for v in verdicts if v.algorithm == name])
    ]
    counts = {
        status: len({line.algorithm for line in lines if line.status == status})
        for status in MARKS
        if any(line.status == status for line in lines)
    }
    return CollectiveAlgorithms(collective=collective, counts=counts, lines=lines)


def _lines(name: str, settings: str, verdicts: list[Verdict]) -> list[VerdictLine]:
    """An algorithm's verdicts, equal ones in one line; a line without verdict if it has none."""
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.status, _reason(verdict)), []).append(verdict)
    if not groups:
        return [VerdictLine(algorithm=name, settings=settings, status="", where="", reason="", evidence=[])]
    return [
        VerdictLine(
            algorithm=name,
            settings=settings,
            status=status,
            where="" if len(groups) == 1 else _where(group),
            reason=reason,
            evidence=list(dict.fromkeys(verdict.evidence for verdict in group if verdict.evidence)),
        )
        for (status, reason), group in groups.items()
    ]


def _reason(verdict: Verdict) -> str:
    parts = [f"same as {verdict.same_as}" if verdict.same_as else "", verdict.reason]
    kinds = kinds_of(verdict.wrong_calls) or (["noncommutative"] if verdict.commutative_only else [])
    if kinds:
        parts.append(f"wrong for {in_words(kinds)}")
    return "; ".join(part for part in parts if part)


def _where(verdicts: Iterable[Verdict]) -> str:
    """The sizes of each p: ``p = 4: 8 B, 1 KiB``."""
    sizes: dict[int, list[int]] = {}
    for verdict in verdicts:
        sizes.setdefault(verdict.p, []).append(verdict.bytes)
    return "; ".join(
        f"p = {p}: {', '.join(format_size(size) for size in sorted(set(found)))}"
        for p, found in sorted(sizes.items())
    )
