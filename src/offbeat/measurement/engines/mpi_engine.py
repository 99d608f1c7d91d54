"""The engine ``mpi``: measures this machine's MPI library with the driver."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TypedDict, cast

import msgspec
import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from offbeat.base.errors import RunFailed
from offbeat.base.units import amount
from offbeat.libraries.families.libraries import library_of
from offbeat.libraries.families.library import Steering, Variable
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch import launch_command
from offbeat.libraries.launch.batch_job import current
from offbeat.libraries.launch.driver import CommandRefused, DriverLost, is_lost
from offbeat.libraries.launch.driver_protocol import (
    Hello,
    Measure,
    MeasurementAnswer,
    MeasurePartitioned,
    PartitionedAnswer,
)
from offbeat.measurement.engines.driver_launches import Launches, LaunchSpec, repeat_if_lost
from offbeat.measurement.engines.engine import ProofResult
from offbeat.measurement.legal_calls.algorithm_checks import with_legal_calls
from offbeat.measurement.proofs.default_decision import other_decision, refuse_chosen
from offbeat.measurement.proofs.prove import call_arguments, fingerprint, observe
from offbeat.measurement.proofs.verdicts import Observation, indistinguishable, judge, rename
from offbeat.measurement.results.blocks import Samples
from offbeat.measurement.runs.repetition import ROUNDS, block_rule, repeat
from offbeat.model.study.algorithm import DEFAULT, Algorithm, Verdict, split_name
from offbeat.model.study.case import Case
from offbeat.model.study.case_expansion import Group, group_of
from offbeat.model.study.evidence import functions, is_fingerprint, with_fingerprint
from offbeat.model.study.schema import MpiSection, RepetitionsSection, StartSection
from offbeat.model.study.skew_policy import ZERO_SKEW

START_TOLERANCE_S = 2e-6
"""The smallest tolerance of a start, if the study sets none."""

OVERSUBSCRIBED_START_TOLERANCE_S = 200e-6
"""The same with more processes than cores, when a process may have to wait for a core at its start time."""

TOLERANCE_OF_SKEW = 0.05
"""A start may be late by this share of the skew."""

TOLERANCE_OF_BOUND = 3
"""Clocks are synchronised again when their error bound has doubled: a smaller factor would reject starts that
are as accurate as the clocks allow."""

WARMUP_REPETITIONS = 2
"""Uncounted repetitions at the beginning of a block: caches, branch predictors and message paths are cold
after another algorithm, and the first repetition took 27% longer."""

MOST_FAILURES = 2
"""An algorithm that crashed or hung at this number of sizes is not tried at the others."""


NEW_LAUNCHES = 3
"""Extra launches for observations that show nothing; the count starts again once one of them has helped."""


class Limits(TypedDict):
    """Keys of the commands that measure."""

    unrecorded: int
    duration_ns: int
    tolerance_ns: int
    tolerance_bounds: int


def nanoseconds(delays_s: NDArray[np.float64]) -> list[int]:
    """Delays as the driver takes them."""
    return [round(delay * 1e9) for delay in delays_s]


def wrong_bytes(answer: PartitionedAnswer) -> str:
    """Why a measurement of partitioned messages does not count; empty if all data were right."""
    if not answer.wrong:
        return ""
    return f"{answer.wrong} bytes were wrong in {amount(answer.tried, 'message')}"


class MpiEngine:
    """See :class:`offbeat.measurement.engines.engine.MeasuringEngine`.

    ``hang_after_s`` is how long the driver may take for an answer. Raises :class:`RunFailed` if the library
    cannot list its algorithms.
    """

    def __init__(
        self,
        installation: Installation,
        launches: Launches,
        section: MpiSection,
        start: StartSection,
        hang_after_s: float,
    ) -> None:
        self.installation = installation
        self.launches = launches
        self.steering: Steering = library_of(installation).steering()
        self._section = section
        self._start = start
        self._hang_after_s = hang_after_s
        self._variables: list[Variable] | None = None
        self._algorithms: dict[str, list[Algorithm]] = {}
        self._new_names: dict[tuple[str, str], str] = {}
        self._failures: dict[tuple[str, str, int], list[str]] = {}
        self._new_launches_left = NEW_LAUNCHES

    def describe(self) -> dict[str, object]:
        """Facts for the provenance."""
        facts = msgspec.to_builtins(self.installation, str_keys=True, enc_hook=str)
        return {"library": facts, "launcher_options": self._section.options, "isolate": self._section.isolate}

    def algorithms(self, collective: str) -> list[Algorithm]:
        """The algorithms, ``default`` first."""
        if collective not in self._algorithms:
            algorithms = self.steering.algorithms(collective, self.variables(), self.installation)
            self._algorithms[collective] = [Algorithm(collective=collective, name=DEFAULT), *algorithms]
        return self._algorithms[collective]

    def find_algorithm(self, collective: str, name: str) -> Algorithm | None:
        """The algorithm with a name, which may have parameters; None if the library has none of that name.

        The former name of an algorithm that was renamed after the executed function is accepted, too.
        """
        name = self._new_names.get((collective, name), name)
        plain_name, parameters = split_name(name)
        by_name = {algorithm.name: algorithm for algorithm in self.algorithms(collective)}
        if name in by_name:
            return by_name[name]
        plain = by_name.get(plain_name)
        return (
            self.steering.with_parameters(plain, parameters, self.variables())
            if plain and parameters
            else None
        )

    def variables(self) -> list[Variable]:
        """The library's control variables that choose algorithms."""
        if self._variables is None:
            try:
                self._variables = self.launches.variables(
                    self.steering.variables_regex, self._environment(), self._hang_after_s
                )
            except (DriverLost, CommandRefused) as error:
                raise RunFailed(
                    f"{self.installation.name} could not list its algorithms: {error}. "
                    "'offbeat doctor' shows what works here."
                ) from None
            refuse_chosen(self.steering, self._variables, self.installation)
        return self._variables

    def place_group(self, group: Group) -> Group:
        """Unchanged: the launcher places the processes."""
        return group

    def restore_names(self, algorithms: Iterable[Algorithm]) -> None:
        """Use the names that an earlier run of the study gave to its algorithms."""
        for algorithm in algorithms:
            self._rename(algorithm)

    def prove(
        self, requests: Iterable[tuple[Algorithm, Case]], report: Callable[[str], None] = lambda _: None
    ) -> Iterator[ProofResult]:
        """Judge all algorithms of one collective at one p for all its sizes, then those of the next."""
        for _, chunk in groupby(requests, key=lambda request: (request[1].collective, request[1].p)):
            yield self._prove(list(chunk), report)

    def measure(
        self, algorithm: Algorithm, case: Case, delays_s: NDArray[np.float64], rule: RepetitionsSection
    ) -> Samples:
        """Measure one block of a case; if the launch crashes or hangs, earlier samples of the block are
        returned.

        Raises RunFailed for failures that are not the algorithm's fault: nothing can be launched, or no
        samples arrive.
        """
        spec = self._spec(algorithm, case)
        calls = len(delays_s) if case.is_replay else 0
        for_block = block_rule(rule)
        limits = self._limits(algorithm, spec, delays_s, for_block)
        command = self._command(algorithm, case, delays_s, limits)
        unrecorded_s = limits["unrecorded"] * self._skew_s(delays_s)
        losses = 0
        timeout_s = self._hang_after_s + for_block.time_cap + unrecorded_s

        def batch(repetitions: int, attempts: int) -> str:
            nonlocal command, losses
            command = msgspec.structs.replace(command, repetitions=repetitions, attempts=attempts)
            try:
                driver = self.launches.get(spec)
                self.launches.force(driver, self._force_arguments(algorithm), self._hang_after_s)
                reply = driver.ask(command, timeout_s=timeout_s)
            except DriverLost as loss:
                self.launches.drop()
                self._require_launches(case)
                losses += 1
                if losses == 1 and is_lost(str(loss)):
                    return batch(repetitions, attempts)
                return str(loss)
            except CommandRefused as refusal:
                self.launches.check_reason(str(refusal))
                return str(refusal)
            answer = cast("MeasurementAnswer | PartitionedAnswer", reply)
            self.launches.check_samples(answer.tried, case.processes, case.partitions)
            unrecorded_count = self._unrecorded_count(algorithm, delays_s, is_first_batch=False)
            command = msgspec.structs.replace(command, unrecorded=unrecorded_count)
            if isinstance(answer, PartitionedAnswer):
                return wrong_bytes(answer)
            if calls:
                self.launches.check_sequence(answer.calls, delays_s)
                command = msgspec.structs.replace(command, call=answer.next)
            return ""

        rounds = ROUNDS if rule.planned_blocks == 1 else 1
        return repeat(
            batch,
            self.launches.samples,
            case.processes,
            for_block,
            partitions=case.partitions,
            calls=calls,
            rounds=rounds,
            layout=case.layout,
        )

    def _command(
        self, algorithm: Algorithm, case: Case, delays_s: NDArray[np.float64], limits: Limits
    ) -> Measure | MeasurePartitioned:
        """The command that measures a block."""
        calls = case.is_replay
        return Measure(
            **call_arguments(case),
            **limits,
            sequence=self.launches.sequence(delays_s) if calls else UNSET,
            call=0 if calls else UNSET,
            delays=UNSET if calls else nanoseconds(delays_s),
        )

    def _limits(
        self, algorithm: Algorithm, spec: LaunchSpec, delays_s: NDArray[np.float64], rule: RepetitionsSection
    ) -> Limits:
        """When a measurement of a block ends, and when a repetition is valid."""
        return {
            "unrecorded": self._unrecorded_count(algorithm, delays_s, is_first_batch=True),
            "duration_ns": int(max(rule.time_cap, 0.1) * 1e9),
            "tolerance_ns": int(self.tolerance_s(spec, delays_s) * 1e9),
            "tolerance_bounds": TOLERANCE_OF_BOUND if self._start.tolerance == "auto" else 0,
        }

    def tolerance_s(self, spec: LaunchSpec, delays_s: NDArray[np.float64]) -> float:
        """The largest allowed difference between a process's start and its planned start.

        The value in the study; else the maximum of 2 µs (200 µs if processes share cores) and 5% of the
        pattern's skew, for a replay 5% of the mean skew of its calls. Without a value in the study, the
        driver also allows ``TOLERANCE_OF_BOUND`` times the error bound of the shared clock if that is larger.
        """
        if isinstance(self._start.tolerance, float | int):
            return float(self._start.tolerance)
        is_oversubscribed = self.launches.command(spec).is_oversubscribed
        floor = OVERSUBSCRIBED_START_TOLERANCE_S if is_oversubscribed else START_TOLERANCE_S
        return max(floor, TOLERANCE_OF_SKEW * self._skew_s(delays_s))

    def _unrecorded_count(
        self, algorithm: Algorithm, delays_s: NDArray[np.float64], *, is_first_batch: bool
    ) -> int:
        """Uncounted repetitions before a batch: none before later ones of a block, which follow at once."""
        return WARMUP_REPETITIONS if is_first_batch else 0

    def _skew_s(self, delays_s: NDArray[np.float64]) -> float:
        """The skew of a pattern, or the mean skew of a replay's calls."""
        return float(delays_s.max(axis=-1).mean())

    def begin_round(self, number: int) -> None:
        """End the launch, so that variation between launches shows as variation between a case's blocks."""
        if number:
            self.launches.close()

    def group_key(self, algorithm: Algorithm, case: Case) -> tuple[object, ...]:
        """Cases that share a launch."""
        spec = self._spec(algorithm, case)
        return (*case.launch_placement, spec.threads, spec.steerable, *spec.environment)

    def launch_line(self, algorithm: Algorithm, case: Case) -> str:
        """The command that measures a case, to copy into a shell."""
        return launch_command.shell_line(self.launches.command(self._spec(algorithm, case)))

    def warnings(self, case: Case) -> list[str]:
        """The warnings of the launch command, for instance that processes share cores."""
        return self.launches.command(_launch_of(case, {})).warnings

    def inspect(self, case: Case) -> dict[str, object]:
        """Facts about the processes of a case's launch: command, cores of each process, and start errors."""
        spec = self._spec(Algorithm(collective=case.collective, name=DEFAULT), case)
        facts: dict[str, object] = {"p": case.processes, "nodes": case.nodes, "ppn": case.ppn}
        facts["command"] = launch_command.shell_line(self.launches.command(spec))
        try:
            with self.launches.run_launch(spec) as driver:
                answer = msgspec.structs.asdict(driver.ask(Hello(), timeout_s=self._hang_after_s))
        except (DriverLost, CommandRefused) as error:
            return facts | {"failure": str(error)}
        return facts | {name: value for name, value in answer.items() if name not in ("p", "protocol")}

    def close(self) -> None:
        """End the running launch and remove its scratch folder."""
        self.launches.close()
        shutil.rmtree(self.launches.samples.parent, ignore_errors=True)

    def _prove(self, requests: list[tuple[Algorithm, Case]], report: Callable[[str], None]) -> ProofResult:
        """Observe every algorithm in the same launches that will measure it."""
        requests = [(self._current_name(algorithm), case) for algorithm, case in requests]
        requests.sort(key=lambda request: self._launch_order(*request))
        observed_cases: list[tuple[Observation, Case]] = []
        for algorithm, case in requests:
            report(f"proving {case.collective} {algorithm.name}, {case.bytes} B")
            observed_cases.append((self._observe(algorithm, case, report), case))
        for observation, case in observed_cases:
            if observation.algorithm.name == DEFAULT and observation.is_sound:
                report(f"comparing {case.collective}, {case.bytes} B, with a launch without settings")
                observation.other_decision = other_decision(
                    self.launches,
                    observation,
                    case,
                    self._spec(observation.algorithm, case),
                    self.steering,
                    self._hang_after_s,
                )
        groups: dict[str, list[tuple[Observation, Case]]] = {}
        for observation, case in observed_cases:
            groups.setdefault(repr(group_of(case)), []).append((observation, case))
        verdicts: list[Verdict] = []
        for group in groups.values():
            observations = sorted((one for one, _ in group), key=lambda one: self._position(one.algorithm))
            self._add_fingerprints(observations, group[0][1], report)
            verdicts += judge(observations, self.steering, group[0][1].p, group[0][1].bytes)
        verdicts = with_legal_calls(
            verdicts, observed_cases, self.launches, self._with_fallback, self._hang_after_s, report
        )
        return self._rename_by_function([algorithm for algorithm, _ in requests], verdicts)

    def _launch_order(self, algorithm: Algorithm, case: Case) -> tuple[object, ...]:
        spec = self._spec(algorithm, case)
        return spec.nodes, spec.ppn, spec.environment, spec.steerable

    def _add_fingerprints(
        self, observations: list[Observation], case: Case, report: Callable[[str], None]
    ) -> None:
        """Add the delayed-exit fingerprint to the evidence of algorithms that enter the same functions.

        With two processes, a fingerprint cannot distinguish algorithms.
        """
        alike = indistinguishable(observations, self.steering)
        for observation in observations:
            name = observation.algorithm.name
            if case.p <= 2 or name not in alike or not functions(observation.evidence):
                continue
            report(f"telling {case.collective} {name}, {case.bytes} B, from {', '.join(alike[name])}")
            with contextlib.suppress(DriverLost, CommandRefused):
                delayed_exits = repeat_if_lost(partial(self._fingerprint, observation.algorithm, case))
                observation.evidence = with_fingerprint(observation.evidence, delayed_exits)

    def _fingerprint(self, algorithm: Algorithm, case: Case) -> str:
        """The delayed-exit fingerprint of an algorithm."""
        with self.launches.run_launch(self._spec(algorithm, case)) as driver:
            self.launches.force(driver, self._force_arguments(algorithm), self._hang_after_s)
            return fingerprint(driver, call_arguments(case), case.p, self._hang_after_s)

    def _observe(self, algorithm: Algorithm, case: Case, report: Callable[[str], None]) -> Observation:
        """Observe; if neither functions nor messages were observed, once more in a new launch.

        If new launches show nothing either, this is repeated at most ``NEW_LAUNCHES`` times.
        """
        observation = self._observe_once(algorithm, case)
        if case.p == 1 or algorithm.name == DEFAULT or not observation.is_sound:
            return observation
        if _has_evidence(observation) or self._new_launches_left == 0:
            return observation
        self._new_launches_left -= 1
        report(f"nothing was observed of {case.collective} {algorithm.name}: repeating in a new launch")
        self.launches.close()
        second = self._observe_once(algorithm, case)
        if _has_evidence(second):
            self._new_launches_left = NEW_LAUNCHES
            second.attempts += observation.attempts
        return second

    def _with_fallback(self, algorithm: Algorithm, case: Case) -> tuple[LaunchSpec, list[str]]:
        """The launch in which a forced algorithm may fall back, and the arguments of ``force`` in it."""
        return self._spec(algorithm, case, self.steering.fallback_environment()), self._force_arguments(
            algorithm
        )

    def _observe_once(self, algorithm: Algorithm, case: Case) -> Observation:
        failures = self._failures.setdefault((algorithm.collective, algorithm.name, case.p), [])
        if len(failures) >= MOST_FAILURES:
            return Observation(algorithm=algorithm, failure=f"not tried again: {failures[-1]}")
        observation = self._observe_in(self._spec(algorithm, case), algorithm, case)
        if observation.failure:
            failures.append(observation.failure)
            self._require_launches(case)
        if observation.call_failed:
            # some processes may have begun the call: MPICH does not cancel their messages and receives
            self.launches.close()
        return observation

    def _observe_in(self, spec: LaunchSpec, algorithm: Algorithm, case: Case) -> Observation:
        arguments = self._force_arguments(algorithm)
        return observe(self.launches, spec, arguments, algorithm, case, self._hang_after_s)

    def _require_launches(self, case: Case) -> None:
        """Raise RunFailed if a launch that forces nothing fails too, so that no algorithm is the cause."""
        spec = _launch_of(case, self._environment())
        why = self.launches.failure(spec, self._hang_after_s)
        if why:
            raise RunFailed(
                f"{self.installation.name} cannot be launched with {case.processes} processes: {why}. No case"
                " is quarantined for that; remove the cause and run the study again. 'offbeat doctor' shows"
                " what works here, and 'offbeat run --dry-run' prints the exact commands"
            )

    def _current_name(self, algorithm: Algorithm) -> Algorithm:
        """The algorithm with the name that proofs at another p have given it."""
        candidates = self.algorithms(algorithm.collective)
        return next((one for one in candidates if one.settings == algorithm.settings), algorithm)

    def _position(self, algorithm: Algorithm) -> int:
        """The algorithm's position in the library's own order; those with parameters come last."""
        settings = [one.settings for one in self.algorithms(algorithm.collective)]
        return settings.index(algorithm.settings) if algorithm.settings in settings else len(settings)

    def _rename_by_function(self, algorithms: Iterable[Algorithm], verdicts: list[Verdict]) -> ProofResult:
        """Rename algorithms that the library only numbers after the function executed at the largest size."""
        functions_of_names = {
            verdict.algorithm: self.steering.identify_executed(
                verdict.collective, functions(verdict.evidence)
            )
            for verdict in sorted(verdicts, key=lambda verdict: verdict.bytes)
            if verdict.evidence
        }
        new_names: dict[tuple[str, str], str] = {}
        final: list[Algorithm] = []
        for algorithm in {one.name: one for one in algorithms}.values():
            final_algorithm = self.steering.named_by_function(
                algorithm, functions_of_names.get(algorithm.name, "")
            )
            new_names[algorithm.collective, algorithm.name] = final_algorithm.name
            self._rename(final_algorithm)
            final.append(final_algorithm)
        return ProofResult(algorithms=final, verdicts=rename(verdicts, new_names))

    def _rename(self, final_algorithm: Algorithm) -> None:
        algorithms = self.algorithms(final_algorithm.collective)
        for index, algorithm in enumerate(algorithms):
            if algorithm.settings == final_algorithm.settings and algorithm.name != final_algorithm.name:
                algorithms[index] = final_algorithm
                self._new_names[algorithm.collective, algorithm.name] = final_algorithm.name

    def _force_arguments(self, algorithm: Algorithm) -> list[str]:
        """The arguments of ``force`` in the running launch; none if the launch forces the algorithm."""
        return self.steering.force_arguments(algorithm, self.variables()) or []

    def forced_launch(self, algorithm: Algorithm, p: int) -> tuple[LaunchSpec, list[str]]:
        """A launch of p processes in which an algorithm is forced, and the arguments of ``force`` in it."""
        case = Case(
            collective=algorithm.collective,
            algorithm=algorithm.name,
            bytes=0,
            pattern="",
            shape="",
            skew_policy=ZERO_SKEW.key,
            skew_factor=0.0,
            p=p,
            nodes=0,
            ppn=0,
        )
        return self._with_fallback(algorithm, case)

    def _spec(self, algorithm: Algorithm, case: Case, more: Mapping[str, str] | None = None) -> LaunchSpec:
        environment = self._environment() | dict(more or {})
        if self.steering.force_arguments(algorithm, self.variables()) is None:
            environment |= self.steering.launch_environment(algorithm)
        elif self._section.isolate:
            # MPI ignores the variable; it only gives the algorithm a launch of its own
            environment |= {"OFFBEAT_ALGORITHM": f"{algorithm.collective}:{algorithm.name}".replace(" ", "")}
        spec = _launch_of(case, environment)
        return self._as_shipped(spec) if algorithm.name == DEFAULT else spec

    def _as_shipped(self, spec: LaunchSpec) -> LaunchSpec:
        """The launch for the library's own choice: as users start it, if the steerable one differs."""
        plain_spec = msgspec.structs.replace(spec, steerable=False)
        has_same_variables = self.launches.command(plain_spec).changes == self.launches.command(spec).changes
        return (
            spec
            if has_same_variables
            and self.launches.command(plain_spec).argv == self.launches.command(spec).argv
            else plain_spec
        )

    def _environment(self) -> dict[str, str]:
        return self.steering.environment(self.installation)


def _launch_of(case: Case, environment: Mapping[str, str]) -> LaunchSpec:
    variables = tuple(sorted(environment.items()))
    return LaunchSpec(p=case.processes, nodes=case.nodes, ppn=case.ppn, environment=variables)


def _has_evidence(observation: Observation) -> bool:
    return bool(observation.evidence) and not is_fingerprint(observation.evidence)


def open_engine(
    installation: Installation,
    driver: Path,
    section: MpiSection,
    start: StartSection,
    hang_after_s: float,
    base: Path,
    *,
    logs: Path,
    scratch: Path,
    kind: type[MpiEngine] | None = None,
) -> MpiEngine:
    """An engine for an installation and its driver, of collectives unless ``kind`` says otherwise.

    The study's relative paths refer to ``base``.
    """
    launches = Launches(installation, driver, section, base, logs=logs, scratch=scratch, allocation=current())
    return (kind or MpiEngine)(installation, launches, section, start, hang_after_s)
