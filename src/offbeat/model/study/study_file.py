"""From a study file, or from values in Python, to a checked :class:`~offbeat.model.study.schema.Study`, and
the complete study as stored.

A faulty study is refused as a whole before anything is launched. All its faults are reported at once, a line
for each: file and line (of a file), the key, what is wrong, and what would be right.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import tomlkit
from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.reading import read_file
from offbeat.base.toml.faults import Faults, KeyFault, Tree, Vocabulary, Words, hint, refuse
from offbeat.base.toml.lines import Key, key_lines, line_of, parse, read_text, where
from offbeat.base.toml.structure import Form, read, stated_keys, structure_of
from offbeat.base.toml.write import values_text
from offbeat.model.pattern.shapes import SHAPES
from offbeat.model.platform.machine import Platform
from offbeat.model.platform.machine import load as load_platform
from offbeat.model.study.algorithm import split_file_and_function
from offbeat.model.study.case import PARTITIONED_SEND
from offbeat.model.study.checks import check_values, platform_source
from offbeat.model.study.collectives import COLLECTIVES
from offbeat.model.study.schema import EXTENTS, OPS, SIMULATING, Study
from offbeat.model.study.skew_policy import CHOICES, EXAMPLE_VALUES

VOCABULARY: Vocabulary = {
    "collective": Words("a collective", tuple(COLLECTIVES)),
    "shape": Words("a shape", tuple(SHAPES)),
    "op": Words("an operation", OPS),
    "datatype": Words("a datatype", tuple(EXTENTS)),
    "skew policy": Words("a skew policy", tuple(CHOICES)),
}
"""The words of the schema's keys, by the nouns with which the schema marks them."""

FORM = Form(Study, VOCABULARY)
"""The structure of study files."""


HOSTFILE_KEY = "mpi.hostfile"
"""Key of the host file in :meth:`LoadedStudy.file_digests`, independent of its path."""


class LoadedStudy(Struct, frozen=True, kw_only=True):
    """A checked study, and its file or the folder of a file that it could have.

    ``lines`` maps each key of the file's ``text`` to its line, from 1; it is empty for a study from Python.
    """

    study: Study
    path: Path
    text: str
    lines: dict[Key, int]

    @property
    def base(self) -> Path:
        """The folder that the study's file names are relative to."""
        return self.path.parent

    def line(self, key: Key) -> int:
        """The line of a key such as ``("collective", 0, "names")``, or of the nearest enclosing one."""
        return line_of(self.lines, key)

    def where(self, key: Key) -> str:
        """The prefix of messages about a key: ``study.toml:12: mpi.prefix:``, or without a file the key."""
        return where(self.path, self.lines, key).rstrip()

    def pattern_paths(self) -> dict[str, Path]:
        """Label of a pattern file or a replay (its name without suffix) → path."""
        return {Path(name).stem: self.base / name for name in self._pattern_files()}

    def _pattern_files(self) -> list[str]:
        """The pattern files and replays, of all collectives and of single ones."""
        names = [*self.study.patterns.files, *self.study.patterns.replays]
        for section in self.study.collective:
            names += [*section.files, *section.replays]
        return list(dict.fromkeys(names))

    def _algorithms(self) -> list[str]:
        return [name for section in self.study.collective for name in section.algorithms]

    def platform(self) -> Platform:
        """The simulated machine; raises BadInput if its file can no longer be read."""
        return load_platform(platform_source(self.study.simulator.platform, self.base))

    def file_digests(self) -> dict[str, str]:
        """File name as the study writes it → SHA-256 of its content: pattern files, replays, algorithms that
        the user wrote, and the host file (under its key) or the platform file where one is used."""
        names = self._pattern_files()
        if self.study.engine in SIMULATING:
            platform = platform_source(self.study.simulator.platform, self.base)
            names += [str(platform)] if isinstance(platform, Path) else []
            names += [str(place[0]) for place in map(split_file_and_function, self._algorithms()) if place]
        paths = {name: self.base / name for name in names}
        if hostfile := self.hostfile():
            paths[HOSTFILE_KEY] = hostfile
        return {name: hashlib.sha256(read_file(path)).hexdigest() for name, path in paths.items()}

    def hostfile(self) -> Path | None:
        """The path of the host file; None if none is used."""
        is_used = self.study.mpi.hostfile and self.study.engine not in SIMULATING
        return self.base / self.study.mpi.hostfile if is_used else None


