"""The interface of engines: algorithms with verdicts, and samples for cases.

An engine never writes results and never selects. :mod:`offbeat.measurement.runs.run` drives it through a
study: an engine that measures gets one case at a time; an engine that simulates gets batches of cases before
it has finished the previous ones (:class:`BatchEngine`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Protocol, runtime_checkable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.measurement.results.blocks import Samples
from offbeat.model.study.algorithm import Algorithm, Verdict
from offbeat.model.study.case import Case
from offbeat.model.study.case_expansion import Group
from offbeat.model.study.schema import RepetitionsSection


class ProofResult(Struct, kw_only=True):
    """Algorithms under their final names, and a verdict on each."""

    algorithms: list[Algorithm]
    verdicts: list[Verdict]


class CommonEngine(Protocol):
    """A source of arrival and exit times: what a run asks of every engine."""

    def describe(self) -> dict[str, object]:
        """Facts about machine, library and settings for ``provenance.json``, with the key 'library'."""
        ...

    def algorithms(self, collective: str) -> list[Algorithm]:
        """The algorithms that this engine has for a collective; ``default`` comes first if it exists."""
        ...

    def find_algorithm(self, collective: str, name: str) -> Algorithm | None:
        """The algorithm with a name, which may have parameters (``chain(fanout=4)``), or None."""
        ...

    def place_group(self, group: Group) -> Group:
        """The group with nodes and ppn filled in, if the engine places processes that the study did not
        place. Raises BadInput if they cannot be placed."""
        ...

    def prove(
        self, requests: Iterable[tuple[Algorithm, Case]], report: Callable[[str], None] = ...
    ) -> Iterator[ProofResult]:
        """Observe what is executed when each algorithm is forced, and check its results.

        Each request's case supplies p, placement, size, operation, datatype and root; its pattern is ignored.
        Requests with the same collective and p must be adjacent. They give one :class:`ProofResult` with a
        verdict on each request, also on requests that differ only in operation, root or placement. ``report``
        gets a line about each step.
        """
        ...

    def warnings(self, case: Case) -> list[str]:
        """Sentences about what makes the times of a case unreliable here."""
        ...

    def inspect(self, case: Case) -> dict[str, object]:
        """Facts about the processes of a case's placement: command, cores, clock and start error."""
        ...

    def close(self) -> None:
        """End every process that the engine started."""
        ...


class MeasuringEngine(CommonEngine, Protocol):
    """An engine that measures one block of a case at a time, in launches of a program."""

    def restore_names(self, algorithms: Iterable[Algorithm]) -> None:
        """Use the names that an earlier run of the study gave to its algorithms."""
        ...

    def measure(
        self, algorithm: Algorithm, case: Case, delays_s: NDArray[np.float64], rule: RepetitionsSection
    ) -> Samples:
        """Measure one block of a case, with the repetitions that ``rule`` requires for one block.

        ``delays_s`` has p entries, the smallest 0; for a replay, one row of p entries per call.
        """
        ...

    def begin_round(self, number: int) -> None:
        """Begin a round through the study, counted from 0: its blocks share no launch with those before."""
        ...

    def launch_line(self, algorithm: Algorithm, case: Case) -> str:
        """The command that measures a case, as a line for a shell."""
        ...

    def group_key(self, algorithm: Algorithm, case: Case) -> tuple[object, ...]:
        """Cases with the same key can share a launch; the order of the study follows from the key."""
        ...


class Batch(Struct, frozen=True, kw_only=True):
    """Cases of one algorithm that differ only in their patterns; ``delays_s`` is (cases × p), in seconds.

    Or a single case that is a replay: then there is one row per call.
    """

    algorithm: Algorithm
    cases: list[Case]
    delays_s: NDArray[np.float64]


class Exits(Struct, frozen=True, kw_only=True):
    """The result of a batch: ``exits_s`` has a row for each of the batch's delays, and uses their clock.

    Its columns are the processes of all communicators by rank. ``messages`` is the number of simulated
    messages, 0 if the engine does not count them. If ``failure`` is not empty, it says why the cases must be
    quarantined, and there are no exits.
    """

    exits_s: NDArray[np.float64]
    messages: int = 0
    failure: str = ""


@runtime_checkable
class BatchEngine(CommonEngine, Protocol):
    """An engine that computes many cases at the same time, in any order, and always with the same result."""

    @property
    def batches_ahead(self) -> int:
        """The number of batches that keep all its workers busy."""
        ...

    def patterns_at_once(self, case: Case) -> int:
        """The largest batch of cases like this one, so that memory stays bounded."""
        ...

    def submit(self, batch: Batch) -> Future[Exits]:
        """Begin a batch. The future raises RunFailed if nothing can be simulated at all."""
        ...


Engine = MeasuringEngine | BatchEngine
