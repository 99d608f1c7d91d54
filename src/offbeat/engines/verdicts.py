"""From what was observed of one group of algorithms to a verdict on each.

A group is all algorithms of a collective at one p and message size. Judging is pure: the same observations
give the same verdicts.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from offbeat.mpi.library import Steering
from offbeat.study import evidence
from offbeat.study.algorithm import DEFAULT, Algorithm, Verdict, split_name

ENOUGH_TO_COMPARE = 3
"""From so many algorithms on, all of them sending the very same messages means that the setting is
ignored."""


class Observation(Struct, kw_only=True):
    """What happened when one algorithm was forced.

    ``lost`` is how the launch died or hung; ``error`` what the library answered, to the call itself where
    ``call_failed``; ``wrong`` the number of wrong elements with the study's operation,
    ``wrong_noncommutative`` with an operation that does not commute. ``looks`` is how often it took to see
    anything.
    """

    algorithm: Algorithm
    evidence: str = ""
    lost: str = ""
    error: str = ""
    call_failed: bool = False
    wrong: int = 0
    wrong_noncommutative: int = 0
    looks: int = 1

    @property
    def is_sound(self) -> bool:
        """Whether it ran and computed the right result."""
        return not (self.lost or self.error or self.wrong)


def look_alikes(observations: Sequence[Observation], steering: Steering) -> dict[str, list[str]]:
    """The algorithms whose evidence is that of other algorithms too, with the names of those.

    The library's default is no algorithm of its own. Algorithms with the same functions are left out where
    that makes them duplicates; but parameters, which functions do not show, make them others.
    """
    groups: dict[str, list[str]] = {}
    for seen in observations:
        if seen.is_sound and seen.evidence and seen.algorithm.name != DEFAULT:
            groups.setdefault(evidence.identity(seen.evidence), []).append(seen.algorithm.name)
    found: dict[str, list[str]] = {}
    for shown, names in groups.items():
        by_code = evidence.shows_identity(shown) and steering.same_functions_are_duplicates
        for name in names:
            others = [other for other in names if other != name]
            found[name] = [] if by_code else others
    return {name: others for name, others in found.items() if others}


def judge(observations: Sequence[Observation], steering: Steering, p: int, size: int) -> list[Verdict]:
    """A verdict on each observation, in their order.

    Of several that ran the same code, the first whose name fits keeps it; the others are duplicates, or fell
    back where their names say that they should have run something else.
    """
    ignored = _setting_is_ignored(observations, p)
    verdicts: list[Verdict] = []
    owners: dict[str, str] = _owners(observations, steering)
    alike = look_alikes(observations, steering)
    for seen in observations:
        status, reason, same_as = _status(seen, steering, owners, ignored)
        if status == "proved" and alike.get(seen.algorithm.name):
            status, reason = "indistinguishable", _not_told_from(alike[seen.algorithm.name])
        if status == "proved" and seen.looks > 1:
            reason = f"nothing was seen before look {seen.looks}"
        elif status == "proved" and split_name(seen.algorithm.name)[1]:
            reason = "the algorithm was seen to run; its parameters were only set and read back"
        verdicts.append(
            Verdict(
                collective=seen.algorithm.collective,
                algorithm=seen.algorithm.name,
                p=p,
                bytes=size,
                status=status,
                evidence=seen.evidence,
                reason=reason,
                same_as=same_as,
                commutative_only=seen.wrong_noncommutative > 0,
            )
        )
    return verdicts


def rename(verdicts: Sequence[Verdict], names: dict[tuple[str, str], str]) -> list[Verdict]:
    """The verdicts with algorithms renamed; ``names`` maps (collective, old name) to the new one."""
    return [_renamed(verdict, names) for verdict in verdicts]


def _renamed(verdict: Verdict, names: dict[tuple[str, str], str]) -> Verdict:
    same_as = names.get((verdict.collective, verdict.same_as), verdict.same_as)
    return msgspec.structs.replace(
        verdict,
        algorithm=names.get((verdict.collective, verdict.algorithm), verdict.algorithm),
        same_as=same_as,
        reason=_same_code(same_as) if verdict.status == "duplicate" else verdict.reason,
    )


def _not_told_from(others: Sequence[str]) -> str:
    return f"not proved: what was seen is the same for {', '.join(others)}"


def _same_code(owner: str) -> str:
    return f"runs the same code as {owner}"


def _status(
    seen: Observation, steering: Steering, owners: dict[str, str], ignored: bool
) -> tuple[str, str, str]:
    """Status, reason and whose duplicate it is."""
    if seen.lost:
        return "quarantined", seen.lost, ""
    if seen.error:
        return "refused", seen.error, ""
    if seen.wrong:
        return "wrong", f"{seen.wrong} wrong elements", ""
    if seen.algorithm.name == DEFAULT:
        return "proved", "", ""
    if not seen.evidence:
        return "unproved", "the library lets nobody see what runs", ""
    ran = steering.identify_executed(seen.algorithm.collective, evidence.functions(seen.evidence))
    if evidence.shows_identity(seen.evidence):
        return _status_by_functions(seen, steering, owners, ran)
    if seen.algorithm.hierarchical:
        return "unproved", "it may give way silently, and the library does not show which function ran", ""
    if ignored:
        return "unproved", "all settings look alike, so nothing shows that they are obeyed", ""
    return "proved", "", ""


def _status_by_functions(
    seen: Observation, steering: Steering, owners: dict[str, str], ran: str
) -> tuple[str, str, str]:
    if not steering.name_matches(seen.algorithm, ran):
        instead = ran or evidence.functions(seen.evidence)[-1]
        return "fell_back", f"{instead} ran instead", owners.get(_code(seen), "")
    owner = owners[_code(seen)]
    if not steering.same_functions_are_duplicates:
        return "proved", "", ""
    if owner != seen.algorithm.name:
        return "duplicate", _same_code(owner), owner
    return "proved", "", ""


def _owners(observations: Sequence[Observation], steering: Steering) -> dict[str, str]:
    """For each code that ran, the first sound algorithm whose name fits it."""
    owners: dict[str, str] = {}
    for seen in observations:
        sound = seen.is_sound and seen.algorithm.name != DEFAULT
        if not sound or not evidence.shows_identity(seen.evidence):
            continue
        ran = steering.identify_executed(seen.algorithm.collective, evidence.functions(seen.evidence))
        if steering.name_matches(seen.algorithm, ran):
            owners.setdefault(_code(seen), seen.algorithm.name)
    return owners


def _code(seen: Observation) -> str:
    """What identifies the code that ran: the functions, and the parameters in the algorithm's name."""
    return evidence.identity(seen.evidence) + "".join(seen.algorithm.name.partition("(")[1:])


def _setting_is_ignored(observations: Sequence[Observation], p: int) -> bool:
    """Whether several settings, and none, all lead to the same evidence, and no setting to a failed call."""
    sound = [one for one in observations if one.evidence and not one.error]
    alike = [one for one in sound if not evidence.is_fingerprint(one.evidence)] or sound
    settings = sum(one.algorithm.name != DEFAULT for one in alike)
    shown = {evidence.identity(one.evidence) for one in alike}
    heeded = any(one.call_failed for one in observations)
    return p > 1 and settings >= ENOUGH_TO_COMPARE and len(shown) == 1 and not heeded
