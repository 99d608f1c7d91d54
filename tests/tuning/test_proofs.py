"""How proofs read: in a table of 80 columns, and in one sentence."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from test_verify import BINOMIAL, CHAIN, case

from offbeat.study.algorithm import DEFAULT
from offbeat.tuning.proofs import Proofs, failed_rules, legend, summary, table
from offbeat.tuning.verify import DIFFERS, DISOBEYED, FAILED, INDISTINGUISHABLE, OBEYED, Proof


def shown(*proofs: Proof) -> str:
    text = StringIO()
    Console(file=text, width=80).print(table(proofs))
    return text.getvalue()


def proof(outcome: str = OBEYED, **more: Any) -> Proof:
    return Proof(
        case=case(64, "chain"), **{"expected": "chain", "evidence": CHAIN, "outcome": outcome, **more}
    )


def test_what_was_seen_does_not_repeat_the_collective() -> None:
    assert shown(proof()).splitlines()[1].split()[-1] == "chain"


def test_functions_of_another_collective_keep_their_name() -> None:
    other = proof(evidence="functions:ompi_coll_base_allreduce_intra_ring")
    assert "allreduce_intra_ring" in shown(other)


@pytest.mark.parametrize("why", ["[/tmp/x] died", "[vm:17] *** error", "[red]"])
def test_a_reason_is_shown_as_it_is(why: str) -> None:
    assert why in shown(proof(FAILED, why=why))


def test_the_summary_counts_what_differs_outside_of_the_tuned_sizes() -> None:
    obeyed, differs = proof(), proof(DIFFERS, expected=DEFAULT, evidence=BINOMIAL)
    assert summary(Proofs(library="mpi-1", proofs=[obeyed])) == "mpi-1: 1 of 1 rule verified."
    both = summary(Proofs(library="mpi-1", proofs=[obeyed, differs]))
    assert both == (
        "mpi-1: 1 of 1 rule verified;"
        " outside the tuned sizes the library's own decision stands in 0 of 1 configuration."
    )


def test_rules_that_cannot_be_told_from_others_are_counted_apart() -> None:
    told, not_told = proof(), proof(INDISTINGUISHABLE, expected="ring", also=["tree"])
    proofs = Proofs(library="mpi-1", proofs=[told, not_told])
    assert summary(proofs) == "mpi-1: 1 of 2 rules verified, 1 not distinguishable."
    assert "proofs.json" in legend(proofs.proofs)[0]
    assert proofs.all_obeyed and failed_rules(proofs) == []


def test_a_rule_that_is_disobeyed_anywhere_is_named_with_the_place() -> None:
    edge = proof(DISOBEYED, at="lower edge", measured_bytes=2048)
    proofs = Proofs(library="mpi-1", proofs=[proof(measured_bytes=2048), edge])
    assert summary(proofs) == "mpi-1: 0 of 1 rule verified."
    assert failed_rules(proofs) == [
        "reduce on p=4, rule 'chain' measured at 2 KiB: failed_rules at 64 B (lower edge)"
    ]


def test_files_that_were_changed_are_not_the_exported_ones() -> None:
    assert not Proofs(library="mpi-1", proofs=[proof()], changed_files=["/x"]).all_obeyed
