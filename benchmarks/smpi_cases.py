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
from offbeat.libraries.launch.driver import HUNG
from offbeat.model.pattern.shapes import delays
from offbeat.model.platform.machine import Platform, load
from offbeat.model.platform.network import Nodes
from offbeat.simulation.calls.catalogue import SimulatedAlgorithm, algorithms

SHAPES = ("no_delay", "ascending", "descending", "first_delayed", "last_delayed", "random")
SKEW_FACTOR = 1.5
PPN = 32
FAMILY = "simgrid"

SKEW_DIGITS = 3
"""Skews are rounded: the simulator's last digits must not invalidate stored results."""

CLOSE = 0.001
"""Last delays with a smaller relative difference agree."""

SHORT_S = 0.02
"""Evaluations are repeated until they have taken this much CPU time, for the clock's resolution."""


class Settings(Struct, kw_only=True):
    """What is compared; an empty list of algorithms means all.

    ``budget_s`` is the CPU time that SMPI may take for each algorithm of a collective at one p.
    """

    ps: list[int]
    sizes: list[int]
    collectives: list[str]
    algorithms: list[str]
    budget_s: float


class SimulatorResult(Struct, frozen=True, kw_only=True):
    """The simulator's results for a call under several patterns: last delays and CPU times in seconds.

    ``cpu_s`` is the time to evaluate a pattern, ``build_s`` to build the schedule once. ``refused`` is the
    sentence of an algorithm that refuses the call.
    """

    last_delays_s: NDArray[np.float64]
    evaluations: list[str]
    messages: int = 0
    cpu_s: float = 0.0
    build_s: float = 0.0
    refused: str = ""


class Comparison(Struct, frozen=True, kw_only=True):
    """One case in both simulators; times in seconds.

    ``smpi_s`` is NaN if SMPI failed (``lost`` is the reason) or did not run the case (``lost`` is empty).
    ``spread`` is the spread of SMPI's own results (:meth:`smpi_answers.Answers.spread`), determined for cases
    in which both disagree.
    """

    collective: str
    algorithm: str
    p: int
    bytes: int
    shape: str
    skew_s: float
    simulator_s: float
    simulator_cpu_s: float
    build_cpu_s: float
    messages: int
    evaluation: str
    smpi_s: float
    smpi_cpu_s: float
    lost: str
    spread: float

    @property
    def configuration(self) -> tuple[str, int, int, str]:
        """The cases of all algorithms with this key are compared for the best one."""
        return self.collective, self.p, self.bytes, self.shape

    @property
    def difference(self) -> float:
        """The relative difference of the simulator's last delay from SMPI's."""
        return abs(self.simulator_s / self.smpi_s - 1)


def compare(settings: Settings, scratch: Path, keep: Path | None) -> list[Comparison]:
    """All cases in both, within SMPI's budget."""
    platform = load("paper")
    answers = Answers(platform, scratch, keep, patience_s=60 + 3 * settings.budget_s)
    comparisons: list[Comparison] = []
    try:
        for collective, p in itertools.product(settings.collectives, settings.ps):
            comparisons += list(_CollectiveComparison(platform, collective, p, settings, answers).compare())
    finally:
        answers.close()
    return comparisons


