"""Identifying an MPI library by the library file, its header, its launcher and its compiler wrapper."""

from __future__ import annotations

import os
import re
import shlex
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.reading import decode_json, read_part, read_text
from offbeat.libraries.families.libraries import LIBRARIES, recognise, title_of, titles

_PRINT_VERSION = """
import ctypes, json, sys
library = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
text, length = ctypes.create_string_buffer(65536), ctypes.c_int()
library.MPI_Get_library_version(text, ctypes.byref(length))
print("@offbeat", json.dumps(text.value.decode(errors="replace")))
"""


class UnknownLibrary(Exception):
    """A file is not an MPI library that offbeat supports; the text says why."""


class Version(Struct, frozen=True):
    """A family with a version: numbers, short text (``5.0.3rc1``), and the library's full version text."""

    family: str
    numbers: tuple[int, ...]
    short: str
    full_text: str = ""

    @property
    def text(self) -> str:
        """The version for people: ``Open MPI 5.0.11``."""
        return f"{title_of(self.family)} {self.short}"

    def agrees_with(self, other_version: Version) -> bool:
        """Whether both can belong to one installation: one family, and equal numbers where both have some."""
        return self.family == other_version.family and all(
            a == b for a, b in zip(self.numbers, other_version.numbers, strict=False)
        )


def ask_library(library: Path, environ: Mapping[str, str] = os.environ, timeout_s: float = 30.0) -> Version:
    """Load a libmpi in a separate process and read its version, which MPI allows before MPI_Init.

    The process is separate because two MPI libraries in one process collide, and a broken library may abort.
    Raises :class:`UnknownLibrary`.
    """
    command = [sys.executable, "-I", "-S", "-c", _PRINT_VERSION, str(library)]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, env=dict(environ), check=False
        )
    except subprocess.TimeoutExpired:
        raise UnknownLibrary(f"{library} did not report its version within {timeout_s:.0f} s") from None
    for line in answer.stdout.splitlines():
        if line.startswith("@offbeat "):
            return read_library_version(
                decode_json(line.removeprefix("@offbeat ").encode(), str), str(library)
            )
    errors = answer.stderr.strip().splitlines()
    raise UnknownLibrary(
        f"{library} cannot be loaded: {errors[-1] if errors else f'status {answer.returncode}'}"
    )


def read_library_version(text: str, source: str) -> Version:
    """Parse the text of MPI_Get_library_version; raises :class:`UnknownLibrary` for other libraries."""
    recognition = recognise(text)
    if recognition is not None:
        library, match = recognition
        return _version(library.family, match["short"], text)
    first_line = text.strip().splitlines()[0] if text.strip() else "nothing"
    raise UnknownLibrary(f"{source} calls itself '{first_line[:80]}'; offbeat supports {', '.join(titles())}")


def read_header_version(header: Path) -> Version | None:
    """The library that an ``mpi.h`` belongs to; ``None`` for an unreadable file or an unknown library."""
    try:
        text = read_text(header, errors="replace")
    except (OSError, BadInput):
        return None
    macros = dict(re.findall(r'^#\s*define\s+(\w+)\s+"?([^"\s]+)"?', text, flags=re.MULTILINE))
    for family, library in LIBRARIES.items():
        version = library.header_version(macros)
        if version is not None:
            return _version(family, version)
    return None


def ask_launcher(launcher: Path, environ: Mapping[str, str] = os.environ) -> Version | None:
    """The library of an ``mpirun``, from its ``--version``; ``None`` if the output does not say."""
    output = _output([str(launcher), "--version"], launcher, environ)
    for family, library in LIBRARIES.items():
        match = re.search(library.launcher_pattern, output)
        if match:
            return _version(family, match["short"])
    return None


def ask_wrapper(
    wrapper: Path, environ: Mapping[str, str] = os.environ
) -> tuple[list[Path], list[Path]] | None:
    """The include and library folders that an ``mpicc`` adds; ``None`` if it does not work.

    The wrappers in Intel's wheel still have a placeholder for the installation folder: the folders that they
    name do not exist.
    """
    try:
        command = shlex.split(_output([str(wrapper), "-show"], wrapper, environ))
    except ValueError:
        return None
    includes = [Path(argument[2:]) for argument in command if argument.startswith("-I")]
    libraries = [Path(argument[2:]) for argument in command if argument.startswith("-L")]
    if not command or (includes and not any(folder.is_dir() for folder in includes)):
        return None
    return includes, libraries


def has_symbols(library: Path) -> bool:
    """Whether a shared library has its full symbol table (``.symtab``), so that its functions have names."""
    try:
        header = read_part(library, 0, 64)
        if header[:5] != b"\x7fELF\x02":
            return False
        (table,) = struct.unpack_from("<Q", header, 0x28)
        size, count = struct.unpack_from("<HH", header, 0x3A)
        sections = read_part(library, table, size * count)
    except (OSError, OverflowError, BadInput, struct.error):
        return False
    symbol_table = 2
    return any(
        struct.unpack_from("<I", sections, i * size + 4)[0] == symbol_table
        for i in range(len(sections) // size)
    )


def _version(family: str, short: str, full_text: str = "") -> Version:
    short = short.replace(" Update ", ".")
    numbers = re.findall(r"\d+", re.split(r"[a-z]", short)[0])
    return Version(family, tuple(int(number) for number in numbers), short, full_text)


def _output(command: list[str], program: Path, environ: Mapping[str, str]) -> str:
    """A program's output; its folder comes first on PATH, where Intel's mpirun looks for mpiexec.hydra."""
    path = f"{program.parent}{os.pathsep}{environ.get('PATH', os.defpath)}"
    answer = run_quietly(command, {**environ, "PATH": path}, timeout_s=30)
    return answer.stdout if answer else ""


def run_quietly(
    command: list[str], environ: Mapping[str, str], timeout_s: float
) -> subprocess.CompletedProcess[str] | None:
    """The outputs and the status of a program; None if it cannot be started or does not end in time."""
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
