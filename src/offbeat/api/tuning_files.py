"""Tuning files as an object: what was written, how it is used, and whether the library obeys it."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Self

from msgspec import Struct, structs

from offbeat.base.errors import BadInput
from offbeat.model.study.algorithm import KINDS
from offbeat.selection.choices.coverage import EXTENSION
from offbeat.selection.choices.reliability import reliability
from offbeat.selection.choices.restrictions import indistinguishable_notes
from offbeat.selection.tuning_files.export import environment_notes, plan_for, write
from offbeat.selection.tuning_files.exportable import exportable_choices, with_progress_note
from offbeat.selection.tuning_files.manifest import Manifest, read_manifest, write_manifest
from offbeat.selection.tuning_files.same_bits import with_same_bits
from offbeat.selection.verification import verification

if TYPE_CHECKING:
    from offbeat.measurement.results.read import Results
    from offbeat.selection.choices.choose import Selection


MOST_BEYOND = 1024
"""The largest factor by which the first and the last rule extend beyond the measured sizes."""


class Verification(verification.Verification, frozen=True, kw_only=True):
    """What the library did with the tuning files, from :meth:`offbeat.TuningFiles.verify`.

    ``is_obeyed`` says whether it obeys all rules and no legal call breaks, ``why_not`` why it does not;
    ``sentences`` are the outcome, ``proofs`` and ``legal_calls`` the proofs and the legal calls.
    """

    def __repr__(self) -> str:
        """The numbers of verified rules and of legal calls."""
        return f"<offbeat.Verification: {' '.join(self.sentences)}>"

    def _repr_html_(self) -> str:
        from offbeat.presentation.pages.notebook import verification_html

        return verification_html(self)


class TuningFiles(Struct, frozen=True, kw_only=True, eq=False):
    """The tuning files of a folder, from :meth:`offbeat.Selection.export` or :meth:`open`.

    ``manifest`` says what they hold and for which library they are, ``extent`` which sizes the rules cover;
    ``unreliable`` says what limits the numbers behind them, and ``notes`` are caveats. ``results`` are those
    that they were written from, None if unknown.
    """

    folder: Path
    manifest: Manifest
    results: Results | None = None
    extent: str = ""
    unreliable: list[str] = []
    notes: list[str] = []

    @classmethod
    def open(cls, folder: str | PathLike[str], results: Results | None = None) -> Self:
        """The tuning files of a folder; raises :class:`offbeat.BadInput` if there are none."""
        manifest = read_manifest(Path(folder))
        return cls(folder=Path(folder), manifest=manifest, results=results, notes=manifest.tuning.notes)

    @property
    def files(self) -> list[Path]:
        """The paths of the files."""
        return self.manifest.tuning.files

    @property
    def usage(self) -> list[str]:
        """Lines for a terminal or job script, each of which makes a launch use the files."""
        return self.manifest.tuning.usage

    @property
    def sentence(self) -> str:
        """What the files hold: ``6 rules for reduce, alltoall, written for Open MPI 4.1.4``."""
        return self.manifest.sentence

    @property
    def warnings(self) -> list[str]:
        """What limits the numbers behind the files, and rules that are wrong for legal calls."""
        return [*self.unreliable, *self.manifest.tuning.wrong_result_warnings]

    def environment(self, p: int) -> dict[str, str]:
        """The environment variables that make a launch of ``p`` processes use the files."""
        return self.manifest.tuning.environment_for(p)

    def verify(self, results: Results | None = None, *, mpi: str = "") -> Verification:
        """Launch the library with the files and observe which algorithms run, as ``offbeat verify`` does.

        ``results`` are needed after :meth:`open` without them; ``mpi`` is another installation than the one
        that the files are for. Of the answer, ``is_obeyed`` says whether the library obeys them, and
        ``raise_if_not_obeyed()`` raises :class:`offbeat.RunFailed` if it does not.
        """
        measured = results or self.results
        if measured is None:
            raise BadInput(
                f"the results from which {self.folder} was written are unknown, and verifying needs them:"
                " give them to verify"
            )
        done = verification.verify_folder(lambda: measured, self.folder, mpi)
        return Verification(**structs.asdict(done))

    def __repr__(self) -> str:
        """What the files hold, and where they are."""
        return f"<offbeat.TuningFiles {self.folder}: {self.sentence}>"

    def _repr_html_(self) -> str:
        from offbeat.presentation.pages.notebook import files_html

        return files_html(self.manifest, extent=self.extent, warnings=self.warnings, notes=self.notes)


def export(
    selection: Selection,
    results: Results,
    folder: Path,
    *,
    includes_indistinguishable: bool = False,
    format_version: int | None = None,
    mpi: str = "",
    allow_wrong_results: Sequence[str] = (),
    partial: bool = False,
    beyond: float | None = None,
    same_bits: bool = False,
) -> TuningFiles:
    """Write the tuning files of a selection from ``results``.

    ``includes_indistinguishable`` says whether the selection has algorithms that are indistinguishable from
    others; the other arguments are those of :meth:`offbeat.Selection.export`.
    """
    _check_options(format_version, allow_wrong_results, beyond)
    choices = exportable_choices(selection, partial=partial)
    plan, installation = plan_for(
        results,
        with_same_bits(choices, results.verdicts) if same_bits else choices,
        mpi,
        allowed_kinds=allow_wrong_results,
        extension=beyond or EXTENSION,
    )
    plan = with_progress_note(plan, selection, partial=partial)
    written = write(plan, installation, folder, format_version)
    write_manifest(written, str(selection.terms.rule), installation, folder)
    ambiguous = indistinguishable_notes(results, are_included=includes_indistinguishable)
    return TuningFiles(
        folder=folder,
        manifest=read_manifest(folder),
        results=results,
        extent=plan.extent,
        unreliable=[notice.sentence for notice in reliability(results)],
        notes=[*written.notes, *ambiguous, *environment_notes(results)],
    )


def _check_options(format_version: int | None, kinds: Sequence[str], beyond: float | None) -> None:
    """Raise :class:`BadInput` for values that the options of ``offbeat export`` cannot have."""
    if format_version not in (None, 1, 2):
        raise BadInput(f"--format {format_version}: known are 1 and 2")
    for kind in kinds:
        if kind not in KINDS:
            raise BadInput(f"--allow-wrong-results {kind}: known are {', '.join(KINDS)}")
    if beyond is not None and not 1 <= beyond <= MOST_BEYOND:
        raise BadInput(f"--beyond {beyond:g}: write a factor from 1 to {MOST_BEYOND}")