class _CollectiveComparison:
    """One collective at one p."""

    def __init__(
        self, platform: Platform, collective: str, p: int, settings: Settings, answers: Answers
    ) -> None:
        self.collective, self.p = collective, p
        self._settings, self._answers = settings, answers
        self._node_of_rank: Nodes = platform.node_of_rank(p, nodes=max(1, p // PPN), ppn=min(p, PPN))
        self._network = platform.network(p, node_of_rank=self._node_of_rank)
        smpi_names = answers.algorithms(collective)
        self._both = [
            simulated_algorithm
            for simulated_algorithm in algorithms(collective, FAMILY)
            if simulated_algorithm.name in smpi_names
        ]

    def compare(self) -> Iterator[Comparison]:
        """All algorithms, one after another."""
        skews_s = {size: self._skew_s(size) for size in self._settings.sizes}
        for simulated_algorithm in self._both:
            if not self._settings.algorithms or simulated_algorithm.name in self._settings.algorithms:
                print(
                    f"{self.collective} {simulated_algorithm.name}, p = {self.p}", file=sys.stderr, flush=True
                )
                yield from self._compare(simulated_algorithm, skews_s)

    def _compare(
        self, simulated_algorithm: SimulatedAlgorithm, skews_s: dict[int, float]
    ) -> Iterator[Comparison]:
        """Cases in an order that is the same for all algorithms, until SMPI's budget is spent."""
        configurations = list(itertools.product(self._settings.sizes, range(len(SHAPES))))
        random.Random(f"{self.collective} {self.p}").shuffle(configurations)
        simulated = {
            size: self._simulate(simulated_algorithm, size, self._delays_s(skew_s))
            for size, skew_s in skews_s.items()
        }
        spent_s, abandoned = 0.0, ""
        for size, shape in configurations:
            if simulated[size].refused:
                continue
            answer = Answer(lost=abandoned)
            if not abandoned and spent_s < self._settings.budget_s:
                answer = self._answers.ask(
                    *self._smpi_call(simulated_algorithm.name, size, shape, skews_s[size])
                )
                spent_s += 0.0 if answer.lost else answer.cpu_s
                abandoned = answer.lost if HUNG in answer.lost else ""
            yield self._case(simulated_algorithm.name, size, shape, skews_s[size], simulated[size], answer)

    def _case(
        self, algorithm: str, size: int, shape: int, skew_s: float, simulated: SimulatorResult, smpi: Answer
    ) -> Comparison:
        simulator_s = float(simulated.last_delays_s[shape])
        spread = 0.0
        if not smpi.lost and abs(simulator_s / smpi.last_delay_s - 1) > CLOSE:
            spread = self._answers.spread(*self._smpi_call(algorithm, size, shape, skew_s))
        return Comparison(
            collective=self.collective,
            algorithm=algorithm,
            p=self.p,
            bytes=size,
            shape=SHAPES[shape],
            skew_s=skew_s,
            simulator_s=simulator_s,
            simulator_cpu_s=simulated.cpu_s,
            build_cpu_s=simulated.build_s,
            messages=simulated.messages,
            evaluation=simulated.evaluations[shape],
            smpi_s=smpi.last_delay_s,
            smpi_cpu_s=smpi.cpu_s,
            lost=smpi.lost,
            spread=spread,
        )

    def _smpi_call(
        self, algorithm: str, size: int, shape: int, skew_s: float
    ) -> tuple[Nodes, dict[str, object], NDArray[np.float64], str]:
        """The arguments of Answers.ask and Answers.spread."""
        call: dict[str, object] = {
            "collective": self.collective,
            "algorithm": algorithm,
            "bytes": size,
            "datatype": "byte",
            "root": 0,
        }
        return self._node_of_rank, call, self._delays_s(skew_s)[shape], f"{SHAPES[shape]} by {skew_s:.9g} s"

    def _simulate(
        self, simulated_algorithm: SimulatedAlgorithm, size: int, delays_s: NDArray[np.float64]
    ) -> SimulatorResult:
        began = time.process_time()
        try:
            schedule = self._schedule(simulated_algorithm, size)
        except ValueError as refusal:
            return SimulatorResult(last_delays_s=np.zeros(0), evaluations=[], refused=str(refusal))
        elements = float(size if simulated_algorithm.scales else 1)
        _simulator.evaluate(schedule, self._network, np.zeros((0, self.p)), elements)  # computes the routes
        build_s = time.process_time() - began
        began, times = time.process_time(), 0
        while times == 0 or time.process_time() - began < SHORT_S:
            exits_s, evaluations = _simulator.evaluate(schedule, self._network, delays_s, elements)
            times += 1
        return SimulatorResult(
            last_delays_s=exits_s.max(axis=1) - delays_s.max(axis=1),
            evaluations=evaluations,
            messages=schedule.messages,
            cpu_s=(time.process_time() - began) / times / len(delays_s),
            build_s=build_s,
        )

    def _schedule(self, simulated_algorithm: SimulatedAlgorithm, size: int) -> _simulator.Schedule:
        count = 1 if simulated_algorithm.scales else size
        call = (simulated_algorithm.collective, simulated_algorithm.family, simulated_algorithm.name)
        return _simulator.Schedule(*call, {}, self.p, 0, count, 1, self._node_of_rank.tolist())

    def _skew_s(self, size: int) -> float:
        """The factor times the mean runtime without delay in the simulator."""
        results = [
            self._simulate(simulated_algorithm, size, np.zeros((1, self.p)))
            for simulated_algorithm in self._both
        ]
        runtimes = [float(result.last_delays_s[0]) for result in results if not result.refused]
        return float(f"{SKEW_FACTOR * np.mean(runtimes):.{SKEW_DIGITS}g}")

    def _delays_s(self, skew_s: float) -> NDArray[np.float64]:
        return np.array([delays(shape, self.p, skew_s, ppn=PPN) for shape in SHAPES])
