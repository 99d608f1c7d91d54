"""Of which legal calls an algorithm is wrong, over the processes for which a rule would hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from offbeat.select.coverage import process_ranges
from offbeat.study.algorithm import Verdict, WrongCall, in_words, kinds_of

OPTION = "--allow-wrong-results"
"""The option of ``offbeat export`` that takes kinds of legal calls."""


def processes_covered(p: int, ps: Iterable[int]) -> tuple[int, int]:
    """The communicator sizes (inclusive) that get the choice of ``p``, one of the measured ``ps``."""
    ordered = sorted(set(ps))
    return process_ranges(ordered)[ordered.index(p)]


def wrong_between(
    collective: str, algorithm: str, low: int, high: int, verdicts: Iterable[Verdict]
) -> list[WrongCall]:
    """Calls on ``low`` to ``high`` processes (inclusive) of which the algorithm is wrong, one of each kind.

    Of results of an earlier version only the operation that is not commutative is known.
    """
    found: dict[str, WrongCall] = {}
    for verdict in verdicts:
        if (verdict.collective, verdict.algorithm) != (collective, algorithm):
            continue
        for call in [*verdict.wrong_calls, *_noncommutative(verdict)]:
            if low <= call.p <= high:
                found.setdefault(call.kind, call)
    return list(found.values())


def legal_cautions(algorithm: str, wrong: Sequence[WrongCall]) -> list[str]:
    """A sentence on a choice that ``offbeat export`` leaves out."""
    if not wrong:
        return []
    kinds = kinds_of(wrong)
    options = " ".join(f"{OPTION} {kind}" for kind in kinds)
    return [
        f"{algorithm} is wrong for {in_words(kinds)} ({wrong[0]}): 'offbeat export' takes another"
        f" algorithm in its place, unless {options} is given."
    ]


def _noncommutative(verdict: Verdict) -> list[WrongCall]:
    if not verdict.commutative_only:
        return []
    call = f"MPI_{verdict.collective.capitalize()} with an operation that is not commutative"
    return [
        WrongCall(
            kind="noncommutative",
            p=verdict.p,
            call=f"{call} on {verdict.p} processes",
            result="the result is wrong",
        )
    ]
