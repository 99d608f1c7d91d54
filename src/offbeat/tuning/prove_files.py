"""``offbeat verify`` as a whole: the installation, its driver, the probes, and their proofs."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from offbeat.engines.launches import Launches
from offbeat.engines.mpi import STEERING
from offbeat.engines.run import Told
from offbeat.errors import BadInput
from offbeat.mpi.allocation import current
from offbeat.mpi.build import build_native
from offbeat.mpi.find import choose
from offbeat.results.read import Results
from offbeat.study.resolved import read_resolved
from offbeat.tuning.manifest import Manifest
from offbeat.tuning.probes import probes
from offbeat.tuning.proofs import Proofs
from offbeat.tuning.verify import Verifier


def prove_files(results: Results, manifest: Manifest, mpi: str, folder: Path, told: Told) -> Proofs:
    """Launch the library with its tuning files and look at every cell that they change.

    ``told`` hears how it goes on; ``mpi`` names another installation than the one that the files were written
    for. Raises :class:`BadInput` where files are missing or the installation is of another family.
    """
    missing = [path for path in manifest.tuning.files if not path.exists()]
    if missing:
        raise BadInput(f"the tuning file {missing[0]} is gone; write it anew with 'offbeat export'")
    installation = choose(mpi or manifest.mpirun)
    family = results.provenance.get("library", {}).get("family")
    if installation.family != family:
        raise BadInput(
            f"{installation.name} is of another family than {manifest.library}, which the files are for"
        )
    study = read_resolved((results.directory / "study.toml").read_text(encoding="utf-8"))
    with TemporaryDirectory(dir=folder) as scratch:
        launches = Launches(
            installation,
            build_native(installation),
            study.mpi,
            results.directory,
            logs=results.directory.absolute() / "logs",
            scratch=Path(scratch),
            allocation=current(),
        )
        try:
            verifier = Verifier(
                manifest.tuning,
                installation,
                launches,
                STEERING[installation.family](),
                results.verdicts,
                study.repetitions.hang_after,
            )
            looked_at = probes(manifest.tuning, results.cases, results.verdicts)
            told.begin(0, len(looked_at))
            proofs = []
            for proof in verifier.prove(looked_at, told.say):
                proofs.append(proof)
                told.finished(proof.case, proof.outcome, 0.0)
            return Proofs(library=installation.name, proofs=proofs)
        finally:
            launches.close()
