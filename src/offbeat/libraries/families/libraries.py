"""The MPI libraries that offbeat supports, by family."""

from __future__ import annotations

import re

from offbeat.libraries.families import intelmpi, mpich, openmpi
from offbeat.libraries.families.library import Library
from offbeat.libraries.installations.installation import Installation

LIBRARIES: dict[str, Library] = {
    library.family: library for library in (openmpi.LIBRARY, mpich.LIBRARY, intelmpi.LIBRARY)
}


def library_of(installation: Installation) -> Library:
    """The record of an installation's MPI library."""
    return LIBRARIES[installation.family]


def recognise(version_text: str) -> tuple[Library, re.Match[str]] | None:
    """The record of the library whose text of MPI_Get_library_version this is, and the match of its
    ``version_pattern``; None for other libraries."""
    for library in LIBRARIES.values():
        match = re.match(library.version_pattern, version_text)
        if match:
            return library, match
    return None


def title_of(family: str, otherwise: str = "") -> str:
    """The name of a family for people; ``otherwise``, or the family itself, if it is unknown."""
    return LIBRARIES[family].title if family in LIBRARIES else otherwise or family


def titles() -> list[str]:
    """The names of all families for people."""
    return [library.title for library in LIBRARIES.values()]
