"""The proofs of a folder of tuning files: kept beside them, and shown as a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from rich.table import Table

from offbeat.engines.evidence import functions
from offbeat.study.algorithm import DEFAULT
from offbeat.study.units import format_size
from offbeat.tuning.files import write_file
from offbeat.tuning.verify import OBEYED, Proof

PROOFS = "proofs.json"
MARKS = {"obeyed": "✓ obeyed", "disobeyed": "✗ disobeyed", "unseen": "? unseen", "failed": "✗ failed"}


class Proofs(Struct, frozen=True, kw_only=True):
    """All proofs of one run of ``offbeat verify``, with the library's name."""

    library: str
    proofs: list[Proof]

    @property
    def all_obeyed(self) -> bool:
        """Whether every probe showed what it should."""
        return all(proof.outcome == OBEYED for proof in self.proofs)


def write_proofs(proofs: Proofs, directory: Path) -> Path:
    """Keep the proofs beside the tuning files."""
    return write_file(directory, PROOFS, msgspec.json.format(msgspec.json.encode(proofs)).decode() + "\n")


def read_proofs(directory: Path) -> Proofs | None:
    """The proofs kept in a folder; None where there are none, or none that can be read."""
    try:
        return msgspec.json.decode((directory / PROOFS).read_bytes(), type=Proofs)
    except (OSError, msgspec.DecodeError):
        return None


def table(proofs: Sequence[Proof]) -> Table:
    """A row a probe: what should run, what was seen, and whether that is the same."""
    made = Table(box=None, header_style="bold")
    for heading, side in (("collective", "left"), ("p", "right"), ("size", "right"), ("should run", "left")):
        made.add_column(heading, justify="right" if side == "right" else "left", no_wrap=side == "right")
    made.add_column("", no_wrap=True)
    made.add_column("seen", overflow="fold")
    for proof in proofs:
        expected = "the library's default" if proof.expected == DEFAULT else proof.expected
        also = f" (or {', '.join(proof.also)}: sends the same messages)" if proof.also else ""
        made.add_row(
            proof.case.collective,
            str(proof.case.p),
            format_size(proof.case.bytes),
            expected,
            MARKS[proof.outcome],
            (proof.why or _short(proof.evidence)) + also,
        )
    return made


def _short(evidence: str) -> str:
    """Function names without what all of them begin with, or the evidence itself."""
    names = functions(evidence)
    return ", ".join(name.removeprefix("ompi_coll_base_") for name in names) if names else evidence[:60]
