"""Driving an engine through a study: prove, then measure what is not measured yet, a case at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec

from offbeat.engines.base import BatchEngine, Engine
from offbeat.engines.batches import measure_in_batches
from offbeat.engines.outcome import Outcome
from offbeat.engines.resume import check_library
from offbeat.engines.schedule import schedule
from offbeat.engines.session import Session, algorithm_of
from offbeat.engines.told import Told
from offbeat.errors import RunFailed
from offbeat.results.store import Store
from offbeat.study.algorithm import DEFAULT, Algorithm, Verdict
from offbeat.study.case import Case
from offbeat.study.cases import Group, cases, groups
from offbeat.study.load import LoadedStudy, check_algorithms

MEASURED_STATUSES = ("proved", "unproved")


def run(
    loaded: LoadedStudy,
    store: Store,
    engine: Engine,
    told: Told,
    out_of_time: Callable[[float], bool] = lambda _: False,
) -> Outcome:
    """Do what a study asks for, and what of it is not done yet.

    ``out_of_time`` is asked before each case with the longest time in seconds that a case has taken; true
    ends the run early. Raises BadInput for algorithms that the library does not have, and RunFailed where
    nothing can be measured.
    """
    check_library(store, engine)
    engine.adopt(store.algorithms)
    check_names(loaded, engine)
    _warn(loaded, store, engine, told)
    prove(loaded, store, engine, told)
    everything = plan(loaded, store, engine)
    store.set_total(len(everything))
    if not everything:
        raise RunFailed(
            "no algorithm could be measured; 'offbeat status' tells what was found out about each"
        )
    done = len(store.done.intersection(case.id for case in everything))
    told.begin(done, len(everything))
    session = Session(loaded, store, engine)
    if isinstance(engine, BatchEngine):
        measured = measure_in_batches(everything, store.done, session, engine, told, out_of_time)
    else:
        measured = _measure_each(
            everything, store.done, session, engine, told, out_of_time, loaded.study.seed
        )
    now = done + measured
    return Outcome(done=now, total=len(everything), measured_now=measured, stopped=now < len(everything))


def _measure_each(
    everything: Sequence[Case],
    done: Collection[str],
    session: Session,
    engine: Engine,
    told: Told,
    out_of_time: Callable[[float], bool],
    seed: int,
) -> int:
    """Measure the cases that are not done, one after another, until time runs out; how many were."""
    # the whole study is ordered, and then what is done left out: so a resumed one keeps its order
    ordered = schedule(everything, seed, lambda case: engine.group_key(algorithm_of(engine, case), case))
    longest_s = 0.0
    measured = 0
    for case in ordered:
        if case.id in done:
            continue
        if out_of_time(longest_s):
            break
        began = time.monotonic()
        told.say(f"{case.collective} {case.bytes} B {case.algorithm} {case.pattern}")
        status = session.measure(case)
        longest_s = max(longest_s, time.monotonic() - began)
        told.finished(case, status)
        measured += 1
    return measured


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
    """Raise BadInput, with the study's lines, for algorithms that the library does not have."""
    sections = loaded.study.collective
    known = {
        name: [one.name for one in engine.algorithms(name)] for section in sections for name in section.names
    }
    for section in sections:
        for name in section.names:
            asked = [
                word for word in section.algorithms if word not in known[name] and engine.named(name, word)
            ]
            known[name] += asked
    check_algorithms(loaded, known)


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
    known = MEASURED_STATUSES
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
    reference."""
    asked = [DEFAULT]
    for name in group.algorithms:
        asked += [one.name for one in engine.algorithms(group.collective)] if name == "all" else [name]
    found = [engine.named(group.collective, name) for name in asked]
    return list({algorithm.name: algorithm for algorithm in found if algorithm is not None}.values())


def _may_be_measured(store: Store, group: Group, name: str) -> bool:
    verdict = store.verdict(group.collective, name, group.p, group.bytes)
    return verdict is not None and verdict.status in MEASURED_STATUSES
