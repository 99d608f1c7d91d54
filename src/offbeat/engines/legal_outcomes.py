"""Trying legal calls on a library, and telling of which an algorithm is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from offbeat.engines.launches import Launches, Where
from offbeat.engines.legal_calls import LegalCall
from offbeat.mpi.driver import HUNG, DriverLost, Refused
from offbeat.study.algorithm import WrongCall

PATIENCE_S = 20.0
"""A call that takes longer hangs: they are all small."""

LOSSES_BEFORE_GIVING_UP = 3
"""After so many crashes or hangs, the other calls are not tried."""

RIGHT = ""
"""The outcome of a call with the right result."""

NOT_TRIED = "not tried: "
"""The beginning of the outcome of a call that was left out, because calls like it crash or hang."""


def try_calls(
    launches: Launches, where: Where, forced: Sequence[str], calls: Sequence[LegalCall], patience_s: float
) -> list[str]:
    """What happens in each call: :data:`RIGHT`, or what goes wrong, in words.

    ``forced`` are words for the driver's ``force``. A crash or hang counts when it happens again in a new
    launch, and then calls of the same kinds are not tried.
    """
    outcomes: list[str] = []
    lost: dict[tuple[str, ...], str] = {}
    for call in calls:
        before = lost.get(call.kinds) or (
            list(lost.values())[-1] if len(lost) >= LOSSES_BEFORE_GIVING_UP else ""
        )
        if before:
            outcomes.append(f"{NOT_TRIED}{before}")
            continue
        try:
            outcome = _try(launches, where, forced, call, min(patience_s, PATIENCE_S))
        except DriverLost:
            try:
                outcome = _try(launches, where, forced, call, min(patience_s, PATIENCE_S))
            except DriverLost as loss:
                lost[call.kinds] = outcome = _loss_in_words(str(loss))
        outcomes.append(outcome)
    return outcomes


def wrong_calls(
    calls: Sequence[LegalCall], outcomes: Sequence[str], references: Sequence[str]
) -> list[WrongCall]:
    """The calls with a wrong outcome where the library's own choice, the reference, has a right one.

    One of each kind and number of processes. A call of several kinds counts as the kind that is wrong by
    itself, where there is one.
    """
    wrong = [
        (call, outcome)
        for call, outcome, reference in zip(calls, outcomes, references, strict=True)
        if outcome != RIGHT and not outcome.startswith(NOT_TRIED) and reference == RIGHT
    ]
    alone = {call.kinds[0] for call, _ in wrong if len(call.kinds) == 1}
    found: dict[tuple[str, int], WrongCall] = {}
    for call, outcome in wrong:
        kind = next((one for one in call.kinds if one in alone), call.kinds[0] if call.kinds else "")
        if kind:
            found.setdefault((kind, call.p), WrongCall(kind=kind, p=call.p, call=call.text, result=outcome))
    return list(found.values())


def _try(launches: Launches, where: Where, forced: Sequence[str], call: LegalCall, patience_s: float) -> str:
    """One call's outcome; raises DriverLost where the launch ends or hangs, which is then dropped."""
    try:
        driver = launches.get(where)
        launches.force(driver, forced, patience_s)
        answer = driver.ask("check", timeout_s=patience_s, **call.asked)
    except DriverLost:
        launches.drop()
        raise
    except Refused as refusal:
        return str(refusal)
    if answer["error"]:
        return f"it returns the error {str(answer['error']).splitlines()[0].strip()}"
    wrong = int(str(answer["wrong"]))
    if wrong:
        return f"{wrong} element{'s' if wrong > 1 else ''} of the result {'are' if wrong > 1 else 'is'} wrong"
    return RIGHT


def _loss_in_words(loss: str) -> str:
    return (
        f"it hangs ({loss.removeprefix(HUNG)})" if loss.startswith(HUNG) else f"it ends the program: {loss}"
    )
