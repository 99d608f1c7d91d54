"""The engine ``sim``: simulates the schedules of algorithms on a platform."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from itertools import groupby

import msgspec
import numpy as np
import psutil
from numpy.typing import NDArray

from offbeat.engines.base import Batch, Exits, ProofResult, measure_single_case
from offbeat.engines.executors import Workers, submit
from offbeat.platform.machine import Platform
from offbeat.platform.network import Nodes
from offbeat.results.blocks import Samples
from offbeat.simulation import catalogue
from offbeat.simulation.catalogue import keeps_order
from offbeat.simulation.exits import Job, refusal, run_job
from offbeat.study.algorithm import Algorithm, Verdict
from offbeat.study.case import Case
from offbeat.study.cases import Group
from offbeat.study.evidence import SCHEDULE
from offbeat.study.schema import EXTENTS, RepetitionsSection

VALUES_AT_ONCE = 2**22
"""Delays in one batch: 32 MiB, and the same size of exits."""

MESSAGES_AT_ONCE = 2**23
"""The approximate number of messages in one batch, so that many workers share a large case's patterns."""

LANES = 8
"""The number of patterns that the simulator evaluates in one pass; batches have a multiple of it."""


class SimEngine:
    """See :class:`offbeat.engines.base.BatchEngine`.

    ``platform`` is the simulated machine and ``family`` the library whose algorithms are simulated.
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
        """The name in results: ``sim-openmpi on paper``."""
        return f"sim-{self.family} on {self.platform.name}"

    @property
    def batches_ahead(self) -> int:
        """How many batches keep the workers busy."""
        return self._opened().batches_ahead

    def describe(self) -> dict[str, object]:
        """Facts for the provenance; the identity is a digest of family and platform."""
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

    def find_algorithm(self, collective: str, name: str) -> Algorithm | None:
        """The algorithm with a name, which may have parameters."""
        known = catalogue.find(collective, self.family, name)
        return Algorithm(collective=collective, name=name) if known else None

    def place(self, group: Group) -> Group:
        """Nodes and ppn according to the platform's mapping."""
        return self._placements.place(group)

    def restore_names(self, algorithms: Iterable[Algorithm]) -> None:
        """Nothing to do: names never change."""

    def prove(
        self, requests: Iterable[tuple[Algorithm, Case]], report: Callable[[str], None] = lambda _: None
    ) -> Iterator[ProofResult]:
        """A simulated algorithm needs no proof; only the refusals of the library are determined."""
        for (collective, p), chunk in groupby(requests, key=lambda entry: (entry[1].collective, entry[1].p)):
            report(f"{collective}, p = {p}: checking which algorithms support the call")
            entries = list(chunk)
            algorithms = {algorithm.name: algorithm for algorithm, _ in entries}
            yield ProofResult(
                algorithms=list(algorithms.values()), verdicts=[self._verdict(*entry) for entry in entries]
            )

    def measure(
        self, algorithm: Algorithm, case: Case, delays_s: NDArray[np.float64], rule: RepetitionsSection
    ) -> Samples:
        """Simulate one case: one repetition, or one per call of a replay."""
        return measure_single_case(self.submit, algorithm, case, delays_s)

    def begin_round(self, number: int) -> None:
        """Nothing to do: a simulated study has one round."""

    def patterns_at_once(self, case: Case) -> int:
        """The largest batch: a multiple of LANES, smaller for many ranks."""
        most = min(VALUES_AT_ONCE // case.p, MESSAGES_AT_ONCE // case.p**2, 1024)
        return max(1, most // LANES) * LANES

    def submit(self, batch: Batch) -> Future[Exits]:
        """Begin a batch on one of the workers."""
        return submit(
            self._opened(), simulate_batch, self._job(batch.algorithm, batch.cases[0], batch.delays_s)
        )

    def launch_line(self, algorithm: Algorithm, case: Case) -> str:
        """Empty: nothing is launched."""
        return ""

    def warnings(self, case: Case) -> list[str]:
        """None: the platform file documents the limits of its model."""
        return []

    def inspect(self, case: Case) -> dict[str, object]:
        """The placement of the ranks."""
        return {"p": case.p, "nodes": case.nodes, "ppn": case.ppn}

    def group_key(self, algorithm: Algorithm, case: Case) -> tuple[object, ...]:
        """The same for all cases: nothing is launched, so the order has no effect on the cost."""
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


class Placements:
    """The placements of a study on one platform: the node of each rank."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._node_of_rank: dict[tuple[int, int, int], Nodes] = {}

    def place(self, group: Group) -> Group:
        """Nodes and ppn according to the platform's mapping; ppn is 0 if nodes have different numbers of
        ranks.

        Raises BadInput if the ranks do not fit.
        """
        placed = self._platform.node_of_rank(group.p, nodes=group.nodes, ppn=group.ppn)
        ranks = np.bincount(placed)
        ranks = ranks[ranks > 0]
        nodes, ppn = len(ranks), int(ranks[0]) if (ranks == ranks[0]).all() else 0
        self._node_of_rank.setdefault((group.p, nodes, ppn), placed)
        return msgspec.structs.replace(group, nodes=nodes, ppn=ppn)

    def node_of_rank(self, case: Case) -> Nodes:
        """The node of each rank (p,) of a case whose group was placed."""
        return self._node_of_rank[case.p, case.nodes, case.ppn]


def simulate_batch(job: Job) -> Exits:
    """Simulate every pattern of a job; errors of its algorithm are part of the result.

    This is the work of a worker: argument and result can be sent to other machines.
    """
    try:
        done = run_job(job)
    except (ValueError, RuntimeError, MemoryError) as error:
        reason = str(error) or "there is not enough memory for the simulation"
        return Exits(exits_s=np.zeros((0, job.p)), failure=reason)
    return Exits(exits_s=done.exits_s, messages=done.messages)
