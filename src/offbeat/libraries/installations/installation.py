"""An MPI installation on this machine."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class Installation(Struct, frozen=True, kw_only=True):
    """One MPI library with the files that are needed to build for it and to launch it.

    ``family`` is ``openmpi``, ``mpich`` or ``intelmpi``, the key of the library's record
    (:class:`offbeat.libraries.families.library.Library`). ``name`` is what users type (``openmpi-5.0.11``),
    unique on this machine. ``identity`` is a digest of the library's path, size, modification time and
    version string: native builds are cached under it.
    """

    name: str
    family: str
    version: tuple[int, ...]
    version_text: str
    prefix: Path
    source: str  # where it was found: PATH, module NAME, wheel, --mpi
    library: Path  # the shared library libmpi
    include: Path  # the folder that holds mpi.h
    mpicc: Path | None  # the compiler wrapper, if there is a working one
    mpirun: Path  # the launcher of this installation
    identity: str

    def is_at_least(self, *version: int) -> bool:
        """Whether the library's version is this one or later."""
        return self.version >= version
