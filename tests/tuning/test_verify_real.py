"""Each real library obeys its tuning files, and modified files are detected."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest
from one_environment import everywhere, expect_the_same
from tuned_study import Tuned, offbeat

from offbeat.selection.tuning_files.tuning_plan import Rule, TuningPlan
from offbeat.selection.verification.proofs import Proofs, read_proofs
from offbeat.selection.verification.rule_probes import DIFFERS, DISOBEYED, OBEYED, Proof

pytestmark = pytest.mark.slow


def proofs_of(tuned: Tuned) -> Proofs:
    proofs = read_proofs(tuned.folder)
    assert proofs is not None
    return proofs


def disobeyed(tuned: Tuned) -> list[Proof]:
    return [proof for proof in proofs_of(tuned).proofs if proof.outcome == DISOBEYED]


@pytest.fixture
def kept(tuned: Tuned) -> object:
    """The files are restored after the test."""
    texts = {path: path.read_bytes() for path in tuned.files.files}
    yield
    for path, text in texts.items():
        path.write_bytes(text)


def test_every_library_obeys_the_files_written_for_it(tuned: Tuned) -> None:
    ran = offbeat("verify", tuned.results)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    proofs = proofs_of(tuned).proofs
    assert {proof.outcome for proof in proofs} <= {OBEYED, DIFFERS}
    changed = [(proof.case.collective, proof.case.bytes) for proof in proofs if proof.expected != "default"]
    # each rule at its measured size and at the boundary to its neighbour
    assert sorted(changed) == [("allgather", 64), *(("reduce", size) for size in (64, 360, 368, 2048))]
    assert "3 of 3 rules verified" in ran.stdout


def test_proof_measurement_verification_and_use_run_the_same_algorithm(tuned: Tuned, tmp_path: Path) -> None:
    rule = tuned.plan.rules["reduce"][0]
    expect_the_same(everywhere(tuned.results, rule, tuned.files, tuned.installation, tmp_path))


@pytest.mark.parametrize("mpi_installation", ["openmpi5", "mpich5", "intelmpi"], indirect=True)
@pytest.mark.usefixtures("kept")
def test_verify_detects_a_replaced_choice(tuned: Tuned, tmp_path: Path) -> None:
    """The two reduce rules swap their algorithms, which are equally valid."""
    small, large = tuned.plan.rules["reduce"]
    swapped = [
        msgspec.structs.replace(small, algorithm=large.algorithm),
        msgspec.structs.replace(large, algorithm=small.algorithm),
    ]
    tuned.tamper(with_rules(tuned.plan, reduce=swapped), tmp_path)
    ran = offbeat("verify", tuned.results)
    assert ran.returncode == 1, ran.stdout
    assert "changed since 'offbeat export' wrote" in ran.stderr
    assert {(proof.case.bytes, proof.expected) for proof in disobeyed(tuned)} == {
        (64, small.algorithm.name),
        (360, small.algorithm.name),
        (368, large.algorithm.name),
        (2048, large.algorithm.name),
    }
    for rule in (small, large):
        assert f"reduce on p=3, rule '{rule.algorithm.name}' measured at" in ran.stdout
    assert "1 of 3 rules verified" in ran.stdout


@pytest.mark.parametrize("mpi_installation", ["openmpi4", "mpich4", "intelmpi"], indirect=True)
@pytest.mark.usefixtures("kept")
def test_verify_detects_a_moved_boundary_and_a_deleted_rule(tuned: Tuned, tmp_path: Path) -> None:
    small, large = tuned.plan.rules["reduce"]
    moved = [
        msgspec.structs.replace(small, bytes_high=300),
        msgspec.structs.replace(large, bytes_low=301),
    ]
    tampered = with_rules(tuned.plan, reduce=moved, allgather=[])
    tuned.tamper(tampered, tmp_path)
    ran = offbeat("verify", tuned.results)
    assert ran.returncode == 1, ran.stdout
    assert {(proof.case.collective, proof.case.bytes) for proof in disobeyed(tuned)} == {
        ("reduce", 360),
        ("allgather", 64),
    }
    assert f"reduce on p=3, rule '{small.algorithm.name}' measured at 64 B: disobeyed at 360 B" in ran.stdout
    assert "allgather on p=3, rule" in ran.stdout


def with_rules(plan: TuningPlan, **changed: list[Rule]) -> TuningPlan:
    """A plan with other rules for some collectives; without any, the collective is left out."""
    rules = {name: own for name, own in (plan.rules | changed).items() if own}
    return msgspec.structs.replace(plan, rules=rules)


@pytest.mark.parametrize("mpi_installation", ["openmpi4"], indirect=True)
def test_rules_that_a_study_has_not_measured_need_the_other_study(tuned: Tuned, tmp_path: Path) -> None:
    results = tmp_path / "results"
    shutil.copytree(tuned.results, results)
    cases = results / "cases.jsonl"
    lines = [line for line in cases.read_text().splitlines(keepends=True) if '"allgather"' not in line]
    cases.write_text("".join(lines))
    ran = offbeat("verify", results, "--tuning", tuned.folder)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert "also have rules for allgather on p=" in ran.stderr
    assert "give the result directories of all studies that they were written from" in ran.stderr


def test_missing_files_are_named(tuned: Tuned, tmp_path: Path) -> None:
    ran = offbeat("verify", tuned.results, "--tuning", tmp_path)
    assert ran.returncode == 2
    assert "holds no tuning files" in ran.stderr and "offbeat export" in ran.stderr
