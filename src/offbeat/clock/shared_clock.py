"""A clock that all processes of an mpi4py communicator share, with a bound on its error."""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Any, Self

from msgspec import Struct

from offbeat.clock import functions
from offbeat.clock.loaded import library, mpi4py
from offbeat.errors import BadInput


class Instant(Struct, frozen=True):
    """A moment on the shared clock in nanoseconds, and how wrong that can be."""

    global_ns: int
    bound_ns: int


class SyncFacts(Struct, frozen=True, kw_only=True):
    """What the last sync of this process was like.

    ``exchanges`` are its ping-pongs, ``duration_ns`` is from entering to leaving, ``best_round_trip_ns`` is 0
    where there were none, ``bound_ns`` the bound right afterwards, ``slope_ppb`` the rate of the shared clock
    against the local one, minus 1, in parts per billion. ``contradictions`` counts how often in the clock's
    life what it knew was spoken against, as after a step.
    """

    exchanges: int
    duration_ns: int
    best_round_trip_ns: int
    bound_ns: int
    slope_ppb: float
    contradictions: int


class Clock:
    """A clock that all processes of a communicator share: that of its rank 0.

    Times are whole nanoseconds. Making it, :meth:`sync` and :meth:`free` are collective, everything else is
    local. It stays valid when the communicator is freed, and must be freed before MPI is finalised, by
    :meth:`free` or as a context manager.

    ``method`` is one of ``constraints``, ``hierarchical``, ``offset``, ``hca3``, ``jk`` and ``skampi``;
    ``source`` is ``CLOCK_MONOTONIC``, ``CLOCK_MONOTONIC_RAW``, ``MPI_Wtime`` or ``virtual:...``; None is what
    OFFBEAT_CLOCK_METHOD and OFFBEAT_CLOCK_SOURCE say, else the first of each. They are described in
    ``offbeat/clock.h``.

    Raises :class:`offbeat.errors.BadInput` for a method or source that cannot be used, and where mpi4py is
    missing; :class:`offbeat.errors.RunFailed` where the native library cannot be built or loaded;
    ``MPI.Exception`` for what MPI refuses.
    """

    def __init__(self, comm: Any, *, method: str | None = None, source: str | None = None) -> None:
        self._clock = ctypes.c_void_p()
        self._mpi = mpi4py()
        handle = functions.handle(self._mpi, comm)
        self._library = library()
        options = functions.OptionsC(method=_text(method), source=_text(source))
        self._check(
            self._library.offbeat_clock_create_with(handle, ctypes.byref(options), ctypes.byref(self._clock))
        )

    def sync(self) -> None:
        """Learn the shared clock anew; it may jump by as much as the bounds before and after allow.
        Collective."""
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
        """How wrong :meth:`at` can be in nanoseconds; 0 where all processes read one physical clock."""
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
        """What the last sync was like."""
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
        """Free the clock; not after an error, which the other processes need not have met: they would be
        waited for."""
        if error is None:
            self.free()

    def _live(self) -> ctypes.c_void_p:
        if not self._clock:
            raise BadInput("this clock was freed; make another one")
        return self._clock

    def _check(self, code: int) -> None:
        raise_for(self._mpi, code, self._library.offbeat_clock_error)


def raise_for(mpi: Any, code: int, sentence: Any) -> None:
    """Raise what an MPI error code means; ``sentence`` gives the library's own words about bad arguments."""
    if code == mpi.SUCCESS:
        return
    said = sentence().decode() if mpi.Get_error_class(code) == mpi.ERR_ARG else ""
    if said:
        raise BadInput(said)
    raise mpi.Exception(code)


def _text(text: str | None) -> bytes | None:
    if text is not None and "\0" in text:
        raise BadInput(f"{text!r} names no method and no source: it has a zero byte")
    return None if text is None else text.encode()


def _time(time_ns: int) -> int:
    """A time that 64 bits hold; raises TypeError for anything but an int, BadInput for larger ones."""
    if isinstance(time_ns, bool) or not isinstance(time_ns, int):
        raise TypeError(f"times are whole nanoseconds, not {time_ns!r}")
    if not -(2**63) <= time_ns < 2**63:
        raise BadInput(f"{time_ns} ns is no time that a clock can show")
    return time_ns
