"""Tune MPI collectives for processes that do not arrive together.

The Python API: :func:`read_study` reads a result directory whole, :func:`read_cases` its cases as one
polars frame; :func:`simulate` computes the exit times of a simulated collective from its arrival times.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from offbeat.results.read import Results, read_cases, read_study
    from offbeat.simulation.exits import simulate

    __version__: str

__all__ = ["Results", "__version__", "read_cases", "read_study", "simulate"]

_MODULES = {
    "Results": "offbeat.results.read",
    "read_cases": "offbeat.results.read",
    "read_study": "offbeat.results.read",
    "simulate": "offbeat.simulation.exits",
}
"""Name in the Python API → module that defines it."""


def __getattr__(name: str) -> object:
    """Import the module of a name on first use, so that commands that do not need it start fast."""
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    if name == "__version__":
        return _version()
    raise AttributeError(f"module 'offbeat' has no attribute {name!r}")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("offbeat")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "0+unknown"
