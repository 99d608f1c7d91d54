"""The proofs of a folder of tuning files: stored beside them, and printed as a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.reading import decode_json, read_file
from offbeat.base.terminal_table import FittedTable
from offbeat.base.units import amount, format_size
from offbeat.model.study.algorithm import DEFAULT
from offbeat.model.study.evidence import short
from offbeat.selection.tuning_files.manifest import write_file
from offbeat.selection.verification.rule_probes import (
    DIFFERS,
    DISOBEYED,
    FAILED,
    INDISTINGUISHABLE,
    OBEYED,
    UNSEEN,
    Proof,
)

PROOFS = "proofs.json"
MARKS = {
    OBEYED: "✓ obeyed",
    DISOBEYED: "✗ disobeyed",
    DIFFERS: "≠ differs",
    INDISTINGUISHABLE: "≈ ambiguous",
    UNSEEN: "? unobserved",
    FAILED: "✗ failed",
}


class Proofs(Struct, frozen=True, kw_only=True):
    """All proofs of one run of ``offbeat verify``, with the library's name, and the tuning files that were
    changed since the export."""

    library: str
    proofs: list[Proof]
    changed_files: list[str] = []

    @property
    def is_obeyed(self) -> bool:
        """Whether no proof failed, which ambiguous ones do not, and no file was changed."""
        return not self.changed_files and all(
            proof.outcome in (OBEYED, DIFFERS, INDISTINGUISHABLE) for proof in self.proofs
        )


def write_proofs(proofs: Proofs, directory: Path) -> Path:
    """Write the proofs beside the tuning files."""
    return write_file(directory, PROOFS, msgspec.json.format(msgspec.json.encode(proofs)).decode() + "\n")


def read_proofs(directory: Path) -> Proofs | None:
    """The proofs stored in a folder; None if there are none, or none that can be read."""
    try:
        return decode_json(read_file(directory / PROOFS), Proofs)
    except (OSError, BadInput, msgspec.DecodeError):
        return None


def table(proofs: Sequence[Proof]) -> FittedTable:
    """A row per probe: the expected algorithm, the outcome, and what was observed."""
    proof_table = FittedTable(["collective", "p", "size", "expected"], texts=(0, 3))
    proof_table.add_column("", wraps=False)
    proof_table.add_column("observed")
    for proof in proofs:
        case = proof.case
        configurations = (
            case.collective,
            str(case.p),
            "–" if case.collective == "barrier" else format_size(case.bytes),
            "the library's default" if proof.expected == DEFAULT else proof.expected,
            MARKS[proof.outcome],
            _observed_text(proof),
        )
        proof_table.add_row(*configurations)
    return proof_table


def _observed_text(proof: Proof) -> str:
    """What ran, or why it is unknown, without the collective's name, which has its own column."""
    if proof.why:
        return proof.why
    also = f"; indistinguishable from {amount(len(proof.also), 'algorithm')}" if proof.also else ""
    prefix = re.compile(f"^{re.escape(proof.case.collective)}_intra_", re.IGNORECASE)
    return prefix.sub("", short(proof.evidence), count=1) + also


def summary(proofs: Proofs) -> str:
    """The summary in one sentence: the number of verified rules, and of probes outside them."""
    rules = _rules(proofs.proofs)
    verified_count = sum(
        all(proof.outcome == OBEYED for proof in proofs_of_rule) for proofs_of_rule in rules.values()
    )
    indistinguishable = sum(
        any(proof.outcome == INDISTINGUISHABLE for proof in proofs_of_rule)
        and all(proof.outcome in (OBEYED, INDISTINGUISHABLE) for proof in proofs_of_rule)
        for proofs_of_rule in rules.values()
    )
    outside_outcomes = [proof.outcome for proof in proofs.proofs if proof.expected == DEFAULT]
    sentence = f"{proofs.library}: {verified_count} of {amount(len(rules), 'rule')} verified"
    if indistinguishable:
        sentence += f", {indistinguishable} indistinguishable"
    if outside_outcomes:
        sentence += (
            f"; outside the tuned sizes the library's default runs in {outside_outcomes.count(OBEYED)} of"
            f" {amount(len(outside_outcomes), 'configuration')}"
        )
    return f"{sentence}."


def _rules(proofs: Sequence[Proof]) -> dict[tuple[str, int, str, int], list[Proof]]:
    """The proofs of each rule: by collective, p, algorithm and measured size."""
    rules: dict[tuple[str, int, str, int], list[Proof]] = {}
    for proof in proofs:
        if proof.expected != DEFAULT:
            key = (proof.case.collective, proof.case.p, proof.expected, proof.measured_bytes)
            rules.setdefault(key, []).append(proof)
    return rules


def failed_rules(proofs: Proofs) -> list[str]:
    """A sentence for each rule with a failed probe."""
    return [
        f"{collective} on p={p}, rule '{algorithm}' measured at {format_size(size)}: "
        + "; ".join(
            f"{proof.outcome} at {format_size(proof.case.bytes)} ({proof.at})"
            for proof in proofs_of_rule
            if proof.outcome in (DISOBEYED, FAILED, UNSEEN)
        )
        for (collective, p, algorithm, size), proofs_of_rule in _rules(proofs.proofs).items()
        if any(proof.outcome in (DISOBEYED, FAILED, UNSEEN) for proof in proofs_of_rule)
    ]


def legend(proofs: Sequence[Proof]) -> list[str]:
    """The legend of the table."""
    lines = []
    if any(proof.also for proof in proofs):
        lines.append(
            "ambiguous: what ran is what the rule expects, but cannot be distinguished from the algorithms"
            f" that {PROOFS} lists; such a rule is not verified."
        )
    if any(proof.outcome == DIFFERS for proof in proofs):
        lines.append(
            "differs: outside the tuned sizes this library cannot be set to decide as without a tuning file;"
            " its closest setting runs another algorithm."
        )
    return lines
