"""Made-up MPI installations: as values for launch commands, and as files."""

from __future__ import annotations

import subprocess
from pathlib import Path

from offbeat.libraries.installations.installation import Installation

HEADERS = {
    "openmpi": "#define OMPI_MAJOR_VERSION {0}\n#define OMPI_MINOR_VERSION {1}\n"
    "#define OMPI_RELEASE_VERSION {2}\n",
    "mpich": '#define MPICH_VERSION "{0}.{1}.{2}"\n',
    "intelmpi": '#define MPICH_VERSION "3.4a2"\n#define I_MPI_VERSION "{0}.{1}.{2}"\n',
}
LIBRARIES = {
    "openmpi": "Open MPI v{0}.{1}.{2}, package: made up",
    "mpich": "MPICH Version:\\t{0}.{1}.{2}\\nMPICH Device:\\tch4:ucx",
    "intelmpi": "Intel(R) MPI Library {0}.{1}.{2} for Linux* OS",
}
LAUNCHERS = {
    "openmpi": "mpirun (Open MPI) {0}.{1}.{2}",
    "mpich": "HYDRA build details:\n    Version:   {0}.{1}.{2}",
    "intelmpi": "Intel(R) MPI Library for Linux* OS, Version {0}.{1}.{2} Build 1",
}


def described(family: str, *version: int, prefix: str = "/opt/mpi", mpirun: str = "mpirun") -> Installation:
    """An installation without any files."""
    short = ".".join(str(number) for number in version)
    return Installation(
        name=f"{family}-{short}",
        family=family,
        version=version,
        version_text=f"{family} {short}",
        prefix=Path(prefix),
        source="PATH",
        library=Path(prefix) / "lib/libmpi.so.40",
        include=Path(prefix) / "include",
        mpicc=None,
        mpirun=Path(prefix) / "bin" / mpirun,
        identity="0123456789abcdef",
    )


def make(
    prefix: Path,
    family: str,
    *version: int,
    says: str | None = None,
    header_version: tuple[int, ...] | None = None,
    launcher_says: str | None = None,
    launcher: str = "mpirun",
    library: str = "libmpi.so.40",
) -> Path:
    """Lay out a prefix with a library that loads, a header and a launcher with the given versions."""
    for folder in ("bin", "lib", "include"):
        (prefix / folder).mkdir(parents=True, exist_ok=True)
    _compile(prefix / "lib" / library, LIBRARIES[family].format(*version) if says is None else says)
    header = HEADERS[family].format(*(header_version or version))
    (prefix / "include/mpi.h").write_text(header, encoding="utf-8")
    words = LAUNCHERS[family].format(*version) if launcher_says is None else launcher_says
    script(prefix / "bin" / launcher, f"cat <<'END'\n{words}\nEND\n")
    return prefix


def script(path: Path, body: str) -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}", encoding="utf-8")
    path.chmod(0o755)
    return path


def _compile(library: Path, says: str) -> None:
    source = library.with_suffix(".c")
    source.write_text(
        "#include <string.h>\nint MPI_Get_library_version(char *text, int *length) {\n"
        f'    strcpy(text, "{says}");\n    *length = (int)strlen(text);\n    return 0;\n}}\n',
        encoding="utf-8",
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
