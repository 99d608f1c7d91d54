"""The C functions of liboffbeat-harmonize that Python calls, as clock.h and harmonize.h declare them."""

from __future__ import annotations

import ctypes
from typing import Any

HANDLES = {4: ctypes.c_int, 8: ctypes.c_void_p}
"""What an MPI_Comm is passed as, by its size in bytes: an int in MPICH and its kin, a pointer in Open MPI."""


class InstantC(ctypes.Structure):
    """``offbeat_instant``."""

    _fields_ = [("global_ns", ctypes.c_int64), ("bound_ns", ctypes.c_int64)]


class OptionsC(ctypes.Structure):
    """``offbeat_clock_options``."""

    _fields_ = [
        ("method", ctypes.c_char_p),
        ("source", ctypes.c_char_p),
        ("exchanges", ctypes.c_int),
        ("fit_points", ctypes.c_int),
    ]


class FactsC(ctypes.Structure):
    """``offbeat_sync_facts``."""

    _fields_ = [
        ("exchanges", ctypes.c_int),
        ("duration_ns", ctypes.c_int64),
        ("best_round_trip_ns", ctypes.c_int64),
        ("bound_ns", ctypes.c_int64),
        ("slope_ppb", ctypes.c_double),
        ("contradictions", ctypes.c_int),
    ]


class StartC(ctypes.Structure):
    """``offbeat_start``."""

    _fields_ = [
        ("deadline_ns", ctypes.c_int64),
        ("planned_ns", ctypes.c_int64),
        ("margin_ns", ctypes.c_int64),
        ("overshoot_ns", ctypes.c_int64),
        ("bound_ns", ctypes.c_int64),
        ("slack_ns", ctypes.c_int64),
        ("verdict", ctypes.c_int),
    ]


def handle(mpi: Any, comm: Any) -> Any:
    """The MPI_Comm of an mpi4py communicator, as an argument; ``mpi`` is ``mpi4py.MPI``.

    Raises TypeError for anything but an intra-communicator.
    """
    if not isinstance(comm, mpi.Intracomm):
        raise TypeError(f"an mpi4py intra-communicator is needed, such as MPI.COMM_WORLD, not {comm!r}")
    kind = HANDLES[mpi._sizeof(mpi.Comm)]
    return kind.from_address(mpi._addressof(comm))


def declare(library: ctypes.CDLL) -> None:
    """Say what each function takes and returns; communicators are passed as :func:`handle` makes them."""
    clock, time, number = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
    functions: dict[str, tuple[Any, list[Any] | None]] = {
        "offbeat_clock_create_with": (number, None),
        "offbeat_clock_error": (ctypes.c_char_p, []),
        "offbeat_clock_sync": (number, [clock]),
        "offbeat_clock_free": (number, [ctypes.POINTER(clock)]),
        "offbeat_clock_local_ns": (time, [clock]),
        "offbeat_clock_now": (InstantC, [clock]),
        "offbeat_clock_at": (InstantC, [clock, time]),
        "offbeat_clock_to_local_ns": (time, [clock, time]),
        "offbeat_clock_bound_ns": (time, [clock, time]),
        "offbeat_clock_is_shared": (number, [clock]),
        "offbeat_clock_age_ns": (time, [clock]),
        "offbeat_clock_resolution_ns": (time, [clock]),
        "offbeat_clock_source": (ctypes.c_char_p, [clock]),
        "offbeat_clock_method": (ctypes.c_char_p, [clock]),
        "offbeat_clock_sync_facts": (FactsC, [clock]),
        "offbeat_verdict_text": (ctypes.c_char_p, [number]),
        "MPIX_Harmonize_delayed": (number, None),
    }
    for name, (result, arguments) in functions.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
