"""Driving an engine through a study: prove, then measure what is not measured yet, a block of a case at a
time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import count

import msgspec

from offbeat.engines.base import BatchEngine, Engine
from offbeat.engines.batches import measure_in_batches
from offbeat.engines.outcome import Outcome
from offbeat.engines.resume import check_library, seed_of
from offbeat.engines.schedule import schedule
from offbeat.engines.session import Session, algorithm_of
from offbeat.engines.told import Told
from offbeat.errors import RunFailed
from offbeat.results.store import Store
from offbeat.study.algorithm import DEFAULT, MEASURED, Algorithm, Verdict, proof_lines
from offbeat.study.case import Case
from offbeat.study.cases import Group, cases, groups
from offbeat.study.load import LoadedStudy, check_algorithms


def run(
    loaded: LoadedStudy,
    store: Store,
    engine: Engine,
    told: Told,
    out_of_time: Callable[[float], bool] = lambda _: False,
) -> Outcome:
    """Do what a study asks for, and what of it is not done yet.

    ``out_of_time`` is asked before each block with the longest time in seconds that a block has taken; true
    ends the run early. Raises BadInput for algorithms that the library does not have, and RunFailed where
    nothing can be measured.
    """
    check_library(store, engine)
    engine.adopt(store.algorithms)
    check_names(loaded, engine)
    _warn(loaded, store, engine, told)
    prove(loaded, store, engine, told)
    everything = plan(loaded, store, engine)
    store.set_plan(everything)
    if not everything:
        raise RunFailed(
            "no algorithm could be measured; 'offbeat status' tells what was found out about each"
        )
    done = len(store.done.intersection(case.id for case in everything))
    session = Session(loaded, store, engine)
    if isinstance(engine, BatchEngine):
        told.begin(done, len(everything))
        measure_in_batches(everything, store.done, session, engine, told, out_of_time)
    else:
        _measure_in_rounds(everything, Rounds(loaded, store, engine), session, told, out_of_time)
    now = len(store.done.intersection(case.id for case in everything))
    return Outcome(
        done=now,
        total=len(everything),
        measured_now=now - done,
        stopped=now < len(everything),
        unproved=unproved_collectives(loaded, store, engine),
        proofs=proof_lines(store.verdicts),
    )


class Rounds:
    """Which blocks of which cases a study still needs, and in which order.

    Each round goes through the whole study and measures a block of every case that needs one, in an order of
    its own and in launches of its own: so the blocks of a case are spread over the study.
    """

    def __init__(self, loaded: LoadedStudy, store: Store, engine: Engine) -> None:
        self.engine = engine
        self._store = store
        self._seed = seed_of(store)
        self.planned = 1 if engine.deterministic else loaded.study.repetitions.planned_blocks

    def blocks_left(self, case: Case) -> int:
        """How many blocks a case will need, as far as that is known before they are measured."""
        if case.id in self._store.done:
            return 0
        return max(self.planned - self._store.block_count(case), 1)

    def blocks_done(self, everything: Iterable[Case]) -> int:
        """How many blocks of some cases are there."""
        return sum(map(self._store.block_count, everything))

    def due(self, everything: Sequence[Case], number: int) -> list[Case]:
        """The cases that need a block in round ``number``, from 0, in their order.

        The whole study is ordered, and what needs none is left out then: so a resumed study keeps its order.
        """
        ordered = schedule(everything, self._seed, self._launch_of, number)
        return [
            case
            for case in ordered
            if case.id not in self._store.done and self._store.block_count(case) <= number
        ]

    def _launch_of(self, case: Case) -> tuple[object, ...]:
        return self.engine.group_key(algorithm_of(self.engine, case), case)


def _measure_in_rounds(
    everything: Sequence[Case],
    rounds: Rounds,
    session: Session,
    told: Told,
    out_of_time: Callable[[float], bool],
) -> None:
    """Measure the blocks that cases need, round after round, until time runs out."""
    left = sum(map(rounds.blocks_left, everything))
    done = rounds.blocks_done(everything)
    told.begin(done, done + left, "cases" if rounds.planned == 1 else "blocks")
    longest_s = 0.0
    for number in count():
        if not left:
            return
        due = rounds.due(everything, number)
        if due:
            rounds.engine.begin_round(number)
        for case in due:
            if out_of_time(longest_s):
                return
            began, before = time.monotonic(), rounds.blocks_left(case)
            told.say(f"{case.collective} {case.bytes} B {case.algorithm} {case.pattern}")
            status = session.measure(case)
            left += rounds.blocks_left(case) - before
            longest_s = max(longest_s, time.monotonic() - began)
            told.finished(case, status, left)


def _warn(loaded: LoadedStudy, store: Store, engine: Engine, told: Told) -> None:
    """Say, and keep with the results, what the numbers will be worth here."""
    sentences = dict.fromkeys(
        sentence
        for group in placed_groups(loaded, engine)
        for sentence in engine.warnings(cases(group, [DEFAULT], loaded.study)[0])
    )
    store.update_provenance({"warnings": list(sentences), "launches": _launch_facts(loaded, engine)})
    for sentence in sentences:
        told.warn(sentence)


def _launch_facts(loaded: LoadedStudy, engine: Engine) -> list[dict[str, object]]:
    """How the processes of each placement are launched and bound, and how well they start together."""
    placements = {(group.p, group.nodes, group.ppn): group for group in placed_groups(loaded, engine)}
    return [engine.inspect(cases(group, [DEFAULT], loaded.study)[0]) for group in placements.values()]


def check_names(loaded: LoadedStudy, engine: Engine) -> None:
    """Raise BadInput, with the study's lines, for algorithms that the library does not have.

    So for hierarchical algorithms that are asked for by name and suit none of the study's placements.
    """
    sections = loaded.study.collective
    known = {
        name: [one.name for one in engine.algorithms(name)] for section in sections for name in section.names
    }
    places = {(group.nodes, group.ppn) for group in placed_groups(loaded, engine)}
    unsuited: dict[str, list[str]] = {}
    for section in sections:
        for name in section.names:
            for word in section.algorithms:
                found = engine.named(name, word)
                if found is not None and word not in known[name]:
                    known[name].append(word)
                if found is not None and not any(found.fits(*place) for place in places):
                    unsuited.setdefault(name, []).append(word)
    check_algorithms(loaded, known, unsuited)


def prove(loaded: LoadedStudy, store: Store, engine: Engine, told: Told) -> None:
    """Judge every algorithm of every collective and p that is not wholly judged yet.

    Algorithms are judged by comparing them, so where one verdict is missing all are found again.
    """
    requests: dict[tuple[int, str], list[tuple[Algorithm, Case]]] = {}
    unjudged: set[tuple[int, str]] = set()
    for group in placed_groups(loaded, engine):
        for algorithm in asked_algorithms(group, engine):
            case = cases(group, [algorithm.name], loaded.study)[0]
            together = (group.p, group.collective)
            requests.setdefault(together, []).append((algorithm, case))
            if store.verdict(group.collective, algorithm.name, group.p, group.bytes) is None:
                unjudged.add(together)
    wanted = [request for together in sorted(unjudged) for request in requests[together]]
    for proved in engine.prove(wanted, told.say):
        store.add_algorithms(proved.algorithms)
        store.add_verdicts(worst(proved.verdicts))


def unproved_collectives(loaded: LoadedStudy, store: Store, engine: Engine) -> list[str]:
    """Collectives of which algorithms were asked for, and none of them is proved at any p and size."""
    proved: dict[str, bool] = {}
    for group in placed_groups(loaded, engine):
        for algorithm in asked_algorithms(group, engine):
            if algorithm.name == DEFAULT:
                continue
            verdict = store.verdict(group.collective, algorithm.name, group.p, group.bytes)
            is_proved = verdict is not None and verdict.status == "proved"
            proved[group.collective] = proved.get(group.collective, False) or is_proved
    return [collective for collective, is_proved in proved.items() if not is_proved]


def worst(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """One verdict on each algorithm at each p and size: the worst over operations, roots and placements."""
    found: dict[tuple[object, ...], Verdict] = {}
    for verdict in verdicts:
        key = (verdict.collective, verdict.algorithm, verdict.p, verdict.bytes)
        before = found.setdefault(key, verdict)
        worse = verdict if _badness(verdict) > _badness(before) else before
        only = before.commutative_only or verdict.commutative_only
        found[key] = msgspec.structs.replace(
            worse,
            commutative_only=only,
            wrong_calls=before.wrong_calls or verdict.wrong_calls,
            legal_calls=max(before.legal_calls, verdict.legal_calls),
        )
    return list(found.values())


def _badness(verdict: Verdict) -> int:
    known = MEASURED
    return known.index(verdict.status) if verdict.status in known else len(known)


def plan(loaded: LoadedStudy, store: Store, engine: Engine) -> list[Case]:
    """Every case of the study: the algorithms that may be measured, under every pattern."""
    everything: list[Case] = []
    for group in placed_groups(loaded, engine):
        names = [
            one.name for one in asked_algorithms(group, engine) if _may_be_measured(store, group, one.name)
        ]
        everything += cases(group, names, loaded.study)
    return everything


def placed_groups(loaded: LoadedStudy, engine: Engine) -> list[Group]:
    """Every group of the study, placed as the engine places processes."""
    return [engine.place(group) for group in groups(loaded.study)]


def asked_algorithms(group: Group, engine: Engine) -> list[Algorithm]:
    """The algorithms that a group asks for, by their final names; ``default`` first, for it is the
    reference.

    Hierarchical algorithms are left out where the group's placement does not suit them.
    """
    asked = [DEFAULT]
    for name in group.algorithms:
        asked += [one.name for one in engine.algorithms(group.collective)] if name == "all" else [name]
    found = [engine.named(group.collective, name) for name in asked]
    return list(
        {one.name: one for one in found if one is not None and one.fits(group.nodes, group.ppn)}.values()
    )


def _may_be_measured(store: Store, group: Group, name: str) -> bool:
    verdict = store.verdict(group.collective, name, group.p, group.bytes)
    return verdict is not None and verdict.status in MEASURED
