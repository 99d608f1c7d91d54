"""The MPI functions that the tracer wraps: those that it can record, and whose calls can be delayed."""

from __future__ import annotations

import re

from offbeat.base.reading import read_text
from offbeat.libraries.installations.build import native_sources

MARK = "MPI_Pcontrol"
"""Of this function, only the calls with level 2 can be delayed, which mark the beginning of an iteration."""

_COLLECTIVE = re.compile(r"^OFFBEAT_\w*COLLECTIVE\((\w+), (\w+),", re.MULTILINE)
_DECLARATION = re.compile(
    r"^OFFBEAT_(?:CONSTRUCTOR|MESSAGE_FUNCTION|PROBE_FUNCTION|REQUEST_FUNCTION)\((\w+),", re.MULTILINE
)


def wrapped_functions() -> list[str]:
    """Their names in C, from the tables in the sources of the tracer. They stand for Fortran and for large
    counts as well."""
    native = native_sources()
    collectives = read_text(native / "collectives" / "collectives.def")
    header = read_text(native / "trace" / "wrapped_functions.h")
    names = [MARK]
    for name, lower in _COLLECTIVE.findall(collectives):
        names += [f"MPI_{name}", f"MPI_I{lower}", f"MPI_{name}_init"]
    return names + [f"MPI_{name}" for name in _DECLARATION.findall(header)]
