"""Which algorithms of a study are right for every legal call: found out once for each collective and p."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from offbeat.engines.launches import Launches, LaunchSpec
from offbeat.engines.legal_calls import LegalCall, few_sizes, legal_calls
from offbeat.engines.verdicts import Observation
from offbeat.mpi.driver import HUNG, DriverLost, Refused
from offbeat.study import evidence
from offbeat.study.algorithm import DEFAULT, Algorithm, Verdict, WrongCall
from offbeat.study.case import Case

Forcing = Callable[[Algorithm, Case], tuple[LaunchSpec, list[str]]]
"""Algorithm and case → the launch in which it is forced, and the arguments of the driver's ``force`` in
it."""


def with_legal_calls(
    verdicts: Sequence[Verdict],
    observed: Sequence[tuple[Observation, Case]],
    launches: Launches,
    forcing: Forcing,
    patience_s: float,
    report: Callable[[str], None],
) -> list[Verdict]:
    """The verdicts, with the legal calls for which each algorithm is wrong.

    ``observed`` are the observations of one collective at one p, on which the verdicts are based. Calls are
    tried with each algorithm that works at one size at least; algorithms that execute the same code share the
    result.
    """
    first = observed[0][1]
    sizes = few_sizes([case.bytes for _, case in observed])
    calls = [
        _in_layout(call, first)
        for call in legal_calls(first.collective, first.p, sizes, first.datatype, first.op)
    ]
    outcomes: dict[object, list[str]] = {}
    wrong: dict[str, list[WrongCall]] = {}
    for algorithm, code in _working_algorithms(observed):
        if code not in outcomes:
            report(f"trying legal calls of {first.collective} {algorithm.name}, p = {first.p}")
            spec, arguments = forcing(algorithm, first)
            outcomes[code] = try_calls(launches, spec, arguments, calls, patience_s)
        reference = outcomes.get(DEFAULT, [""] * len(calls))
        wrong[algorithm.name] = [] if code == DEFAULT else wrong_calls(calls, outcomes[code], reference)
    return [
        msgspec.structs.replace(verdict, wrong_calls=wrong[verdict.algorithm], legal_calls=len(calls))
        if verdict.algorithm in wrong
        else verdict
        for verdict in verdicts
    ]


def _in_layout(call: LegalCall, case: Case) -> LegalCall:
    """The call on the communicators of a case, unless the call has its own list of ranks."""
    if case.communicators == 1 or call.command.members is not msgspec.UNSET:
        return call
    command = msgspec.structs.replace(call.command, communicators=case.communicators, stride=case.stride)
    return msgspec.structs.replace(call, command=command)


def _working_algorithms(observed: Sequence[tuple[Observation, Case]]) -> list[tuple[Algorithm, object]]:
    """Each algorithm that works, the library's own choice first, with a key that identifies its code."""
    by_name: dict[str, list[tuple[Observation, Case]]] = {}
    for observation, case in observed:
        if observation.is_sound:
            by_name.setdefault(observation.algorithm.name, []).append((observation, case))
    ordered = sorted(by_name.items(), key=lambda item: item[0] != DEFAULT)
    return [(observed[0][0].algorithm, _code(name, observed)) for name, observed in ordered]


def _code(name: str, observed: Sequence[tuple[Observation, Case]]) -> object:
    """Equal for two algorithms that executed the same functions at every size with the same parameters."""
    if name == DEFAULT or not all(evidence.shows_identity(one.evidence) for one, _ in observed):
        return name
    return name.partition("(")[1:], tuple((repr(case), one.evidence) for one, case in observed)


PATIENCE_S = 20.0
"""A call that takes longer is considered to hang: all calls are small."""

MOST_FAILURES = 3
"""After this number of crashes or hangs, the other calls are not tried."""

RIGHT = ""
"""The outcome of a call with the right result."""

NOT_TRIED = "not tried: "
"""Prefix of the outcome of a call that was left out because similar calls crash or hang."""


def try_calls(
    launches: Launches, spec: LaunchSpec, forced: Sequence[str], calls: Sequence[LegalCall], patience_s: float
) -> list[str]:
    """The outcome of each call: :data:`RIGHT`, or a description of the error.

    ``forced`` are arguments of the driver's ``force``. A crash or hang counts only if it is repeated in a new
    launch; then calls of the same kinds are not tried any more.
    """
    outcomes: list[str] = []
    failures: dict[tuple[str, ...], str] = {}
    for call in calls:
        earlier_failure = failures.get(call.kinds) or (
            list(failures.values())[-1] if len(failures) >= MOST_FAILURES else ""
        )
        if earlier_failure:
            outcomes.append(f"{NOT_TRIED}{earlier_failure}")
            continue
        try:
            outcome = _try(launches, spec, forced, call, min(patience_s, PATIENCE_S))
        except DriverLost:
            try:
                outcome = _try(launches, spec, forced, call, min(patience_s, PATIENCE_S))
            except DriverLost as lost:
                failures[call.kinds] = outcome = _describe_failure(str(lost))
        outcomes.append(outcome)
    return outcomes


def wrong_calls(
    calls: Sequence[LegalCall], outcomes: Sequence[str], references: Sequence[str]
) -> list[WrongCall]:
    """The calls that are wrong although the library's own choice, the reference, is right.

    One call of each kind and number of processes. A call of several kinds counts as the kind that is also
    wrong in a call of that kind only, if there is such a kind.
    """
    wrong = [
        (call, outcome)
        for call, outcome, reference in zip(calls, outcomes, references, strict=True)
        if outcome != RIGHT and not outcome.startswith(NOT_TRIED) and reference == RIGHT
    ]
    alone = {call.kinds[0] for call, _ in wrong if len(call.kinds) == 1}
    result: dict[tuple[str, int], WrongCall] = {}
    for call, outcome in wrong:
        kind = next((one for one in call.kinds if one in alone), call.kinds[0] if call.kinds else "")
        if kind:
            result.setdefault((kind, call.p), WrongCall(kind=kind, p=call.p, call=call.text, result=outcome))
    return list(result.values())


def _try(
    launches: Launches, spec: LaunchSpec, forced: Sequence[str], call: LegalCall, patience_s: float
) -> str:
    """One call's outcome; raises DriverLost if the launch ends or hangs, which is then dropped."""
    try:
        with launches.running(spec) as driver:
            launches.force(driver, forced, patience_s)
            answer = driver.ask(call.command, timeout_s=patience_s)
    except Refused as refusal:
        return str(refusal)
    if answer.error:
        return f"it returns the error {answer.error.splitlines()[0].strip()}"
    if wrong := answer.wrong:
        return f"{wrong} element{'s' if wrong > 1 else ''} of the result {'are' if wrong > 1 else 'is'} wrong"
    return RIGHT


def _describe_failure(reason: str) -> str:
    return (
        f"it hangs ({reason.removeprefix(HUNG)})"
        if reason.startswith(HUNG)
        else f"it ends the program: {reason}"
    )
