"""What a user's tuning settings do: which files they name, what a file forces, and what is wrong."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.reading import decode_json, read_file
from offbeat.base.units import amount, format_size
from offbeat.libraries.families.inherited_settings import InheritedSetting, inherited_settings
from offbeat.libraries.installations.installation import Installation
from offbeat.model.study.algorithm import Algorithm
from offbeat.selection.tuning_files.mpich import COMPOSITION_VARIABLE, GENERAL_VARIABLE
from offbeat.selection.tuning_files.mpich_tree import read
from offbeat.selection.tuning_files.openmpi import COLLECTIVES, FIRST_WITH_VERSION_2
from offbeat.selection.user_rules.mpich_check import check_trees
from offbeat.selection.user_rules.openmpi_reader import (
    CollectiveRule,
    Fault,
    ProcessesRule,
    RulesFile,
    reached_entries,
    read_rules,
)

RULES_FILE = "_tuned_dynamic_rules_filename"
SWITCH = "OMPI_MCA_coll_tuned_use_dynamic_rules"
_TREES = (GENERAL_VARIABLE, COMPOSITION_VARIABLE)
"""The settings whose file is a tree of MPICH that can be checked; the trees of single devices have others."""

_NAMES_FILE = (RULES_FILE, "_han_dynamic_rules_filename", "_JSON_FILE", "I_MPI_TUNING_BIN")
"""The ends of the names of settings whose value is a file."""

NameOf = Callable[[str, int], str]
"""(collective, number) → the algorithm's name, empty if the library has none of the number."""


class RulesCheck(Struct, frozen=True, kw_only=True):
    """The check of a rules file, in sentences.

    ``fault`` is why the library ignores the whole file, empty if it does not. ``wrong`` says what is wrong in
    the file, ``forces`` what it forces, and ``unreached_entries`` what in it is never used.
    """

    path: str
    fault: str = ""
    wrong: list[str] = []
    forces: list[str] = []
    unreached_entries: list[str] = []

    @property
    def limits(self) -> list[str]:
        """The sentences about the file that a user has to know."""
        return [
            f"{self.path}: {sentence}"
            for sentence in (self.fault, *self.wrong, *self.unreached_entries)
            if sentence
        ]


def check_rules(path: Path, installation: Installation, name_of: NameOf) -> RulesCheck:
    """Read a rules file of Open MPI, or a selection tree of MPICH, as the installation does.

    ``name_of`` is used for Open MPI, whose rules have numbers. Raises :class:`BadInput` for another library.
    """
    if installation.family not in _UNREADABLE:
        raise BadInput(
            f"--rules reads rules files of Open MPI and selection trees of MPICH, and {installation.name} is"
            " another library"
        )
    try:
        content = read_file(path)
        if installation.family == "mpich":
            return _check_trees(path, content, installation)
        return _check_numbered_rules(path, content, installation, name_of)
    except (OSError, BadInput) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        effect = _UNREADABLE[installation.family]
        return RulesCheck(path=str(path), fault=f"it cannot be read ({why}); {effect}")


_UNREADABLE = {
    "openmpi": "the library ignores it without a message",
    "mpich": "the library aborts the program in MPI_Init",
}
"""The families of libraries whose files are read → what the library does with a file that it cannot read."""


def _check_numbered_rules(
    path: Path, content: bytes, installation: Installation, name_of: NameOf
) -> RulesCheck:
    rules = read_rules(content, knows_version_2=installation.is_at_least(*FIRST_WITH_VERSION_2))
    if rules.fault:
        return RulesCheck(
            path=str(path),
            fault=f"{rules.fault}; the library ignores the whole file without a message",
            wrong=[str(one) for one in _skipped_lines(rules)],
        )
    return RulesCheck(
        path=str(path),
        wrong=[str(one) for one in (*_skipped_lines(rules), *_without_algorithm(rules, name_of))],
        forces=list(_forces(rules, name_of)),
        unreached_entries=[str(one) for one in _unreached_entries(rules)],
    )


def _check_trees(path: Path, content: bytes, installation: Installation) -> RulesCheck:
    check = check_trees(content, read(installation.library))
    return RulesCheck(
        path=str(path),
        fault=f"programs abort with {amount(len(check.wrong), 'fault')} of the file" if check.wrong else "",
        wrong=check.wrong,
        forces=check.forces,
        unreached_entries=check.unreached_branches,
    )


def check_settings(
    installation: Installation,
    algorithms: Callable[[], Mapping[str, Sequence[Algorithm]]],
    environ: Mapping[str, str] = os.environ,
) -> tuple[list[RulesCheck], list[str]]:
    """The files with rules that the settings of an environment name, and sentences on the settings.

    ``algorithms`` asks the library for its algorithms, by collective; it is called for Open MPI's files only.
    """
    settings = inherited_settings(installation, environ)
    names = {
        setting.name for setting in settings if setting.name != SWITCH or setting.value not in ("0", "false")
    }
    checks, sentences = [], []
    for setting in settings:
        sentences.append(f"{setting}: chooses algorithms for every program; measurements leave it out.")
        if not setting.name.endswith(_NAMES_FILE) or not setting.value:
            continue
        has_numbers = setting.name.endswith(RULES_FILE)
        if has_numbers or setting.name in _TREES:
            name_of = name_of_algorithms(algorithms() if has_numbers else {})
            checks.append(check_rules(Path(setting.value), installation, name_of))
            if has_numbers and SWITCH not in names:
                sentences.append(f"{setting}: the file is never read, because {SWITCH} is not 1.")
        else:
            sentences += _file_faults(setting)
    return checks, sentences


