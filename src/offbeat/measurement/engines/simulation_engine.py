"""The engine ``sim``: simulates the schedules of algorithms on a platform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import psutil
from msgspec import structs
from numpy.typing import NDArray

from offbeat.base.errors import RunFailed
from offbeat.measurement.engines.engine import Batch, Exits
from offbeat.measurement.engines.executors import Workers, submit
from offbeat.measurement.engines.simulated_machine import Simulator, failed_exits
from offbeat.model.platform.machine import Platform
from offbeat.model.study.algorithm import Algorithm, Verdict, split_file_and_function
from offbeat.model.study.case import Case
from offbeat.model.study.evidence import SCHEDULE
from offbeat.model.study.schema import EXTENTS
from offbeat.simulation.calls import catalogue
from offbeat.simulation.calls.call_exits import Job, prove_function, refusal, run_job
from offbeat.simulation.calls.catalogue import keeps_order
from offbeat.simulation.calls.user_function import FunctionOfFile, function_of_file

VALUES_AT_ONCE = 2**22
"""Delays in one batch: 32 MiB, and the same size of exits."""

MESSAGES_AT_ONCE = 2**23
"""The approximate number of messages in one batch, so that many workers share a large case's patterns."""

LANES = 8
"""The number of patterns that the simulator evaluates in one pass; batches have a multiple of it."""


class SimEngine(Simulator):
    """See :class:`offbeat.measurement.engines.engine.BatchEngine`; ``family`` is the library that it
    simulates.

    The files of algorithms that the user wrote are relative to the folder ``base``.
    """

    def __init__(
        self, platform: Platform, family: str, open_workers: Callable[[], Workers], base: Path
    ) -> None:
        super().__init__(platform)
        self.family = family
        self._base = base
        self._functions: dict[str, FunctionOfFile] = {}
        self._open_workers = open_workers
        self._workers: Workers | None = None

    @property
    def name(self) -> str:
        """The name in results: ``sim-openmpi on paper``."""
        return f"sim-{self.family} on {self.platform.name}"

    @property
    def batches_ahead(self) -> int:
        """The number of batches that keep the workers busy."""
        return self._get_workers().batches_ahead

    def describe(self) -> dict[str, object]:
        """Facts for the provenance."""
        library = f"offbeat's simulator, algorithms of {self.family}"
        return self._facts(self.name, library, self.family, "", self.family)

    def algorithms(self, collective: str) -> list[Algorithm]:
        """The algorithms of the family; a simulator has no ``default``."""
        return [
            Algorithm(collective=collective, name=simulated.name)
            for simulated in catalogue.algorithms(collective, self.family)
        ]

    def find_algorithm(self, collective: str, name: str) -> Algorithm | None:
        """The algorithm with a name, which may have parameters, or be FILE.py:FUNCTION.

        Raises BadInput or RunFailed if such a function cannot be loaded.
        """
        if self._function(name) is not None:
            return Algorithm(collective=collective, name=name)
        entry = catalogue.find(collective, self.family, name)
        return Algorithm(collective=collective, name=name) if entry else None

    def warnings(self, case: Case) -> list[str]:
        """None: the platform file documents the limits of its model."""
        return []

    def patterns_at_once(self, case: Case) -> int:
        """The largest batch: a multiple of LANES, smaller for many ranks."""
        processes = case.processes
        limit = min(VALUES_AT_ONCE // processes, MESSAGES_AT_ONCE // (processes * case.p), 1024)
        return max(1, limit // LANES) * LANES

    def submit(self, batch: Batch) -> Future[Exits]:
        """Begin a batch on one of the workers."""
        case = batch.cases[0]
        job = self._job(batch.algorithm, case, case.layout.for_all(batch.delays_s))
        return submit(self._get_workers(), simulate_batch, job)

    def close(self) -> None:
        """End the workers."""
        if self._workers is not None:
            self._workers.end()
            self._workers = None

    def _get_workers(self) -> Workers:
        if self._workers is None:
            self._workers = self._open_workers()
        return self._workers

    def _proof_step(self, case: Case) -> str:
        return f"{case.collective}, p = {case.p}: checking which algorithms support the call"

    def _verdicts(self, requests: Sequence[tuple[Algorithm, Case]]) -> list[Verdict]:
        """A simulated algorithm needs no proof; only the refusals of the library are determined."""
        return [self._verdict(algorithm, case) for algorithm, case in requests]

    def _function(self, name: str) -> FunctionOfFile | None:
        """The algorithm if the user wrote it, with the content that its file had first."""
        file_and_function = split_file_and_function(name)
        if file_and_function is not None and name not in self._functions:
            function = function_of_file(self._base / file_and_function[0], file_and_function[1])
            function.load()
            self._functions[name] = function
        return self._functions.get(name)

    def _verdict_on_function(self, function: FunctionOfFile, algorithm: Algorithm, case: Case) -> Verdict:
        """The checker runs the function at each p and size of the study."""
        verdict = Verdict(
            collective=case.collective, algorithm=algorithm.name, p=case.p, bytes=case.bytes, status="proved"
        )
        try:
            proof = prove_function(self._job(algorithm, case, np.zeros((0, case.processes))))
        except RunFailed as error:
            return structs.replace(verdict, status="quarantined", reason=str(error))
        if proof.refusal:
            return structs.replace(verdict, status="refused", reason=proof.refusal)
        if proof.wrong:
            return structs.replace(verdict, status="wrong", reason=proof.wrong)
        evidence = f"{SCHEDULE}{algorithm.name} {function.digest[:16]}"
        return structs.replace(verdict, evidence=evidence, commutative_only=proof.commutative_only)

    def _verdict(self, algorithm: Algorithm, case: Case) -> Verdict:
        if function := self._function(algorithm.name):
            return self._verdict_on_function(function, algorithm, case)
        job = self._job(algorithm, case, np.zeros((0, case.processes)))
        reason = refusal(job, psutil.virtual_memory().total)
        return Verdict(
            collective=case.collective,
            algorithm=algorithm.name,
            p=case.p,
            bytes=case.bytes,
            status="refused" if reason else "proved",
            reason=reason,
            evidence="" if reason else f"{SCHEDULE}{self.family} {algorithm.name}",
            commutative_only=not reason and not self._keeps_order(algorithm, case),
        )

    def _keeps_order(self, algorithm: Algorithm, case: Case) -> bool:
        extent = EXTENTS.get(case.datatype, 1)
        return keeps_order(case.collective, self.family, algorithm.name, extent)

    def _job(self, algorithm: Algorithm, case: Case, arrivals_s: NDArray[np.float64]) -> Job:
        return Job(
            platform=self.platform.file,
            node_of_rank=self._nodes(case),
            collective=case.collective,
            family=self.family,
            algorithm=algorithm.name,
            root=case.root,
            bytes=case.bytes,
            element_bytes=EXTENTS.get(case.datatype, 1),
            arrivals_s=arrivals_s,
            layout=case.layout,
            function=self._function(algorithm.name),
        )


def simulate_batch(job: Job) -> Exits:
    """Simulate every pattern of a job; errors of its algorithm are part of the result.

    This is the work of a worker: argument and result can be sent to other machines.
    """
    try:
        result = run_job(job)
    except (ValueError, RuntimeError, MemoryError, RunFailed) as error:
        return failed_exits(job.layout.total, str(error) or "there is not enough memory for the simulation")
    return Exits(exits_s=result.exits_s, messages=result.messages)
