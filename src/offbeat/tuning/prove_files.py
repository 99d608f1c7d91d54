"""``offbeat verify`` as a whole: the installation, its driver, the probes, and their proofs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from offbeat.engines.launches import Launches
from offbeat.engines.mpi import STEERING
from offbeat.engines.told import Told
from offbeat.errors import BadInput
from offbeat.mpi.allocation import current
from offbeat.mpi.build import build_native
from offbeat.mpi.find import choose
from offbeat.mpi.installation import Installation
from offbeat.results import layout
from offbeat.results.read import Results, read_study_toml
from offbeat.study.evidence import kind
from offbeat.study.resolved import read_resolved
from offbeat.study.schema import MpiSection
from offbeat.tuning import intelmpi
from offbeat.tuning.manifest import Manifest
from offbeat.tuning.plan import family_of
from offbeat.tuning.probes import Probe, probes
from offbeat.tuning.proofs import Proofs
from offbeat.tuning.simulated import is_simulated
from offbeat.tuning.verify import Proof, Verifier
from offbeat.tuning.verify_calls import TriedCalls, try_with_and_without
from offbeat.tuning.write import measured_library


def prove_files(
    results: Results, manifest: Manifest, mpi: str, folder: Path, told: Told
) -> tuple[Proofs, TriedCalls]:
    """Launch the library with its tuning files: look at every configuration that they change, and try legal
    calls.

    ``told`` hears how it goes on; ``mpi`` names another installation than the one that the files were written
    for. Raises :class:`BadInput` where files are missing, where the installation is of another family, and
    for measurements made elsewhere.
    """
    installation = _installation(results, manifest, mpi)
    changed = manifest.changed_files()
    for path in changed:
        told.warn(changed_words(path))
    tuning = manifest.tuning.as_on_disk(intelmpi.exported)
    study = read_resolved(read_study_toml(results.directory / layout.STUDY))
    section = with_kept_hostfile(study.mpi, results.directory)
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
                STEERING[installation.family](),
                results.verdicts,
                study.repetitions.hang_after,
                is_measured=measured_library(results.provenance).get("identity") == installation.identity,
            )
            proofs = _proofs(verifier, probes(tuning, results.cases, results.verdicts), told)
            hang_after = study.repetitions.hang_after
            tried = list(try_with_and_without(tuning, launches, results.cases, hang_after, told.say))
        finally:
            launches.close()
    name = installation.name
    return (
        Proofs(library=name, proofs=proofs, changed_files=[str(path) for path in changed]),
        TriedCalls(library=name, calls=tried),
    )


def changed_words(path: Path) -> str:
    """What to tell the user of a tuning file that is not the exported one."""
    return f"{path} was changed since 'offbeat export' wrote it; what it does now is verified"


def with_kept_hostfile(section: MpiSection, directory: Path) -> MpiSection:
    """A study's [mpi] with the host file that is kept with its results, relative to ``directory``.

    Raises :class:`BadInput` where none is kept, as in results of earlier versions, and the path in the study
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


def _proofs(verifier: Verifier, looked_at: Sequence[Probe], told: Told) -> list[Proof]:
    told.begin(0, len(looked_at))
    proofs = []
    for proof in verifier.prove(looked_at, told.say):
        proofs.append(proof)
        told.finished(proof.case, proof.outcome)
    return proofs


def _installation(results: Results, manifest: Manifest, mpi: str) -> Installation:
    """The installation to launch, once it is clear that it can be proved to obey."""
    missing = [path for path in manifest.tuning.files if not path.exists()]
    if missing:
        raise BadInput(f"the tuning file {missing[0]} is gone; write it anew with 'offbeat export'")
    if not any(kind(verdict.evidence) for verdict in results.verdicts):
        raise BadInput(
            f"{results.directory} does not tell what its algorithms run, so nothing can be compared with it:"
            f" {_origin(results)}. A study of 'offbeat run --engine mpi' on this machine tells"
        )
    if not mpi and not Path(manifest.mpirun).exists():
        raise BadInput(
            f"{manifest.mpirun} is gone, the launcher of {manifest.library} that the files are for; name an"
            " installation with --mpi, or write the files anew with 'offbeat export'"
        )
    installation = choose(mpi or manifest.mpirun)
    families = {family_of(rule.algorithm) for rule in manifest.tuning.rules}
    if families - {installation.family}:
        raise BadInput(
            f"{installation.name} is of another family than {manifest.library}, which the files are for;"
            " name an installation of that family with --mpi, or none"
        )
    return installation


def _origin(results: Results) -> str:
    if is_simulated(measured_library(results.provenance)):
        return "they were simulated"
    return "its measurements were made elsewhere"


def _scratch(folder: Path) -> TemporaryDirectory[str]:
    """A folder that ends with the proofs, beside the tuning files: rank 0's node sees it."""
    try:
        return TemporaryDirectory(dir=folder)
    except OSError as error:
        raise BadInput(
            f"{folder} cannot be written to ({error.strerror}); the proofs are kept there"
        ) from None
