"""From a study to an engine that can run it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from offbeat.engines.base import Engine
from offbeat.errors import BadInput
from offbeat.results import layout
from offbeat.study.load import LoadedStudy
from offbeat.study.schema import Study

if TYPE_CHECKING:
    from offbeat.engines.mpi import MpiEngine
    from offbeat.engines.sim import SimEngine
    from offbeat.mpi.installation import Installation

SCRATCH = "scratch"

PREFIX = ("mpi", "prefix")
"""Where a study names its MPI."""


def open_engine_of(loaded: LoadedStudy, directory: Path, installation: Installation | None) -> Engine:
    """The engine that a study asks for; what it writes beside the results goes into ``directory``.

    ``installation`` is that of :func:`installation_of`. Raises BadInput where there is no such platform or
    simulator, and RunFailed where the engine cannot be built.
    """
    if installation is not None:
        return engine_of(loaded, directory, installation)
    if loaded.study.engine == "smpi":
        from offbeat.engines.smpi import smpi_engine_of

        return smpi_engine_of(loaded, directory)
    return sim_engine_of(loaded)


def installation_of(loaded: LoadedStudy, mpi: str | None) -> Installation | None:
    """The MPI library that the command line names, or else the study; None where it simulates.

    Raises BadInput where there is none of this name.
    """
    from offbeat.mpi.find import choose

    if loaded.study.engine != "mpi":
        if mpi is not None:
            raise BadInput(f"--mpi names the library of the engine mpi, and this is {loaded.study.engine}")
        return None
    if mpi is not None:
        return choose(mpi)
    return choose(loaded.study.mpi.prefix, origin=loaded.where(PREFIX))


def check_simulator_options(loaded: LoadedStudy, said: Mapping[str, object]) -> None:
    """Refuse options (name → what was said, None for nothing) that the study's engine has no use for."""
    for option, value in said.items():
        if value is not None and loaded.study.engine == "mpi":
            raise BadInput(f"{option} says what is simulated, and the engine is mpi: add --engine sim")


def sim_engine_of(loaded: LoadedStudy) -> SimEngine:
    """The simulator, on the study's platform; raises BadInput."""
    from offbeat.engines.executors import open_workers
    from offbeat.engines.sim import SimEngine

    section = loaded.study.simulator
    return SimEngine(loaded.platform(), section.family, lambda: open_workers(section.executor))


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
    from offbeat.engines.mpi import open_engine
    from offbeat.mpi.build import build_native

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
