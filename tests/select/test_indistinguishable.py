"""Indistinguishable algorithms are not selected unless the user requests it."""

from __future__ import annotations

from measured import case, results

from offbeat.model.study.algorithm import Verdict, proof_lines
from offbeat.selection.choices.choose import choose
from offbeat.selection.choices.restrictions import include_indistinguishable, indistinguishable_notes

PATTERNS = ("no_delay", "ascending")


def measured():
    """``alike`` is the fastest, and indistinguishable from ``other alike``."""
    delays = {"plain": 2.0, "alike": 1.0, "other alike": 1.5}
    proofs = {name: "indistinguishable" if "alike" in name else "proved" for name in delays}
    rows = [
        case(name, pattern, delay, proof=proofs[name])
        for name, delay in delays.items()
        for pattern in PATTERNS
    ]
    verdicts = [
        Verdict(collective="reduce", algorithm=name, p=4, bytes=8, status=proof)
        for name, proof in proofs.items()
    ]
    return results(rows, verdicts=verdicts)


def test_indistinguishable_algorithms_are_shown_and_excluded_with_the_reason():
    (choice,) = choose(measured(), bootstrap=0)
    assert choice.algorithm == "plain"
    assert any(
        "alike (not proved: what ran cannot be distinguished from another algorithm" in warning
        for warning in choice.warnings
    )


def test_indistinguishable_algorithms_are_candidates_on_request():
    (choice,) = choose(include_indistinguishable(measured()), bootstrap=0)
    assert choice.algorithm == "alike"


def test_only_indistinguishable_algorithms_become_candidates():
    """An unproved algorithm may have been ignored by the library; a wrong one is wrong."""
    verdicts = [
        Verdict(collective="reduce", algorithm=status, p=4, bytes=8, status=status)
        for status in ("unproved", "wrong", "proved")
    ]
    rows = [
        case(
            verdict.algorithm, pattern, delay, proof="proved" if verdict.status != "unproved" else "unproved"
        )
        for verdict, delay in zip(verdicts, (1.0, 1.0, 3.0), strict=True)
        for pattern in PATTERNS
    ]
    (choice,) = choose(include_indistinguishable(results(rows, verdicts=verdicts)), bootstrap=0)
    assert choice.algorithm == "proved"


def test_indistinguishable_algorithms_are_named_with_the_option():
    (excluded,) = indistinguishable_notes(measured(), are_included=False)
    assert excluded.startswith("reduce: 2 algorithms (alike, other alike) ran without an error")
    assert "not chosen unless --include-indistinguishable is given" in excluded
    (included,) = indistinguishable_notes(measured(), are_included=True)
    assert "may be chosen because of --include-indistinguishable" in included


def test_indistinguishable_algorithms_are_counted_separately():
    assert proof_lines(measured().verdicts) == ["reduce: 1 test proved, 2 indistinguishable"]
