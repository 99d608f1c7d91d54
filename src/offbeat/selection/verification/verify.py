"""``offbeat verify`` as a whole: the installation, its driver, the probes, and their proofs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import ValidationError, convert
from msgspec.structs import replace

from offbeat.base.errors import BadInput
from offbeat.base.units import format_list
from offbeat.libraries.families.libraries import library_of
from offbeat.libraries.installations.build import build_native
from offbeat.libraries.installations.find import choose
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.batch_job import current
from offbeat.measurement.engines.driver_launches import Launches
from offbeat.measurement.results import layout
from offbeat.measurement.results.read import Results
from offbeat.measurement.runs.run_progress import ProgressListener
from offbeat.model.study.evidence import kind
from offbeat.model.study.schema import MpiSection, RepetitionsSection
from offbeat.selection.tuning_files import intelmpi
from offbeat.selection.tuning_files.export import is_simulated, measured_library
from offbeat.selection.tuning_files.manifest import Manifest, TuningFiles
from offbeat.selection.tuning_files.tuning_plan import family_of
from offbeat.selection.verification.legal_calls import TriedCalls, try_with_and_without
from offbeat.selection.verification.proofs import Proofs
from offbeat.selection.verification.rule_probes import Probe, Proof, Verifier, probes


def prove_files(
    results: Results, manifest: Manifest, mpi: str, folder: Path, listener: ProgressListener
) -> tuple[Proofs, TriedCalls]:
    """Launch the library with its tuning files: probe what they change, and test legal calls.

    ``mpi`` names another installation than the one that the files were written for. Raises :class:`BadInput`
    if files are missing, if the installation is of another family, and for imported measurements.
    """
    installation = _installation(results, manifest, mpi)
    changed_paths = manifest.changed_files()
    for path in changed_paths:
        listener.warn(f"{path} was changed since 'offbeat export' wrote it; its present content is verified")
    tuning = manifest.tuning.as_on_disk(intelmpi.exported_variables)
    _check_measured(tuning, results, folder)
    mpi_section, hang_after = _launch_settings(results)
    section = with_stored_hostfile(mpi_section, results.directory)
    with _scratch(folder) as scratch:
        launches = Launches(
            installation,
            build_native(installation),
            section,
            results.directory,
            logs=results.directory.absolute() / layout.LOGS,
            scratch=Path(scratch),
            allocation=current(),
        )
        try:
            verifier = Verifier(
                tuning,
                installation,
                launches,
                library_of(installation).steering(),
                results.verdicts,
                hang_after,
                is_measured=measured_library(results.provenance).get("identity") == installation.identity,
            )
            proofs = _proofs(verifier, probes(tuning, results.cases, results.verdicts), listener)
            legal_calls = try_with_and_without(
                installation.name, tuning, launches, results.cases, hang_after, listener.say
            )
        finally:
            launches.close()
    name = installation.name
    return (
        Proofs(library=name, proofs=proofs, changed_files=[str(path) for path in changed_paths]),
        legal_calls,
    )


def _check_measured(tuning: TuningFiles, results: Results, folder: Path) -> None:
    """Raise :class:`BadInput` for rules about what the results do not have: they define how it is called."""
    present = set(results.cases.select("collective", "p").iter_rows())
    unmeasured = dict.fromkeys(
        f"{rule.collective} on p={rule.p}"
        for rule in tuning.rules
        if (rule.collective, rule.p) not in present
    )
    if unmeasured:
        raise BadInput(
            f"the tuning files in {folder} also have rules for {format_list(list(unmeasured))}, which"
            f" {results.directory} has not measured; give the result directories of all studies that they"
            " were written from, as for 'offbeat export'"
        )


def _launch_settings(results: Results) -> tuple[MpiSection, float]:
    """The section [mpi] of the study, and how long a call may take, in seconds."""
    try:
        mpi = convert(results.study.get("mpi", {}), MpiSection)
        return mpi, convert(results.study.get("repetitions", {}), RepetitionsSection).hang_after
    except ValidationError as error:
        raise BadInput(
            f"the study of {results.directory} is not one as offbeat stores it ({error}); put it back from a"
            " copy"
        ) from None


def with_stored_hostfile(section: MpiSection, directory: Path) -> MpiSection:
    """A study's [mpi] with the host file that is stored with its results, relative to ``directory``.

    Raises :class:`BadInput` if none is stored, as in results of earlier versions, and the path in the study
    was relative to a study file that the results do not name.
    """
    if not section.hostfile or (directory / layout.HOSTFILE).is_file():
        return replace(section, hostfile=layout.HOSTFILE if section.hostfile else "")
    if Path(section.hostfile).is_absolute():
        return section
    raise BadInput(
        f"{directory} was measured with the host file {section.hostfile}, but holds no copy of it: put one"
        f" there as {directory / layout.HOSTFILE}"
    )


def _proofs(verifier: Verifier, all_probes: Sequence[Probe], listener: ProgressListener) -> list[Proof]:
    listener.begin(0, len(all_probes))
    proofs = []
    for proof in verifier.prove(all_probes, listener.say):
        proofs.append(proof)
        listener.report_case(proof.case, proof.outcome)
    return proofs


def _installation(results: Results, manifest: Manifest, mpi: str) -> Installation:
    """The installation to launch. Raises :class:`BadInput` if it cannot be verified."""
    missing_paths = [path for path in manifest.tuning.files if not path.exists()]
    if missing_paths:
        raise BadInput(f"the tuning file {missing_paths[0]} is missing; write it again with 'offbeat export'")
    if not any(kind(verdict.evidence) for verdict in results.verdicts):
        is_imported = not is_simulated(measured_library(results.provenance))
        origin = "its measurements were imported" if is_imported else "they were simulated"
        raise BadInput(
            f"{results.directory} has no evidence of which algorithms ran, so there is nothing to compare"
            f" with: {origin}. A study of 'offbeat run --engine mpi' on this machine has it"
        )
    if not mpi and not Path(manifest.mpirun).exists():
        raise BadInput(
            f"{manifest.mpirun} is missing, the launcher of {manifest.library} that the files are for; name"
            " an installation with --mpi, or write the files again with 'offbeat export'"
        )
    installation = choose(mpi or manifest.mpirun)
    families = {family_of(rule.algorithm) for rule in manifest.tuning.rules}
    if families - {installation.family}:
        raise BadInput(
            f"{installation.name} is of another family than {manifest.library}, which the files are for;"
            " name an installation of that family with --mpi, or none"
        )
    return installation


def _scratch(folder: Path) -> TemporaryDirectory[str]:
    """A temporary folder beside the tuning files, where rank 0's node can access it."""
    try:
        return TemporaryDirectory(dir=folder)
    except OSError as error:
        raise BadInput(
            f"{folder} cannot be written to ({error.strerror}); the proofs are stored there"
        ) from None
