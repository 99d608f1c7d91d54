"""Outcomes of ``offbeat verify``, with a fake library that answers from a dictionary."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from plan_factory import create_plan, installation
from raw_commands import made_answer

from offbeat.base.errors import BadInput
from offbeat.libraries.families.openmpi import OpenMpiSteering
from offbeat.libraries.launch.driver import DriverLost
from offbeat.libraries.launch.driver_protocol import AnswerType, Command
from offbeat.measurement.engines.driver_launches import LaunchSpec
from offbeat.measurement.results.read import Results
from offbeat.model.study.algorithm import DEFAULT, Verdict
from offbeat.model.study.case import Case
from offbeat.selection.tuning_files.manifest import SCHEMA_VERSION, Manifest, TuningFiles
from offbeat.selection.verification.rule_probes import (
    DISOBEYED,
    FAILED,
    OBEYED,
    UNSEEN,
    Probe,
    Proof,
    Verifier,
    probes,
)
from offbeat.selection.verification.verify import prove_files

BINOMIAL = "functions:ompi_coll_base_reduce_intra_binomial"
CHAIN = "functions:ompi_coll_base_reduce_intra_chain"
SOUND = {"error": "", "wrong": 0}


def case(size: int, algorithm: str = "") -> Case:
    return Case(
        collective="reduce",
        algorithm=algorithm,
        bytes=size,
        pattern="",
        shape="",
        skew_policy="none",
        skew_factor=0.0,
        p=4,
        nodes=0,
        ppn=0,
        op="sum",
        datatype="double",
    )


def tuning(sizes: dict[int, str]) -> TuningFiles:
    tuning_plan = create_plan("openmpi", {("reduce", 4, size): name for size, name in sizes.items()})
    return TuningFiles(
        files=[],
        environment={"TUNED": "yes"},
        launch_options=[],
        usage=[],
        notes=[],
        rules=[rule for rules in tuning_plan.rules.values() for rule in rules],
    )


class OneLibrary:
    """Launches with fixed answers, separate for launches with and without the files."""

    def __init__(self, with_files: dict[str, Any], without: dict[str, Any]) -> None:
        self.with_files, self.without = with_files, without
        self.dropped = 0

    def get(self, where: LaunchSpec) -> SimpleNamespace:
        answers = self.with_files if dict(where.environment).get("TUNED") else self.without

        def ask(command: Command[AnswerType], *, timeout_s: float) -> AnswerType:
            if isinstance(answers, Exception):
                raise answers
            return made_answer(command, answers if command.verb == "check" else observed(answers["ran"]))

        return SimpleNamespace(ask=ask)

    def drop(self) -> None:
        self.dropped += 1


def observed(evidence: str) -> dict[str, object]:
    """The driver's answer to observe, or to fingerprint if there is no other evidence."""
    names = evidence.removeprefix("functions:") if evidence.startswith("functions:") else ""
    late = [None, *([[0, 0, 1, 2, 3]] if evidence.startswith("late:") else [])]
    messages = [None, [1, 0, 8]] if evidence.startswith("messages:") else [None]
    return {"functions": names, "sees_messages": len(messages) > 1, "messages": messages, "late": late}


def proved(
    expected: str,
    evidence: str,
    with_files: object,
    without: object | None = None,
    *,
    is_measured: bool = True,
) -> Proof:
    """The proof of one probe at 64 bytes."""
    library = OneLibrary(with_files, without or SOUND | {"ran": CHAIN})  # type: ignore[arg-type]
    verifier = Verifier(
        tuning({64: "way1"}),
        installation("openmpi", (5, 0, 11)),
        library,  # type: ignore[arg-type]
        OpenMpiSteering(),
        [],
        timeout_s=1.0,
        is_measured=is_measured,
    )
    (proof,) = verifier.prove([Probe(case=case(64), expected=expected, evidence=evidence, measured_bytes=64)])
    return proof


