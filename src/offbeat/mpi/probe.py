"""Asking an MPI library, its header, its launcher and its compiler wrapper what they are."""

from __future__ import annotations

import json
import mmap
import os
import re
import shlex
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

FAMILIES = {"openmpi": "Open MPI", "mpich": "MPICH", "intelmpi": "Intel MPI"}
"""The families that offbeat knows, and how people write them."""

_ASK_LIBRARY = """
import ctypes, json, sys
library = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
text, length = ctypes.create_string_buffer(65536), ctypes.c_int()
library.MPI_Get_library_version(text, ctypes.byref(length))
print("@offbeat", json.dumps(text.value.decode(errors="replace")))
"""


class Stranger(Exception):
    """What was asked is not an MPI library that offbeat knows; the text says why."""


class Version(Struct, frozen=True):
    """A family with a version: numbers, its own short text (``5.0.3rc1``), and all that the library said."""

    family: str
    numbers: tuple[int, ...]
    short: str
    said: str = ""

    @property
    def text(self) -> str:
        """For people: ``Open MPI 5.0.11``."""
        return f"{FAMILIES[self.family]} {self.short}"

    def agrees_with(self, other: Version) -> bool:
        """Whether both can be of one installation: one family, and equal numbers where both tell."""
        return self.family == other.family and all(
            mine == theirs for mine, theirs in zip(self.numbers, other.numbers, strict=False)
        )


def ask_library(library: Path, environ: Mapping[str, str] = os.environ, timeout_s: float = 30.0) -> Version:
    """Load a libmpi in a process of its own and let it say its version, as MPI allows before MPI_Init.

    A process of its own, because two MPI libraries in one collide, and a broken one may abort. Raises
    :class:`Stranger`.
    """
    words = [sys.executable, "-I", "-S", "-c", _ASK_LIBRARY, str(library)]
    try:
        answer = subprocess.run(
            words, capture_output=True, text=True, timeout=timeout_s, env=dict(environ), check=False
        )
    except subprocess.TimeoutExpired:
        raise Stranger(f"{library} did not say its version within {timeout_s:.0f} s") from None
    for line in answer.stdout.splitlines():
        if line.startswith("@offbeat "):
            return read_library_version(json.loads(line.removeprefix("@offbeat ")), str(library))
    complaint = answer.stderr.strip().splitlines()
    raise Stranger(
        f"{library} cannot be loaded: {complaint[-1] if complaint else f'status {answer.returncode}'}"
    )


def read_library_version(said: str, where: str) -> Version:
    """Understand the text of MPI_Get_library_version; raises :class:`Stranger` for other libraries."""
    patterns = {
        "openmpi": r"^Open MPI v?(?P<short>\d[\w.]*)",
        "intelmpi": r"^Intel\(R\) MPI Library (?P<short>\d[\w.]*(?: Update \d+)?)",
        "mpich": r"^MPICH Version:\s*(?P<short>\d[\w.]*)",
    }
    for family, pattern in patterns.items():
        match = re.search(pattern, said)
        if match:
            return _version(family, match["short"], said)
    first = said.strip().splitlines()[0] if said.strip() else "nothing"
    raise Stranger(f"{where} calls itself '{first[:80]}'; offbeat knows {', '.join(FAMILIES.values())}")


def read_header_version(header: Path) -> Version | None:
    """The library that an ``mpi.h`` belongs to; ``None`` for an unreadable file or another library's."""
    try:
        text = header.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    defined = dict(re.findall(r'^#\s*define\s+(\w+)\s+"?([^"\s]+)"?', text, flags=re.MULTILINE))
    if "I_MPI_VERSION" in defined:
        return _version("intelmpi", defined["I_MPI_VERSION"])
    if "OMPI_MAJOR_VERSION" in defined:
        parts = (defined.get(f"OMPI_{part}_VERSION", "0") for part in ("MAJOR", "MINOR", "RELEASE"))
        return _version("openmpi", ".".join(parts))
    return _version("mpich", defined["MPICH_VERSION"]) if "MPICH_VERSION" in defined else None


def ask_launcher(launcher: Path, environ: Mapping[str, str] = os.environ) -> Version | None:
    """The library that an ``mpirun`` belongs to, from its ``--version``; ``None`` if that does not tell."""
    said = _output([str(launcher), "--version"], launcher, environ)
    patterns = {
        "intelmpi": r"Intel\(R\) MPI Library.*?Version (?P<short>\d[\w.]*(?: Update \d+)?)",
        "openmpi": r"\((?:Open MPI|OpenRTE)\) v?(?P<short>\d[\w.]*)",
        "mpich": r"HYDRA build details:\s+Version:\s*(?P<short>\d[\w.]*)",
    }
    for family, pattern in patterns.items():
        match = re.search(pattern, said)
        if match:
            return _version(family, match["short"])
    return None


def ask_wrapper(
    wrapper: Path, environ: Mapping[str, str] = os.environ
) -> tuple[list[Path], list[Path]] | None:
    """The include and library folders that an ``mpicc`` adds; ``None`` if it does not work.

    Intel's wheel ships wrappers whose installation folder was never filled in: they name folders that do not
    exist.
    """
    try:
        words = shlex.split(_output([str(wrapper), "-show"], wrapper, environ))
    except ValueError:
        return None
    includes = [Path(word[2:]) for word in words if word.startswith("-I")]
    libraries = [Path(word[2:]) for word in words if word.startswith("-L")]
    if not words or (includes and not any(folder.is_dir() for folder in includes)):
        return None
    return includes, libraries


def has_symbols(library: Path) -> bool:
    """Whether a shared library has its full symbol table (``.symtab``), so that its functions have names."""
    try:
        with library.open("rb") as file:
            header = file.read(64)
            if header[:5] != b"\x7fELF\x02":
                return False
            (table,) = struct.unpack_from("<Q", header, 0x28)
            size, count = struct.unpack_from("<HH", header, 0x3A)
            file.seek(table)
            sections = file.read(size * count)
    except (OSError, struct.error):
        return False
    symbol_table = 2
    return any(
        struct.unpack_from("<I", sections, i * size + 4)[0] == symbol_table
        for i in range(len(sections) // size)
    )


def names_its_functions(library: Path) -> bool:
    """Whether a stripped MPICH still holds the names of its algorithm functions, for its error messages."""
    try:
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return re.search(rb"\0MPIR_[A-Z][a-z_]+_intra_[a-z_]+\0", data) is not None
    except (OSError, ValueError):
        return False


def _version(family: str, short: str, said: str = "") -> Version:
    numbers = re.findall(r"\d+", re.split(r"[a-z]", short.replace(" Update ", "."))[0])
    return Version(family, tuple(int(number) for number in numbers), short.replace(" Update ", "."), said)


def _output(words: list[str], program: Path, environ: Mapping[str, str]) -> str:
    """What a program prints; its folder is first on PATH, as Intel's mpirun searches for mpiexec.hydra."""
    path = f"{program.parent}{os.pathsep}{environ.get('PATH', os.defpath)}"
    try:
        answer = subprocess.run(
            words,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=30,
            env={**environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout
