"""Verifying that a library obeys its tuning files: launch it as a user would, and observe which algorithm
runs.

Every configuration that the files change is probed, and its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec
import polars as pl
from msgspec import Struct

from offbeat.libraries.families.library import Steering, Variable
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.driver import CommandRefused, Driver, DriverLost
from offbeat.libraries.launch.driver_protocol import CallArguments, Check
from offbeat.measurement.engines.driver_launches import Launches, LaunchSpec
from offbeat.measurement.proofs.prove import call_arguments, fingerprint, observe_evidence
from offbeat.model.study.algorithm import DEFAULT, Algorithm, Verdict
from offbeat.model.study.case import Case
from offbeat.model.study.evidence import (
    FUNCTIONS,
    LATE,
    MESSAGES,
    functions,
    identity,
    is_fingerprint,
    kind,
    part,
    with_fingerprint,
)
from offbeat.model.study.schema import EXTENTS
from offbeat.selection.tuning_files.manifest import TuningFiles
from offbeat.selection.tuning_files.tuning_plan import Rule

STATUSES_WITH_EVIDENCE = ("proved", "indistinguishable")
"""Verdicts with evidence of the algorithm that ran."""

MEASURED, LOWER_EDGE, UPPER_EDGE, OUTSIDE = "measured", "lower edge", "upper edge", "outside"
"""Where to probe: a rule's measured configuration, the ends of its range of sizes, and where no rule
applies."""


class Probe(Struct, frozen=True, kw_only=True):
    """One call to check: ``expected`` is the name of the algorithm that should run.

    The pattern of ``case`` has no meaning. ``evidence`` is what was observed when that algorithm was forced;
    empty for the library's default, which is first observed in an untuned launch. ``measured_bytes`` is the
    size of the configuration that the rule comes from; ``at`` is where the rule is probed: :data:`MEASURED`
    etc.
    """

    case: Case
    expected: str
    evidence: str = ""
    measured_bytes: int = 0
    at: str = MEASURED


def probes(tuning: TuningFiles, cases: pl.DataFrame, verdicts: Sequence[Verdict]) -> list[Probe]:
    """A probe for each rule at its measured configuration and at the ends of its range of sizes, and for
    sizes of each tuned p that are left to the library.

    The latter are the sizes just outside the tuned ranges, and measured sizes between them that no rule
    covers. A rule for every size is probed wherever its algorithm was observed to run. ``cases`` are those of
    the study (:data:`offbeat.measurement.results.schema.CASES`), which define how a configuration was
    measured.
    """
    evidence = {
        (v.collective, v.algorithm, v.p, v.bytes): v.evidence
        for v in verdicts
        if v.status in STATUSES_WITH_EVIDENCE
    }
    rule_probes: list[Probe] = []
    for rule in tuning.rules:
        measured_case = _cases_of(rule, cases)
        for case in measured_case:
            forced_evidence = evidence.get((rule.collective, rule.algorithm.name, rule.p, case.bytes), "")
            if forced_evidence or case.bytes == rule.bytes:
                rule_probes.append(
                    Probe(
                        case=case,
                        expected=rule.algorithm.name,
                        evidence=forced_evidence,
                        measured_bytes=case.bytes,
                    )
                )
        if measured_case and not rule.is_sizeless:
            forced_evidence = evidence.get((rule.collective, rule.algorithm.name, rule.p, rule.bytes), "")
            rule_probes += _edges(rule, measured_case[0], forced_evidence)
    rules_with_sizes = [rule for rule in tuning.rules if not rule.is_sizeless]
    return rule_probes + _outside_rules(rules_with_sizes, cases)


def _edges(rule: Rule, measured_case: Case, evidence: str) -> list[Probe]:
    """The smallest and the largest possible size in a rule's range, except for the measured one.

    Sizes of 0 bytes are not probed: such a call may return before any algorithm is chosen.
    """
    extent = EXTENTS[measured_case.datatype] if measured_case.datatype else 1
    lowest = max(-(-rule.bytes_low // extent), 1) * extent
    highest = rule.bytes_high // extent * extent
    edge_sizes = {LOWER_EDGE: lowest, UPPER_EDGE: highest}
    return [
        Probe(
            case=msgspec.structs.replace(measured_case, bytes=size),
            expected=rule.algorithm.name,
            evidence=evidence,
            measured_bytes=rule.bytes,
            at=position,
        )
        for position, size in edge_sizes.items()
        if lowest <= size <= highest and size != rule.bytes
    ]


def _cases_of(rule: Rule, cases: pl.DataFrame) -> list[Case]:
    """The measured variants of a rule's configurations: sizes, placements, operations, datatypes, roots."""
    rows = cases.filter(
        (pl.col("collective") == rule.collective)
        & (pl.col("p") == rule.p)
        & ((pl.col("bytes") == rule.bytes) | rule.is_sizeless)
    ).unique(["bytes", "nodes", "ppn", "op", "datatype", "root"], maintain_order=True)
    return [_case(row, row["bytes"]) for row in rows.iter_rows(named=True)]


