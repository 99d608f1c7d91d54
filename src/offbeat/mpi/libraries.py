"""The MPI libraries that offbeat supports, by family."""

from __future__ import annotations

from offbeat.mpi import intelmpi, mpich, openmpi
from offbeat.mpi.installation import Installation
from offbeat.mpi.library import Library

LIBRARIES: dict[str, Library] = {
    library.family: library for library in (openmpi.LIBRARY, mpich.LIBRARY, intelmpi.LIBRARY)
}


def library_of(installation: Installation) -> Library:
    """The record of an installation's MPI library."""
    return LIBRARIES[installation.family]
