"""Running the same collective calls in SMPI and in the simulator."""

from __future__ import annotations

import itertools
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from smpi_answers import Answer, Answers

from offbeat import _simulator
from offbeat.mpi.driver import HUNG
from offbeat.pattern.shapes import delays
from offbeat.platform.machine import Platform, load
from offbeat.platform.network import Nodes
from offbeat.simulation.catalogue import Known, algorithms

SHAPES = ("no_delay", "ascending", "descending", "first_delayed", "last_delayed", "random")
SKEW_FACTOR = 1.5
PPN = 32
FAMILY = "simgrid"

SKEW_DIGITS = 3
"""Skews are rounded, so that a change in our last digits does not make kept answers useless."""

CLOSE = 0.001
"""Last delays that differ by a smaller share agree."""

SHORT_S = 0.02
"""Evaluations are repeated until they have taken this much CPU time, for which its clock is fine enough."""


class Settings(Struct, kw_only=True):
    """What is compared; no algorithms are all.

    ``budget_s`` is the CPU time that SMPI may take for each algorithm of a collective at one p.
    """

    ps: list[int]
    sizes: list[int]
    collectives: list[str]
    algorithms: list[str]
    budget_s: float


class Ours(Struct, frozen=True, kw_only=True):
    """What the simulator says of a call under several patterns: last delays and CPU times in seconds.

    ``cpu_s`` is that of evaluating a pattern, ``build_s`` of building the schedule once. ``refused`` is the
    sentence of an algorithm that does not take the call.
    """

    last_delays_s: NDArray[np.float64]
    evaluations: list[str]
    messages: int = 0
    cpu_s: float = 0.0
    build_s: float = 0.0
    refused: str = ""


class Compared(Struct, frozen=True, kw_only=True):
    """One case in both simulators; times in seconds.

    ``theirs_s`` is NaN where SMPI has no answer (``lost`` says why) or was not asked (``lost`` is empty).
    ``spread`` is how far apart SMPI's own answers are (:meth:`smpi_answers.Answers.spread`); it is asked for
    where both disagree.
    """

    collective: str
    algorithm: str
    p: int
    bytes: int
    shape: str
    skew_s: float
    ours_s: float
    ours_cpu_s: float
    build_cpu_s: float
    messages: int
    evaluation: str
    theirs_s: float
    theirs_cpu_s: float
    lost: str
    spread: float

    @property
    def cell(self) -> tuple[str, int, int, str]:
        """What an algorithm is the best one of."""
        return self.collective, self.p, self.bytes, self.shape

    @property
    def off(self) -> float:
        """By which share our last delay differs from SMPI's."""
        return abs(self.ours_s / self.theirs_s - 1)


def compare(settings: Settings, scratch: Path, keep: Path | None) -> list[Compared]:
    """Every case in both, as far as the budget reaches."""
    platform = load("paper")
    answers = Answers(platform, scratch, keep, patience_s=60 + 3 * settings.budget_s)
    found: list[Compared] = []
    try:
        for collective, p in itertools.product(settings.collectives, settings.ps):
            found += list(_Group(platform, collective, p, settings, answers).compare())
    finally:
        answers.close()
    return found


