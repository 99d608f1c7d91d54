"""The page shows the use of the tuning files, their rules, and whether the library obeys them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
import study_factory as factory

from offbeat.model.study.algorithm import Algorithm
from offbeat.model.study.case import Case
from offbeat.presentation.study_report.outcome import warnings
from offbeat.presentation.study_report.tuning_status import TuningStatus, tuning_status
from offbeat.selection.choices.choose import select
from offbeat.selection.tuning_files.manifest import SCHEMA_VERSION, Manifest, TuningFiles
from offbeat.selection.tuning_files.tuning_plan import Rule
from offbeat.selection.verification.proofs import Proofs, write_proofs
from offbeat.selection.verification.rule_probes import Proof

COMMAND = "mpirun --mca coll_tuned_dynamic_rules_filename /x/openmpi.rules -n P ./application"
CASE = Case(
    collective="reduce",
    algorithm="chain",
    bytes=1024,
    pattern="no_delay",
    shape="no_delay",
    skew_policy="none",
    skew_factor=0.0,
    p=4,
    nodes=0,
    ppn=0,
)


def write_files(directory: Path, **more: Any) -> None:
    """A manifest as ``offbeat export`` leaves it."""
    rule = Rule(
        collective="reduce",
        p=4,
        bytes=1024,
        p_low=4,
        p_high=7,
        bytes_low=1024,
        bytes_high=4095,
        algorithm=Algorithm(collective="reduce", name="chain"),
    )
    facts: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "rule": "average",
        "library": "openmpi-4.1.4",
        "mpirun": "/usr/bin/mpirun",
        "tuning": TuningFiles(
            files=[Path("/x/openmpi.rules")],
            environment={},
            launch_options=[],
            usage=[COMMAND],
            notes=["not with non-commutative operations"],
            rules=[rule],
        ),
    }
    (directory / "tuning").mkdir(parents=True, exist_ok=True)
    text = msgspec.json.encode(Manifest(**(facts | more)), enc_hook=str)
    (directory / "tuning" / "tuning.json").write_bytes(text)


def status_of(directory: Path, rule: str = "average") -> TuningStatus | None:
    study = factory.results(directory, factory.case_frame(["chain", "ring"], factory.SHAPES))
    return tuning_status(directory, select(study, rule, bootstrap=0))


def test_without_tuning_files_there_is_no_status(tmp_path: Path) -> None:
    assert status_of(tmp_path) is None


def test_the_command_the_rules_and_the_notes_are_shown(tmp_path: Path) -> None:
    write_files(tmp_path)
    status = status_of(tmp_path)
    assert status is not None
    assert status.usage == [COMMAND]
    assert status.notes == ["not with non-commutative operations"]
    ((*line, _),) = status.rules.rows
    assert line == ["reduce", "4 – 7", "1 KiB – 4095 B"]
    assert (status.outcome, status.proofs.rows) == ("", [])


def test_files_of_another_rule_get_a_note(tmp_path: Path) -> None:
    write_files(tmp_path)
    status = status_of(tmp_path, "worst")
    assert status is not None
    assert status.notes[0] == (
        "The files were written with the rule ‘average’, but this report selects by ‘worst’."
    )


def test_a_damaged_manifest_is_reported_in_the_page(tmp_path: Path) -> None:
    write_files(tmp_path)
    (tmp_path / "tuning" / "tuning.json").write_text("{")
    status = status_of(tmp_path)
    assert status is not None
    assert "damaged" in status.error


@pytest.mark.parametrize(("outcome", "warned"), [("obeyed", False), ("differs", False), ("disobeyed", True)])
def test_rules_are_counted_and_failures_give_a_warning(tmp_path: Path, outcome: str, warned: bool) -> None:
    write_files(tmp_path)
    evidence = "functions:ompi_coll_base_reduce_intra_binomial"
    proofs = [
        Proof(case=CASE, expected="chain", outcome="obeyed", evidence=evidence),
        Proof(case=CASE, expected="default", outcome=outcome, evidence=evidence, also=["pipeline"]),
    ]
    write_proofs(Proofs(library="openmpi-4.1.4", proofs=proofs), tmp_path / "tuning")
    status = status_of(tmp_path)
    assert status is not None
    assert status.outcome.startswith("openmpi-4.1.4: 1 of 1 rule verified")
    *_, expected, _, observed = status.proofs.rows[1]
    assert expected == "the library’s default"
    assert observed == "reduce_intra_binomial; indistinguishable from 1 algorithm"
    study = factory.results(tmp_path, factory.case_frame(["chain"], factory.SHAPES))
    notices = warnings(study, factory.shown(study), status)
    assert any("was not proved to obey" in notice.observation for notice in notices) == warned


def test_proofs_of_files_rewritten_later_are_ignored(tmp_path: Path) -> None:
    write_files(tmp_path)
    proof = Proof(case=CASE, expected="chain", outcome="obeyed")
    path = write_proofs(Proofs(library="openmpi-4.1.4", proofs=[proof]), tmp_path / "tuning")
    os.utime(path, (1, 1))
    status = status_of(tmp_path)
    assert status is not None
    assert status.outcome == ""
