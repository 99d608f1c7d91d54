"""liboffbeat-harmonize, loaded into this process beside the MPI library that mpi4py has loaded.

It is built for that very library by the build cache that the driver is built in: once, by whichever process
comes first; nothing is built where ``offbeat doctor`` has seen the library before.
"""

from __future__ import annotations

import ctypes
import re
import threading
from pathlib import Path
from typing import Any

from offbeat.clock.functions import declare
from offbeat.errors import BadInput, RunFailed
from offbeat.mpi import build, find, probe
from offbeat.mpi.assemble import identity

_lock = threading.Lock()
_library: ctypes.CDLL | None = None


def mpi4py() -> Any:
    """The module ``mpi4py.MPI`` with MPI running; raises :class:`BadInput` where there is none."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as reason:  # RuntimeError: it finds no MPI library
        said = " ".join(str(reason).split())
        raise BadInput(
            f"the shared clock is used through mpi4py, which cannot be imported here ({said}):"
            " pip install mpi4py, and have an MPI library"
        ) from None
    if not MPI.Is_initialized() or MPI.Is_finalized():
        when = "not initialised yet" if not MPI.Is_initialized() else "finalised already"
        raise BadInput(f"MPI is {when}: the shared clock can be used between MPI.Init and MPI.Finalize")
    return MPI


def library() -> ctypes.CDLL:
    """The library with its functions declared; loaded, and if need be built, at the first call.

    Local. Raises :class:`BadInput` without mpi4py, and :class:`RunFailed` where it cannot be built or loaded.
    """
    global _library
    with _lock:
        if _library is None:
            _library = _load(mpi4py())
        return _library


def loaded_mpi(maps: Path = Path("/proc/self/maps")) -> Path:
    """The file of the MPI library in this process; raises :class:`RunFailed` unless there is just one."""
    files = {Path(line.split(maxsplit=5)[5]) for line in maps.read_text().splitlines() if line.count("/")}
    found = sorted(path for path in files if re.fullmatch(r"(libmpi|libmpich)\.so[.\d]*", path.name))
    if len(found) == 1:
        return found[0]
    names = " and ".join(map(str, found))
    raise RunFailed(
        f"this process has loaded {names}: two MPI libraries in one process collide; load one of them"
        if found
        else "mpi4py has loaded no libmpi.so that offbeat knows; it works with Open MPI, MPICH and Intel MPI"
    )


def _load(mpi: Any) -> ctypes.CDLL:
    file = loaded_mpi()
    try:
        version = probe.read_library_version(mpi.Get_library_version(), str(file))
    except probe.UnknownLibrary as reason:
        raise RunFailed(f"mpi4py has loaded an MPI library that offbeat does not know: {reason}") from None
    place = build.build_folder(version.family, version.numbers, identity(file, version))
    path = build.harmonize_library(place) or _built(file)
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as reason:
        raise RunFailed(f"{path} cannot be loaded beside {file}: {reason}") from None
    loaded_mpi()  # still one: a library that was built for another one brings that along
    declare(loaded)
    return loaded


def _built(file: Path) -> Path:
    driver = build.build_native(find.installation_of_library(file))
    path = build.harmonize_library(driver.parents[1])
    if path is None:
        raise RunFailed(f"{driver.parents[1]} holds no {build.HARMONIZE}; delete that folder, and try again")
    return path
