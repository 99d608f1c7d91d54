"""From the observations of a group of algorithms to a verdict on each.

A group is all algorithms of a collective at one p and message size. The same observations always give the
same verdicts.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from offbeat.libraries.families.library import Steering
from offbeat.model.study import evidence
from offbeat.model.study.algorithm import DEFAULT, Algorithm, Verdict, split_name

LEAST_TO_COMPARE = 3
"""If at least this number of algorithms send exactly the same messages, the library ignores the setting."""


class Observation(Struct, kw_only=True):
    """What happened when one algorithm was forced.

    ``failure`` says how the launch crashed or hung; ``error`` is the library's error message, from the call
    itself if ``call_failed``; ``wrong`` is the number of wrong elements with the study's operation,
    ``wrong_noncommutative`` with a non-commutative operation. ``other_decision`` says what ran as ``default``
    although the library itself decides otherwise; empty if it decided. ``bits`` is a digest of a
    floating-point sum, empty if none was taken. ``attempts`` is the number of observations until one showed
    evidence.
    """

    algorithm: Algorithm
    evidence: str = ""
    failure: str = ""
    error: str = ""
    call_failed: bool = False
    wrong: int = 0
    wrong_noncommutative: int = 0
    other_decision: str = ""
    bits: str = ""
    attempts: int = 1

    @property
    def is_sound(self) -> bool:
        """Whether the algorithm ran and computed the right result."""
        return not (self.failure or self.error or self.wrong)


def indistinguishable(observations: Sequence[Observation], steering: Steering) -> dict[str, list[str]]:
    """The algorithms with the same evidence as other algorithms, and the names of these.

    The library's default does not count. Algorithms with the same functions are left out if the library's
    algorithms are duplicates when they have the same functions (Steering.same_functions_are_duplicates).
    """
    groups: dict[str, list[str]] = {}
    for observation in observations:
        if observation.is_sound and observation.evidence and observation.algorithm.name != DEFAULT:
            groups.setdefault(evidence.identity(observation.evidence), []).append(observation.algorithm.name)
    duplicates: dict[str, list[str]] = {}
    for evidence_key, names in groups.items():
        by_code = evidence.shows_identity(evidence_key) and steering.same_functions_are_duplicates
        if not by_code and len(names) > 1:
            duplicates |= {name: [other for other in names if other != name] for name in names}
    return duplicates


def judge(observations: Sequence[Observation], steering: Steering, p: int, size: int) -> list[Verdict]:
    """A verdict on each observation, in their order.

    Of several algorithms that executed the same code, the first whose name matches the code is its owner. The
    others are duplicates if their names match too; otherwise they fell back to the owner.
    """
    is_ignored = _setting_is_ignored(observations, p)
    verdicts: list[Verdict] = []
    owners: dict[str, str] = _owners(observations, steering)
    duplicates = indistinguishable(observations, steering)
    for observation in observations:
        name = observation.algorithm.name
        status, reason, same_as = _status(observation, steering, owners, is_ignored)
        if status == "proved" and name in duplicates:
            status, reason = "indistinguishable", _same_evidence(duplicates[name])
        if status == "proved" and observation.attempts > 1:
            reason = f"only observation {observation.attempts} showed functions or messages"
        elif status == "proved" and split_name(name)[1]:
            reason = "the algorithm was observed; its parameters were only set and read back"
        verdicts.append(
            Verdict(
                collective=observation.algorithm.collective,
                algorithm=name,
                p=p,
                bytes=size,
                status=status,
                evidence=observation.evidence,
                reason=reason,
                same_as=same_as,
                commutative_only=observation.wrong_noncommutative > 0,
                bits=observation.bits,
            )
        )
    return verdicts


def rename(verdicts: Sequence[Verdict], names: dict[tuple[str, str], str]) -> list[Verdict]:
    """The verdicts with algorithms renamed; ``names`` maps (collective, old name) to the new one."""
    return [_rename_verdict(verdict, names) for verdict in verdicts]


def _rename_verdict(verdict: Verdict, names: dict[tuple[str, str], str]) -> Verdict:
    same_as = names.get((verdict.collective, verdict.same_as), verdict.same_as)
    return msgspec.structs.replace(
        verdict,
        algorithm=names.get((verdict.collective, verdict.algorithm), verdict.algorithm),
        same_as=same_as,
        reason=_same_code(same_as) if verdict.status == "duplicate" else verdict.reason,
    )


def _same_evidence(names: Sequence[str]) -> str:
    return f"not proved: the evidence is the same for {', '.join(names)}"


def _same_code(owner: str) -> str:
    return f"runs the same code as {owner}"


def _status(
    observation: Observation, steering: Steering, owners: dict[str, str], is_ignored: bool
) -> tuple[str, str, str]:
    """Status, reason, and the algorithm of which it is a duplicate."""
    if observation.failure:
        return "quarantined", observation.failure, ""
    if observation.error:
        return "refused", observation.error, ""
    if observation.wrong:
        return "wrong", f"{observation.wrong} wrong elements", ""
    if observation.algorithm.name == DEFAULT:
        return ("fell_back" if observation.other_decision else "proved"), observation.other_decision, ""
    if not observation.evidence:
        return "unproved", "nothing that the library executes can be observed", ""
    ran = steering.identify_executed(
        observation.algorithm.collective, evidence.functions(observation.evidence)
    )
    if evidence.shows_identity(observation.evidence):
        return _status_by_functions(observation, steering, owners, ran)
    if observation.algorithm.hierarchical:
        return "unproved", "it may fall back silently, and the executed function cannot be observed", ""
    if is_ignored:
        return "unproved", "all settings give the same evidence, so the library may ignore them", ""
    return "proved", "", ""


def _status_by_functions(
    observation: Observation, steering: Steering, owners: dict[str, str], ran: str
) -> tuple[str, str, str]:
    if not steering.name_matches(observation.algorithm, ran):
        instead = ran or evidence.functions(observation.evidence)[-1]
        return "fell_back", f"{instead} ran instead", owners.get(_code(observation), "")
    owner = owners[_code(observation)]
    if not steering.same_functions_are_duplicates:
        return "proved", "", ""
    if owner != observation.algorithm.name:
        return "duplicate", _same_code(owner), owner
    return "proved", "", ""


def _owners(observations: Sequence[Observation], steering: Steering) -> dict[str, str]:
    """The first sound algorithm whose name matches, for each executed code."""
    owners: dict[str, str] = {}
    for observation in observations:
        sound = observation.is_sound and observation.algorithm.name != DEFAULT
        if not sound or not evidence.shows_identity(observation.evidence):
            continue
        ran = steering.identify_executed(
            observation.algorithm.collective, evidence.functions(observation.evidence)
        )
        if steering.name_matches(observation.algorithm, ran):
            owners.setdefault(_code(observation), observation.algorithm.name)
    return owners


def _code(observation: Observation) -> str:
    """The key of the executed code: the functions, and the parameters in the algorithm's name."""
    return evidence.identity(observation.evidence) + "".join(observation.algorithm.name.partition("(")[1:])


def _setting_is_ignored(observations: Sequence[Observation], p: int) -> bool:
    """Whether all settings lead to the same evidence, and none to a failed call."""
    sound = [one for one in observations if one.evidence and not one.error]
    comparable = [one for one in sound if not evidence.is_fingerprint(one.evidence)] or sound
    settings = sum(one.algorithm.name != DEFAULT for one in comparable)
    distinct = {evidence.identity(one.evidence) for one in comparable}
    has_failure = any(one.call_failed for one in observations)
    return p > 1 and settings >= LEAST_TO_COMPARE and len(distinct) == 1 and not has_failure
