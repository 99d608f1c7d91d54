"""Proving that a library obeys its tuning files: launch it as a user would, and see what runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from offbeat.engines.launches import Launches, Where
from offbeat.engines.prove import call_of, fingerprint, seen_evidence
from offbeat.mpi.driver import Driver, DriverLost, Refused
from offbeat.mpi.installation import Installation
from offbeat.mpi.steering import Steering
from offbeat.mpi.variables import Variable, decode
from offbeat.study.algorithm import DEFAULT, Algorithm, Verdict
from offbeat.study.case import Case
from offbeat.study.evidence import (
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
from offbeat.tuning.files import TuningFiles
from offbeat.tuning.probes import KNOWN, MEASURED_CELL, Probe

OBEYED, DISOBEYED, DIFFERS, UNSEEN, FAILED = "obeyed", "disobeyed", "differs", "unseen", "failed"
NOT_TOLD = "indistinguishable"


class Proof(Struct, frozen=True, kw_only=True):
    """What one probe showed.

    ``outcome`` is ``obeyed``; ``disobeyed``: something else ran; ``differs``: outside the tuned sizes
    something else runs than without the files, in a library that cannot be told better; ``unseen``: nothing
    shows what ran, or nothing is known that it could be compared with (``why``, where there is more to say);
    ``indistinguishable``: what ran looks like the expected algorithm, but also like those in ``also``; or
    ``failed``: the launch died, the call returned an error or a wrong result (``why``). ``at`` says which
    place of a rule was looked at: ``measured``, ``lower edge`` or ``upper edge``; ``outside`` where no rule
    holds; ``measured_bytes`` is the size of the configuration that the rule comes from.
    """

    case: Case
    expected: str
    outcome: str
    evidence: str = ""
    why: str = ""
    also: list[str] = []
    at: str = MEASURED_CELL
    measured_bytes: int = 0


class Seen(Struct, frozen=True):
    """What a look at one call showed: ``evidence``, or ``why`` there is none; neither where nothing shows."""

    evidence: str = ""
    why: str = ""


class Verifier:
    """Launches with and without the tuning files, for one installation.

    ``launches`` must belong to the installation that ``tuning`` was written for; close them afterwards.
    ``is_measured`` says that it is the very one that was measured: another one may have no symbols and show
    messages where functions were seen, which says nothing about obedience.
    """

    def __init__(
        self,
        tuning: TuningFiles,
        installation: Installation,
        launches: Launches,
        steering: Steering,
        verdicts: Sequence[Verdict],
        timeout_s: float,
        *,
        is_measured: bool,
    ) -> None:
        self._tuning = tuning
        self._launches = launches
        self._steering = steering
        self._installation = installation
        self._verdicts = verdicts
        self._timeout_s = timeout_s
        self._is_measured = is_measured
        self._variables: list[Variable] | None = None

    def prove(self, probes: Sequence[Probe], told: Callable[[str], None] = lambda _: None) -> Iterator[Proof]:
        """A proof of each probe, launch by launch: first the library's defaults, then with the files."""
        defaults = {
            probe.case: self._look(probe, self._where(probe, {}))
            for probe in _by_launch(probes)
            if probe.expected == DEFAULT
        }
        proofs = []
        for probe in _by_launch(probes):
            told(f"{probe.case.collective} {probe.case.bytes} B on p={probe.case.p}")
            seen = self._look(probe, self._where(probe, self._tuning.environment_for(probe.case.p)))
            wanted = defaults[probe.case] if probe.expected == DEFAULT else Seen(probe.evidence)
            proofs.append((probe, self._judge(probe, wanted, seen)))
        for probe, proof in proofs:
            yield self._again_when_forced(probe, proof) if _may_fall_back(probe, proof) else proof

    def _judge(self, probe: Probe, wanted: Seen, seen: Seen) -> Proof:
        outcome, why, also = UNSEEN, seen.why, list[str]()
        if seen.why:
            outcome = FAILED
        elif wanted.why:
            why = f"without the files: {wanted.why}"
        elif seen.evidence and wanted.evidence and self._can_be_compared(probe, wanted, seen):
            outcome, also = self._compared(probe, wanted.evidence, seen.evidence)
        return Proof(
            case=probe.case,
            expected=probe.expected,
            outcome=outcome,
            evidence=seen.evidence,
            why=why,
            also=also,
            at=probe.at,
            measured_bytes=probe.measured_bytes,
        )

    def _can_be_compared(self, probe: Probe, wanted: Seen, seen: Seen) -> bool:
        same_installation = self._is_measured or probe.expected == DEFAULT
        return same_installation or kind(seen.evidence) == kind(wanted.evidence)

    def _compared(self, probe: Probe, wanted: str, seen: str) -> tuple[str, list[str]]:
        """The outcome, and which algorithms look the same as the expected one.

        The collective's own functions must be the same. Where other algorithms enter the same ones, messages
        and who leaves late must be the same, too, and differ from those of the others.
        """
        case = probe.case
        if self._core(case, seen) != self._core(case, wanted):
            return self._otherwise(probe), []
        if probe.expected == DEFAULT:
            return OBEYED, []
        kin = self._with_the_same_core(probe, wanted)
        if not kin:
            return OBEYED, []
        told_by = [one for one in (MESSAGES, LATE) if part(seen, one) and part(wanted, one)]
        if any(identity(part(seen, one)) != identity(part(wanted, one)) for one in told_by):
            return DISOBEYED, []
        also = [
            verdict.algorithm
            for verdict in kin
            if all(
                identity(part(verdict.evidence, one)) == identity(part(probe.evidence, one))
                for one in told_by
            )
        ]
        return (NOT_TOLD if also else OBEYED), also

    def _with_the_same_core(self, probe: Probe, wanted: str) -> list[Verdict]:
        """Verdicts on other algorithms of the rule's configuration that enter the same functions."""
        configuration = (probe.case.collective, probe.case.p, probe.measured_bytes)
        return [
            verdict
            for verdict in self._verdicts
            if (verdict.collective, verdict.p, verdict.bytes) == configuration
            and verdict.status in KNOWN
            and verdict.algorithm not in (probe.expected, DEFAULT)
            and self._core(probe.case, verdict.evidence) == self._core(probe.case, wanted)
        ]

    def _core(self, case: Case, evidence: str) -> str:
        """What must be the same: the collective's own functions where functions are seen.

        Other collectives that it calls inside may be tuned themselves.
        """
        if not functions(evidence):
            return identity(evidence)
        own = self._steering.own(case.collective, functions(evidence))
        return " ".join(own) or part(evidence, FUNCTIONS)

    def _otherwise(self, probe: Probe) -> str:
        return DIFFERS if probe.expected == DEFAULT and not self._tuning.exact_default else DISOBEYED

    def _again_when_forced(self, probe: Probe, proof: Proof) -> Proof:
        """Compare with what runs at this very size when the algorithm is forced: it may fall back there."""
        forced = self._look(probe, self._where_forced(probe), self._force_words(probe))
        if forced.why or not forced.evidence:
            return proof
        return self._judge(probe, forced, Seen(proof.evidence))

    def _where_forced(self, probe: Probe) -> Where:
        environment = self._steering.environment(self._installation)
        if self._force_words(probe) is None:
            environment = environment | self._steering.launch_environment(self._algorithm(probe))
        case = probe.case
        variables = tuple(sorted(environment.items()))
        return Where(p=case.p, nodes=case.nodes, ppn=case.ppn, environment=variables)

    def _force_words(self, probe: Probe) -> list[str] | None:
        """The words that force a rule's algorithm in a running launch; None where the launch forces it."""
        if self._variables is None:
            regex = self._steering.variables_regex
            environment = self._steering.environment(self._installation)
            self._variables = decode(self._launches.variables(regex, environment, self._timeout_s))
        return self._steering.switch(self._algorithm(probe), self._variables)

    def _algorithm(self, probe: Probe) -> Algorithm:
        return next(
            rule.algorithm
            for rule in self._tuning.rules
            if (rule.collective, rule.algorithm.name) == (probe.case.collective, probe.expected)
        )

    def _look(self, probe: Probe, where: Where, force: list[str] | None = None) -> Seen:
        """One call, and evidence of the kinds that were seen when the algorithm was forced."""
        call = call_of(probe.case)
        try:
            driver = self._launches.get(where)
            if force is not None:
                self._launches.force(driver, force, self._timeout_s)
            answer = driver.ask("check", timeout_s=self._timeout_s, **call)
            if answer["error"]:
                return Seen(why=str(answer["error"]).splitlines()[0])
            if answer["wrong"]:
                return Seen(why=f"{answer['wrong']} elements of the result are wrong")
            return Seen(self._evidence(driver, probe, call))
        except DriverLost as lost:
            self._launches.drop()
            return Seen(why=str(lost))
        except Refused as refusal:
            return Seen(why=str(refusal))

    def _evidence(self, driver: Driver, probe: Probe, call: dict[str, object]) -> str:
        p = probe.case.p
        if is_fingerprint(probe.evidence):
            return fingerprint(driver, call, p, self._timeout_s)
        seen, _ = seen_evidence(driver, call, p, self._timeout_s)
        if part(probe.evidence, LATE) and not is_fingerprint(seen):
            return with_fingerprint(seen, fingerprint(driver, call, p, self._timeout_s))
        return seen

    def _where(self, probe: Probe, environment: dict[str, str]) -> Where:
        """The launch of a user, with these variables."""
        case = probe.case
        variables = tuple(sorted(environment.items()))
        return Where(p=case.p, nodes=case.nodes, ppn=case.ppn, environment=variables, steerable=False)


def _may_fall_back(probe: Probe, proof: Proof) -> bool:
    """Whether something else ran than at the measured size, at a size that was not measured."""
    return proof.outcome == DISOBEYED and probe.case.bytes != probe.measured_bytes


def _by_launch(probes: Iterable[Probe]) -> list[Probe]:
    """In an order that needs few launches."""
    return sorted(
        probes,
        key=lambda probe: (probe.case.p, probe.case.nodes, probe.case.ppn),
    )
