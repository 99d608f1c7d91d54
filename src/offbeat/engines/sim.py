"""The engine ``sim``: algorithms as schedules, simulated on a platform."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from itertools import groupby

import msgspec
import numpy as np
import psutil
from numpy.typing import NDArray

from offbeat.engines.base import Batch, Exits, Proved, measured_alone
from offbeat.engines.executors import Workers, submit
from offbeat.engines.placements import Placements
from offbeat.engines.sim_work import simulate_batch
from offbeat.platform.machine import Platform
from offbeat.results.blocks import Samples
from offbeat.simulation import catalogue
from offbeat.simulation.catalogue import keeps_order
from offbeat.simulation.exits import Job, refusal
from offbeat.study.algorithm import Algorithm, Verdict
from offbeat.study.case import Case
from offbeat.study.cases import Group
from offbeat.study.evidence import SCHEDULE
from offbeat.study.schema import EXTENTS, RepetitionsSection

VALUES_AT_ONCE = 2**22
"""Delays in one batch: 32 MiB of them, and as much of exits."""

MESSAGES_AT_ONCE = 2**23
"""About so many messages in one batch, so that many workers share a large case's patterns."""

LANES = 8
"""A batch has a multiple of so many patterns: the simulator takes as many in one pass."""


class SimEngine:
    """See :class:`offbeat.engines.base.BatchEngine`.

    ``platform`` is the simulated machine and ``family`` says whose algorithms run on it.
    """

    deterministic = True

    def __init__(self, platform: Platform, family: str, open_workers: Callable[[], Workers]) -> None:
        self.platform = platform
        self.family = family
        self._open_workers = open_workers
        self._placements = Placements(platform)
        self._workers: Workers | None = None

    @property
    def name(self) -> str:
        """What it is called in results: ``sim-openmpi on paper``."""
        return f"sim-{self.family} on {self.platform.name}"

    @property
    def batches_ahead(self) -> int:
        """How many batches keep the workers busy."""
        return self._opened().batches_ahead

    def describe(self) -> dict[str, object]:
        """Facts for the provenance; the identity is that of family and platform."""
        platform = msgspec.to_builtins(self.platform.file)
        digest = hashlib.sha256(msgspec.json.encode([self.family, platform], order="deterministic"))
        library = {
            "name": self.name,
            "library": f"offbeat's simulator, algorithms of {self.family}",
            "identity": digest.hexdigest()[:16],
            "family": self.family,
            "version": "",
            "simulated": True,
            "platform": platform,
        }
        return {"library": library, "deterministic": True}

    def algorithms(self, collective: str) -> list[Algorithm]:
        """Every algorithm of the family; a simulator has no ``default``."""
        return [
            Algorithm(collective=collective, name=known.name)
            for known in catalogue.algorithms(collective, self.family)
        ]

    def named(self, collective: str, name: str) -> Algorithm | None:
        """The algorithm of a name, parameters included."""
        found = catalogue.find(collective, self.family, name)
        return Algorithm(collective=collective, name=name) if found else None

    def place(self, group: Group) -> Group:
        """Nodes and ppn as the platform's mapping gives them."""
        return self._placements.place(group)

    def adopt(self, algorithms: Iterable[Algorithm]) -> None:
        """Names never change here."""

    def prove(
        self, requests: Iterable[tuple[Algorithm, Case]], told: Callable[[str], None] = lambda _: None
    ) -> Iterator[Proved]:
        """What runs is what is asked for; only what a library refuses is found out."""
        for (collective, p), chunk in groupby(requests, key=lambda entry: (entry[1].collective, entry[1].p)):
            told(f"{collective}, p = {p}: which algorithms take this call")
            asked = list(chunk)
            algorithms = {algorithm.name: algorithm for algorithm, _ in asked}
            yield Proved(
                algorithms=list(algorithms.values()), verdicts=[self._verdict(*entry) for entry in asked]
            )

    def measure(
        self, algorithm: Algorithm, case: Case, delays_s: NDArray[np.float64], rule: RepetitionsSection
    ) -> Samples:
        """One case alone: one repetition, or one of each call of a replay."""
        return measured_alone(self.submit, algorithm, case, delays_s)

    def begin_round(self, number: int) -> None:
        """Nothing differs between rounds here, and there is one."""

    def patterns_at_once(self, case: Case) -> int:
        """Few where there are many ranks; a multiple of what the simulator takes in one pass."""
        most = min(VALUES_AT_ONCE // case.p, MESSAGES_AT_ONCE // case.p**2, 1024)
        return max(1, most // LANES) * LANES

    def submit(self, batch: Batch) -> Future[Exits]:
        """Begin a batch on one of the workers."""
        return submit(
            self._opened(), simulate_batch, self._job(batch.algorithm, batch.cases[0], batch.delays_s)
        )

    def launch_line(self, algorithm: Algorithm, case: Case) -> str:
        """Nothing is launched."""
        return ""

    def warnings(self, case: Case) -> list[str]:
        """What weakens a simulation's numbers stands with the platform."""
        return []

    def inspect(self, case: Case) -> dict[str, object]:
        """Where the ranks are."""
        return {"p": case.p, "nodes": case.nodes, "ppn": case.ppn}

    def group_key(self, algorithm: Algorithm, case: Case) -> tuple[object, ...]:
        """Nothing is launched, so nothing is cheaper together."""
        return ()

    def close(self) -> None:
        """End the workers."""
        if self._workers is not None:
            self._workers.end()
            self._workers = None

    def _opened(self) -> Workers:
        if self._workers is None:
            self._workers = self._open_workers()
        return self._workers

    def _verdict(self, algorithm: Algorithm, case: Case) -> Verdict:
        job = self._job(algorithm, case, np.zeros((0, case.p)))
        refused = refusal(job, psutil.virtual_memory().total)
        return Verdict(
            collective=case.collective,
            algorithm=algorithm.name,
            p=case.p,
            bytes=case.bytes,
            status="refused" if refused else "proved",
            reason=refused,
            evidence="" if refused else f"{SCHEDULE}{self.family} {algorithm.name}",
            commutative_only=not refused and not self._keeps_order(algorithm, case),
        )

    def _keeps_order(self, algorithm: Algorithm, case: Case) -> bool:
        extent = EXTENTS.get(case.datatype, 1)
        return keeps_order(case.collective, self.family, algorithm.name, extent)

    def _job(self, algorithm: Algorithm, case: Case, delays_s: NDArray[np.float64]) -> Job:
        return Job(
            platform=self.platform.file,
            node_of_rank=self._placements.node_of_rank(case),
            collective=case.collective,
            family=self.family,
            algorithm=algorithm.name,
            root=case.root,
            bytes=case.bytes,
            element_bytes=EXTENTS.get(case.datatype, 1),
            arrivals_s=delays_s,
        )
