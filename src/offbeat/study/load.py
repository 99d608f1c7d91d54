"""From a study file to a checked :class:`~offbeat.study.schema.Study`, and the complete study as stored.

A faulty file is refused as a whole before anything is launched. All its faults are reported at once, a line
for each: file and line, the key, what is wrong, and what would be right.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import tomlkit
from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.platform.machine import Platform
from offbeat.platform.machine import load as load_platform
from offbeat.reading import read_file
from offbeat.study.checks import check, platform_place
from offbeat.study.choices import VOCABULARY
from offbeat.study.schema import SIMULATING, Study
from offbeat.toml.faults import Faults, hint
from offbeat.toml.structure import Form, read
from offbeat.toml.text import Key, dotted, key_lines, line_of, parse, read_text

__all__ = ["LoadedStudy", "changed_keys", "check_algorithms", "load", "loads", "read_resolved"]

FORM = Form(Study, VOCABULARY)
"""What a study file may hold."""


HOSTFILE_KEY = "mpi.hostfile"
"""Stands for the host file among :meth:`LoadedStudy.file_digests`, wherever the file is."""


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
        """Label of a pattern file or a replay (its name without suffix) → where it is."""
        patterns = self.study.patterns
        return {Path(name).stem: self.base / name for name in [*patterns.files, *patterns.replays]}

    def platform(self) -> Platform:
        """The machine that is simulated; raises BadInput where its file can no longer be read."""
        return load_platform(platform_place(self.study.simulator.platform, self.base))

    def file_digests(self) -> dict[str, str]:
        """File name as the study writes it → SHA-256 of its content: pattern files, replays, and the host
        file (under its key in the study) or the platform file where one is used."""
        names = [*self.study.patterns.files, *self.study.patterns.replays]
        if self.study.engine in SIMULATING:
            platform = platform_place(self.study.simulator.platform, self.base)
            names += [str(platform)] if isinstance(platform, Path) else []
        paths = {name: self.base / name for name in names}
        if hostfile := self.hostfile():
            paths[HOSTFILE_KEY] = hostfile
        return {name: hashlib.sha256(read_file(path)).hexdigest() for name, path in paths.items()}

    def hostfile(self) -> Path | None:
        """Where the host file is; None where none is used."""
        is_used = self.study.mpi.hostfile and self.study.engine not in SIMULATING
        return self.base / self.study.mpi.hostfile if is_used else None


def simulator_options(
    *,
    engine: str | None = None,
    platform: str | None = None,
    family: str | None = None,
    executor: str | None = None,
) -> dict[Key, str]:
    """What a command line says instead of the study file, as :func:`load` takes it.

    A platform file is named relative to the current folder there.
    """
    if platform is not None and Path(platform).is_file():
        platform = str(Path(platform).absolute())
    said: dict[Key, str | None] = {
        ("engine",): engine,
        ("simulator", "platform"): platform,
        ("simulator", "family"): family,
        ("simulator", "executor"): executor,
    }
    return {key: word for key, word in said.items() if word is not None}


def load(
    path: Path | str, *, elsewhere: bool = False, instead: Mapping[Key, str] | None = None
) -> LoadedStudy:
    """Read and check a study file.

    ``elsewhere`` says that the study will run on another machine: then this one's memory is no bound.
    ``instead`` holds values that stand in place of the file's. Raises :class:`BadInput` with a line for every
    fault.
    """
    path = Path(path)
    mend = f"'offbeat init {path}' writes one to start from"
    return loads(read_text(path, "the study file", mend), path, elsewhere=elsewhere, instead=instead)


def loads(
    text: str, path: Path | str, *, elsewhere: bool = False, instead: Mapping[Key, str] | None = None
) -> LoadedStudy:
    """Check the text of a study file; ``path`` is for the sentences, its folder for relative file names."""
    path = Path(path)
    raw = parse(text, path, "the study is empty; 'offbeat init' writes one to start from")
    lines = key_lines(text)
    for key, value in (instead or {}).items():
        _put(raw, key, value)
    faults = Faults(path, lines)
    tree = read(raw, FORM, faults)
    check(tree, raw, path.parent, faults, elsewhere=elsewhere)
    faults.raise_all()
    return LoadedStudy(study=msgspec.convert(tree, Study), path=path, text=text, lines=lines)


def _put(raw: dict[str, Any], key: Key, value: str) -> None:
    """Put a value in its place; a table that is something else is left to the checks."""
    table: Any = raw
    for part in key[:-1]:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            return
    table[key[-1]] = value


NEEDED_BY_HIERARCHICAL = "it needs [processes] with nodes of 2 or more and ppn of 2 or more"


def check_algorithms(
    loaded: LoadedStudy,
    known: Mapping[str, Sequence[str]],
    unsuited: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Refuse collectives and algorithm names that the library, or the simulator, doesn't have.

    ``known`` lists the library's names for each collective of the study; ``unsuited`` those of hierarchical
    algorithms that cannot divide any of the study's placements. Raises :class:`BadInput` with the lines.
    """
    faults = Faults(loaded.path, loaded.lines)
    for index, section in enumerate(loaded.study.collective):
        for position, name in enumerate(section.names):
            if loaded.study.engine in SIMULATING and not known.get(name):
                family = loaded.study.simulator.family
                sentence = f"there is no algorithm of {family} for {name} to simulate; leave it out"
                faults.add(("collective", index, "names", position), sentence)
        for position, algorithm in enumerate(section.algorithms):
            for name in section.names:
                if algorithm != "all" and algorithm not in known.get(name, ()):
                    sentence = f"this library has no {algorithm!r} for {name}{_hint(algorithm, known, name)}"
                    faults.add(("collective", index, "algorithms", position), sentence)
                elif algorithm in (unsuited or {}).get(name, ()):
                    sentence = f"{algorithm!r} divides {name} by nodes; {NEEDED_BY_HIERARCHICAL}"
                    faults.add(("collective", index, "algorithms", position), sentence)
    faults.raise_all()


