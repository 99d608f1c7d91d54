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
from offbeat.study.evidence import functions, identity, is_fingerprint, kind
from offbeat.tuning.files import TuningFiles
from offbeat.tuning.probes import Probe

OBEYED, DISOBEYED, DIFFERS, UNSEEN, FAILED = "obeyed", "disobeyed", "differs", "unseen", "failed"


class Proof(Struct, frozen=True, kw_only=True):
    """What one probe showed.

    ``outcome`` is ``obeyed``; ``disobeyed``: something else ran; ``differs``: outside the tuned sizes
    something else runs than without the files, in a library that cannot be told better; ``unseen``: nothing
    shows what ran, or nothing is known that it could be compared with (``why``, where there is more to say);
    or ``failed``: the launch died, the call returned an error or a wrong result (``why``). ``also`` names
    algorithms that cannot be told from the expected one by this kind of evidence.
    """

    case: Case
    expected: str
    outcome: str
    evidence: str = ""
    why: str = ""
    also: list[str] = []


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
        self._proof = steering.proof_environment(installation)
        self._verdicts = verdicts
        self._timeout_s = timeout_s
        self._is_measured = is_measured

    def prove(self, probes: Sequence[Probe], told: Callable[[str], None] = lambda _: None) -> Iterator[Proof]:
        """A proof of each probe, launch by launch: first the library's defaults, then with the files."""
        defaults = {
            probe.case: self._look(probe, self._where(probe, {}))
            for probe in _by_launch(probes)
            if probe.expected == DEFAULT
        }
        for probe in _by_launch(probes):
            told(f"{probe.case.collective} {probe.case.bytes} B on p={probe.case.p}")
            seen = self._look(probe, self._where(probe, self._tuning.environment_for(probe.case.p)))
            wanted = defaults[probe.case] if probe.expected == DEFAULT else Seen(probe.evidence)
            yield self._judge(probe, wanted, seen)

    def _judge(self, probe: Probe, wanted: Seen, seen: Seen) -> Proof:
        outcome, why = UNSEEN, seen.why
        if seen.why:
            outcome = FAILED
        elif wanted.why:
            why = f"without the files: {wanted.why}"
        elif seen.evidence and wanted.evidence and self._can_be_compared(probe, wanted, seen):
            same = self._core(probe.case, seen.evidence) == self._core(probe.case, wanted.evidence)
            outcome = OBEYED if same else self._otherwise(probe)
        return Proof(
            case=probe.case,
            expected=probe.expected,
            outcome=outcome,
            evidence=seen.evidence,
            why=why,
            also=self._alike(probe, wanted.evidence),
        )

    def _can_be_compared(self, probe: Probe, wanted: Seen, seen: Seen) -> bool:
        same_installation = self._is_measured or probe.expected == DEFAULT
        return same_installation or kind(seen.evidence) == kind(wanted.evidence)

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

    def _look(self, probe: Probe, where: Where) -> Seen:
        """One call, and evidence of the kind that was seen when the algorithm was forced."""
        call = call_of(probe.case)
        look = fingerprint if is_fingerprint(probe.evidence) else seen_evidence
        try:
            driver = self._launches.get(where)
            answer = driver.ask("check", timeout_s=self._timeout_s, **call)
            if answer["error"]:
                return Seen(why=str(answer["error"]).splitlines()[0])
            if answer["wrong"]:
                return Seen(why=f"{answer['wrong']} elements of the result are wrong")
            return Seen(look(driver, call, probe.case.p, self._timeout_s))
        except DriverLost as lost:
            self._launches.drop()
            return Seen(why=str(lost))
        except Refused as refusal:
            return Seen(why=str(refusal))

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
