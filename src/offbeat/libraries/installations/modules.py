"""Environment modules: which module an installation belongs to, and which MPI modules could be loaded."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from offbeat.libraries.families.libraries import library_of
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.installations.probe import run_quietly

_LOOKS_LIKE_MPI = re.compile(
    r"(^|[/_-])(openmpi|ompi|open-mpi|mpich|impi|intelmpi|hpcx)|mpi/|mpi$", re.IGNORECASE
)


def module_of(installation: Installation, environ: Mapping[str, str] = os.environ) -> str:
    """The loaded module that put an installation on PATH, judging by the module's name; empty if none did.

    System folders are on PATH without any module.
    """
    if installation.prefix in (Path("/"), Path("/usr"), Path("/usr/local")):
        return ""
    module_names = [name for name in environ.get("LOADEDMODULES", "").split(":") if name]
    pattern = re.compile(library_of(installation).module_pattern)
    of_family = [name for name in module_names if pattern.search(name.lower())]
    version = ".".join(str(number) for number in installation.version)
    exact = [name for name in of_family if version in name]
    return (exact or of_family or [""])[0]


def available(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Names of modules that look like MPI libraries and can be loaded now; empty without a module system.

    With hierarchical modules (Lmod), more may appear once a compiler is loaded.
    """
    command = _list_command(environ)
    if not command:
        return []
    answer = run_quietly(command, environ, timeout_s=60)
    return mpi_modules(answer.stdout + "\n" + answer.stderr) if answer else []


def mpi_modules(listing: str) -> list[str]:
    """The MPI modules in a terse listing: a name per line, headings end with a colon, defaults are marked."""
    names = []
    for line in listing.splitlines():
        name = re.sub(r"\((default|D|L|@)[^)]*\)$|<[^>]*>$", "", line.strip()).strip()
        if name and not name.endswith((":", "/")) and " " not in name and _LOOKS_LIKE_MPI.search(name):
            names.append(name)
    return sorted(set(names))


def _list_command(environ: Mapping[str, str]) -> list[str]:
    """The command that lists modules: of Lmod, of Environment Modules 4 and later, or of older versions."""
    if environ.get("LMOD_CMD"):
        return [environ["LMOD_CMD"], "bash", "--terse", "avail"]
    if environ.get("MODULES_CMD"):
        return [environ["MODULES_CMD"], "bash", "avail", "--terse"]
    old = Path(environ.get("MODULESHOME", "/nonexistent")) / "bin/modulecmd"
    return [str(old), "bash", "avail", "-t"] if old.is_file() else []
