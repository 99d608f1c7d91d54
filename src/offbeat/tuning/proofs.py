"""The proofs of a folder of tuning files: kept beside them, and shown as a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.study.algorithm import DEFAULT
from offbeat.study.evidence import short
from offbeat.table import Fitted
from offbeat.tuning.files import write_file
from offbeat.tuning.verify import DIFFERS, DISOBEYED, FAILED, OBEYED, UNSEEN, Proof
from offbeat.units import counted, format_size

PROOFS = "proofs.json"
MARKS = {
    OBEYED: "✓ obeyed",
    DISOBEYED: "✗ disobeyed",
    DIFFERS: "≠ differs",
    UNSEEN: "? unseen",
    FAILED: "✗ failed",
}


class Proofs(Struct, frozen=True, kw_only=True):
    """All proofs of one run of ``offbeat verify``, with the library's name."""

    library: str
    proofs: list[Proof]

    @property
    def all_obeyed(self) -> bool:
        """Whether every cell that the files change runs what they say, and the library allows no more
        elsewhere."""
        return all(proof.outcome in (OBEYED, DIFFERS) for proof in self.proofs)


def write_proofs(proofs: Proofs, directory: Path) -> Path:
    """Keep the proofs beside the tuning files."""
    return write_file(directory, PROOFS, msgspec.json.format(msgspec.json.encode(proofs)).decode() + "\n")


def read_proofs(directory: Path) -> Proofs | None:
    """The proofs kept in a folder; None where there are none, or none that can be read."""
    try:
        return msgspec.json.decode((directory / PROOFS).read_bytes(), type=Proofs)
    except (OSError, msgspec.DecodeError):
        return None


def table(proofs: Sequence[Proof]) -> Fitted:
    """A row a probe: what should run, what was seen, and whether that is the same."""
    made = Fitted(["collective", "p", "size", "should run"], texts=(0, 3))
    made.add_column("", wraps=False)
    made.add_column("seen")
    for proof in proofs:
        case = proof.case
        cells = (
            case.collective,
            str(case.p),
            "–" if case.collective == "barrier" else format_size(case.bytes),
            "the library's default" if proof.expected == DEFAULT else proof.expected,
            MARKS[proof.outcome],
            _seen(proof),
        )
        made.add_row(*cells)
    return made


def _seen(proof: Proof) -> str:
    """What ran, or why nothing can be said; the collective's own name is left out: its column has it."""
    if proof.why:
        return proof.why
    also = f", as with {counted(len(proof.also), 'other')}" if proof.also else ""
    own = re.compile(f"^{re.escape(proof.case.collective)}_intra_", re.IGNORECASE)
    return own.sub("", short(proof.evidence), count=1) + also


def summary(proofs: Proofs) -> str:
    """The proofs in one sentence."""
    outcomes = [proof.outcome for proof in proofs.proofs]
    differs = outcomes.count(DIFFERS)
    also = f"; in {differs} it differs outside the tuned sizes" if differs else ""
    return f"{proofs.library} obeys in {outcomes.count(OBEYED)} of {counted(len(outcomes), 'cell')}{also}."


def legend(proofs: Sequence[Proof]) -> list[str]:
    """Sentences that the table needs."""
    said = []
    if any(proof.also for proof in proofs):
        said.append(
            f"as with N others: this evidence does not tell the algorithm from N others; {PROOFS} names them."
        )
    if any(proof.outcome == DIFFERS for proof in proofs):
        said.append(
            "differs: outside the tuned sizes this library cannot be told to decide as it does without a"
            " tuning file; its nearest setting runs other code there."
        )
    return said
