"""Driving an engine through a study: prove, then measure what is not measured yet, a case at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from offbeat.engines.base import Engine
from offbeat.engines.outcome import Outcome
from offbeat.engines.repeat import last_delays_s, no_samples
from offbeat.engines.resume import check_library
from offbeat.engines.schedule import schedule
from offbeat.engines.skew import NoDelayRuntimes, UnknownSkew
from offbeat.errors import RunFailed
from offbeat.pattern.shapes import SHAPES
from offbeat.results.read import read_cases
from offbeat.results.repetitions import Samples
from offbeat.results.store import Store
from offbeat.study.algorithm import DEFAULT, Algorithm, Verdict
from offbeat.study.case import Case
from offbeat.study.cases import Group, cases, delays_s, group_of, groups
from offbeat.study.load import LoadedStudy, check_algorithms

MEASURED_STATUSES = ("proved", "unproved")
LOSSES_BEFORE_GIVING_UP = 2
"""After so many crashes or hangs of an algorithm in a group, the group's other cases of it are not tried."""

NOT_TRIED = "not tried again: "
NO_SKEW = "its skew is unknown: "
"""Beginnings of the reasons for cases that were never launched."""


class Told(Protocol):
    """Who hears how a run goes on."""

    def say(self, what: str) -> None:
        """What is being done now."""

    def warn(self, sentence: str) -> None:
        """Something that the user must know to judge the numbers."""

    def begin(self, done: int, total: int) -> None:
        """Measuring begins; so many cases of the total are there already."""

    def finished(self, case: Case, status: str) -> None:
        """A case is on disk."""


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
    # the whole study is ordered, and then what is done left out: so a resumed one keeps its order
    ordered = schedule(
        everything, loaded.study.seed, lambda case: engine.group_key(_algorithm(engine, case), case)
    )
    todo = [case for case in ordered if case.id not in store.done]
    told.begin(len(everything) - len(todo), len(everything))
    session = _Session(loaded, store, engine)
    longest_s = 0.0
    for number, case in enumerate(todo):
        if out_of_time(longest_s):
            return Outcome(
                done=len(everything) - len(todo) + number,
                total=len(everything),
                measured_now=number,
                stopped=True,
            )
        began = time.monotonic()
        told.say(f"{case.collective} {case.bytes} B {case.algorithm} {case.pattern}")
        status = session.measure(case)
        longest_s = max(longest_s, time.monotonic() - began)
        told.finished(case, status)
    return Outcome(done=len(everything), total=len(everything), measured_now=len(todo), stopped=False)


def _warn(loaded: LoadedStudy, store: Store, engine: Engine, told: Told) -> None:
    """Say, and keep with the results, what the numbers will be worth here."""
    sentences = dict.fromkeys(
        sentence
        for group in groups(loaded.study)
        for sentence in engine.warnings(cases(group, [DEFAULT], loaded.study)[0])
    )
    store.update_provenance({"warnings": list(sentences), "launches": _launch_facts(loaded, engine)})
    for sentence in sentences:
        told.warn(sentence)


def _launch_facts(loaded: LoadedStudy, engine: Engine) -> list[dict[str, object]]:
    """How the processes of each placement are launched and bound, and how well they start together."""
    placements = {(group.p, group.nodes, group.ppn): group for group in groups(loaded.study)}
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
    for group in groups(loaded.study):
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
        found[key] = msgspec.structs.replace(worse, commutative_only=only)
    return list(found.values())


def _badness(verdict: Verdict) -> int:
    known = MEASURED_STATUSES
    return known.index(verdict.status) if verdict.status in known else len(known)


def plan(loaded: LoadedStudy, store: Store, engine: Engine) -> list[Case]:
    """Every case of the study: the algorithms that may be measured, under every pattern."""
    everything: list[Case] = []
    for group in groups(loaded.study):
        names = [
            one.name for one in asked_algorithms(group, engine) if _may_be_measured(store, group, one.name)
        ]
        everything += cases(group, names, loaded.study)
    return everything