def _hint(algorithm: str, known: Mapping[str, Sequence[str]], collective: str) -> str:
    """What could be meant; parameters in parentheses can be wrong where the name is right."""
    names = known.get(collective, ())
    plain = algorithm.partition("(")[0].strip()
    if plain != algorithm and plain in names:
        return f"; {plain!r} is there, but not with these parameters. They are whole numbers: NAME(KEY=8)"
    return hint(algorithm, names)


NOT_MEASURED = ("name",)
"""Keys that alter neither the cases nor how they are measured."""


def resolved_toml(study: Study) -> str:
    """A study with every default written out, sizes in bytes and times in seconds.

    Loads back to an equal study. The key that its skew policy doesn't use is left out, as a study file must.
    """
    values = msgspec.to_builtins(study)
    values["skew"].pop("factors" if study.skew.policy == "fixed" else "times")
    document = tomlkit.document()
    document.add(tomlkit.comment("The whole study with every default; sizes in bytes, times in seconds."))
    for name, value in sorted(values.items(), key=lambda item: isinstance(item[1], dict | list)):
        document.add(name, tomlkit.item(value))
    return tomlkit.dumps(document)


def read_resolved(text: str) -> Study:
    """The study of a text that :func:`resolved_toml` wrote; its files are not looked for.

    Raises :class:`BadInput` when it is something else.
    """
    try:
        return msgspec.convert(tomllib.loads(text), Study)
    except (ValueError, RecursionError) as error:  # of TOML, and of the study's form
        raise BadInput(
            f"study.toml beside the results is no study as offbeat keeps it ({error}); put it back from"
            " a copy, or measure into another directory with --output"
        ) from None


def changed_keys(old: Study, new: Study) -> list[str]:
    """The dotted keys in which two studies differ, without those that change nothing measured (the name)."""
    before, after = msgspec.to_builtins(old), msgspec.to_builtins(new)
    for name in NOT_MEASURED:
        before.pop(name)
        after.pop(name)
    return list(_differences(before, after, ""))


def _differences(old: Any, new: Any, key: str) -> list[str]:
    """Dotted keys below ``key`` with different values; lists differ as a whole, unless they hold tables."""
    if isinstance(old, dict) and isinstance(new, dict):
        names = list(dict.fromkeys([*old, *new]))
        inner = [(old.get(name), new.get(name), f"{key}.{name}".lstrip(".")) for name in names]
    elif _are_tables(old) and _are_tables(new) and len(old) == len(new):
        inner = [
            (one, other, f"{key}[{index}]") for index, (one, other) in enumerate(zip(old, new, strict=True))
        ]
    else:
        return [] if old == new else [key]
    return [found for one, other, place in inner for found in _differences(one, other, place)]


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)