def _outside_rules(rules: Sequence[Rule], cases: pl.DataFrame) -> list[Probe]:
    """At each tuned p, sizes outside and between the rules, where the library's default must run."""
    outside_probes: list[Probe] = []
    for collective, p in dict.fromkeys((rule.collective, rule.p) for rule in rules):
        matching = [rule for rule in rules if (rule.collective, rule.p) == (collective, p)]
        measured_cases = cases.filter((pl.col("collective") == collective) & (pl.col("p") == p))
        row = measured_cases.row(0, named=True)
        extent = EXTENTS[row["datatype"]]
        size_below = (min(rule.bytes_low for rule in matching) - 1) // extent * extent
        size_above = (max(rule.bytes_high for rule in matching) // extent + 1) * extent
        sizes_between = [
            size for size in measured_cases["bytes"].unique().sort() if size_below < size < size_above
        ]
        uncovered_sizes = [
            size
            for size in sizes_between
            if not any(rule.bytes_low <= size <= rule.bytes_high for rule in matching)
        ]
        sizes = [size for size in (size_below, *uncovered_sizes, size_above) if size > 0]
        outside_probes += [
            Probe(case=_case(row, size), expected=DEFAULT, measured_bytes=size, at=OUTSIDE) for size in sizes
        ]
    return outside_probes


def _case(row: dict[str, object], size: int) -> Case:
    fields = {name: row[name] for name in Case.__struct_fields__}
    return Case(**(fields | {"bytes": size, "algorithm": "", "pattern": "", "shape": ""}))  # type: ignore[arg-type]


OBEYED, DISOBEYED, DIFFERS, UNSEEN, FAILED = "obeyed", "disobeyed", "differs", "unseen", "failed"
INDISTINGUISHABLE = "indistinguishable"


class Proof(Struct, frozen=True, kw_only=True):
    """The result of one probe.

    ``outcome`` is ``obeyed``; ``disobeyed``: another algorithm ran; ``differs``: outside the tuned sizes
    another algorithm runs than without the files, in a library that cannot do otherwise; ``unseen``: what ran
    was not observed, or there is no evidence to compare it with; ``indistinguishable``: what ran looks like
    the expected algorithm, but also like those in ``also``; or ``failed``: the launch crashed, the call
    returned an error or a wrong result. ``why`` has details; the other fields are those of the
    :class:`Probe`.
    """

    case: Case
    expected: str
    outcome: str
    evidence: str = ""
    why: str = ""
    also: list[str] = []
    at: str = MEASURED
    measured_bytes: int = 0


class Observation(Struct, frozen=True):
    """``evidence`` of one call, or the reason ``why`` there is none; neither if nothing was observed."""

    evidence: str = ""
    why: str = ""


@dataclass
class Verifier:
    """Launches with and without the tuning files, for one installation.

    ``launches`` must belong to the installation that ``tuning`` was written for; close them afterwards.
    ``is_measured`` says that it is the installation that was measured: another one may have no symbols and
    show messages where functions were observed, which does not mean that it disobeys.
    """

    tuning: TuningFiles
    installation: Installation
    launches: Launches
    steering: Steering
    verdicts: Sequence[Verdict]
    timeout_s: float
    is_measured: bool

    def prove(
        self, probes: Sequence[Probe], report: Callable[[str], None] = lambda _: None
    ) -> Iterator[Proof]:
        """A proof of each probe, launch by launch: first the library's defaults, then with the files."""
        defaults = {
            probe.case: self._observe(probe, launch_spec(probe.case, {}))
            for probe in _by_launch(probes)
            if probe.expected == DEFAULT
        }
        proofs = []
        for probe in _by_launch(probes):
            report(f"{probe.case.collective} {probe.case.bytes} B on p={probe.case.p}")
            environment = self.tuning.environment_for(probe.case.processes)
            observation = self._observe(probe, launch_spec(probe.case, environment))
            expectation = defaults[probe.case] if probe.expected == DEFAULT else Observation(probe.evidence)
            proofs.append((probe, self._judge(probe, expectation, observation)))
        for probe, proof in proofs:
            is_measured_size = probe.case.bytes == probe.measured_bytes
            is_suspect = proof.outcome == DISOBEYED and not is_measured_size
            yield self._compare_with_forced(probe, proof) if is_suspect else proof

    def _judge(self, probe: Probe, expectation: Observation, observation: Observation) -> Proof:
        outcome, why, also = UNSEEN, observation.why, list[str]()
        if observation.why:
            outcome = FAILED
        elif expectation.why:
            why = f"without the files: {expectation.why}"
        elif (
            observation.evidence
            and expectation.evidence
            and self._can_be_compared(probe, expectation, observation)
        ):
            outcome, also = self._compare(probe, expectation.evidence, observation.evidence)
        return Proof(
            case=probe.case,
            expected=probe.expected,
            outcome=outcome,
            evidence=observation.evidence,
            why=why,
            also=also,
            at=probe.at,
            measured_bytes=probe.measured_bytes,
        )

    def _can_be_compared(self, probe: Probe, expectation: Observation, observation: Observation) -> bool:
        same_installation = self.is_measured or probe.expected == DEFAULT
        return same_installation or kind(observation.evidence) == kind(expectation.evidence)

    def _compare(self, probe: Probe, expected_evidence: str, observed_evidence: str) -> tuple[str, list[str]]:
        """The outcome, and the algorithms that are indistinguishable from the expected one.

        The collective's own functions must be the same. If other algorithms enter the same ones, the messages
        and the delayed-exit probe must also be the same, and differ from those of the others.
        """
        case = probe.case
        if self._core(case, observed_evidence) != self._core(case, expected_evidence):
            is_allowed = probe.expected == DEFAULT and not self.tuning.exact_default
            return DIFFERS if is_allowed else DISOBEYED, []
        if probe.expected == DEFAULT:
            return OBEYED, []
        same_core = self._with_the_same_core(probe, expected_evidence)
        if not same_core:
            return OBEYED, []
        distinctive_parts = [
            one for one in (MESSAGES, LATE) if part(observed_evidence, one) and part(expected_evidence, one)
        ]
        if any(
            identity(part(observed_evidence, one)) != identity(part(expected_evidence, one))
            for one in distinctive_parts
        ):
            return DISOBEYED, []
        also = [
            verdict.algorithm
            for verdict in same_core
            if all(
                identity(part(verdict.evidence, one)) == identity(part(probe.evidence, one))
                for one in distinctive_parts
            )
        ]
        return (INDISTINGUISHABLE if also else OBEYED), also

    def _with_the_same_core(self, probe: Probe, expected_evidence: str) -> list[Verdict]:
        """Verdicts on other algorithms of the rule's configuration that enter the same functions."""
        configuration = (probe.case.collective, probe.case.p, probe.measured_bytes)
        return [
            verdict
            for verdict in self.verdicts
            if (verdict.collective, verdict.p, verdict.bytes) == configuration
            and verdict.status in STATUSES_WITH_EVIDENCE
            and verdict.algorithm not in (probe.expected, DEFAULT)
            and self._core(probe.case, verdict.evidence) == self._core(probe.case, expected_evidence)
        ]

    def _core(self, case: Case, evidence: str) -> str:
        """What must be the same: the collective's own functions, if functions were observed.

        Other collectives that it calls internally may themselves be tuned.
        """
        if not functions(evidence):
            return identity(evidence)
        functions_of_collective = self.steering.functions_of(case.collective, functions(evidence))
        return " ".join(functions_of_collective) or part(evidence, FUNCTIONS)

    def _compare_with_forced(self, probe: Probe, proof: Proof) -> Proof:
        """Compare with what runs at this size when the algorithm is forced: it may fall back at this size."""
        forced_observation = self._observe(probe, self._where_forced(probe), self._force_arguments(probe))
        if forced_observation.why or not forced_observation.evidence:
            return proof
        return self._judge(probe, forced_observation, Observation(proof.evidence))

    def _where_forced(self, probe: Probe) -> LaunchSpec:
        environment = self.steering.environment(self.installation)
        if self._force_arguments(probe) is None:
            environment = environment | self.steering.launch_environment(self._algorithm(probe))
        return launch_spec(probe.case, environment, steerable=True)

    def _force_arguments(self, probe: Probe) -> list[str] | None:
        """The arguments that force a rule's algorithm; None if the launch itself forces it."""
        return self.steering.force_arguments(self._algorithm(probe), self._variables)

    @cached_property
    def _variables(self) -> list[Variable]:
        """The variables of the library."""
        environment = self.steering.environment(self.installation)
        return self.launches.variables(self.steering.variables_regex, environment, self.timeout_s)

    def _algorithm(self, probe: Probe) -> Algorithm:
        return next(
            rule.algorithm
            for rule in self.tuning.rules
            if (rule.collective, rule.algorithm.name) == (probe.case.collective, probe.expected)
        )

    def _observe(self, probe: Probe, where: LaunchSpec, force: list[str] | None = None) -> Observation:
        """Run one call; evidence of the kinds that were observed when the algorithm was forced."""
        call = call_arguments(probe.case)
        try:
            driver = self.launches.get(where)
            if force is not None:
                self.launches.force(driver, force, self.timeout_s)
            answer = driver.ask(Check(**call), timeout_s=self.timeout_s)
            if answer.error:
                return Observation(why=answer.error.splitlines()[0])
            if answer.wrong:
                return Observation(why=f"{answer.wrong} elements of the result are wrong")
            return Observation(self._evidence(driver, probe, call))
        except DriverLost as error:
            self.launches.drop()
            return Observation(why=str(error))
        except CommandRefused as refusal:
            return Observation(why=str(refusal))

    def _evidence(self, driver: Driver, probe: Probe, call: CallArguments) -> str:
        p = probe.case.p
        if is_fingerprint(probe.evidence):
            return fingerprint(driver, call, p, self.timeout_s)
        evidence, _ = observe_evidence(driver, call, p, self.timeout_s)
        if part(probe.evidence, LATE) and not is_fingerprint(evidence):
            return with_fingerprint(evidence, fingerprint(driver, call, p, self.timeout_s))
        return evidence


def launch_spec(case: Case, environment: Mapping[str, str], *, steerable: bool = False) -> LaunchSpec:
    """A launch with these variables; unless ``steerable``, as by a user."""
    variables = tuple(sorted(environment.items()))
    return LaunchSpec(
        p=case.processes, nodes=case.nodes, ppn=case.ppn, environment=variables, steerable=steerable
    )


def _by_launch(probes: Iterable[Probe]) -> list[Probe]:
    """Probes ordered so that few launches are needed."""
    return sorted(probes, key=lambda probe: probe.case.launch_placement)
