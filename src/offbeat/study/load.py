"""From a study file to a checked :class:`~offbeat.study.schema.Study`.

A faulty file is refused whole, before anything is launched, and every fault is told at once, a line each:
file and line, the key, what is wrong, and what would be right.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.study.checks import check
from offbeat.study.choices import hint
from offbeat.study.faults import Faults
from offbeat.study.positions import Key, dotted, key_lines, line_of
from offbeat.study.resolved import changed_keys, read_resolved, resolved_toml
from offbeat.study.schema import Study
from offbeat.study.structure import read

__all__ = ["LoadedStudy", "changed_keys", "check_algorithms", "load", "loads", "read_resolved"]

_AT_LINE = re.compile(r"^(.*) \(at (?:line (\d+), column \d+|end of document)\)$", re.DOTALL)

_MENDS = {"Cannot overwrite a value": "this key stands there already; keep one of the two"}
"""What the TOML reader says, where that says nothing to people."""


class LoadedStudy(Struct, frozen=True, kw_only=True):
    """A checked study and where it came from. ``lines`` maps each place in ``text`` to its line, from 1."""

    study: Study
    path: Path
    text: str
    lines: dict[Key, int]

    @property
    def base(self) -> Path:
        """The folder that the study's file names are relative to."""
        return self.path.parent

    def line(self, key: Key) -> int:
        """The line of a place such as ``("collective", 0, "names")``, or of the nearest one around it."""
        return line_of(self.lines, key)

    def where(self, key: Key) -> str:
        """How sentences name a place: ``study.toml:12: mpi.prefix``."""
        return f"{self.path}:{self.line(key)}: {dotted(key)}:"

    def resolved_toml(self) -> str:
        """The complete study with every default; loads back to an equal :class:`Study`."""
        return resolved_toml(self.study)

    def pattern_paths(self) -> dict[str, Path]:
        """Label of a pattern file (its name without suffix) → where it is."""
        return {Path(name).stem: self.base / name for name in self.study.patterns.files}

    def file_digests(self) -> dict[str, str]:
        """File name as the study writes it → SHA-256 of the pattern file's or host file's content."""
        hostfile = [self.study.mpi.hostfile] if self.study.mpi.hostfile else []
        names = [*self.study.patterns.files, *hostfile]
        return {name: hashlib.sha256((self.base / name).read_bytes()).hexdigest() for name in names}


def load(path: Path | str, *, elsewhere: bool = False) -> LoadedStudy:
    """Read and check a study file.

    ``elsewhere`` says that the study will run on another machine: then this one's memory is no bound. Raises
    :class:`BadInput` with a line for every fault.
    """
    path = Path(path)
    return loads(_text(path), path, elsewhere=elsewhere)


def loads(text: str, path: Path | str, *, elsewhere: bool = False) -> LoadedStudy:
    """Check the text of a study file; ``path`` is for the sentences, its folder for relative file names."""
    path = Path(path)
    raw = _parsed(text, path)
    lines = key_lines(text)
    faults = Faults(path, lines)
    tree = read(raw, faults)
    check(tree, raw, path.parent, faults, elsewhere=elsewhere)
    faults.raise_all()
    return LoadedStudy(study=msgspec.convert(tree, Study), path=path, text=text, lines=lines)


def check_algorithms(loaded: LoadedStudy, known: Mapping[str, Sequence[str]]) -> None:
    """Refuse algorithm names that the library doesn't have.

    ``known`` lists the library's names for each collective of the study. Raises :class:`BadInput` with the
    lines.
    """
    faults = Faults(loaded.path, loaded.lines)
    for index, section in enumerate(loaded.study.collective):
        for position, algorithm in enumerate(section.algorithms):
            for name in section.names:
                if algorithm != "all" and algorithm not in known.get(name, ()):
                    sentence = f"this library has no {algorithm!r} for {name}{_hint(algorithm, known, name)}"
                    faults.add(("collective", index, "algorithms", position), sentence)
    faults.raise_all()


def _hint(algorithm: str, known: Mapping[str, Sequence[str]], collective: str) -> str:
    """What could be meant; parameters in parentheses can be wrong where the name is right."""
    names = known.get(collective, ())
    plain = algorithm.partition("(")[0].strip()
    if plain != algorithm and plain in names:
        return f"; {plain!r} is there, but not with these parameters. They are whole numbers: NAME(KEY=8)"
    return hint(algorithm, names)


def _text(path: Path) -> str:
    """The file's text; a byte order mark is taken off."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        mend = f"'offbeat init {path}' writes one to start from"
        raise BadInput(f"{path}: there is no such file; {mend}") from None
    except IsADirectoryError:
        raise BadInput(f"{path}: this is a directory; give the study file in it") from None
    except OSError as error:
        raise BadInput(f"{path}: the file cannot be read: {error.strerror}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        sentence = f"the byte 0x{data[error.start]:02x} is not UTF-8 text; save the file as UTF-8"
        raise BadInput(f"{path}:{line}: {sentence}") from None


def _parsed(text: str, path: Path) -> dict[str, Any]:
    """The text as TOML; BadInput with the line where it isn't."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _AT_LINE.match(str(error))
        sentence, line = (match[1], match[2]) if match else (str(error), None)
        line = line or str(len(text.splitlines()) or 1)
        raise BadInput(f"{path}:{line}: this is not TOML: {_MENDS.get(sentence, sentence)}") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: this cannot be read as TOML: {error}") from None
    if not raw:
        raise BadInput(f"{path}:1: the study is empty; 'offbeat init' writes one to start from")
    return raw
