"""Tune MPI collectives for processes that do not arrive together.

The Python API, from a study to tuning files: :class:`Study`, :class:`Results`, :class:`Selection` and
:class:`TuningFiles`; :func:`tune` makes a program faster, and :class:`Trace` shows where its time goes.
:func:`read_study` reads a result directory whole, :func:`read_cases` its cases as one polars frame;
:func:`simulate` computes the exit times of a simulated collective from its arrival times.

Nothing is loaded before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from offbeat.errors import BadInput, OffbeatError, RunFailed

if TYPE_CHECKING:
    from offbeat.api.results import Results, read_study
    from offbeat.api.selection import Selection
    from offbeat.api.study import Study
    from offbeat.api.trace import Trace
    from offbeat.api.tuned_program import TunedProgram, tune
    from offbeat.api.tuning_files import TuningFiles, Verification
    from offbeat.results.read import read_cases
    from offbeat.simulation.exits import simulate

    __version__: str

__all__ = [
    "BadInput",
    "OffbeatError",
    "Results",
    "RunFailed",
    "Selection",
    "Study",
    "Trace",
    "TunedProgram",
    "TuningFiles",
    "Verification",
    "__version__",
    "read_cases",
    "read_study",
    "simulate",
    "tune",
]

_PLACES = {
    "Results": "offbeat.api.results",
    "Selection": "offbeat.api.selection",
    "Study": "offbeat.api.study",
    "Trace": "offbeat.api.trace",
    "TunedProgram": "offbeat.api.tuned_program",
    "TuningFiles": "offbeat.api.tuning_files",
    "Verification": "offbeat.api.tuning_files",
    "read_cases": "offbeat.results.read",
    "read_study": "offbeat.api.results",
    "simulate": "offbeat.simulation.exits",
    "tune": "offbeat.api.tuned_program",
}
"""Name in the Python API → module that defines it."""


def __getattr__(name: str) -> object:
    """Import the module of a name on first use, so that commands that do not need it start fast."""
    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    if name == "__version__":
        return _version()
    raise AttributeError(f"module 'offbeat' has no attribute {name!r}")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("offbeat")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "0+unknown"
