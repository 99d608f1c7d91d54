"""What every engine offers to the rest: algorithms with verdicts, and samples for cases.

An engine never writes results and never selects. :mod:`offbeat.engines.run` drives it through a study: one
that measures is handed a case at a time, one that simulates is handed batches ahead of what it has finished
(:class:`BatchEngine`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Protocol, runtime_checkable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.results.blocks import Samples
from offbeat.study.algorithm import Algorithm, Verdict
from offbeat.study.case import Case
from offbeat.study.cases import REPLAY, Group
from offbeat.study.schema import RepetitionsSection


class Proved(Struct, kw_only=True):
    """Algorithms under their final names, and the verdicts on them."""

    algorithms: list[Algorithm]
    verdicts: list[Verdict]


class Engine(Protocol):
    """A source of arrival and exit times.

    ``deterministic`` says that measuring a case again gives the same numbers: one repetition is then enough.
    """

    deterministic: bool

    def describe(self) -> dict[str, object]:
        """Facts about the machine, the library and its settings for ``provenance.json``; has the key
        'library'."""
        ...

    def algorithms(self, collective: str) -> list[Algorithm]:
        """Every algorithm that this engine has for a collective; ``default`` first where it has one."""
        ...

    def named(self, collective: str, name: str) -> Algorithm | None:
        """The algorithm of a name, parameters included (``chain(fanout=4)``); None if there is none."""
        ...

    def place(self, group: Group) -> Group:
        """The group with its nodes and ppn filled in, where the engine places processes that the study did
        not place. Raises BadInput where they cannot be placed."""
        ...

    def adopt(self, algorithms: Iterable[Algorithm]) -> None:
        """Take over the names that an earlier run of the study gave to its algorithms."""
        ...

    def prove(
        self, requests: Iterable[tuple[Algorithm, Case]], told: Callable[[str], None] = ...
    ) -> Iterator[Proved]:
        """Find out what runs when each algorithm is forced, and whether it computes correctly.

        Each request's case supplies p, placement, size, operation, datatype and root; its pattern is ignored.
        Requests of one collective and p stand together and are answered together, with a verdict on each:
        requests that differ in operation, root or placement alone get as many. ``told`` hears what is being
        done.
        """
        ...

    def measure(
        self, algorithm: Algorithm, case: Case, delays_s: NDArray[np.float64], rule: RepetitionsSection
    ) -> Samples:
        """Measure one block of a case, as much of it as ``rule`` wants of one block.

        ``delays_s`` has p entries, the smallest 0; of a replay, a row of them a call.
        """
        ...

    def begin_round(self, number: int) -> None:
        """A round through the study begins, from 0: the blocks of a case in different rounds must not share a
        launch."""
        ...

    def launch_line(self, algorithm: Algorithm, case: Case) -> str:
        """The command that a case is measured with, as a line for a shell; empty for an engine that launches
        nothing."""
        ...

    def warnings(self, case: Case) -> list[str]:
        """Sentences about what the numbers of a case will be worth here."""
        ...

    def inspect(self, case: Case) -> dict[str, object]:
        """How the processes of a case's placement run: command, cores, clock and start error."""
        ...

    def group_key(self, algorithm: Algorithm, case: Case) -> tuple[object, ...]:
        """Cases with the same key are cheap to measure after one another (one launch); the key orders the
        study."""
        ...

    def close(self) -> None:
        """End every process the engine started."""
        ...


class Batch(Struct, frozen=True, kw_only=True):
    """Cases of one algorithm that differ in their patterns alone; ``delays_s`` is (cases × p), in seconds.

    Or a single case that is a replay: then there is a row for each call.
    """

    algorithm: Algorithm
    cases: list[Case]
    delays_s: NDArray[np.float64]


class Exits(Struct, frozen=True, kw_only=True):
    """What a batch yields: ``exits_s`` has the shape of the batch's delays, and their clock.

    ``messages`` is how many messages were simulated, 0 where the engine doesn't count them. Where ``failure``
    is not empty, it says why the cases must be quarantined, and there are no exits.
    """

    exits_s: NDArray[np.float64]
    messages: int = 0
    failure: str = ""


@runtime_checkable
class BatchEngine(Engine, Protocol):
    """An engine of which many cases can be under way at once, in any order; always a deterministic one.

    ``batches_ahead`` is how many batches keep it busy.
    """

    batches_ahead: int

    def patterns_at_once(self, case: Case) -> int:
        """How many cases a batch of cases like this one may hold, so that memory stays bounded."""
        ...

    def submit(self, batch: Batch) -> Future[Exits]:
        """Begin a batch. The future raises RunFailed where nothing can be simulated at all."""
        ...


def measured_alone(
    submit: Callable[[Batch], Future[Exits]],
    algorithm: Algorithm,
    case: Case,
    delays_s: NDArray[np.float64],
) -> Samples:
    """One case as a batch of its own, at once: one repetition, or one of each call of a replay."""
    batch = Batch(algorithm=algorithm, cases=[case], delays_s=np.atleast_2d(delays_s))
    exits = submit(batch).result()
    valid = np.ones(len(exits.exits_s), dtype=np.bool_)
    return Samples(
        arrivals_s=batch.delays_s[: len(valid)],
        exits_s=exits.exits_s,
        valid=valid,
        failure=exits.failure,
        calls=np.arange(len(valid)) if case.skew_policy == REPLAY else None,
        is_exact=True,
    )
