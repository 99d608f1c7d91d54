"""The proofs of a folder of tuning files: kept beside them, and shown as a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.reading import decode_json, read_file
from offbeat.study.algorithm import DEFAULT
from offbeat.study.evidence import short
from offbeat.table import Fitted
from offbeat.tuning.files import write_file
from offbeat.tuning.verify import DIFFERS, DISOBEYED, FAILED, NOT_TOLD, OBEYED, UNSEEN, Proof
from offbeat.units import counted, format_size

PROOFS = "proofs.json"
MARKS = {
    OBEYED: "✓ obeyed",
    DISOBEYED: "✗ disobeyed",
    DIFFERS: "≠ differs",
    NOT_TOLD: "≈ not told",
    UNSEEN: "? unseen",
    FAILED: "✗ failed",
}


class Proofs(Struct, frozen=True, kw_only=True):
    """All proofs of one run of ``offbeat verify``, with the library's name, and the tuning files that were
    changed since they were exported."""

    library: str
    proofs: list[Proof]
    changed_files: list[str] = []

    @property
    def all_obeyed(self) -> bool:
        """Whether nothing that was seen speaks against the files, which are those that were exported.

        Rules that cannot be told from others are not verified, but nothing speaks against them.
        """
        return not self.changed_files and all(
            proof.outcome in (OBEYED, DIFFERS, NOT_TOLD) for proof in self.proofs
        )


def write_proofs(proofs: Proofs, directory: Path) -> Path:
    """Keep the proofs beside the tuning files."""
    return write_file(directory, PROOFS, msgspec.json.format(msgspec.json.encode(proofs)).decode() + "\n")


def read_proofs(directory: Path) -> Proofs | None:
    """The proofs kept in a folder; None where there are none, or none that can be read."""
    try:
        return decode_json(read_file(directory / PROOFS), Proofs)
    except (OSError, BadInput, msgspec.DecodeError):
        return None


def table(proofs: Sequence[Proof]) -> Fitted:
    """A row a probe: what should run, what was seen, and whether that is the same."""
    made = Fitted(["collective", "p", "size", "should run"], texts=(0, 3))
    made.add_column("", wraps=False)
    made.add_column("seen")
    for proof in proofs:
        case = proof.case
        configurations = (
            case.collective,
            str(case.p),
            "–" if case.collective == "barrier" else format_size(case.bytes),
            "the library's default" if proof.expected == DEFAULT else proof.expected,
            MARKS[proof.outcome],
            _seen(proof),
        )
        made.add_row(*configurations)
    return made


def _seen(proof: Proof) -> str:
    """What ran, or why nothing can be said; the collective's own name is left out: its column has it."""
    if proof.why:
        return proof.why
    also = f", like {counted(len(proof.also), 'other')}" if proof.also else ""
    own = re.compile(f"^{re.escape(proof.case.collective)}_intra_", re.IGNORECASE)
    return own.sub("", short(proof.evidence), count=1) + also


def summary(proofs: Proofs) -> str:
    """The proofs in one sentence: rules are counted, and what stands outside of them."""
    rules = _rules(proofs.proofs)
    verified = sum(all(proof.outcome == OBEYED for proof in own) for own in rules.values())
    not_told = sum(
        any(proof.outcome == NOT_TOLD for proof in own)
        and all(proof.outcome in (OBEYED, NOT_TOLD) for proof in own)
        for own in rules.values()
    )
    outside = [proof.outcome for proof in proofs.proofs if proof.expected == DEFAULT]
    sentence = f"{proofs.library}: {verified} of {counted(len(rules), 'rule')} verified"
    if not_told:
        sentence += f", {not_told} not distinguishable"
    if outside:
        sentence += (
            f"; outside the tuned sizes the library's own decision stands in {outside.count(OBEYED)} of"
            f" {counted(len(outside), 'configuration')}"
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


def disobeyed(proofs: Proofs) -> list[str]:
    """A sentence for each rule that something speaks against."""
    return [
        f"{collective} on p={p}, rule '{algorithm}' measured at {format_size(size)}: "
        + "; ".join(
            f"{proof.outcome} at {format_size(proof.case.bytes)} ({proof.at})"
            for proof in own
            if proof.outcome in (DISOBEYED, FAILED, UNSEEN)
        )
        for (collective, p, algorithm, size), own in _rules(proofs.proofs).items()
        if any(proof.outcome in (DISOBEYED, FAILED, UNSEEN) for proof in own)
    ]


def legend(proofs: Sequence[Proof]) -> list[str]:
    """Sentences that the table needs."""
    said = []
    if any(proof.also for proof in proofs):
        said.append(
            "not told: what was seen is what the rule says, but would be the same with the other algorithms"
            f" that {PROOFS} names; such a rule is not verified."
        )
    if any(proof.outcome == DIFFERS for proof in proofs):
        said.append(
            "differs: outside the tuned sizes this library cannot be told to decide as it does without a"
            " tuning file; its nearest setting runs other code there."
        )
    return said
