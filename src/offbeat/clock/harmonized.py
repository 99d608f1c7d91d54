"""The harmonised start from Python: all processes of a communicator go on at one moment."""

from __future__ import annotations

import ctypes
import math
from typing import Any

from offbeat.clock import functions
from offbeat.clock.loaded import library, mpi4py
from offbeat.clock.shared_clock import raise_for
from offbeat.errors import BadInput

LONGEST_S = 1e6
"""A delay is at most so long."""


class Harmonized:
    """How a harmonised start went for this process; true where it was on time.

    Times are whole nanoseconds on the shared clock of the communicator: the common ``deadline_ns``,
    ``planned_ns`` (the deadline plus this process's delay), ``margin_ns`` (time that was left until the
    deadline when it was known; negative: it was known too late), ``overshoot_ns`` (how long after its plan
    the process left), ``bound_ns`` (how wrong the clock can have been) and ``slack_ns`` (how far ahead the
    deadline was set).
    """

    __slots__ = ("_start",)

    def __init__(self, start: functions.StartC) -> None:
        """Filled in by :func:`harmonize` while the time runs: nothing is to be done afterwards."""
        self._start = start

    def __bool__(self) -> bool:
        return self.on_time

    def __repr__(self) -> str:
        return (
            f"Harmonized({self.verdict!r}, margin_ns={self.margin_ns}, overshoot_ns={self.overshoot_ns},"
            f" bound_ns={self.bound_ns})"
        )

    @property
    def on_time(self) -> bool:
        """Whether this process left within the tolerance after its plan; processes may differ."""
        return self._start.verdict == 0

    @property
    def verdict(self) -> str:
        """The same in words, with why not: to follow "it"."""
        return str(library().offbeat_verdict_text(self._start.verdict).decode())

    @property
    def deadline_ns(self) -> int:
        """The common deadline."""
        return int(self._start.deadline_ns)

    @property
    def planned_ns(self) -> int:
        """The deadline plus this process's delay."""
        return int(self._start.planned_ns)

    @property
    def margin_ns(self) -> int:
        """Time that was left until the deadline."""
        return int(self._start.margin_ns)

    @property
    def overshoot_ns(self) -> int:
        """How long after its plan the process left."""
        return int(self._start.overshoot_ns)

    @property
    def bound_ns(self) -> int:
        """How wrong the clock can have been."""
        return int(self._start.bound_ns)

    @property
    def slack_ns(self) -> int:
        """How far ahead the deadline was set."""
        return int(self._start.slack_ns)


def harmonize(comm: Any, delay_s: float = 0.0) -> Harmonized:
    """Return on all processes together, each ``delay_s`` seconds after a common deadline.

    Collective over an mpi4py intra-communicator (``MPIX_Harmonize_delayed``); the first call on each makes
    its clock. Processes may have different delays. Raises :class:`offbeat.errors.BadInput` for a negative
    delay, before anything is sent, and else what :class:`offbeat.clock.Clock` raises.
    """
    delay_ns = _nanoseconds(delay_s)
    mpi = mpi4py()
    handle = functions.handle(mpi, comm)
    loaded = library()
    start = functions.StartC()
    result = Harmonized(start)
    code = loaded.MPIX_Harmonize_delayed(handle, delay_ns, ctypes.byref(start))
    if code:
        raise_for(mpi, code, loaded.offbeat_clock_error)
    return result


def _nanoseconds(delay_s: float) -> ctypes.c_int64:
    if not (math.isfinite(delay_s) and 0 <= delay_s <= LONGEST_S):
        raise BadInput(f"a delay of {delay_s} s is not possible: give seconds from 0 to {LONGEST_S:g}")
    return ctypes.c_int64(round(delay_s * 1e9))
