"""The engine of partitioned messages: measures the approaches of this machine's MPI library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby

import msgspec
import numpy as np
from numpy.typing import NDArray

from offbeat.base.errors import RunFailed
from offbeat.libraries.launch.driver import CommandRefused, DriverLost, is_lost
from offbeat.libraries.launch.driver_protocol import ListApproaches, MeasurePartitioned
from offbeat.measurement.engines.driver_launches import LaunchSpec
from offbeat.measurement.engines.engine import ProofResult
from offbeat.measurement.engines.mpi_engine import (
    MOST_FAILURES,
    WARMUP_REPETITIONS,
    Limits,
    MpiEngine,
    nanoseconds,
    wrong_bytes,
)
from offbeat.model.study.algorithm import LEARNED, OWN, OWN_SETTINGS, Algorithm, Verdict, split_name
from offbeat.model.study.case import PARTITIONED_SEND, Case
from offbeat.model.study.case_expansion import SENDER

LEARNING_ITERATIONS = 45
"""Iteration 40 announces the number of messages that was learned in the second round of trials
(``native/partitioned/layout.h``); the third round begins in iteration 128."""

WARMUP_S = 0.25
"""The longest time for the delays of uncounted repetitions in which nothing is learned."""

TRIED_MESSAGES = 5
"""Messages by which an approach is tried before it is measured."""

MAX_STEPS = 64
"""Partitions that become ready one after the other in these messages; further ones are ready at once."""

STEP_NS = 100_000
"""The time between two ready partitions in these messages, so that the library can send some early."""


def unrecorded_iterations(skew_s: float, *, learns: bool) -> int:
    """Uncounted iterations of new requests with a delay, before those that are measured.

    All approaches have the same number: the first dozens of messages between two processes can take several
    times as long as later ones, so that a library which learns would be compared with slower messages. Only
    with long delays do approaches that do not learn have fewer.
    """
    if learns or skew_s * LEARNING_ITERATIONS <= WARMUP_S:
        return LEARNING_ITERATIONS
    return max(WARMUP_REPETITIONS, int(WARMUP_S / skew_s))


class PartitionedEngine(MpiEngine):
    """See :class:`offbeat.measurement.engines.engine.MeasuringEngine`. Its algorithms are the approaches of
    the driver.
    """

    def algorithms(self, collective: str) -> list[Algorithm]:
        """The approaches of the library. There is no ``default``: a library does not choose among them."""
        if collective not in self._algorithms:
            spec = LaunchSpec(p=1, nodes=0, ppn=0, environment=tuple(sorted(self._environment().items())))
            try:
                answer = self.launches.get(spec).ask(ListApproaches(), timeout_s=self._hang_after_s)
            except (DriverLost, CommandRefused) as error:
                self.launches.drop()
                raise RunFailed(
                    f"{self.installation.name} could not list its approaches: {error}. 'offbeat doctor' shows"
                    " what works here."
                ) from None
            self._algorithms[collective] = [
                Algorithm(collective=collective, name=name) for name in answer.approaches
            ]
        return self._algorithms[collective]

    def find_algorithm(self, collective: str, name: str) -> Algorithm | None:
        """The approach of a name, which may have OWN_SETTINGS; None if the library has none of that name."""
        plain, parameters = split_name(name)
        if all(plain != one.name for one in self.algorithms(collective)):
            return None
        if parameters and (plain != OWN or not set(parameters) <= set(OWN_SETTINGS)):
            return None
        variables = {OWN_SETTINGS[key]: value for key, value in parameters.items()}
        return Algorithm(collective=collective, name=name, settings=variables)

    def restore_names(self, algorithms: Iterable[Algorithm]) -> None:
        """Approaches keep their names."""

    def prove(
        self, requests: Iterable[tuple[Algorithm, Case]], report: Callable[[str], None] = lambda _: None
    ) -> Iterator[ProofResult]:
        """Send some messages by each approach, and check their data.

        The driver calls the functions of an approach itself, so that no library can run another one.
        """
        for _, chunk in groupby(requests, key=lambda request: request[1].p):
            verdicts = []
            algorithms = []
            for algorithm, case in chunk:
                report(f"trying {algorithm.name}, {case.bytes} B in {case.partitions} partitions")
                status, reason = self._try(algorithm, case)
                verdicts.append(
                    Verdict(
                        collective=PARTITIONED_SEND,
                        algorithm=algorithm.name,
                        p=case.p,
                        bytes=case.bytes,
                        status=status,
                        reason=reason,
                        evidence=f"approach:{algorithm.name}" if status == "proved" else "",
                    )
                )
                algorithms.append(algorithm)
            yield ProofResult(
                algorithms=list({one.name: one for one in algorithms}.values()), verdicts=verdicts
            )

    def _try(self, algorithm: Algorithm, case: Case, *, is_repeated: bool = False) -> tuple[str, str]:
        """The status of an approach and the reason; a lost launch is repeated once."""
        command = MeasurePartitioned(
            approach=split_name(algorithm.name)[0],
            bytes=case.bytes,
            partitions=case.partitions,
            threads=case.threads,
            repetitions=TRIED_MESSAGES,
            attempts=TRIED_MESSAGES,
            delays=[STEP_NS * partition for partition in range(min(case.partitions, MAX_STEPS))],
        )
        failures = self._failures.setdefault((PARTITIONED_SEND, algorithm.name, case.p), [])
        if len(failures) >= MOST_FAILURES:
            return "quarantined", f"not tried again: {failures[-1]}"
        try:
            answer = self.launches.get(self._spec(algorithm, case)).ask(command, timeout_s=self._hang_after_s)
        except DriverLost as loss:
            self.launches.drop()
            if is_lost(str(loss)) and not is_repeated:
                return self._try(algorithm, case, is_repeated=True)
            failures.append(str(loss))
            self._require_launches(case)
            return "quarantined", str(loss)
        except CommandRefused as refusal:
            return "refused", str(refusal)
        return ("wrong", reason) if (reason := wrong_bytes(answer)) else ("proved", "")

    def _command(
        self, algorithm: Algorithm, case: Case, delays_s: NDArray[np.float64], limits: Limits
    ) -> MeasurePartitioned:
        return MeasurePartitioned(
            approach=split_name(algorithm.name)[0],
            bytes=case.bytes,
            partitions=case.partitions,
            threads=case.threads,
            delays=nanoseconds(np.atleast_1d(delays_s[SENDER])),
            **limits,
        )

    def _unrecorded_count(
        self, algorithm: Algorithm, delays_s: NDArray[np.float64], *, is_first_batch: bool
    ) -> int:
        """The same number for every batch, since each batch creates new requests."""
        learns = algorithm.name == LEARNED or algorithm.settings.get(OWN_SETTINGS["messages"]) == "learned"
        return unrecorded_iterations(self._skew_s(delays_s), learns=learns)

    def _skew_s(self, delays_s: NDArray[np.float64]) -> float:
        return float(delays_s.max())

    def _force_arguments(self, algorithm: Algorithm) -> list[str]:
        return []

    def _spec(self, algorithm: Algorithm, case: Case, more: Mapping[str, str] | None = None) -> LaunchSpec:
        plain = msgspec.structs.replace(algorithm, settings={})  # its variables are not those of the library
        spec = super()._spec(plain, case, algorithm.settings | dict(more or {}))
        return msgspec.structs.replace(spec, threads=case.threads)
