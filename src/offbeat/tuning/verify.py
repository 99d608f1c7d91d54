"""Proving that a library obeys its tuning files: launch it as a user would, and see what runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from offbeat.engines.launches import Launches, Where
from offbeat.engines.prove import call_of, fingerprint, seen_evidence
from offbeat.mpi.driver import DriverLost, Refused
from offbeat.mpi.installation import Installation
from offbeat.mpi.steering import Steering
from offbeat.study.algorithm import DEFAULT, Verdict
from offbeat.study.case import Case
from offbeat.study.evidence import functions, identity, is_fingerprint
from offbeat.tuning.files import TuningFiles
from offbeat.tuning.probes import Probe

OBEYED, DISOBEYED, DIFFERS, UNSEEN, FAILED = "obeyed", "disobeyed", "differs", "unseen", "failed"


class Proof(Struct, frozen=True, kw_only=True):
    """What one probe showed.

    ``outcome`` is ``obeyed``; ``disobeyed``: something else ran; ``differs``: outside the tuned sizes
    something else runs than without the files, in a library that cannot be told better; ``unseen``: nothing
    shows what ran; or ``failed``: the launch died or the call returned an error (``why``). ``also`` names
    algorithms that cannot be told from the expected one by this kind of evidence.
    """

    case: Case
    expected: str
    outcome: str
    evidence: str = ""
    why: str = ""
    also: list[str] = []


class Verifier:
    """Launches with and without the tuning files, for one installation.

    ``launches`` must belong to the installation that ``tuning`` was written for; close them afterwards.
    """

    def __init__(
        self,
        tuning: TuningFiles,
        installation: Installation,
        launches: Launches,
        steering: Steering,
        verdicts: Sequence[Verdict],
        timeout_s: float,
    ) -> None:
        self._tuning = tuning
        self._launches = launches
        self._steering = steering
        self._proof = steering.proof_environment(installation)
        self._verdicts = verdicts
        self._timeout_s = timeout_s

    def prove(self, probes: Sequence[Probe], told: Callable[[str], None] = lambda _: None) -> Iterator[Proof]:
        """A proof of each probe, launch by launch: first the library's defaults, then with the files."""
        defaults = {
            probe.case: self._look(probe, self._where(probe, {}))
            for probe in _by_launch(probes)
            if probe.expected == DEFAULT
        }
        for probe in _by_launch(probes):
            told(f"{probe.case.collective} {probe.case.bytes} B on p={probe.case.p}")
            seen, why = self._look(probe, self._where(probe, self._tuning.environment_for(probe.case.p)))
            wanted = defaults[probe.case][0] if probe.expected == DEFAULT else probe.evidence
            yield self._judge(probe, wanted, seen, why)

    def _judge(self, probe: Probe, wanted: str, seen: str, why: str) -> Proof:
        if why:
            outcome = FAILED
        elif not seen or not wanted:
            outcome = UNSEEN
        else:
            same = self._core(probe.case, seen) == self._core(probe.case, wanted)
            outcome = OBEYED if same else self._otherwise(probe)
        return Proof(
            case=probe.case,
            expected=probe.expected,
            outcome=outcome,
            evidence=seen,
            why=why,
            also=self._alike(probe, wanted),
        )

    def _core(self, case: Case, evidence: str) -> str:
        """What must be the same: the collective's own function where functions are seen.

        Other collectives that it calls inside may be tuned themselves.
        """
        return self._steering.what_ran(case.collective, functions(evidence)) or identity(evidence)

    def _otherwise(self, probe: Probe) -> str:
        return DIFFERS if probe.expected == DEFAULT and not self._tuning.exact_default else DISOBEYED

    def _alike(self, probe: Probe, wanted: str) -> list[str]:
        """Other algorithms of the cell with the same evidence."""
        case = probe.case
        return [
            verdict.algorithm
            for verdict in self._verdicts
            if (verdict.collective, verdict.p, verdict.bytes) == (case.collective, case.p, case.bytes)
            and verdict.status == "proved"
            and verdict.algorithm not in (probe.expected, DEFAULT)
            and wanted
            and self._core(case, verdict.evidence) == self._core(case, wanted)
        ]

    def _look(self, probe: Probe, where: Where) -> tuple[str, str]:
        """The evidence of one call, of the kind that was seen when the algorithm was forced; or why there is
        none."""
        call = call_of(probe.case)
        look = fingerprint if is_fingerprint(probe.evidence) else seen_evidence
        try:
            driver = self._launches.get(where)
            answer = driver.ask("check", timeout_s=self._timeout_s, **call)
            if answer["error"]:
                return "", str(answer["error"]).splitlines()[0]
            return look(driver, call, probe.case.p, self._timeout_s), ""
        except DriverLost as lost:
            self._launches.drop()
            return "", str(lost)
        except Refused as refusal:
            return "", str(refusal)

    def _where(self, probe: Probe, environment: dict[str, str]) -> Where:
        """Messages are seen in a launch for proofs alone; a fingerprint is taken as users launch."""
        case = probe.case
        whole = environment | ({} if is_fingerprint(probe.evidence) else self._proof)
        variables = tuple(sorted(whole.items()))
        return Where(p=case.p, nodes=case.nodes, ppn=case.ppn, environment=variables, steerable=False)


def _by_launch(probes: Iterable[Probe]) -> list[Probe]:
    """In an order that needs few launches."""
    return sorted(
        probes,
        key=lambda probe: (probe.case.p, probe.case.nodes, probe.case.ppn, is_fingerprint(probe.evidence)),
    )