def _file_faults(setting: InheritedSetting) -> Iterator[str]:
    """Whether the file of another setting is missing, or no JSON where it should be."""
    path = Path(setting.value)
    try:
        content = read_file(path)
        if setting.name.endswith("_JSON_FILE"):
            decode_json(content, dict)
    except (OSError, BadInput, msgspec.DecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        yield f"{setting}: the file cannot be used ({why})."


def name_of_algorithms(by_collective: Mapping[str, Sequence[Algorithm]]) -> NameOf:
    """The names of a library's algorithms by their numbers."""
    names = {
        (collective, algorithm.settings.get(f"coll_tuned_{collective}_algorithm")): algorithm.name
        for collective, algorithms in by_collective.items()
        for algorithm in algorithms
    }
    return lambda collective, number: names.get((collective, str(number)), "")


def _skipped_lines(rules: RulesFile) -> Iterator[Fault]:
    for line in rules.skipped_lines:
        yield Fault(line=line, message="characters that are no number are skipped; begin a comment with #")


def _effective(rules: RulesFile) -> Iterator[tuple[str, CollectiveRule]]:
    """The collectives whose rules the library uses, by name: of several entries, the last."""
    name_of_number = {entry.number: name for name, entry in COLLECTIVES.items()}
    last = {rule.number: rule for rule in rules.collectives}
    for number, rule in last.items():
        if number in name_of_number:
            yield name_of_number[number], rule


def _entries(rule: CollectiveRule) -> Iterator[tuple[str, ProcessesRule]]:
    """The entries that some communicator reaches, with its processes."""
    for index, first, last in reached_entries([entry.p for entry in rule.processes], least=2):
        upper = " and more" if last is None else "" if last == first else f" to {last}"
        yield f"{first}{upper} processes", rule.processes[index]


def _forces(rules: RulesFile, name_of: NameOf) -> Iterator[str]:
    for collective, rule in _effective(rules):
        for processes, entry in _entries(rule):
            parts = []
            for index, first, last in reached_entries(_keys(collective, entry)):
                size = entry.sizes[index]
                name = name_of(collective, size.algorithm) or f"algorithm {size.algorithm}"
                algorithm_text = name if size.algorithm else "the library's decision"
                range_ = "all sizes" if (first, last) == (0, None) else _range(first, last)
                parts.append(f"{range_}: {algorithm_text}")
            if parts:
                yield f"{collective} on {processes}: {'; '.join(parts)}"


def _range(first: int, last: int | None) -> str:
    return (
        f"{format_size(first)} and more" if last is None else f"{format_size(first)} to {format_size(last)}"
    )


def _keys(collective: str, entry: ProcessesRule) -> list[int]:
    """The message sizes among which the library chooses: only the first where it ignores the size."""
    keys = [one.size for one in entry.sizes]
    return keys[:1] if COLLECTIVES[collective].size == "ignored" else keys


def _without_algorithm(rules: RulesFile, name_of: NameOf) -> Iterator[Fault]:
    for collective, rule in _effective(rules):
        for entry in rule.processes:
            for size in entry.sizes:
                if size.algorithm and not name_of(collective, size.algorithm):
                    yield Fault(
                        line=size.line,
                        message=f"{collective} has no algorithm {size.algorithm}: calls end with an error",
                    )


def _unreached_entries(rules: RulesFile) -> Iterator[Fault]:
    rule_counts = Counter(rule.number for rule in rules.collectives)
    last = {rule.number: rule for rule in rules.collectives}
    numbers = {entry.number for entry in COLLECTIVES.values()}
    for rule in rules.collectives:
        if rule.number not in numbers:
            yield Fault(line=rule.line, message=f"Open MPI uses no rules for collective {rule.number}")
        elif rule_counts[rule.number] > 1 and last[rule.number] is not rule:
            yield Fault(
                line=rule.line, message=f"the rules are replaced by those in line {last[rule.number].line}"
            )
    for collective, rule in _effective(rules):
        reached_indices = {
            entry_index
            for entry_index, _, _ in reached_entries([rule_entry.p for rule_entry in rule.processes], least=2)
        }
        for entry_index, entry in enumerate(rule.processes):
            if entry_index not in reached_indices:
                yield Fault(
                    line=entry.line,
                    message=f"no communicator reaches the rules of {collective} from {entry.p} processes on:"
                    " a neighbouring entry serves the same sizes",
                )
                continue
            sizes = {index for index, _, _ in reached_entries(_keys(collective, entry))}
            for index, size in enumerate(entry.sizes):
                if index not in sizes:
                    is_size_ignored = COLLECTIVES[collective].size == "ignored"
                    why = (
                        "the library ignores the size"
                        if is_size_ignored
                        else "a neighbouring entry serves the sizes"
                    )
                    yield Fault(
                        line=size.line, message=f"no message of {collective} reaches this rule: {why}"
                    )
    if rules.rest:
        yield Fault(line=rules.rest, message="this and what follows is not read: the counts end before")
