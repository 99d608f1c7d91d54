"""Tune MPI collectives for processes that do not arrive together.

The Python API, from a study to tuning files: :class:`Study`, :class:`Results`, :class:`Selection` and
:class:`TuningFiles`; :func:`tune` makes a program faster, and :class:`Trace` shows where its time goes.
:func:`read_study` reads a result directory whole, :func:`read_cases` its cases as one polars frame;
:func:`simulate` computes the exit times of a simulated collective from its arrival times.

For programs that use mpi4py: :class:`Clock` is a clock that all processes share, and :func:`harmonize` lets
them start at the same time by that clock. For algorithms that you write: :class:`Programs` checks and draws
what a function of a :class:`Rank` describes (``docs/howto/own-algorithm.md``).

Nothing is loaded before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from offbeat.base.errors import BadInput, OffbeatError, RunFailed

if TYPE_CHECKING:
    from offbeat._simulator import CompletionQueue, Programs, Rank, Request, Span, Vertex
    from offbeat.api.results import Results, read_study
    from offbeat.api.selection import Selection
    from offbeat.api.study import Study
    from offbeat.api.trace import Trace
    from offbeat.api.tuned_program import TunedProgram, tune
    from offbeat.api.tuning_files import TuningFiles, Verification
    from offbeat.libraries.clock.shared_clock import Clock, Harmonized, Instant, SyncFacts, harmonize
    from offbeat.measurement.results.read import read_cases
    from offbeat.simulation.calls.call_exits import simulate

    __version__: str

__all__ = [
    "BadInput",
    "Clock",
    "CompletionQueue",
    "Harmonized",
    "Instant",
    "OffbeatError",
    "Programs",
    "Rank",
    "Request",
    "Results",
    "RunFailed",
    "Selection",
    "Span",
    "Study",
    "SyncFacts",
    "Trace",
    "TunedProgram",
    "TuningFiles",
    "Verification",
    "Vertex",
    "__version__",
    "harmonize",
    "read_cases",
    "read_study",
    "simulate",
    "tune",
]

_MODULES = {
    "Clock": "offbeat.libraries.clock.shared_clock",
    "CompletionQueue": "offbeat._simulator",
    "Harmonized": "offbeat.libraries.clock.shared_clock",
    "Instant": "offbeat.libraries.clock.shared_clock",
    "Programs": "offbeat._simulator",
    "Rank": "offbeat._simulator",
    "Request": "offbeat._simulator",
    "Results": "offbeat.api.results",
    "Selection": "offbeat.api.selection",
    "Span": "offbeat._simulator",
    "Study": "offbeat.api.study",
    "SyncFacts": "offbeat.libraries.clock.shared_clock",
    "Trace": "offbeat.api.trace",
    "TunedProgram": "offbeat.api.tuned_program",
    "TuningFiles": "offbeat.api.tuning_files",
    "Verification": "offbeat.api.tuning_files",
    "Vertex": "offbeat._simulator",
    "harmonize": "offbeat.libraries.clock.shared_clock",
    "read_cases": "offbeat.measurement.results.read",
    "read_study": "offbeat.api.results",
    "simulate": "offbeat.simulation.calls.call_exits",
    "tune": "offbeat.api.tuned_program",
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
