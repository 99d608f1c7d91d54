"""Environment modules: which one an installation comes from, and which could be loaded."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from offbeat.mpi.installation import Installation

_OF_FAMILY = {
    "openmpi": re.compile(r"openmpi|(^|[/_-])ompi|open-mpi|hpcx"),
    "mpich": re.compile(r"mpich"),
    "intelmpi": re.compile(r"(^|[/_-])impi|intel-?mpi|oneapi|(^|/)mpi/\d"),
}
_LOOKS_LIKE_MPI = re.compile(
    r"(^|[/_-])(openmpi|ompi|open-mpi|mpich|impi|intelmpi|hpcx)|mpi/|mpi$", re.IGNORECASE
)


def that_loaded(installation: Installation, environ: Mapping[str, str] = os.environ) -> str:
    """The loaded module that put an installation on PATH, judged by its name; empty if there is none.

    System folders are on PATH without any module.
    """
    if installation.prefix in (Path("/"), Path("/usr"), Path("/usr/local")):
        return ""
    loaded = [name for name in environ.get("LOADEDMODULES", "").split(":") if name]
    of_family = [name for name in loaded if _OF_FAMILY[installation.family].search(name.lower())]
    version = ".".join(str(number) for number in installation.version)
    exact = [name for name in of_family if version in name]
    return (exact or of_family or [""])[0]


def available(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Names of modules that look like MPI libraries and can be loaded now; empty where there are no modules.

    With modules in hierarchies (Lmod), more may appear once a compiler is loaded.
    """
    command = _list_command(environ)
    if not command:
        return []
    try:
        answer = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            env=dict(environ),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return mpi_modules(answer.stdout + "\n" + answer.stderr)


def mpi_modules(listing: str) -> list[str]:
    """The MPI modules in a terse listing: a name a line, headings end with a colon, defaults are marked."""
    names = []
    for line in listing.splitlines():
        name = re.sub(r"\((default|D|L|@)[^)]*\)$|<[^>]*>$", "", line.strip()).strip()
        if name and not name.endswith((":", "/")) and " " not in name and _LOOKS_LIKE_MPI.search(name):
            names.append(name)
    return sorted(set(names))


def _list_command(environ: Mapping[str, str]) -> list[str]:
    """How this site's modules are listed: by Lmod, by Environment Modules 4 and later, or by older ones."""
    if environ.get("LMOD_CMD"):
        return [environ["LMOD_CMD"], "bash", "--terse", "avail"]
    if environ.get("MODULES_CMD"):
        return [environ["MODULES_CMD"], "bash", "avail", "--terse"]
    old = Path(environ.get("MODULESHOME", "/nonexistent")) / "bin/modulecmd"
    return [str(old), "bash", "avail", "-t"] if old.is_file() else []
