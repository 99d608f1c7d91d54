"""An engine without a library: every runtime, crash, hang, refusal and wrong result is scripted.

The same case always yields the same samples, so that two runs of a study can be compared number by number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

import msgspec
import numpy as np
from numpy.typing import NDArray

from offbeat.measurement.engines.engine import ProofResult
from offbeat.measurement.results.blocks import Samples
from offbeat.measurement.runs.repetition import block_rule, no_samples
from offbeat.model.study.algorithm import DEFAULT, Algorithm, Verdict
from offbeat.model.study.case import Case
from offbeat.model.study.case_expansion import Group
from offbeat.model.study.schema import RepetitionsSection

NAMES = ("fast", "slow", "odd")


class Script(msgspec.Struct, kw_only=True):
    """What a debug engine answers, by algorithm, pattern and size.

    ``names`` are the algorithms beside default, ``hierarchical`` those that divide by nodes. ``verdicts``
    maps names to a status other than ``proved``, and ``named`` to the names that proofs give. ``failures``
    maps (algorithm, pattern) to the reason why the case fails, and ``unpunctual`` holds those of which only
    the first repetition is on time. ``launches`` maps algorithms to the launch that they need; all others
    share one. ``runtimes_s`` fixes runtimes.
    """

    names: tuple[str, ...] = NAMES
    hierarchical: tuple[str, ...] = ()
    verdicts: dict[str, str] = {}
    named: dict[str, str] = {}
    failures: dict[tuple[str, str], str] = {}
    unpunctual: set[tuple[str, str]] = set()
    launches: dict[str, str] = {}
    runtimes_s: dict[str, float] = {}
    identity: str = "debug-1"


class DebugEngine:
    """See :class:`offbeat.measurement.engines.engine.MeasuringEngine`; ``events`` records the requests in
    order.

    ``before`` is called with each event before it happens; it may raise to interrupt the study there.
    """

    def __init__(self, script: Script | None = None, before: Callable[[tuple], None] = lambda event: None):
        self.script = script or Script()
        self.events: list[tuple] = []
        self.inspected: list[tuple[int, int, int]] = []
        self.measured: list[Case] = []
        self.rounds: list[int] = []
        self.delays: dict[str, NDArray[np.float64]] = {}
        self._before = before
        self._names: dict[str, str] = {}

    def describe(self) -> dict[str, object]:
        library = {"name": "debug", "library": "nothing", "identity": self.script.identity}
        return {"library": library}

    def algorithms(self, collective: str) -> list[Algorithm]:
        default = Algorithm(collective=collective, name=DEFAULT)
        return [default, *(self._algorithm(collective, name) for name in self.script.names)]

    def find_algorithm(self, collective: str, name: str) -> Algorithm | None:
        names = {one.name: one for one in self.algorithms(collective)}
        return names.get(self._names.get(name, name))

    def place_group(self, group: Group) -> Group:
        return group

    def restore_names(self, algorithms: Iterable[Algorithm]) -> None:
        for one in algorithms:
            if one.settings:
                self._names[one.settings["algorithm"]] = one.name

    def prove(
        self, requests: Iterable[tuple[Algorithm, Case]], say: Callable[[str], None] = lambda what: None
    ) -> Iterator[ProofResult]:
        for _, chunk in groupby(requests, key=lambda request: (request[1].p, request[1].collective)):
            yield self._prove(list(chunk))

    def begin_round(self, number: int) -> None:
        self.rounds.append(number)

    def measure(
        self, algorithm: Algorithm, case: Case, delays_s: NDArray[np.float64], rule: RepetitionsSection
    ) -> Samples:
        self._note(("measure", case.id, algorithm.name, case.pattern))
        rule = block_rule(rule)
        self.measured.append(case)
        self.delays[case.id] = delays_s
        key = (self._own(algorithm), case.pattern)
        if key in self.script.failures:
            return no_samples(case.p, self.script.failures[key])
        valid = np.ones(rule.minimum, dtype=bool)
        valid[1:] = key not in self.script.unpunctual
        arrivals = np.tile(delays_s, (rule.minimum, 1))
        lasting = self.runtime_s(self._own(algorithm), case) + np.arange(rule.minimum) * 1e-9
        exits = arrivals.max(axis=1, keepdims=True) + lasting[:, None] + np.zeros(case.p)
        return Samples(arrivals_s=arrivals, exits_s=exits, valid=valid, clock_bound_s=1e-9)

    def launch_line(self, algorithm: Algorithm, case: Case) -> str:
        return f"debug {algorithm.name}"

    def warnings(self, case: Case) -> list[str]:
        return ["the debug engine measures nothing"]

    def inspect(self, case: Case) -> dict[str, object]:
        self.inspected.append((case.p, case.nodes, case.ppn))
        return {"p": case.p, "nodes": case.nodes, "ppn": case.ppn, "command": "debug"}

    def group_key(self, algorithm: Algorithm, case: Case) -> tuple[object, ...]:
        return (case.p, case.nodes, case.ppn, self.script.launches.get(self._own(algorithm), ""))

    def close(self) -> None:
        self._note(("close",))

    def runtime_s(self, name: str, case: Case) -> float:
        """The scripted runtime, or a random one for the configuration; delays do not change it."""
        words = f"{name} {case.collective} {case.bytes} {case.p}"
        digest = hashlib.sha256(words.encode()).digest()
        return self.script.runtimes_s.get(name, (1 + digest[0]) * 1e-6)

    def _prove(self, requests: list[tuple[Algorithm, Case]]) -> ProofResult:
        first = requests[0][1]
        self._note(("prove", first.p, first.collective, len(requests)))
        for algorithm, _ in requests:
            own = self._own(algorithm)
            self._names[own] = self.script.named.get(own, algorithm.name)
        final = [self._now(algorithm) for algorithm, _ in requests]
        verdicts = [
            Verdict(
                collective=case.collective,
                algorithm=self._now(algorithm).name,
                p=case.p,
                bytes=case.bytes,
                status=self.script.verdicts.get(self._own(algorithm), "proved"),
                evidence=f"functions:{self._own(algorithm)}",
            )
            for algorithm, case in requests
        ]
        return ProofResult(algorithms=final, verdicts=verdicts)

    def _note(self, event: tuple) -> None:
        self._before(event)
        self.events.append(event)

    def _algorithm(self, collective: str, own: str) -> Algorithm:
        return Algorithm(
            collective=collective,
            name=self._names.get(own, own),
            settings={"algorithm": own},
            hierarchical=own in self.script.hierarchical,
        )

    def _own(self, algorithm: Algorithm) -> str:
        return algorithm.settings.get("algorithm", DEFAULT)

    def _now(self, algorithm: Algorithm) -> Algorithm:
        if not algorithm.settings:
            return algorithm
        return self._algorithm(algorithm.collective, algorithm.settings["algorithm"])
