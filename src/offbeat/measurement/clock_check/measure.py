"""Measuring the steps of a check: the launch, the driver's command and the row of each step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from msgspec import UNSET, structs

from offbeat.base.errors import RunFailed
from offbeat.libraries.launch.driver import CommandRefused, Driver, DriverLost
from offbeat.libraries.launch.driver_protocol import (
    AccuracyAnswer,
    Command,
    MeasureAccuracy,
    MeasureStart,
    MeasureSync,
    StartAnswer,
    SyncAnswer,
)
from offbeat.measurement.clock_check.check_plan import (
    AGE_ROUNDS,
    BARRIER,
    SYNCS,
    CheckSettings,
    Step,
    is_default,
    repetitions_of,
)
from offbeat.measurement.clock_check.rows import HARMONIZE, Accuracy, CheckedAlgorithms, Row, Start, Sync
from offbeat.measurement.engines.driver_launches import Launches, LaunchSpec
from offbeat.measurement.engines.mpi_engine import MpiEngine
from offbeat.model.study.algorithm import Algorithm, Verdict
from offbeat.model.study.case import Case
from offbeat.model.study.collectives import REDUCING, ROOTED
from offbeat.model.study.skew_policy import ZERO_SKEW

PATIENCE_S = 120.0
"""How long the driver may take for an answer, in addition to the duration of the step."""

WARMUPS = 3
"""Uncounted starts before those that are measured."""

_ROWS: dict[str, type[Row]] = {"start": Start, "sync": Sync, "accuracy": Accuracy}
"""The kind of a step → the type of its rows."""

MOST_FAILURES = 2
"""A start or collective with which the launch crashed or hung this number of times is not tried again."""

DRIFT_PPM = 20.0
OFFSET_NS = 1_000_000_000
"""Limits of the artificial drift and offset of each process's clock."""
WANDER = "wander=0.5/60"
"""Artificial drift and offset of clocks: each up to these values, plus 0.5 ppm of variation with a period of
a minute, as in real quartz clocks."""


class LaunchedProber:
    """Measures steps with the driver."""

    def __init__(self, engine: MpiEngine, settings: CheckSettings, algorithms: CheckedAlgorithms) -> None:
        self._engine = engine
        self._launches: Launches = engine.launches
        self._settings = settings
        self._algorithms = {(one.collective, one.name): one for one in algorithms.algorithms}
        self._failures: dict[tuple[str, ...], list[str]] = {}

    def do(self, step: Step) -> Row:
        """Measure one step. Failures are part of the row; raises RunFailed if nothing can be launched."""
        failures = self._failures.setdefault(_subject(step), [])
        if len(failures) >= MOST_FAILURES:
            return failure_row(step, f"not tried again: {failures[-1]}", self._settings)
        try:
            driver = self._launch_with_forced(step)
            answer = driver.ask(self._command(step), timeout_s=self._patience_s(step))
        except DriverLost as loss:
            self._launches.drop()
            failures.append(str(loss))
            self._require_launches()
            return failure_row(step, str(loss), self._settings)
        except CommandRefused as refusal:
            return failure_row(step, str(refusal), self._settings)
        return row_of(step, structs.asdict(answer), self._settings)

    def where(self, step: Step) -> LaunchSpec:
        """The launch that a step needs."""
        return where(self._engine, self._settings, self._forced_algorithms(step), plain=_is_plain(step))

    def _launch_with_forced(self, step: Step) -> Driver:
        """The launch that a step needs, with the step's algorithms forced."""
        algorithms = self._forced_algorithms(step)
        driver = self._launches.get(self.where(step))
        steering, variables = self._engine.steering, self._engine.variables()
        arguments = [text for one in algorithms for text in steering.force_arguments(one, variables) or []]
        self._launches.force(driver, arguments, PATIENCE_S)
        return driver

    def _forced_algorithms(self, step: Step) -> list[Algorithm]:
        names = [(BARRIER, step.start if step.start != HARMONIZE else ""), (step.collective, step.algorithm)]
        return [self._algorithms[pair] for pair in names if not is_default(pair[1])]

    def _command(self, step: Step) -> Command[StartAnswer | SyncAnswer | AccuracyAnswer]:
        if step.kind == "start":
            return start_command(step, repetitions_of(self._settings, step.round))
        source = distorted_source(self._settings.p, self._settings.seed) if step.is_distorted else UNSET
        if step.kind == "sync":
            return MeasureSync(method=step.method, processes=step.processes, repetitions=SYNCS, source=source)
        return MeasureAccuracy(
            methods=list(self._settings.methods),
            ages=[round(age * 1e9) for age in self._settings.ages_s] or UNSET,
            rounds=AGE_ROUNDS,
            source=source,
        )

    def _patience_s(self, step: Step) -> float:
        own_s = AGE_ROUNDS * max(self._settings.ages_s, default=0.0) if step.kind == "accuracy" else 0.0
        return PATIENCE_S + 2 * own_s

    def _require_launches(self) -> None:
        """Raise RunFailed if a launch that forces nothing fails too."""
        why = self._launches.failure(where(self._engine, self._settings, [], plain=False), PATIENCE_S)
        if why:
            raise RunFailed(
                f"{self._engine.installation.name} cannot be launched with {self._settings.p} processes:"
                f" {why}; remove the cause and check again, which resumes the check. 'offbeat doctor' shows"
                " what works here"
            )


