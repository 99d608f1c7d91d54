"""Proofs as a table of 80 columns, and in one sentence."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from test_verify import BINOMIAL, CHAIN, case

from offbeat.model.study.algorithm import DEFAULT
from offbeat.selection.verification.proofs import Proofs, failed_rules, legend, summary, table
from offbeat.selection.verification.rule_probes import (
    DIFFERS,
    DISOBEYED,
    FAILED,
    INDISTINGUISHABLE,
    OBEYED,
    Proof,
)


def shown(*proofs: Proof) -> str:
    text = StringIO()
    Console(file=text, width=80).print(table(proofs))
    return text.getvalue()


def proof(outcome: str = OBEYED, **more: Any) -> Proof:
    return Proof(
        case=case(64, "chain"), **{"expected": "chain", "evidence": CHAIN, "outcome": outcome, **more}
    )


def test_the_observed_function_omits_the_collective() -> None:
    assert shown(proof()).splitlines()[1].split()[-1] == "chain"


def test_functions_of_another_collective_keep_their_name() -> None:
    other = proof(evidence="functions:ompi_coll_base_allreduce_intra_ring")
    assert "allreduce_intra_ring" in shown(other)


@pytest.mark.parametrize("why", ["[/tmp/x] died", "[vm:17] *** error", "[red]"])
def test_a_reason_is_shown_literally(why: str) -> None:
    assert why in shown(proof(FAILED, why=why))


def test_the_summary_counts_probes_outside_the_tuned_sizes() -> None:
    obeyed, differs = proof(), proof(DIFFERS, expected=DEFAULT, evidence=BINOMIAL)
    assert summary(Proofs(library="mpi-1", proofs=[obeyed])) == "mpi-1: 1 of 1 rule verified."
    both = summary(Proofs(library="mpi-1", proofs=[obeyed, differs]))
    assert both == (
        "mpi-1: 1 of 1 rule verified;"
        " outside the tuned sizes the library's default runs in 0 of 1 configuration."
    )


def test_indistinguishable_rules_are_counted_separately() -> None:
    verified, ambiguous = proof(), proof(INDISTINGUISHABLE, expected="ring", also=["tree"])
    proofs = Proofs(library="mpi-1", proofs=[verified, ambiguous])
    assert summary(proofs) == "mpi-1: 1 of 2 rules verified, 1 indistinguishable."
    assert "proofs.json" in legend(proofs.proofs)[0]
    assert proofs.is_obeyed and failed_rules(proofs) == []


def test_a_rule_with_a_failed_probe_is_named_with_the_probe() -> None:
    edge = proof(DISOBEYED, at="lower edge", measured_bytes=2048)
    proofs = Proofs(library="mpi-1", proofs=[proof(measured_bytes=2048), edge])
    assert summary(proofs) == "mpi-1: 0 of 1 rule verified."
    assert failed_rules(proofs) == [
        "reduce on p=4, rule 'chain' measured at 2 KiB: disobeyed at 64 B (lower edge)"
    ]


def test_changed_files_are_detected() -> None:
    assert not Proofs(library="mpi-1", proofs=[proof()], changed_files=["/x"]).is_obeyed
