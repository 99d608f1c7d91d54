"""The shared clock from Python, and the check of how well processes start by it here.

:class:`Clock` and :func:`harmonize` are for programs that use mpi4py::

    from mpi4py import MPI
    from offbeat.clock import Clock, harmonize

    with Clock(MPI.COMM_WORLD) as clock:
        now = clock.now()  # now.global_ns, right to now.bound_ns
    start = harmonize(MPI.COMM_WORLD)  # all processes go on together
    if not start:
        print(f"it {start.verdict}")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from offbeat.clock.harmonized import Harmonized, harmonize
    from offbeat.clock.shared_clock import Clock, Instant, SyncFacts

__all__ = ["Clock", "Harmonized", "Instant", "SyncFacts", "harmonize"]

_PLACES = {
    "Clock": "shared_clock",
    "Harmonized": "harmonized",
    "Instant": "shared_clock",
    "SyncFacts": "shared_clock",
    "harmonize": "harmonized",
}
"""Name → the module that has it."""


def __getattr__(name: str) -> object:
    """Load what a name needs on first use, so that the command line needs nothing of it."""
    if name in _PLACES:
        return getattr(importlib.import_module(f"offbeat.clock.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'offbeat.clock' has no attribute {name!r}")
