"""The tuning files written from the results: how to use them, and whether the library obeys them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from offbeat.base.document.tables import Table
from offbeat.base.errors import BadInput
from offbeat.base.units import amount, format_size
from offbeat.model.study.algorithm import DEFAULT
from offbeat.model.study.evidence import short
from offbeat.presentation.study_report import labels
from offbeat.selection.choices.choose import Selection
from offbeat.selection.tuning_files.manifest import FOLDER, MANIFEST, read_manifest
from offbeat.selection.tuning_files.tuning_plan import Rule
from offbeat.selection.verification.proofs import MARKS, PROOFS, Proofs, read_proofs, summary
from offbeat.selection.verification.rule_probes import DIFFERS, OBEYED, Proof

RULES = Table(
    title="",
    name="Rules of the tuning files",
    headings=["collective", "processes", "message size", "algorithm"],
    rows=[],
    texts=(0, 3),
)
PROVED = Table(
    title="",
    name="Proofs",
    headings=["collective", "p", "message size", "expected", "", "observed"],
    rows=[],
    texts=(0, 3, 4, 5),
)


class TuningStatus(Struct, frozen=True, kw_only=True):
    """The tuning files beside the results.

    ``error`` is a sentence if they cannot be read; the rest is then empty. ``usage`` are lines for a terminal
    or job script; ``notes`` are caveats; ``outcome`` is the summary of ``offbeat verify``, empty if it has
    not been run on these files. ``failed`` lists the proofs that failed.
    """

    error: str = ""
    library: str = ""
    files: list[str] = []
    usage: list[str] = []
    notes: list[str] = []
    rules: Table = RULES
    outcome: str = ""
    proofs: Table = PROVED
    failed: list[str] = []


def tuning_status(directory: Path, selection: Selection) -> TuningStatus | None:
    """The status of the tuning files in ``directory``; None if there are none."""
    folder = directory / FOLDER
    if not (folder / MANIFEST).is_file():
        return None
    try:
        manifest = read_manifest(folder)
    except BadInput as error:
        return TuningStatus(error=str(error))
    notes = list(manifest.tuning.notes)
    if manifest.rule != str(selection.terms.rule):
        notes.insert(
            0,
            f"The files were written with the rule ‘{manifest.rule}’, but this report selects by"
            f" ‘{selection.terms.rule}’.",
        )
    current = _current_proofs(folder)
    proofs = current.proofs if current else []
    return TuningStatus(
        library=manifest.library,
        files=[str(path) for path in manifest.tuning.files],
        usage=manifest.tuning.usage,
        notes=notes,
        rules=rule_table(manifest.tuning.rules),
        outcome=summary(current) if current else "",
        proofs=proof_table(proofs),
        failed=[
            f"{collective} of {size} on p = {p}: {expected} {mark}; {observed}"
            for proof in proofs
            if proof.outcome not in (OBEYED, DIFFERS)
            for collective, p, size, expected, mark, observed in (_proof_row(proof),)
        ],
    )


def rule_table(rules: Sequence[Rule]) -> Table:
    """A row for each rule of tuning files."""
    return replace(RULES, rows=[_rule_row(rule) for rule in rules])


def proof_table(proofs: Sequence[Proof]) -> Table:
    """A row for each proof."""
    return replace(PROVED, rows=[_proof_row(proof) for proof in proofs])


def _current_proofs(folder: Path) -> Proofs | None:
    """The proofs of these files; None if there are none, or if the files were rewritten after them."""
    proofs = read_proofs(folder)
    if proofs is None or (folder / PROOFS).stat().st_mtime_ns < (folder / MANIFEST).stat().st_mtime_ns:
        return None
    return proofs


def _rule_row(rule: Rule) -> list[str]:
    sizes = (
        "all" if rule.is_sizeless else labels.span(format_size(rule.bytes_low), format_size(rule.bytes_high))
    )
    return [
        rule.collective,
        labels.span(str(rule.p_low), str(rule.p_high)),
        labels.DASH if rule.collective == "barrier" else sizes,
        rule.algorithm.name,
    ]


def _proof_row(proof: Proof) -> list[str]:
    also = f"; indistinguishable from {amount(len(proof.also), 'algorithm')}" if proof.also else ""
    return [
        proof.case.collective,
        str(proof.case.p),
        format_size(proof.case.bytes),
        "the library’s default" if proof.expected == DEFAULT else proof.expected,
        MARKS.get(proof.outcome, proof.outcome),
        proof.why or short(proof.evidence) + also,
    ]