def test_a_rule_is_obeyed_by_the_same_function_and_by_no_other() -> None:
    assert proved("way1", BINOMIAL, SOUND | {"ran": BINOMIAL}).outcome == OBEYED
    assert proved("way1", BINOMIAL, SOUND | {"ran": CHAIN}).outcome == DISOBEYED


def test_a_wrong_result_is_a_failure_whatever_ran() -> None:
    proof = proved("way1", BINOMIAL, {"error": "", "wrong": 3, "ran": BINOMIAL})
    assert (proof.outcome, proof.why) == (FAILED, "3 elements of the result are wrong")


def test_an_error_and_a_launch_that_dies_are_failures_with_their_reason() -> None:
    assert proved("way1", BINOMIAL, {"error": "MPI_ERR_COUNT\nmore", "wrong": 0}).why == "MPI_ERR_COUNT"
    assert proved("way1", BINOMIAL, DriverLost("hung: no answer")).outcome == FAILED


def test_evidence_of_two_kinds_is_not_compared_between_two_installations() -> None:
    """An installation without symbols shows messages where the measured one showed functions."""
    proof = proved("way1", BINOMIAL, SOUND | {"ran": "messages:"}, is_measured=False)
    assert proof.outcome == UNSEEN and proof.evidence.startswith("messages:")


def test_evidence_of_two_kinds_in_one_installation_is_something_else_that_ran() -> None:
    assert proved("way1", BINOMIAL, SOUND | {"ran": "late:"}).outcome == DISOBEYED
    assert proved(DEFAULT, "", SOUND | {"ran": "late:"}, is_measured=False).outcome == DISOBEYED


def test_an_untuned_launch_that_fails_is_distinguished_from_a_tuned_one() -> None:
    proof = proved(DEFAULT, "", SOUND | {"ran": CHAIN}, DriverLost("hung: no answer"))
    assert (proof.outcome, proof.why) == (UNSEEN, "without the files: hung: no answer")
    assert proved(DEFAULT, "", SOUND | {"ran": CHAIN}).outcome == OBEYED


def test_measured_sizes_that_are_left_to_the_library_are_probed() -> None:
    sizes = {64: "way1", 2048: DEFAULT, 65536: "way2"}
    rows = [
        {name: getattr(case(size), name) for name in Case.__struct_fields__} | {"algorithm": "way1"}
        for size in sizes
    ]
    all_probes = probes(tuning(sizes), pl.DataFrame(rows), [])
    left = [probe.case.bytes for probe in all_probes if probe.expected == DEFAULT]
    assert left == [56, 2048, 65544]


def test_imported_measurements_cannot_be_verified(tmp_path: Path) -> None:
    imported = Verdict(collective="reduce", algorithm="way1", p=4, bytes=64, status="proved")
    results = SimpleNamespace(
        directory=tmp_path, provenance={"library": "hydra"}, verdicts=[imported], study={"engine": "import"}
    )
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        rule="average",
        library="openmpi-5.0.11",
        mpirun="/nowhere/mpirun",
        tuning=tuning({64: "way1"}),
    )
    with pytest.raises(BadInput, match="measurements were imported"):
        prove_files(as_results(results), manifest, "", tmp_path, None)  # type: ignore[arg-type]


def test_a_missing_launcher_is_named_with_a_remedy(tmp_path: Path) -> None:
    results = SimpleNamespace(directory=tmp_path, verdicts=[verdict_of(BINOMIAL)], provenance={})
    (tmp_path / "rules").write_bytes(b"")
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        rule="average",
        library="openmpi-1.2.3",
        mpirun=str(tmp_path / "gone"),
        tuning=tuning({64: "way1"}),
    )
    with pytest.raises(BadInput, match=r"gone is missing, the launcher of openmpi-1\.2\.3 .* with --mpi"):
        prove_files(as_results(results), manifest, "", tmp_path, None)  # type: ignore[arg-type]


def verdict_of(evidence: str) -> Verdict:
    return Verdict(
        collective="reduce", algorithm="way1", p=4, bytes=64, status="proved", evidence=evidence, reason=""
    )


def as_results(value: Any) -> Results:
    return value  # type: ignore[no-any-return]
