"""liboffbeat-harmonize in this process: its C functions, and loading it beside the MPI library of mpi4py.

The library is built for the same MPI library in the build cache of the driver: once, by the first process
that needs it. Nothing is built if ``offbeat doctor`` has tried the MPI library before.
"""

from __future__ import annotations

import ctypes
import re
import threading
from pathlib import Path
from typing import Any

from offbeat.base.errors import BadInput, RunFailed
from offbeat.base.reading import read_text
from offbeat.libraries.installations import build, find, probe
from offbeat.libraries.installations.assemble import identity

HANDLES = {4: ctypes.c_int, 8: ctypes.c_void_p}
"""The C type of a handle by its size in bytes: MPICH's int, Open MPI's pointer."""


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
        *((f"{name}_ns", ctypes.c_int64) for name in ("deadline", "planned", "margin")),
        *((f"{name}_ns", ctypes.c_int64) for name in ("overshoot", "bound", "slack")),
        ("verdict", ctypes.c_int),
    ]


def handle(mpi: Any, comm: Any) -> Any:
    """The MPI_Comm of an mpi4py communicator; ``mpi`` is ``mpi4py.MPI``. Raises TypeError for others."""
    if not isinstance(comm, mpi.Intracomm):
        raise TypeError(f"an mpi4py intra-communicator is needed, such as MPI.COMM_WORLD, not {comm!r}")
    return handle_of(mpi, comm)


def handle_of(mpi: Any, mpi_object: Any) -> Any:
    """The C handle of an mpi4py communicator, datatype or info object."""
    return HANDLES[mpi._sizeof(mpi_object)].from_address(mpi._addressof(mpi_object))


def declare(library: ctypes.CDLL) -> None:
    """Declare arguments and results of each function; communicators are those of :func:`handle`."""
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


_lock = threading.Lock()
_cached_library: ctypes.CDLL | None = None


def mpi4py() -> Any:
    """The module ``mpi4py.MPI``, with MPI initialised; raises :class:`BadInput` if it is missing or not."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # RuntimeError: mpi4py finds no MPI library
        reason = " ".join(str(error).split())
        raise BadInput(
            f"the shared clock is used through mpi4py, which cannot be imported here ({reason}):"
            " pip install mpi4py, and have an MPI library"
        ) from None
    if not MPI.Is_initialized() or MPI.Is_finalized():
        when = "not initialised yet" if not MPI.Is_initialized() else "finalised already"
        raise BadInput(f"MPI is {when}: the shared clock can be used between MPI.Init and MPI.Finalize")
    return MPI


def library() -> ctypes.CDLL:
    """The library with its functions declared; the first call loads it and builds it if necessary.

    Local. Raises :class:`BadInput` without mpi4py, and :class:`RunFailed` if it cannot be built or loaded.
    """
    global _cached_library
    with _lock:
        if _cached_library is None:
            _cached_library = load(mpi4py(), build.HARMONIZE)
            declare(_cached_library)
        return _cached_library


def loaded_mpi(maps: Path = Path("/proc/self/maps")) -> Path:
    """The file of the MPI library in this process; raises :class:`RunFailed` unless there is exactly one."""
    files = {Path(line.split(maxsplit=5)[5]) for line in read_text(maps).splitlines() if line.count("/")}
    libraries = sorted(path for path in files if re.fullmatch(r"(libmpi|libmpich)\.so[.\d]*", path.name))
    if len(libraries) == 1:
        return libraries[0]
    names = " and ".join(map(str, libraries))
    raise RunFailed(
        f"this process has loaded {names}: two MPI libraries in one process collide; load one of them"
        if libraries
        else "mpi4py has loaded no libmpi.so that offbeat knows; it works with Open MPI, MPICH and Intel MPI"
    )


def load(mpi: Any, name: str) -> ctypes.CDLL:
    """A native library of that file name beside the MPI library of mpi4py; built if necessary.

    Raises :class:`RunFailed` if it cannot be built or loaded.
    """
    file = loaded_mpi()
    try:
        version = probe.read_library_version(mpi.Get_library_version(), str(file))
    except probe.UnknownLibrary as reason:
        raise RunFailed(f"mpi4py has loaded an MPI library that offbeat does not know: {reason}") from None
    folder = build.build_folder(version.family, version.numbers, identity(file, version))
    path = build.built_library(folder, name) or _build(file, name)
    try:
        dll = ctypes.CDLL(str(path))
    except OSError as reason:
        raise RunFailed(f"{path} cannot be loaded beside {file}: {reason}") from None
    loaded_mpi()  # raises if the library was built for another MPI library, which is then loaded too
    return dll


def _build(file: Path, name: str) -> Path:
    driver = build.build_native(find.installation_of_library(file))
    path = build.built_library(driver.parents[1], name)
    if path is None:
        raise RunFailed(f"{driver.parents[1]} holds no {name}; delete that folder, and try again")
    return path
