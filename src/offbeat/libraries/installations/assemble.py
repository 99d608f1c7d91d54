"""From a launcher to a complete installation: the library, header and compiler wrapper that belong to it."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.reading import read_part
from offbeat.libraries.installations import probe
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.installations.probe import UnknownLibrary, Version

_PATTERNS = ("libmpi.so.[0-9]*", "libmpich.so.[0-9]*", "libmpi.so", "libmpich.so")


class _Wrapper(Struct, frozen=True):
    """A working compiler wrapper with the include and library folders that it adds."""

    path: Path
    includes: list[Path]
    libraries: list[Path]


def assemble(launcher: Path, source: str, environ: Mapping[str, str] = os.environ) -> Installation:
    """Find the installation that an ``mpirun`` or ``mpiexec`` belongs to.

    Library and header must agree with the version that the launcher states: folders such as ``/usr`` hold
    several MPI libraries side by side. Raises :class:`~offbeat.libraries.installations.probe.UnknownLibrary`
    with the reason if a part is missing.
    """
    launcher_version = probe.ask_launcher(launcher, environ)
    wrapper = _working_wrapper(launcher, environ)
    prefixes = _prefixes(launcher)
    library, version = _find_library(
        launcher, launcher_version, _folders_to_search(prefixes, wrapper), environ
    )
    include = _find_include(version, prefixes, wrapper, library)
    return Installation(
        name=f"{version.family}-{version.short}",
        family=version.family,
        version=version.numbers,
        version_text=version.text,
        prefix=prefixes[0],
        source=source,
        library=library,
        include=include,
        mpicc=wrapper.path if wrapper and include in (wrapper.includes or [include]) else None,
        mpirun=launcher,
        identity=identity(library, version),
    )


def library_files(folders: Iterable[Path]) -> list[Path]:
    """The MPI libraries in these folders, each file once, under the name by which programs load it.

    Wheels hold copies instead of links (``libmpi.so.12``, ``libmpi.so.12.0``): programs load the shortest
    numbered name.
    """
    by_file: dict[Path, Path] = {}
    stems: set[tuple[Path, str]] = set()
    for folder in folders:
        for pattern in _PATTERNS:
            for path in sorted(folder.glob(pattern), key=lambda path: (len(path.name), path.name)):
                stem = (folder, path.name.split(".so")[0])
                if stem not in stems and _is_library(path):
                    stems.add(stem)
                    earlier = by_file.get(path.resolve())
                    if earlier is None or (earlier.suffix == ".so" and path.suffix != ".so"):
                        by_file[path.resolve()] = path
    return list(by_file.values())


def library_folders(prefix: Path) -> list[Path]:
    """The library folders of a prefix, in the layouts of the MPI projects and of Linux distributions."""
    machine = f"{platform.machine()}-linux-gnu"
    names = (
        "lib",
        "lib64",
        "lib/release",
        f"lib/{machine}",
        f"lib/{machine}/openmpi/lib",
        "lib/openmpi/lib",
        "",
    )
    return [prefix / name for name in names]


def identity(library: Path, version: Version) -> str:
    """A short digest that changes with the library file and with its version text."""
    status = library.stat()
    file = (str(library.resolve()), str(status.st_size), str(status.st_mtime_ns))
    return hashlib.sha256("\n".join((*file, version.full_text)).encode()).hexdigest()[:16]


def _prefixes(launcher: Path) -> list[Path]:
    """The prefixes of the launcher's resolved and of its unresolved path: links may cross folders."""
    return list(dict.fromkeys([launcher.resolve().parent.parent, launcher.absolute().parent.parent]))


def _folders_to_search(prefixes: list[Path], wrapper: _Wrapper | None) -> list[Path]:
    of_prefixes = (folder for prefix in prefixes for folder in library_folders(prefix))
    return list(dict.fromkeys([*(wrapper.libraries if wrapper else []), *of_prefixes]))


def _working_wrapper(launcher: Path, environ: Mapping[str, str]) -> _Wrapper | None:
    suffix = launcher.name.removeprefix("mpirun").removeprefix("mpiexec")
    wrapper = launcher.with_name(f"mpicc{suffix}")
    answer = probe.ask_wrapper(wrapper, environ) if os.access(wrapper, os.X_OK) else None
    return _Wrapper(wrapper, *answer) if answer else None


def _is_library(path: Path) -> bool:
    """Whether a file is an ELF object; a ``libmpi.so`` may be a linker script instead."""
    try:
        return read_part(path, 0, 4) == b"\x7fELF"
    except (OSError, BadInput):
        return False


def _find_library(
    launcher: Path, launcher_version: Version | None, folders: list[Path], environ: Mapping[str, str]
) -> tuple[Path, Version]:
    candidates: list[tuple[Path, Version]] = []
    reasons: list[str] = []
    for library in library_files(folders):
        try:
            version = probe.ask_library(library, environ)
        except UnknownLibrary as reason:
            reasons.append(str(reason))
            continue
        if launcher_version is None or launcher_version.agrees_with(version):
            candidates.append((library, version))
    if not candidates:
        folder_names = ", ".join(str(folder) for folder in folders if folder.is_dir())
        of_version = f" of {launcher_version.text}" if launcher_version else ""
        raise UnknownLibrary(
            "; ".join(reasons)
            or f"no libmpi{of_version} for {launcher} (looked in {folder_names or 'no folder'})"
        )
    if launcher_version is None and len({version.full_text for _, version in candidates}) > 1:
        names = ", ".join(str(library) for library, _ in candidates)
        raise UnknownLibrary(
            f"{launcher} does not report its version, and several libraries could belong to it: {names}"
        )
    return candidates[0]


def _include_folders(
    version: Version, prefixes: list[Path], wrapper: _Wrapper | None, library: Path
) -> Iterator[Path]:
    machine = platform.machine()
    yield from wrapper.includes if wrapper else []
    for prefix in prefixes:
        yield prefix / "include"
        yield prefix / f"lib/{machine}-linux-gnu" / version.family / "include"
        yield prefix / f"include/{machine}-linux-gnu" / version.family
    yield library.parent.parent / "include"
    yield Path(f"/usr/include/{version.family}-{machine}")


def _find_include(version: Version, prefixes: list[Path], wrapper: _Wrapper | None, library: Path) -> Path:
    """The folder whose mpi.h has the library's version."""
    other_versions: list[str] = []
    for folder in dict.fromkeys(_include_folders(version, prefixes, wrapper, library)):
        header = probe.read_header_version(folder / "mpi.h")
        if header and header.agrees_with(version):
            return folder
        if header:
            other_versions.append(f"{folder / 'mpi.h'} is of {header.text}")
    other_headers = f" ({'; '.join(other_versions)})" if other_versions else ""
    raise UnknownLibrary(
        f"{library} is {version.text}, but its mpi.h is missing{other_headers}:"
        " install the development package that belongs to it"
    )