def simulator_options(
    *,
    engine: str | None = None,
    platform: str | None = None,
    family: str | None = None,
    executor: str | None = None,
) -> dict[Key, str]:
    """The ``overrides`` of :func:`load` for options; their files are relative to the current folder."""
    if platform is not None and Path(platform).is_file():
        platform = str(Path(platform).absolute())
    simulator = {"platform": platform, "family": family, "executor": executor}
    options: dict[Key, str | None] = {("engine",): engine}
    options |= {("simulator", name): option for name, option in simulator.items()}
    return {key: option for key, option in options.items() if option is not None}


def load(
    path: Path | str, *, other_machine: bool = False, overrides: Mapping[Key, str] | None = None
) -> LoadedStudy:
    """Read and check a study file.

    ``other_machine`` says that the study will run on another machine: then this one's memory is no limit.
    ``overrides`` replace values of the file. Raises :class:`BadInput` with a line for every fault.
    """
    path = Path(path)
    remedy = f"'offbeat init {path}' writes one to start from"
    return loads(
        read_text(path, "the study file", remedy), path, other_machine=other_machine, overrides=overrides
    )


def loads(
    text: str, path: Path | str, *, other_machine: bool = False, overrides: Mapping[Key, str] | None = None
) -> LoadedStudy:
    """Check the text of a study file; ``path`` is for messages, its folder for relative file names."""
    path = Path(path)
    raw = parse(text, path, "the study is empty; 'offbeat init' writes one to start from")
    lines = key_lines(text)
    for key, value in (overrides or {}).items():
        _set_value(raw, key, value)
    study, faults = _study_of(raw, path.parent, other_machine=other_machine)
    refuse(faults, path, lines)
    return LoadedStudy(study=study, path=path, text=text, lines=lines)


def from_values(
    values: Mapping[str, Any], path: Path | str, *, overrides: Mapping[Key, str] | None = None
) -> LoadedStudy:
    """Check the keys of a study file as values from Python; quantities may be text with a unit.

    File names are relative to the folder of ``path``. Raises :class:`BadInput` with the key of every fault.
    """
    path = Path(path)
    raw = _plain_value(values)
    for key, value in (overrides or {}).items():
        _set_value(raw, key, value)
    study, faults = _study_of(raw, path.parent)
    refuse(faults)
    return LoadedStudy(study=study, path=path, text=values_text(_plain_value(values)), lines={})


