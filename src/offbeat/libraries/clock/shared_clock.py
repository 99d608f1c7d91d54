"""A clock that all processes of an mpi4py communicator share, and the harmonised start by that clock."""

from __future__ import annotations

import ctypes
import math
from types import TracebackType
from typing import Any, Self

from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.libraries.clock.native import OptionsC, StartC, handle, library, mpi4py


class Instant(Struct, frozen=True):
    """A time on the shared clock in nanoseconds, with a bound on its error."""

    global_ns: int
    bound_ns: int


class SyncFacts(Struct, frozen=True, kw_only=True):
    """Facts about the last synchronisation of this process.

    ``exchanges`` counts ping-pongs, ``duration_ns`` is the time from entering to leaving,
    ``best_round_trip_ns`` the minimum round trip (0 without ping-pongs), ``bound_ns`` the bound afterwards,
    ``slope_ppb`` the rate of the shared clock relative to the local one, minus 1, in parts per billion.
    ``contradictions`` counts measurements that contradicted the model, as after a step of the time source.
    """

    exchanges: int
    duration_ns: int
    best_round_trip_ns: int
    bound_ns: int
    slope_ppb: float
    contradictions: int


class Clock:
    """A clock that all processes of a communicator share: the clock of its rank 0.

    Times are integer nanoseconds. Creation, :meth:`sync` and :meth:`free` are collective, everything else is
    local. The clock stays valid when the communicator is freed, and must be freed before MPI is finalised, by
    :meth:`free` or as a context manager.

    ``method`` is one of ``constraints``, ``hierarchical``, ``offset``, ``hca3``, ``jk`` and ``skampi``;
    ``source`` is ``CLOCK_MONOTONIC``, ``CLOCK_MONOTONIC_RAW``, ``MPI_Wtime`` or ``virtual:...``; None is the
    value of OFFBEAT_CLOCK_METHOD or OFFBEAT_CLOCK_SOURCE, else the first of each. They are described in
    ``offbeat/clock.h``.

    Raises :class:`offbeat.base.errors.BadInput` for a method or source that cannot be used, and if mpi4py is
    missing; :class:`offbeat.base.errors.RunFailed` if the native library cannot be built or loaded;
    ``MPI.Exception`` for MPI errors.
    """

    def __init__(self, comm: Any, *, method: str | None = None, source: str | None = None) -> None:
        self._clock = ctypes.c_void_p()
        self._mpi = mpi4py()
        comm_handle = handle(self._mpi, comm)
        self._library = library()
        options = OptionsC(method=_text(method), source=_text(source))
        self._check(
            self._library.offbeat_clock_create_with(
                comm_handle, ctypes.byref(options), ctypes.byref(self._clock)
            )
        )

    def sync(self) -> None:
        """Synchronise again; the time may jump within the bounds before and after. Collective."""
        self._check(self._library.offbeat_clock_sync(self._live()))

    def local_ns(self) -> int:
        """This process's own time now, on the clock's time source."""
        return int(self._library.offbeat_clock_local_ns(self._live()))

    def now(self) -> Instant:
        """The shared time now."""
        instant = self._library.offbeat_clock_now(self._live())
        return Instant(instant.global_ns, instant.bound_ns)

    def at(self, local_ns: int) -> Instant:
        """A time that :meth:`local_ns` gave earlier, on the shared clock."""
        instant = self._library.offbeat_clock_at(self._live(), _time(local_ns))
        return Instant(instant.global_ns, instant.bound_ns)

    def bound(self, local_ns: int | None = None) -> int:
        """The error bound of :meth:`at` in nanoseconds; 0 if all processes read one physical clock."""
        time = self.local_ns() if local_ns is None else _time(local_ns)
        return int(self._library.offbeat_clock_bound_ns(self._live(), time))

    def to_local_ns(self, global_ns: int) -> int:
        """The first local time that is not before a time on the shared clock."""
        return int(self._library.offbeat_clock_to_local_ns(self._live(), _time(global_ns)))

    @property
    def is_shared(self) -> bool:
        """Whether this process was verified to read the same physical clock as rank 0."""
        return bool(self._library.offbeat_clock_is_shared(self._live()))

    @property
    def age_ns(self) -> int:
        """Time since the last sync."""
        return int(self._library.offbeat_clock_age_ns(self._live()))

    @property
    def resolution_ns(self) -> int:
        """The resolution of the time source."""
        return int(self._library.offbeat_clock_resolution_ns(self._live()))

    @property
    def source(self) -> str:
        """The name of the time source; ``virtual`` for a virtual one."""
        return str(self._library.offbeat_clock_source(self._live()).decode())

    @property
    def method(self) -> str:
        """The name of the method."""
        return str(self._library.offbeat_clock_method(self._live()).decode())

    def facts(self) -> SyncFacts:
        """Facts about the last synchronisation."""
        facts = self._library.offbeat_clock_sync_facts(self._live())
        return SyncFacts(**{name: getattr(facts, name) for name in SyncFacts.__struct_fields__})

    def free(self) -> None:
        """Free the clock; does nothing the second time. Collective."""
        if self._clock:
            self._check(self._library.offbeat_clock_free(ctypes.byref(self._clock)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free the clock; not after an error, because freeing would wait for processes without that error."""
        if error is None:
            self.free()

    def _live(self) -> ctypes.c_void_p:
        if not self._clock:
            raise BadInput("this clock was freed; create another one")
        return self._clock

    def _check(self, code: int) -> None:
        raise_for(self._mpi, code, self._library.offbeat_clock_error)


def raise_for(mpi: Any, code: int, message: Any) -> None:
    """Raise the exception for an MPI error code; ``message`` returns the library's own about arguments."""
    if code == mpi.SUCCESS:
        return
    text = message().decode() if mpi.Get_error_class(code) == mpi.ERR_ARG else ""
    if text:
        raise BadInput(text)
    raise mpi.Exception(code)


def _text(text: str | None) -> bytes | None:
    if text is not None and "\0" in text:
        raise BadInput(f"{text!r} is not a method or source: it contains a zero byte")
    return None if text is None else text.encode()


def _time(time_ns: int) -> int:
    """A time that 64 bits hold; raises TypeError for anything but an int, BadInput for larger ones."""
    if isinstance(time_ns, bool) or not isinstance(time_ns, int):
        raise TypeError(f"times are whole nanoseconds, not {time_ns!r}")
    if not -(2**63) <= time_ns < 2**63:
        raise BadInput(f"{time_ns} ns is outside the range of a clock")
    return time_ns


LONGEST_S = 1e6
"""The longest delay."""


class _StartTime:
    """A time of :class:`StartC` as a read-only attribute of :class:`Harmonized`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, start: Harmonized, owner: type) -> int:
        return int(getattr(start._start, self._name))


class Harmonized:
    """The outcome of a harmonised start for this process; true if it was on time.

    Times are integer nanoseconds on the shared clock of the communicator: the common ``deadline_ns``,
    ``planned_ns`` (the deadline plus this process's delay), ``margin_ns`` (the time from receiving the
    deadline to the deadline; negative if it was received too late), ``overshoot_ns`` (how long after its
    planned time the process left), ``bound_ns`` (the clock's error bound) and ``slack_ns`` (how far in the
    future the deadline was set).
    """

    __slots__ = ("_start",)

    def __init__(self, start: StartC) -> None:
        """:func:`harmonize` fills in ``start``: nothing must be done between the start and its return."""
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
        """The same as a phrase that follows "it", with the reason if the process was not on time."""
        return str(library().offbeat_verdict_text(self._start.verdict).decode())

    deadline_ns = _StartTime()
    planned_ns = _StartTime()
    margin_ns = _StartTime()
    overshoot_ns = _StartTime()
    bound_ns = _StartTime()
    slack_ns = _StartTime()


def harmonize(comm: Any, delay_s: float = 0.0) -> Harmonized:
    """Return on all processes at the same time, or on each ``delay_s`` seconds after a common deadline.

    Collective over an mpi4py intra-communicator (``MPIX_Harmonize_delayed``); the first call on each creates
    its clock. Processes may have different delays. Raises :class:`offbeat.base.errors.BadInput` for a
    negative delay, before anything is sent, and else what :class:`offbeat.libraries.clock.Clock` raises.
    """
    delay_ns = _nanoseconds(delay_s)
    mpi = mpi4py()
    comm_handle = handle(mpi, comm)
    dll = library()
    start = StartC()
    result = Harmonized(start)
    code = dll.MPIX_Harmonize_delayed(comm_handle, delay_ns, ctypes.byref(start))
    if code:
        raise_for(mpi, code, dll.offbeat_clock_error)
    return result


def _nanoseconds(delay_s: float) -> ctypes.c_int64:
    if not (math.isfinite(delay_s) and 0 <= delay_s <= LONGEST_S):
        raise BadInput(f"a delay of {delay_s} s is not possible: give seconds from 0 to {LONGEST_S:g}")
    return ctypes.c_int64(round(delay_s * 1e9))
