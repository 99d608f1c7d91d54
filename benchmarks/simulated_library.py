"""A simulated MPI library: the algorithms of MPICH, and which of them it uses by default.

The default are the thresholds of MPICH: R. Thakur, R. Rabenseifner, W. Gropp, Optimization of Collective
Communication Operations in MPICH, Int. J. High Performance Computing Applications 19(1), 2005. That of a
barrier, which the article does not treat, is the dissemination algorithm.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from offbeat.measurement.engines.executors import Workers
from offbeat.measurement.engines.simulation_engine import SimEngine
from offbeat.model.study.algorithm import DEFAULT, Algorithm, Verdict
from offbeat.model.study.case import Case
from offbeat.programs.description.schema import Family, PhaseSection
from offbeat.programs.simulation.steps import communicators_of
from offbeat.simulation.calls.call_exits import Job, call_of

FAMILY: Family = "mpich"

MOST_MESSAGES = 100_000
"""The simulated library refuses calls of algorithms that send more: a ring of 1,024 ranks, say."""

KIB = 1024

Key = tuple[str, int, int]
"""What a rule of a tuning file is about: a collective, its number of processes, its size in bytes."""


def key_of(call: PhaseSection, ranks: int) -> Key:
    """The key of the rules that a call obeys."""
    return call.collective, communicators_of(call, ranks).p, call.bytes[0] if call.bytes else 0


def with_algorithm(call: PhaseSection, ranks: int, algorithm: str) -> PhaseSection:
    """The call with an algorithm, or with the default."""
    name = published_default(*key_of(call, ranks)) if algorithm == DEFAULT else algorithm
    return structs.replace(call, algorithm=name)


def published_default(collective: str, p: int, size: int) -> str:
    """The algorithm that MPICH uses by default; ``size`` is that of the MPI call, in bytes."""
    is_power_of_two = p & (p - 1) == 0
    match collective:
        case "allreduce":
            return "recursive_doubling" if size <= 2 * KIB else "reduce_scatter_allgather"
        case "reduce":
            return "binomial" if size <= 2 * KIB else "reduce_scatter_gather"
        case "bcast":
            if size < 12 * KIB or p < 8:
                return "binomial"
            medium = size < 512 * KIB and is_power_of_two
            return "scatter_recursive_doubling_allgather" if medium else "scatter_ring_allgather"
        case "allgather":
            if p * size < 512 * KIB and is_power_of_two:
                return "recursive_doubling"
            return "brucks" if p * size < 80 * KIB else "ring"
        case "alltoall":
            if size <= 256 and p >= 8:
                return "brucks"
            return "scattered" if size <= 32 * KIB else "pairwise"
    return "k_dissemination"


class Library(SimEngine):
    """The simulator with a ``default`` and with names of settings, as an MPI library has them."""

    def algorithms(self, collective: str) -> list[Algorithm]:
        """The default, and all algorithms of the family."""
        variable = f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM"
        return [
            Algorithm(collective=collective, name=DEFAULT),
            *(structs.replace(one, settings={variable: one.name}) for one in super().algorithms(collective)),
        ]

    def find_algorithm(self, collective: str, name: str) -> Algorithm | None:
        """The algorithm of a name."""
        return next((one for one in self.algorithms(collective) if one.name == name), None)

    def _verdict(self, algorithm: Algorithm, case: Case) -> Verdict:
        if algorithm.name == DEFAULT:
            ran = published_default(case.collective, case.p, case.bytes)
            algorithm = Algorithm(collective=case.collective, name=ran)
            return structs.replace(super()._verdict(algorithm, case), algorithm=DEFAULT)
        verdict = super()._verdict(algorithm, case)
        _, messages = call_of(self._job(algorithm, case, np.zeros((0, case.processes)))).preview()
        if messages <= MOST_MESSAGES:
            return verdict
        return structs.replace(verdict, status="refused", reason=f"it sends {messages} messages")

    def _job(self, algorithm: Algorithm, case: Case, arrivals_s: NDArray[np.float64]) -> Job:
        job = super()._job(algorithm, case, arrivals_s)
        if algorithm.name != DEFAULT:
            return job
        return structs.replace(job, algorithm=published_default(case.collective, case.p, case.bytes))


def one_worker() -> Workers:
    """Simulate one batch after the other: several cores are used by several programs."""
    executor = ThreadPoolExecutor(1)
    return Workers(executor=executor, count=1, end=executor.shutdown)
