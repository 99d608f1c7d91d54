"""A library's algorithms, asked of the library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from offbeat.engines.mpi import MpiEngine, open_engine
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
    with _asked(installation) as engine:
        return {collective: engine.algorithms(collective) for collective in COLLECTIVES}


def named(installation: Installation, names: Iterable[tuple[str, str]]) -> list[Algorithm]:
    """The algorithms of some (collective, name), parameters included; those that the library lacks are left
    out.

    Raises what :func:`catalogue` raises.
    """
    with _asked(installation) as engine:
        found = [engine.named(collective, name) for collective, name in sorted(names)]
        return [algorithm for algorithm in found if algorithm is not None]


@contextmanager
def _asked(installation: Installation) -> Iterator[MpiEngine]:
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
            yield engine
        finally:
            engine.close()
