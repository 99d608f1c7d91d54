"""From a study to an engine that can run it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from offbeat.engines.mpi import MpiEngine, open_engine
from offbeat.mpi.build import build_native
from offbeat.mpi.installation import Installation
from offbeat.results import layout
from offbeat.study.load import LoadedStudy
from offbeat.study.schema import Study

SCRATCH = "scratch"


def with_mpi(loaded: LoadedStudy, mpi: str | None, isolate: bool) -> LoadedStudy:
    """The study with what the command line says about the library instead of what the file says."""
    section = loaded.study.mpi
    if mpi:
        section = msgspec.structs.replace(section, prefix=mpi)
    if isolate:
        section = msgspec.structs.replace(section, isolate=True)
    study: Study = msgspec.structs.replace(loaded.study, mpi=section)
    return msgspec.structs.replace(loaded, study=study)


def engine_of(loaded: LoadedStudy, directory: Path, installation: Installation) -> MpiEngine:
    """Build the native parts for the library and make the engine. Raises RunFailed."""
    study = loaded.study
    return open_engine(
        installation,
        build_native(installation),
        study.mpi,
        study.start,
        study.repetitions.hang_after,
        loaded.base,
        logs=directory.absolute() / layout.LOGS,
        scratch=directory.absolute() / SCRATCH,
    )