class _Group:
    """One collective at one p."""

    def __init__(
        self, platform: Platform, collective: str, p: int, settings: Settings, answers: Answers
    ) -> None:
        self.collective, self.p = collective, p
        self._settings, self._answers = settings, answers
        self._placed: Nodes = platform.node_of_rank(p, nodes=max(1, p // PPN), ppn=min(p, PPN))
        self._network = platform.network(p, node_of_rank=self._placed)
        theirs = answers.algorithms(collective)
        self._both = [known for known in algorithms(collective, FAMILY) if known.name in theirs]

    def compare(self) -> Iterator[Compared]:
        """All algorithms, one after another."""
        skews_s = {size: self._skew_s(size) for size in self._settings.sizes}
        for known in self._both:
            if not self._settings.algorithms or known.name in self._settings.algorithms:
                print(f"{self.collective} {known.name}, p = {self.p}", file=sys.stderr, flush=True)
                yield from self._compare(known, skews_s)

    def _compare(self, known: Known, skews_s: dict[int, float]) -> Iterator[Compared]:
        """Cases in an order that is the same for all algorithms, until SMPI's budget is spent."""
        cells = list(itertools.product(self._settings.sizes, range(len(SHAPES))))
        random.Random(f"{self.collective} {self.p}").shuffle(cells)
        ours = {size: self._ours(known, size, self._delays_s(skew_s)) for size, skew_s in skews_s.items()}
        spent_s, given_up = 0.0, ""
        for size, shape in cells:
            if ours[size].refused:
                continue
            answer = Answer(lost=given_up)
            if not given_up and spent_s < self._settings.budget_s:
                answer = self._answers.ask(*self._question(known.name, size, shape, skews_s[size]))
                spent_s += 0.0 if answer.lost else answer.cpu_s
                given_up = answer.lost if HUNG in answer.lost else ""
            yield self._case(known.name, size, shape, skews_s[size], ours[size], answer)

    def _case(
        self, algorithm: str, size: int, shape: int, skew_s: float, ours: Ours, theirs: Answer
    ) -> Compared:
        ours_s = float(ours.last_delays_s[shape])
        spread = 0.0
        if not theirs.lost and abs(ours_s / theirs.last_delay_s - 1) > CLOSE:
            spread = self._answers.spread(*self._question(algorithm, size, shape, skew_s))
        return Compared(
            collective=self.collective,
            algorithm=algorithm,
            p=self.p,
            bytes=size,
            shape=SHAPES[shape],
            skew_s=skew_s,
            ours_s=ours_s,
            ours_cpu_s=ours.cpu_s,
            build_cpu_s=ours.build_s,
            messages=ours.messages,
            evaluation=ours.evaluations[shape],
            theirs_s=theirs.last_delay_s,
            theirs_cpu_s=theirs.cpu_s,
            lost=theirs.lost,
            spread=spread,
        )

    def _question(
        self, algorithm: str, size: int, shape: int, skew_s: float
    ) -> tuple[Nodes, dict[str, object], NDArray[np.float64], str]:
        """What SMPI is asked."""
        words: dict[str, object] = {
            "collective": self.collective,
            "algorithm": algorithm,
            "bytes": size,
            "datatype": "byte",
            "root": 0,
        }
        return self._placed, words, self._delays_s(skew_s)[shape], f"{SHAPES[shape]} by {skew_s:.9g} s"

    def _ours(self, known: Known, size: int, delays_s: NDArray[np.float64]) -> Ours:
        began = time.process_time()
        try:
            schedule = self._schedule(known, size)
        except ValueError as refusal:
            return Ours(last_delays_s=np.zeros(0), evaluations=[], refused=str(refusal))
        elements = float(size if known.scales else 1)
        _simulator.evaluate(
            schedule, self._network, np.zeros((0, self.p)), elements
        )  # finds who shares links
        build_s = time.process_time() - began
        began, times = time.process_time(), 0
        while times == 0 or time.process_time() - began < SHORT_S:
            exits_s, evaluations = _simulator.evaluate(schedule, self._network, delays_s, elements)
            times += 1
        return Ours(
            last_delays_s=exits_s.max(axis=1) - delays_s.max(axis=1),
            evaluations=evaluations,
            messages=schedule.messages,
            cpu_s=(time.process_time() - began) / times / len(delays_s),
            build_s=build_s,
        )

    def _schedule(self, known: Known, size: int) -> _simulator.Schedule:
        count = 1 if known.scales else size
        call = (known.collective, known.family, known.name)
        return _simulator.Schedule(*call, {}, self.p, 0, count, 1, self._placed.tolist())

    def _skew_s(self, size: int) -> float:
        """The factor times the mean runtime without delay, of our answers."""
        alone = [self._ours(known, size, np.zeros((1, self.p))) for known in self._both]
        runtimes = [float(one.last_delays_s[0]) for one in alone if not one.refused]
        return float(f"{SKEW_FACTOR * np.mean(runtimes):.{SKEW_DIGITS}g}")

    def _delays_s(self, skew_s: float) -> NDArray[np.float64]:
        return np.array([delays(shape, self.p, skew_s, ppn=PPN) for shape in SHAPES])
