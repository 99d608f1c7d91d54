"""Verifying a folder of tuning files: the proofs and the legal calls, stored beside the files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from offbeat.base.errors import RunFailed
from offbeat.base.units import amount
from offbeat.measurement.results.read import Results
from offbeat.measurement.runs.run_progress import RunProgress
from offbeat.selection.tuning_files.manifest import Manifest, read_manifest
from offbeat.selection.verification.legal_calls import TriedCalls, summary_lines, write_tried
from offbeat.selection.verification.proofs import Proofs, failed_rules, summary, write_proofs
from offbeat.selection.verification.verify import prove_files


class Verification(Struct, frozen=True, kw_only=True):
    """What the library did with the tuning files of a folder: the proofs, and the legal calls."""

    folder: Path
    manifest: Manifest
    proofs: Proofs
    legal_calls: TriedCalls

    @property
    def is_obeyed(self) -> bool:
        """Whether the library obeys all rules, no file was changed, and no legal call breaks."""
        return not self.why_not

    @property
    def sentences(self) -> list[str]:
        """The outcome: the numbers of verified rules and of legal calls, and what failed."""
        return [
            summary(self.proofs),
            *failed_rules(self.proofs),
            *self.manifest.tuning.wrong_result_warnings,
            *summary_lines(self.legal_calls),
        ]

    @property
    def why_not(self) -> str:
        """Why the files must not be used; empty if the library obeys them and no legal call breaks."""
        if self.proofs.changed_files:
            return (
                f"{', '.join(self.proofs.changed_files)} changed since 'offbeat export' wrote it; write the"
                " files again with 'offbeat export'"
            )
        if not self.proofs.is_obeyed:
            return (
                f"{self.proofs.library} was not proved to obey all rules of the tuning files in"
                f" {self.folder}; the table of the proofs shows which, and what ran instead"
            )
        if self.legal_calls.broken_calls:
            first = self.legal_calls.broken_calls[0]
            return (
                f"the tuning files in {self.folder} break"
                f" {amount(len(self.legal_calls.broken_calls), 'legal call')}"
                f" that {self.legal_calls.library} computes correctly without them: {first.call}:"
                f" {first.with_files}. 'offbeat export' omits algorithms that are known to be wrong"
            )
        return ""

    def raise_if_not_obeyed(self) -> None:
        """Raise :class:`RunFailed` with ``why_not``, unless it is empty."""
        if self.why_not:
            raise RunFailed(self.why_not)


def verify_folder(results: Callable[[], Results], folder: Path, mpi: str = "") -> Verification:
    """Launch the library with the files of a folder, and store the outcome beside them.

    ``results`` reads those that the files were written from; ``mpi`` names another installation than the one
    that they were written for. Raises as :func:`offbeat.selection.verification.verify.prove_files` does.
    """
    with RunProgress(verb="verify") as progress:
        manifest = read_manifest(folder)
        proofs, legal_calls = prove_files(results(), manifest, mpi, folder, progress)
    write_proofs(proofs, folder)
    write_tried(legal_calls, folder)
    return Verification(folder=folder, manifest=manifest, proofs=proofs, legal_calls=legal_calls)
