"""Every algorithm of a library, asked of the library."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from offbeat.engines.mpi import open_engine
from offbeat.mpi.build import build_native
from offbeat.mpi.installation import Installation
from offbeat.study.algorithm import Algorithm
from offbeat.study.case import COLLECTIVES
from offbeat.study.schema import MpiSection, RepetitionsSection, StartSection


def catalogue(installation: Installation) -> dict[str, list[Algorithm]]:
    """Collective → its algorithms, ``default`` first, from a launch of one process; nothing is measured.

    Raises :class:`offbeat.errors.RunFailed` where the native parts cannot be built or the library cannot be
    asked.
    """
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
        )
        try:
            return {collective: engine.algorithms(collective) for collective in COLLECTIVES}
        finally:
            engine.close()