def where(
    engine: MpiEngine, settings: CheckSettings, algorithms: Sequence[Algorithm], *, plain: bool
) -> LaunchSpec:
    """The launch that forces some algorithms; with ``plain`` the launch as the library's users start it."""
    steering = engine.steering
    environment = dict(steering.environment(engine.installation))
    for algorithm in algorithms:
        if steering.force_arguments(algorithm, engine.variables()) is None:
            environment |= steering.launch_environment(algorithm)
    steerable = LaunchSpec(
        p=settings.p,
        nodes=settings.nodes,
        ppn=settings.ppn,
        environment=tuple(sorted(environment.items())),
    )
    if not plain:
        return steerable
    free = LaunchSpec(p=steerable.p, nodes=steerable.nodes, ppn=steerable.ppn, steerable=False)
    here, there = engine.launches.command(free), engine.launches.command(steerable)
    return steerable if (here.argv, here.environment) == (there.argv, there.environment) else free


def order_steps(todo: Iterable[Step], launch_of: Callable[[Step], object]) -> list[Step]:
    """The steps ordered by kind and round, and within a round by launch."""
    ranks: dict[object, int] = {}
    keys = {}
    for step in todo:
        group = (("start", "sync", "accuracy").index(step.kind), step.round)
        keys[step.id] = (*group, ranks.setdefault((*group, launch_of(step)), len(ranks)), step)
    return [step for *_, step in sorted(keys.values(), key=lambda key: key[:3])]


def prove(engine: MpiEngine, settings: CheckSettings, report: Callable[[str], None]) -> CheckedAlgorithms:
    """The algorithms of MPI_Barrier and of the collective, and the verdicts on each."""
    algorithms: list[Algorithm] = []
    verdicts: list[Verdict] = []
    for collective, sizes in ((BARRIER, [0]), (settings.collective, settings.sizes)):
        requests = [
            (one, case_of(one, settings, size))
            for one in candidates(engine, settings, collective)
            for size in sizes
        ]
        for proof in engine.prove(requests, report):
            algorithms += proof.algorithms
            verdicts += proof.verdicts
    return CheckedAlgorithms(algorithms=algorithms, verdicts=verdicts)


def candidates(engine: MpiEngine, settings: CheckSettings, collective: str) -> list[Algorithm]:
    """The library's algorithms of a collective that suit the placement of the processes."""
    return [one for one in engine.algorithms(collective) if one.fits(settings.nodes, settings.ppn)]


def case_of(algorithm: Algorithm, settings: CheckSettings, size: int) -> Case:
    """The call of an algorithm without delays, as a case for proofs."""
    collective = algorithm.collective
    return Case(
        collective=collective,
        algorithm=algorithm.name,
        bytes=size,
        pattern="no_delay",
        shape="no_delay",
        skew_policy=ZERO_SKEW.key,
        skew_factor=0.0,
        p=settings.p,
        nodes=settings.nodes,
        ppn=settings.ppn,
        op="sum" if collective in REDUCING else "",
        datatype="" if collective == BARRIER else "double",
    )


def start_command(step: Step, repetitions: int) -> MeasureStart:
    """The driver's command for a step of starts."""
    start_kind = "harmonize" if step.start == HARMONIZE else "barrier"
    command = MeasureStart(by=start_kind, repetitions=repetitions, warmups=WARMUPS)
    if not step.collective:
        return command
    return structs.replace(
        command,
        collective=step.collective,
        bytes=step.bytes,
        datatype="double",
        op="sum" if step.collective in REDUCING else UNSET,
        root=0 if step.collective in ROOTED else UNSET,
    )


def distorted_source(p: int, seed: int, epoch_ns: int | None = None) -> str:
    """A time source in which every process but the first has artificial drift and offset (see clock.h).

    Drifts are up to DRIFT_PPM and offsets up to OFFSET_NS, drawn with ``seed``; they begin at ``epoch_ns``
    on CLOCK_MONOTONIC, now unless given.
    """
    random = np.random.default_rng(seed)
    epoch = time.monotonic_ns() if epoch_ns is None else epoch_ns
    parts = [f"epoch={epoch}"]
    for rank in range(1, p):
        offset, drift = round(random.uniform(-1, 1) * OFFSET_NS), round(random.uniform(-1, 1) * DRIFT_PPM, 3)
        parts.append(f"{rank}:offset={offset},drift={drift},{WANDER}")
    return "virtual:" + ";".join(parts)


def row_of(step: Step, answer_fields: dict[str, object], settings: CheckSettings) -> Row:
    """The row of a step: what identifies it, and the fields of the driver's answer or of a failure."""
    kind = _ROWS[step.kind]
    names = set(kind.__struct_fields__) & set(Step.__struct_fields__)
    fields = {name: getattr(step, name) for name in names} | answer_fields
    if kind is Accuracy:
        fields["names"] = list(settings.methods)
    return kind(step=step.id, **fields)


def failure_row(step: Step, why: str, settings: CheckSettings) -> Row:
    """The row of a step that failed."""
    return row_of(step, {"failure": why}, settings)


def _subject(step: Step) -> tuple[str, ...]:
    """The subject of a step to which the death of a launch is attributed."""
    return (step.kind, step.start, step.collective, step.algorithm, step.method)


def _is_plain(step: Step) -> bool:
    """Whether a step measures only the library's own choices."""
    names = [step.start] if step.start and step.start != HARMONIZE else []
    names += [step.algorithm] if step.collective else []
    return bool(names) and all(is_default(name) for name in names)
