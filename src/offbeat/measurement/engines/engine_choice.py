"""From a study, or from an MPI installation, to an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.libraries.installations.build import build_native
from offbeat.libraries.installations.installation import Installation
from offbeat.measurement.engines.engine import Engine
from offbeat.measurement.engines.mpi_engine import MpiEngine, open_engine
from offbeat.measurement.engines.partitioned_engine import PartitionedEngine
from offbeat.measurement.legal_calls.library_check import (
    CHECK_DRAWS,
    CHECK_PROCESSES,
    LibraryCheck,
    check_library,
)
from offbeat.measurement.proofs.default_decision import refuse_forced
from offbeat.measurement.results import layout
from offbeat.model.study.algorithm import Algorithm
from offbeat.model.study.case import PARTITIONED_SEND
from offbeat.model.study.collectives import CHECKED, COLLECTIVES
from offbeat.model.study.schema import MpiSection, RepetitionsSection, StartSection, Study
from offbeat.model.study.study_file import LoadedStudy

if TYPE_CHECKING:
    from offbeat.measurement.engines.simulation_engine import SimEngine

SCRATCH = "scratch"

PREFIX = ("mpi", "prefix")
"""The key of a study that names its MPI installation."""


def open_engine_of(loaded_study: LoadedStudy, directory: Path, installation: Installation | None) -> Engine:
    """The engine that a study names; logs and scratch files go into ``directory``.

    ``installation`` is that of :func:`installation_of`. Raises BadInput if there is no such platform or
    simulator, and RunFailed if the engine cannot be built.
    """
    if installation is not None:
        return engine_of(loaded_study, directory, installation)
    if loaded_study.study.engine == "smpi":
        from offbeat.measurement.engines.smpi_engine import smpi_engine_of

        return smpi_engine_of(loaded_study, directory)
    return sim_engine_of(loaded_study)


def installation_of(loaded_study: LoadedStudy, mpi: str | None) -> Installation | None:
    """The MPI installation that the command line names, or else the study; None for a simulated study.

    Raises BadInput if there is none of this name.
    """
    from offbeat.libraries.installations.find import choose

    if loaded_study.study.engine != "mpi":
        if mpi is not None:
            raise BadInput(
                f"--mpi names the library of the engine mpi, and this is {loaded_study.study.engine}"
            )
        return None
    if mpi is not None:
        return choose(mpi)
    return choose(loaded_study.study.mpi.prefix, origin=loaded_study.where(PREFIX))


def check_simulator_options(loaded_study: LoadedStudy, options: Mapping[str, object]) -> None:
    """Raise BadInput for options (name → value, None if not given) of simulators if the engine is mpi."""
    for option, value in options.items():
        if value is not None and loaded_study.study.engine == "mpi":
            raise BadInput(f"{option} is for simulated studies, but the engine is mpi: add --engine sim")


def sim_engine_of(loaded_study: LoadedStudy) -> SimEngine:
    """The simulator, on the study's platform; raises BadInput."""
    from offbeat.measurement.engines.executors import open_workers
    from offbeat.measurement.engines.simulation_engine import SimEngine

    section = loaded_study.study.simulator
    return SimEngine(
        loaded_study.platform(), section.family, lambda: open_workers(section.executor), loaded_study.base
    )


def with_mpi(loaded_study: LoadedStudy, mpi: str | None, isolate: bool) -> LoadedStudy:
    """The study with the command line's settings of the MPI library instead of the file's."""
    section = loaded_study.study.mpi
    if mpi:
        section = msgspec.structs.replace(section, prefix=mpi)
    if isolate:
        section = msgspec.structs.replace(section, isolate=True)
    study: Study = msgspec.structs.replace(loaded_study.study, mpi=section)
    return msgspec.structs.replace(loaded_study, study=study)


def engine_of(loaded_study: LoadedStudy, directory: Path, installation: Installation) -> MpiEngine:
    """Build the native parts for the library and create the engine.

    Raises BadInput for a study that forces algorithms in every launch, and RunFailed.
    """
    refuse_forced(loaded_study, installation)
    study = loaded_study.study
    return open_engine(
        installation,
        build_native(installation),
        study.mpi,
        study.start,
        study.repetitions.hang_after,
        loaded_study.base,
        logs=directory.absolute() / layout.LOGS,
        scratch=directory.absolute() / SCRATCH,
        kind=PartitionedEngine if study.partitioned else MpiEngine,
    )


class LibraryAlgorithms(Struct, frozen=True, kw_only=True):
    """The algorithms of a library; ``algorithms`` maps each collective to its own, ``default`` first."""

    library: str
    algorithms: dict[str, list[Algorithm]]


def list_algorithms(installation: Installation) -> dict[str, list[Algorithm]]:
    """Collective → its algorithms, ``default`` first, from a launch of one process; nothing is measured.

    Raises :class:`offbeat.base.errors.RunFailed` if the native parts cannot be built or the library cannot
    list its algorithms.
    """
    with _engine_without_study(installation) as engine:
        return {collective: engine.algorithms(collective) for collective in COLLECTIVES}


def find_algorithms(installation: Installation, names: Iterable[tuple[str, str]]) -> list[Algorithm]:
    """The algorithms of some (collective, name), which may have parameters; missing ones are left out.

    Raises what :func:`list_algorithms` raises.
    """
    with _engine_without_study(installation) as engine:
        algorithms = [engine.find_algorithm(collective, name) for collective, name in sorted(names)]
        return [algorithm for algorithm in algorithms if algorithm is not None]


def find_approaches(installation: Installation, names: Iterable[str]) -> list[str]:
    """The names of approaches to partitioned messages, which may have parameters, that the library has.

    Without MPI 4, a library has no partitioned calls of its own. Raises what :func:`list_algorithms` raises.
    """
    with _engine_without_study(installation, PartitionedEngine) as engine:
        return [name for name in names if engine.find_algorithm(PARTITIONED_SEND, name) is not None]


def check_legal_calls(
    installation: Installation,
    collectives: Sequence[str] = CHECKED,
    *,
    draws: int = CHECK_DRAWS,
    seed: int = 1,
    p: int = CHECK_PROCESSES,
    has_algorithms: bool = False,
    report: Callable[[str], None] = lambda _: None,
) -> LibraryCheck:
    """The legal calls that a library gets wrong; see
    :func:`offbeat.measurement.legal_calls.library_check.check_library`.

    Raises what :func:`list_algorithms` raises.
    """
    with _engine_without_study(installation) as engine:
        return check_library(
            engine, collectives, p=p, draws=draws, seed=seed, has_algorithms=has_algorithms, report=report
        )


@contextmanager
def _engine_without_study(
    installation: Installation, kind: type[MpiEngine] = MpiEngine
) -> Iterator[MpiEngine]:
    with TemporaryDirectory() as scratch:
        engine = open_engine(
            installation,
            build_native(installation),
            MpiSection(),
            StartSection(),
            RepetitionsSection().hang_after,
            Path(scratch),
            logs=Path(scratch),
            scratch=Path(scratch),
            kind=kind,
        )
        try:
            yield engine
        finally:
            engine.close()
