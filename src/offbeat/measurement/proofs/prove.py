"""Observing what a call executes when an algorithm is forced."""

from __future__ import annotations

from offbeat.libraries.launch.driver import CommandRefused, Driver, DriverLost, is_lost
from offbeat.libraries.launch.driver_protocol import Bits, CallArguments, Check, Fingerprint, Observe
from offbeat.measurement.engines.driver_launches import Launches, LaunchSpec
from offbeat.measurement.proofs.verdicts import Observation
from offbeat.model.study.algorithm import Algorithm
from offbeat.model.study.case import Case
from offbeat.model.study.collectives import REDUCING

AFFINE_BYTES = 16
"""Extent of the datatype of the non-commutative operation: two long integers."""

DOUBLE_BYTES = 8

DELAY_NS = 20_000_000
"""The delay of a rank for a fingerprint: far longer than a process waits for a core on an oversubscribed
node."""

MOST_FINGERPRINTS = 4
"""At most this number of fingerprints is taken until two successive ones are equal."""

MOST_OBSERVATIONS = 3
"""At most this number of observations is made in a launch that can show functions but shows none."""


def observe(
    launches: Launches,
    spec: LaunchSpec,
    force_arguments: list[str],
    algorithm: Algorithm,
    case: Case,
    timeout_s: float,
) -> Observation:
    """Force an algorithm in a launch, call its collective, and record what happens.

    A launch that is lost is repeated once. Errors, crashes and hangs of the library are part of the
    observation and raise nothing.
    """
    observation = _observe_once(launches, spec, force_arguments, algorithm, case, timeout_s)
    if is_lost(observation.failure):
        return _observe_once(launches, spec, force_arguments, algorithm, case, timeout_s)
    return observation


def _observe_once(
    launches: Launches,
    spec: LaunchSpec,
    force_arguments: list[str],
    algorithm: Algorithm,
    case: Case,
    timeout_s: float,
) -> Observation:
    observation = Observation(algorithm=algorithm)
    try:
        driver = launches.get(spec)
        launches.force(driver, force_arguments, timeout_s)
        call = call_arguments(case)
        answer = driver.ask(Check(**call), timeout_s=timeout_s)
        observation.error = _short_error(answer.error)
        observation.wrong = answer.wrong
        observation.call_failed = bool(observation.error)
        if observation.error or observation.wrong:
            return observation
        observation.wrong_noncommutative = _wrong_noncommutative(driver, case, timeout_s)
        observation.bits = _bits(driver, case, timeout_s)
        observation.evidence, observation.attempts = observe_evidence(driver, call, case.p, timeout_s)
    except DriverLost as loss:
        launches.drop()
        observation.failure = str(loss)
    except CommandRefused as refusal:
        observation.error = str(refusal)
    return observation


def call_arguments(case: Case) -> CallArguments:
    """The driver's arguments for a case's call."""
    call: CallArguments = {"collective": case.collective, "bytes": case.bytes, "root": case.root}
    if case.datatype:
        call["datatype"] = case.datatype
    if case.op:
        call["op"] = case.op
    if case.communicators > 1:
        call |= {"communicators": case.communicators, "stride": case.stride}
    return call


def observe_evidence(driver: Driver, call: CallArguments, p: int, timeout_s: float) -> tuple[str, int]:
    """The strongest available evidence, and the number of observations that were needed.

    A fingerprint if neither functions nor messages can be observed. An observation that could have shown
    functions but shows none is repeated.
    """
    attempts = 0
    while attempts < MOST_OBSERVATIONS:
        attempts += 1
        answer = driver.ask(Observe(**call), timeout_s=timeout_s)
        if answer.evidence:
            return answer.evidence, attempts
        if p == 1 or not answer.sees_functions:
            break
    return fingerprint(driver, call, p, timeout_s), attempts


def fingerprint(driver: Driver, call: CallArguments, p: int, timeout_s: float) -> str:
    """The delayed-exit probe: which ranks exit late when one rank after another is delayed.

    Two successive probes must agree. Empty for a single process, and if the ranks that exit late keep
    changing: a process that waits long for a core exits late as well.
    """
    if p == 1:
        return ""
    previous = ""
    for _ in range(MOST_FINGERPRINTS):
        delayed_exits = driver.ask(Fingerprint(delay_ns=DELAY_NS, **call), timeout_s=timeout_s).evidence
        if delayed_exits == previous:
            return delayed_exits
        previous = delayed_exits
    return ""


def _wrong_noncommutative(driver: Driver, case: Case, timeout_s: float) -> int:
    """The number of wrong elements with a non-commutative operation; 0 if the call returns an error."""
    if case.collective not in REDUCING:
        return 0
    size = max(AFFINE_BYTES, case.bytes // AFFINE_BYTES * AFFINE_BYTES)
    call = call_arguments(case) | {"bytes": size, "datatype": "affine", "op": "affine"}
    return driver.ask(Check(**call), timeout_s=timeout_s).wrong


def _bits(driver: Driver, case: Case, timeout_s: float) -> str:
    """The digest of a sum of doubles of the case's size; empty for collectives that only move data.

    The operation and the datatype of the study do not matter: a rule holds for all.
    """
    if case.collective not in REDUCING:
        return ""
    size = max(DOUBLE_BYTES, case.bytes // DOUBLE_BYTES * DOUBLE_BYTES)
    call = call_arguments(case) | {"bytes": size, "datatype": "double", "op": "sum"}
    return driver.ask(Bits(**call), timeout_s=timeout_s).digest


def _short_error(text: str) -> str:
    """The library's error in short: its first line, and its last line, which has the cause."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        return "".join(lines)
    return f"{lines[0].split(', error stack')[0]}: {lines[-1].rsplit(': ', 1)[-1]}"
