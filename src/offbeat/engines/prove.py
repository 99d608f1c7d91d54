"""Observing what runs when an algorithm is forced, and whether it computes its collective."""

from __future__ import annotations

from collections.abc import Mapping

from offbeat.engines.launches import Launches, Where
from offbeat.engines.verdicts import Observation
from offbeat.mpi.driver import Driver, DriverLost, Refused
from offbeat.study import evidence
from offbeat.study.algorithm import Algorithm
from offbeat.study.case import REDUCING, Case

AFFINE_BYTES = 16
"""Extent of the datatype of the non-commutative operation: two long integers."""

LATE_NS = 20_000_000
"""How long a rank is delayed for a fingerprint: far longer than a process waits for a core on a crowded
node."""

FINGERPRINTS = 4
"""How many fingerprints are taken at most until two in a row are the same."""

LOOKS = 3
"""How often a launch whose functions or messages can be seen is looked at, until it shows any."""


def observe(
    launches: Launches,
    where: Where,
    words: list[str],
    algorithm: Algorithm,
    case: Case,
    timeout_s: float,
) -> Observation:
    """Force an algorithm in a launch, call its collective, and note what happens.

    Never raises for what the library does.
    """
    seen = Observation(algorithm=algorithm)
    try:
        driver = launches.get(where)
        launches.force(driver, words, timeout_s)
        call = call_of(case)
        answer = driver.ask("check", timeout_s=timeout_s, **call)
        seen.error, seen.wrong = _first_line(str(answer["error"])), _count(answer["wrong"])
        seen.call_failed = bool(seen.error)
        if seen.error or seen.wrong:
            return seen
        seen.wrong_noncommutative = _wrong_noncommutative(driver, case, timeout_s)
        seen.evidence, seen.looks = seen_evidence(driver, call, case.p, timeout_s)
    except DriverLost as lost:
        launches.drop()
        seen.lost = str(lost)
    except Refused as refusal:
        seen.error = str(refusal)
    return seen


def call_of(case: Case) -> dict[str, object]:
    """The words that describe a case's call to the driver."""
    call: dict[str, object] = {"collective": case.collective, "bytes": case.bytes, "root": case.root}
    if case.datatype:
        call["datatype"] = case.datatype
    if case.op:
        call["op"] = case.op
    return call


def seen_evidence(driver: Driver, call: Mapping[str, object], p: int, timeout_s: float) -> tuple[str, int]:
    """What the strongest kind of proof shows, and how many looks that took.

    A fingerprint where neither functions nor messages can be seen. A look that shows nothing although it
    could have is repeated.
    """
    looks = 0
    while looks < LOOKS:
        looks += 1
        answer = driver.ask("observe", timeout_s=timeout_s, **call)
        seen = evidence.from_observation(answer)
        if seen:
            return seen, looks
        if p == 1 or not answer.get("sees_functions"):
            break
    return fingerprint(driver, call, p, timeout_s), looks


def fingerprint(driver: Driver, call: Mapping[str, object], p: int, timeout_s: float) -> str:
    """Who leaves late when one rank after another is delayed, twice in a row the same.

    Empty for a process alone, and where the ranks that leave late keep changing: a process that waits long
    for a core leaves late as well.
    """
    if p == 1:
        return ""
    before = ""
    for _ in range(FINGERPRINTS):
        late = evidence.from_fingerprint(
            driver.ask("fingerprint", timeout_s=timeout_s, delay_ns=LATE_NS, **call)
        )
        if late == before:
            return late
        before = late
    return ""


def _wrong_noncommutative(driver: Driver, case: Case, timeout_s: float) -> int:
    """Wrong elements with an operation that does not commute; an error is no wrong result."""
    if case.collective not in REDUCING:
        return 0
    size = max(AFFINE_BYTES, case.bytes // AFFINE_BYTES * AFFINE_BYTES)
    call = call_of(case) | {"bytes": size, "datatype": "affine", "op": "affine"}
    return _count(driver.ask("check", timeout_s=timeout_s, **call)["wrong"])


def _count(value: object) -> int:
    return int(str(value))


def _first_line(text: str) -> str:
    """The library's error in short: its first line, and the last, which says why."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        return "".join(lines)
    return f"{lines[0].split(', error stack')[0]}: {lines[-1].rsplit(': ', 1)[-1]}"
