"""Algorithms that cannot be told from others are left out of the selection unless the user asks for them."""

from __future__ import annotations

from measured import case, results

from offbeat.select.choose import choose
from offbeat.select.indistinguishable import included, sentences
from offbeat.study.algorithm import Verdict, proof_lines

PATTERNS = ("no_delay", "ascending")


def measured():
    """``twin`` is the fastest, and looks like ``other twin``."""
    delays = {"plain": 2.0, "twin": 1.0, "other twin": 1.5}
    proofs = {name: "indistinguishable" if "twin" in name else "proved" for name in delays}
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


def test_they_are_shown_and_left_out_with_the_reason():
    (choice,) = choose(measured(), bootstrap=0)
    assert choice.algorithm == "plain"
    assert any(
        "twin (not proved: it cannot be told from another algorithm" in said for said in choice.warnings
    )


def test_they_are_candidates_when_the_user_asks():
    (choice,) = choose(included(measured()), bootstrap=0)
    assert choice.algorithm == "twin"


def test_only_the_indistinguishable_are_let_in():
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
    (choice,) = choose(included(results(rows, verdicts=verdicts)), bootstrap=0)
    assert choice.algorithm == "proved"


def test_they_are_named_with_what_lets_them_in():
    (left_out,) = sentences(measured(), are_included=False)
    assert left_out.startswith("reduce: 2 algorithms (twin, other twin) ran without an error")
    assert "not chosen unless --include-indistinguishable is given" in left_out
    (let_in,) = sentences(measured(), are_included=True)
    assert "may be chosen because of --include-indistinguishable" in let_in


def test_they_are_counted_apart():
    assert proof_lines(measured().verdicts) == ["reduce: 1 proved, 2 indistinguishable"]
