"""The shared clock from Python, and the check of how accurately processes start by it here.

:class:`Clock` and :func:`harmonize` are for programs that use mpi4py::

    from mpi4py import MPI
    from offbeat.clock import Clock, harmonize

    with Clock(MPI.COMM_WORLD) as clock:
        now = clock.now()  # now.global_ns, with an error of now.bound_ns at most
    start = harmonize(MPI.COMM_WORLD)  # all processes return at the same time
    if not start:
        print(f"it {start.verdict}")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from offbeat.clock.shared_clock import Clock, Harmonized, Instant, SyncFacts, harmonize

__all__ = ["Clock", "Harmonized", "Instant", "SyncFacts", "harmonize"]


def __getattr__(name: str) -> object:
    """Import the shared clock on first use, so that the command line starts without it."""
    if name in __all__:
        return getattr(importlib.import_module("offbeat.clock.shared_clock"), name)
    raise AttributeError(f"module 'offbeat.clock' has no attribute {name!r}")