def _plain_value(value: Any) -> Any:
    """Returns values of numpy, paths, tuples and mappings as numbers, texts, lists and dicts."""
    if isinstance(value, Mapping):
        return {name: _plain_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_value(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    kind = type(value).__name__
    raise BadInput(f"{value!r} of type {kind} is no value of a study; write numbers, texts, lists and dicts")


def check(study: Study, folder: Path, *, other_machine: bool = False) -> list[KeyFault]:
    """Returns the faults of a study, whose file names are relative to ``folder``."""
    return _study_of(stated_keys(study), folder, other_machine=other_machine)[1]


def from_structure(study: Study, path: Path | str) -> LoadedStudy:
    """Returns a study from Python, if it has no fault; raises :class:`BadInput` with the key of every fault.

    ``path`` is that of a file that it could have: the study's file names are relative to its folder.
    """
    path = Path(path)
    refuse(check(study, path.parent))
    return LoadedStudy(study=study, path=path, text=values_text(stated_keys(study)), lines={})


def _study_of(raw: Tree, folder: Path, *, other_machine: bool = False) -> tuple[Study, list[KeyFault]]:
    def check_all(tree: Tree, raw: Tree, faults: Faults) -> None:
        check_values(tree, raw, folder, faults, other_machine=other_machine)

    return structure_of(raw, FORM, check_all)


def _set_value(raw: dict[str, Any], key: Key, value: str) -> None:
    """Set a value; if a table on the way is something else, the checks report it."""
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
    algorithms that fit none of the study's placements. Raises :class:`BadInput` with the lines.
    """
    faults = Faults()
    for index, section in enumerate(loaded.study.collective):
        for position, name in enumerate(section.names):
            if loaded.study.engine in SIMULATING and not known.get(name):
                family = loaded.study.simulator.family
                sentence = f"there is no algorithm of {family} for {name} to simulate; leave it out"
                faults.add(("collective", index, "names", position), sentence)
    for key, names, algorithms in requested_names(loaded.study):
        for position, algorithm in enumerate(algorithms):
            for name in names:
                if algorithm != "all" and algorithm not in known.get(name, ()):
                    sentence = f"this library has no {algorithm!r} for {name}{_hint(algorithm, known, name)}"
                    faults.add((*key, position), sentence)
                elif algorithm in (unsuited or {}).get(name, ()):
                    sentence = f"{algorithm!r} divides {name} by nodes; {NEEDED_BY_HIERARCHICAL}"
                    faults.add((*key, position), sentence)
    refuse(faults.entries, loaded.path, loaded.lines)


def requested_names(study: Study) -> Iterator[tuple[Key, list[str], list[str]]]:
    """For each section that is measured: the key of its algorithms, its operations, and its algorithms."""
    for index, section in enumerate(study.collective):
        yield ("collective", index, "algorithms"), section.names, section.algorithms
    for index, partitioned in enumerate(study.partitioned):
        yield ("partitioned", index, "approaches"), [PARTITIONED_SEND], partitioned.approaches


def _hint(algorithm: str, known: Mapping[str, Sequence[str]], collective: str) -> str:
    """The nearest names; a known name with unknown parameters has its own hint."""
    names = known.get(collective, ())
    base_name = algorithm.partition("(")[0].strip()
    if base_name != algorithm and base_name in names:
        return f"; {base_name!r} is there, but not with these parameters. They are whole numbers: NAME(KEY=8)"
    return hint(algorithm, names)


NOT_MEASURED = ("name",)
"""Keys that affect neither the cases nor their measurement."""


def resolved_toml(study: Study) -> str:
    """A study with every default written out, sizes in bytes and times in seconds.

    Loads as an equal study. The key that its skew policy does not use is left out, as in every study file.
    """
    values = msgspec.to_builtins(study)
    for key in EXAMPLE_VALUES:
        if key != CHOICES[study.skew.policy].values_key:
            values["skew"].pop(key)
    for name in ("collective", "partitioned"):
        if not values[name]:
            values.pop(name)
    document = tomlkit.document()
    document.add(tomlkit.comment("The whole study with every default; sizes in bytes, times in seconds."))
    for name, value in sorted(values.items(), key=lambda item: isinstance(item[1], dict | list)):
        document.add(name, tomlkit.item(value))
    return tomlkit.dumps(document)


def read_resolved(text: str) -> Study:
    """The study of a text of :func:`resolved_toml`; raises :class:`BadInput` for any other text."""
    try:
        raw = tomllib.loads(text)
        faults = Faults()
        read(raw, FORM, faults)
        refuse(faults.entries)
        study = msgspec.convert(raw, Study)
        if not (study.collective or study.partitioned):
            raise ValueError("it measures nothing")
        return study
    except (BadInput, ValueError, RecursionError) as error:  # of TOML, and of the study's form
        raise BadInput(
            f"study.toml beside the results is not a study as offbeat stores it ({error}); put it back from"
            " a copy, or measure into another directory with --output"
        ) from None


def changed_keys(old: Study, new: Study) -> list[str]:
    """The dotted keys in which two studies differ, without NOT_MEASURED."""
    old_values, new_values = msgspec.to_builtins(old), msgspec.to_builtins(new)
    for name in NOT_MEASURED:
        old_values.pop(name)
        new_values.pop(name)
    return list(_differences(old_values, new_values, ""))


def _differences(old: Any, new: Any, key: str) -> list[str]:
    """Dotted keys below ``key`` with different values; lists are compared whole, unless they hold tables."""
    if isinstance(old, dict) and isinstance(new, dict):
        names = list(dict.fromkeys([*old, *new]))
        inner = [(old.get(name), new.get(name), f"{key}.{name}".lstrip(".")) for name in names]
    elif _are_tables(old) and _are_tables(new) and len(old) == len(new):
        inner = [
            (one, other, f"{key}[{index}]") for index, (one, other) in enumerate(zip(old, new, strict=True))
        ]
    else:
        return [] if old == new else [key]
    return [changed for one, other, inner_key in inner for changed in _differences(one, other, inner_key)]


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)