class _Session:
    """What measuring one case after another has to remember."""

    def __init__(self, loaded: LoadedStudy, store: Store, engine: Engine) -> None:
        self._loaded = loaded
        self._store = store
        self._engine = engine
        before = _cases_before(store)
        self._runtimes = NoDelayRuntimes(_runtimes_of(before))
        self._losses = _losses_of(before)

    def measure(self, case: Case) -> str:
        """Measure a case and put it on disk; its status."""
        skew_s = 0.0
        try:
            skew_s = self._runtimes.skew_s(case)
            delays = delays_s(self._loaded, case, skew_s)
            skew_s = float(delays.max(initial=0.0))
            samples = self._samples(case, delays)
        except UnknownSkew as unknown:
            samples = no_samples(case.p, f"{NO_SKEW}{unknown}")
        status = self._status(samples)
        self._store.append(case, self._facts(case, skew_s, status, samples), samples)
        if status != "quarantined" and samples.valid.any():
            self._runtimes.note(case, float(np.median(last_delays_s(samples))))
        return status

    def _samples(self, case: Case, delays: NDArray[np.float64]) -> Samples:
        losses = self._losses.setdefault(_algorithm_in_group(case), [])
        if len(losses) >= LOSSES_BEFORE_GIVING_UP:
            return no_samples(case.p, f"{NOT_TRIED}{losses[-1]}")
        samples = self._engine.measure(
            _algorithm(self._engine, case), case, delays, self._loaded.study.repetitions
        )
        if samples.failure:
            losses.append(samples.failure)
        return samples

    def _status(self, samples: Samples) -> str:
        if samples.failure:
            return "quarantined"
        enough = int(samples.valid.sum()) >= self._loaded.study.repetitions.minimum
        return "measured" if enough else "incomplete"

    def _facts(self, case: Case, skew_s: float, status: str, samples: Samples) -> dict[str, object]:
        verdict = self._store.verdict(case.collective, case.algorithm, case.p, case.bytes)
        library = self._store.provenance["library"]
        few = "too few starts were on time" if status == "incomplete" else ""
        return {
            "engine": self._loaded.study.engine,
            "library": library["name"] if isinstance(library, dict) else str(library),
            "pattern_kind": "shape" if case.shape in SHAPES else "scenario",
            "skew_s": skew_s,
            "status": status,
            "reason": samples.failure or few,
            "proof": verdict.status if verdict else "unproved",
            "evidence": verdict.evidence if verdict else "",
        }


def _cases_before(store: Store) -> list[tuple[Case, dict[str, Any]]]:
    """The cases that earlier runs of the study put on disk, each with its whole row, in their order."""
    fields = Case.__struct_fields__
    rows = read_cases(store.directory).iter_rows(named=True)
    return [(Case(**{name: row[name] for name in fields}), row) for row in rows]


def _runtimes_of(before: Iterable[tuple[Case, dict[str, Any]]]) -> list[tuple[Case, float]]:
    return [
        (case, row["last_delay_s"])
        for case, row in before
        if row["status"] != "quarantined" and row["last_delay_s"] is not None
    ]


def _losses_of(before: Iterable[tuple[Case, dict[str, Any]]]) -> dict[tuple[str, str], list[str]]:
    """What went wrong with each algorithm of each group when it was launched."""
    losses: dict[tuple[str, str], list[str]] = {}
    for case, row in before:
        if row["status"] == "quarantined" and not row["reason"].startswith((NOT_TRIED, NO_SKEW)):
            losses.setdefault(_algorithm_in_group(case), []).append(row["reason"])
    return losses


def _algorithm_in_group(case: Case) -> tuple[str, str]:
    return repr(group_of(case)), case.algorithm


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


def _algorithm(engine: Engine, case: Case) -> Algorithm:
    algorithm = engine.named(case.collective, case.algorithm)
    if algorithm is None:
        raise RunFailed(f"the library no longer has {case.algorithm} for {case.collective}")
    return algorithm
