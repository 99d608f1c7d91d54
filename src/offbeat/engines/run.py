"""Driving an engine through a study: prove, then measure what is not measured yet, a case at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

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
from offbeat.study.algorithm import DEFAULT, Algorithm
from offbeat.study.case import Case
from offbeat.study.cases import Group, cases, delays_s, groups
from offbeat.study.load import LoadedStudy, check_algorithms

MEASURED_STATUSES = ("proved", "unproved")
LOSSES_BEFORE_GIVING_UP = 2
"""After so many crashes or hangs of an algorithm in a group, the group's other cases of it are not tried."""


class Told(Protocol):
    """Who hears how a run goes on."""

    def say(self, what: str) -> None:
        """What is being done now."""

    def begin(self, done: int, total: int) -> None:
        """Measuring begins; so many cases of the total are there already."""

    def finished(self, case: Case, status: str, spent_s: float) -> None:
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
    prove(loaded, store, engine, told)
    everything = plan(loaded, store, engine)
    store.set_total(len(everything))
    if not everything:
        raise RunFailed(
            "no algorithm could be measured; 'offbeat status' tells what was found out about each"
        )
    todo = schedule(
        [case for case in everything if case.id not in store.done],
        loaded.study.seed,
        lambda case: engine.group_key(_algorithm(engine, case), case),
    )
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
        spent_s = time.monotonic() - began
        longest_s = max(longest_s, spent_s)
        told.finished(case, status, spent_s)
    return Outcome(done=len(everything), total=len(everything), measured_now=len(todo), stopped=False)


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
    """Judge every algorithm of every group that has no verdict yet."""
    requests: dict[tuple[object, ...], tuple[Algorithm, Case]] = {}
    for group in groups(loaded.study):
        for algorithm in asked_algorithms(group, engine):
            key = (group.p, group.collective, group.bytes, algorithm.name)
            if store.verdict(group.collective, algorithm.name, group.p, group.bytes) is None:
                requests[key] = (algorithm, cases(group, [algorithm.name], loaded.study)[0])
    ordered = [requests[key] for key in sorted(requests, key=lambda key: key[:2])]
    for proved in engine.prove(ordered, told.say):
        store.add_algorithms(proved.algorithms)
        store.add_verdicts(proved.verdicts)


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
        self._runtimes = NoDelayRuntimes(_measured_before(store))
        self._losses: dict[tuple[str, str, int, int], list[str]] = {}

    def measure(self, case: Case) -> str:
        """Measure a case and put it on disk; its status."""
        key = (case.collective, case.algorithm, case.bytes, case.p)
        skew_s = 0.0
        try:
            skew_s = self._runtimes.skew_s(case)
            delays = delays_s(self._loaded, case, skew_s)
            skew_s = float(delays.max(initial=0.0))
            samples = self._samples(case, delays, key)
        except UnknownSkew as unknown:
            samples = no_samples(case.p, str(unknown))
        status = self._status(samples)
        self._store.append(case, self._facts(case, skew_s, status, samples), samples)
        if status != "quarantined" and samples.valid.any():
            self._runtimes.note(case, float(np.median(last_delays_s(samples))))
        return status

    def _samples(self, case: Case, delays: NDArray[np.float64], key: tuple[str, str, int, int]) -> Samples:
        losses = self._losses.get(key, [])
        if len(losses) >= LOSSES_BEFORE_GIVING_UP:
            return no_samples(case.p, f"not tried again: {losses[-1]}")
        samples = self._engine.measure(
            _algorithm(self._engine, case), case, delays, self._loaded.study.repetitions
        )
        if samples.failure:
            self._losses.setdefault(key, []).append(samples.failure)
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


def _measured_before(store: Store) -> list[tuple[Case, float]]:
    rows = read_cases(store.directory).iter_rows(named=True)
    fields = Case.__struct_fields__
    return [
        (Case(**{name: row[name] for name in fields}), row["last_delay_s"])
        for row in rows
        if row["status"] != "quarantined" and row["last_delay_s"] is not None
    ]


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
