"""The tuning plan: the algorithm for each range of processes and sizes, independent of any library's file
format.

A plan contains only measured choices: one rule for each configuration in which an algorithm was selected,
extended by the ranges of :mod:`offbeat.selection.choices.coverage`. All other calls are left to the library's
default.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.units import enumeration, format_list, format_size
from offbeat.libraries.families.libraries import LIBRARIES, title_of, titles
from offbeat.model.study.algorithm import DEFAULT, Algorithm, Verdict
from offbeat.model.study.collectives import COLLECTIVES
from offbeat.selection.choices.choose import Choice
from offbeat.selection.choices.coverage import EXTENSION, is_overtaken, process_ranges, size_ranges
from offbeat.selection.tuning_files.safe_choices import RuleKey, replace_unsafe, rule_key, wrong_calls_of
from offbeat.selection.tuning_files.same_bits import SumDigests, sum_digests

NO_END = 2**63
"""The upper end of an unbounded range of sizes or processes."""

CLEARLY_BETTER = 0.05
"""A configuration is left to the library if its default scores better than the choice by more than this
share."""


class Rule(Struct, frozen=True, kw_only=True):
    """Use ``algorithm`` for ``p_low`` to ``p_high`` processes and ``bytes_low`` to ``bytes_high`` bytes.

    All four are inclusive; bytes are the message size of the study: bytes per process as passed to the MPI
    call. Rules for all sizes cover 0 to :data:`NO_END`. ``p`` and ``bytes`` are those of the measured
    configuration. ``p_low`` and ``p_high`` are processes
    of a communicator; if files of the library belong to a number of launched processes, they are launched
    processes, and ``launched_processes`` is the measured number of those where it is not ``p``.
    ``commutative_only`` says that the algorithm computes wrong results with a non-commutative operation,
    ``changes_bits`` that the last bits of a floating-point result can differ from those of the default.
    ``environment`` holds the variables of this collective that the study itself set, written like the
    algorithm's settings.
    """

    collective: str
    p: int
    bytes: int
    p_low: int
    p_high: int
    bytes_low: int
    bytes_high: int
    algorithm: Algorithm
    commutative_only: bool = False
    changes_bits: bool = False
    environment: dict[str, str] = {}
    launched_processes: int = 0

    @property
    def is_sizeless(self) -> bool:
        """Whether the rule holds for all sizes."""
        return self.bytes_high == NO_END

    @property
    def name(self) -> str:
        """The algorithm's name, as it is true for all processes of the rule."""
        library = LIBRARIES.get(family_of(self.algorithm))
        return library.name_in_rule(self.algorithm) if library else self.algorithm.name

    @property
    def measured_p(self) -> int:
        """The measured number of processes between ``p_low`` and ``p_high``."""
        return self.launched_processes or self.p

    @property
    def settings(self) -> dict[str, str]:
        """The settings with which the algorithm was measured: its own, and those of the study."""
        return self.environment | self.algorithm.settings


class TuningPlan(Struct, frozen=True, kw_only=True):
    """Rules for one library.

    ``family`` is ``openmpi``, ``mpich`` or ``intelmpi`` (empty without any rule); ``version`` is the measured
    version as text, empty if unknown. ``rules`` maps each collective to its rules, ordered by p and size,
    which never overlap. ``several_nodes`` says that processes on more than one node were measured. ``notes``
    are caveats for the user, ``wrong_result_warnings`` those on rules that are wrong for a legal call but
    were requested. ``simulator`` names the simulator of the library, empty if it was measured; ``partial`` is
    a sentence for the files' headers if the study is not finished. ``extension`` is the factor by which the
    smallest and the largest size cover others. ``sources`` are the entries of a knowledge base that the
    choices are from, none for a study.
    """

    family: str
    version: str
    rules: dict[str, list[Rule]]
    several_nodes: bool = False
    notes: list[str] = []
    wrong_result_warnings: list[str] = []
    simulator: str = ""
    partial: str = ""
    extension: float = EXTENSION
    sources: list[str] = []

    def rule_for(self, collective: str, p: int, size: int) -> Rule | None:
        """The rule for calls of ``size`` bytes; None if the library decides. ``p`` as in :func:`rule_key`."""
        for rule in self.rules.get(collective, []):
            if rule.p_low <= p <= rule.p_high and rule.bytes_low <= size <= rule.bytes_high:
                return rule
        return None

    @property
    def extent(self) -> str:
        """The sizes that rules cover, in a sentence."""
        sizeless = [name for name, rules in self.rules.items() if all(rule.is_sizeless for rule in rules)]
        if len(sizeless) == len(self.rules):
            return "Each rule holds for all sizes."
        first = f"The rules of {enumeration(sizeless)} hold for all sizes. Each other" if sizeless else "Each"
        middle = f"{first} rule holds up to the geometric mean of its size and the next"
        if self.extension <= 1:
            return f"{middle}, from the first size to the last."
        factor = f"{self.extension:.3g}"
        return (
            f"{middle}. The first begins at its size divided by {factor}; the last ends at its size times"
            f" {factor}."
        )

    @property
    def origin(self) -> str:
        """The origin of the choices: ``measurements with Open MPI 5.0.11``."""
        if self.simulator:
            return f"simulations ({self.simulator})"
        sources_text = f" of {format_list(self.sources)}" if self.sources else ""
        return f"measurements with {self.library}{sources_text}"

    @property
    def library(self) -> str:
        """The library in a sentence: ``Open MPI 5.0.11``."""
        return f"{title_of(self.family, 'an unknown library')} {self.version}".strip()


def plan(
    choices: Sequence[Choice],
    algorithms: Iterable[Algorithm],
    *,
    verdicts: Iterable[Verdict] = (),
    library: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
    allowed_kinds: Collection[str] = (),
    extension: float = EXTENSION,
    keep_slower: bool = False,
) -> TuningPlan:
    """Create the plan of ``choices`` among the study's ``algorithms``.

    ``verdicts`` tell which algorithms need a commutative operation, ``library`` is the entry of that name in
    the study's provenance, ``environment`` the variables that the study set, ``extension`` how far the
    smallest and the largest size cover others (:mod:`offbeat.selection.choices.coverage`). Choices that score
    worse than the library's default are left out unless ``keep_slower``. If configurations that a tuning file
    cannot distinguish have different choices, the algorithm chosen most often is used (if there are several,
    the one chosen at the largest size, then the one with the smallest mean score). Algorithms that are wrong
    for a legal call are replaced, unless all such calls are of ``allowed_kinds`` kinds
    (:mod:`offbeat.selection.tuning_files.safe_choices`). Raises :class:`BadInput` if the library settings of
    a chosen algorithm are unknown, as they are for imported measurements.
    """
    by_name = {(algorithm.collective, algorithm.name): algorithm for algorithm in algorithms}
    verdicts = list(verdicts)
    wrong = {(verdict.collective, verdict.algorithm) for verdict in verdicts if verdict.commutative_only}
    digests = sum_digests(verdicts)
    family = str((library or {}).get("family", "")) or next(
        filter(None, map(family_of, by_name.values())), ""
    )
    p_limited = {key for key, algorithm in by_name.items() if is_limited_to_measured_p(algorithm)}
    wrong_calls = wrong_calls_of(choices, verdicts, family, p_limited)
    safe, replacement_notes, wrong_result_warnings = replace_unsafe(choices, wrong_calls, allowed_kinds)
    remaining_choices, notes = (list(safe), []) if keep_slower else _leave_to_better_default(safe)
    choice_of_rule, more = _choose_per_rule(remaining_choices, family)
    scores = {rule_key(selected.configuration, family): selected.scores for selected in choices}
    rules: dict[str, list[Rule]] = {}
    for collective in sorted({key[0] for key in choice_of_rule}, key=_collective_order):
        choices_of_collective = {
            key: selected for key, selected in choice_of_rule.items() if key[0] == collective
        }
        collective_rules = [
            _rule(
                choices_of_collective[key],
                key[1],
                processes,
                sizes,
                by_name,
                wrong,
                environment or {},
                digests,
            )
            for key, processes, sizes in _ranges(choices_of_collective, scores, extension)
            if choices_of_collective[key].algorithm != DEFAULT
        ]
        if collective_rules:
            rules[collective] = collective_rules
    return TuningPlan(
        family=_family(
            [rule.algorithm for rules_of_collective in rules.values() for rule in rules_of_collective],
            library or {},
        ),
        version=_version(library or {}),
        rules=rules,
        several_nodes=any(choice.configuration.nodes > 1 for choice in choices),
        notes=[*replacement_notes, *notes, *more],
        wrong_result_warnings=wrong_result_warnings,
        extension=extension,
    )


def _collective_order(collective: str) -> tuple[int, str]:
    return (COLLECTIVES.index(collective) if collective in COLLECTIVES else len(COLLECTIVES), collective)


def _leave_to_better_default(choices: Sequence[Choice]) -> tuple[list[Choice], list[str]]:
    """The choices, and a sentence for each configuration in which the library's default scores better.

    Such a configuration remains in the list as ``default``, so that its neighbours' rules do not cover it.
    """
    final_choices, notes = [], []
    for choice in choices:
        cost = choice.cost_of_default
        if cost is None or cost >= -CLEARLY_BETTER:
            final_choices.append(choice)
            continue
        final_choices.append(msgspec.structs.replace(choice, algorithm=DEFAULT))
        configuration = choice.configuration
        notes.append(
            f"{configuration} is left to the library, whose default"
            f" scores {-cost:.0%} better than {choice.algorithm}, the best algorithm that can be forced."
        )
    return final_choices, notes


def _choose_per_rule(choices: Sequence[Choice], family: str) -> tuple[dict[RuleKey, Choice], list[str]]:
    """One choice for each rule, that of the largest size, and a sentence for every disagreement."""
    rivals_of: dict[RuleKey, list[Choice]] = {}
    for choice in choices:
        rivals_of.setdefault(rule_key(choice.configuration, family), []).append(choice)
    choice_of_rule: dict[RuleKey, Choice] = {}
    notes = []
    for key, rivals in rivals_of.items():
        ranking = _ranking(rivals)
        choice_of_rule[key] = ranking[0]
        names = list(dict.fromkeys(rival.algorithm for rival in ranking))
        if len(names) > 1:
            notes.append(_disagreement(key, len(rivals), names, family))
    return choice_of_rule, notes


def _ranking(rivals: Sequence[Choice]) -> list[Choice]:
    """The choices of one rule, those of the algorithm that was chosen most often first, by descending size.

    Of algorithms that were chosen equally often, the one chosen at the largest size is the first, then the
    one with the smallest mean score.
    """
    votes = Counter(rival.algorithm for rival in rivals)
    largest = {
        name: max(rival.configuration.bytes for rival in rivals if rival.algorithm == name) for name in votes
    }
    return sorted(
        rivals,
        key=lambda rival: (
            -votes[rival.algorithm],
            -largest[rival.algorithm],
            _mean_score(rival.algorithm, rivals),
            rival.algorithm,
            -rival.configuration.bytes,
        ),
    )


def _disagreement(key: RuleKey, configurations: int, names: Sequence[str], family: str) -> str:
    """The sentence on different choices of one rule; the first of the algorithms is used."""
    collective, p, size = key
    winner, *other_names = names
    calls = collective if size is None else f"{collective} of {format_size(size)}"
    differences = "size, placement" if size is None else "placement"
    why = f"; {LIBRARIES[family].sizeless[collective]}" if size is None else ""
    return (
        f"{calls} on p={p} was measured in {configurations} ways ({differences}, communicators, operation,"
        " data type"
        f" or root) with different choices; a tuning file cannot distinguish them and uses {winner}, chosen"
        f" most often, not {', '.join(sorted(other_names))}{why}."
    )


def _mean_score(name: str, rivals: Sequence[Choice]) -> float:
    scores = [rival.scores[name] for rival in rivals if name in rival.scores]
    return sum(scores) / len(scores) if scores else float("inf")


Scores = Mapping[RuleKey, Mapping[str, float]]
"""The scores of the algorithms before any was replaced."""


def _ranges(
    choice_of_rule: Mapping[RuleKey, Choice], scores: Scores, extension: float
) -> Iterator[tuple[RuleKey, tuple[int, int], tuple[int, int]]]:
    """The rules of one collective, by processes and size: the first and last number of processes, and size,
    that each covers."""
    ps = sorted({p for _, p, _ in choice_of_rule})
    for p, processes in zip(ps, process_ranges(ps), strict=True):
        keys = sorted(
            (key for key in choice_of_rule if key[1] == p),
            key=lambda key: choice_of_rule[key].configuration.bytes,
        )
        for key, sizes in zip(keys, _sizes_covered(keys, choice_of_rule, scores, extension), strict=True):
            yield key, processes, sizes


def _sizes_covered(
    keys: Sequence[RuleKey], choice_of_rule: Mapping[RuleKey, Choice], scores: Scores, extension: float
) -> list[tuple[int, int]]:
    """The first and last size that each of ``keys`` covers: those of one number of processes, by size."""
    if keys[0][2] is None:
        return [(0, NO_END)]
    return size_ranges(
        [choice_of_rule[key].configuration.bytes for key in keys],
        *_factors(keys, choice_of_rule, scores, extension),
    )


def _factors(
    keys: Sequence[RuleKey], choice_of_rule: Mapping[RuleKey, Choice], scores: Scores, extension: float
) -> tuple[float, float]:
    """The factors by which the first and the last key cover smaller and larger sizes than measured."""
    if len(keys) < 2:
        return extension, extension
    ends = []
    for last, neighbour in ((keys[0], keys[1]), (keys[-1], keys[-2])):
        at_last, at_neighbour = (
            (choice_of_rule[key].configuration.bytes, scores[key]) for key in (last, neighbour)
        )
        ends.append(
            1.0
            if is_overtaken(choice_of_rule[last].algorithm, at_last, at_neighbour, extension)
            else extension
        )
    return ends[0], ends[1]


def _rule(
    choice: Choice,
    p: int,
    processes: tuple[int, int],
    sizes: tuple[int, int],
    algorithms: Mapping[tuple[str, str], Algorithm],
    wrong: set[tuple[str, str]],
    environment: Mapping[str, str],
    digests: SumDigests,
) -> Rule:
    """The rule of a choice for a range of processes and of sizes. Raises :class:`BadInput` for an algorithm
    without settings."""
    configuration, name = choice.configuration, choice.algorithm
    algorithm = algorithms.get((configuration.collective, name))
    if algorithm is None or not algorithm.settings:
        raise BadInput(
            f"no settings are known for {name}, selected for {configuration.collective} on p={p}: the"
            " measurements were imported without settings. Give them with --setting to"
            " 'offbeat results import', or measure with 'offbeat run' and export that study"
        )
    is_limited = is_limited_to_measured_p(algorithm)
    return Rule(
        collective=configuration.collective,
        p=configuration.p,
        bytes=configuration.bytes,
        p_low=p if is_limited else processes[0],
        p_high=p if is_limited else processes[1],
        bytes_low=sizes[0],
        bytes_high=sizes[1],
        algorithm=algorithm,
        commutative_only=(configuration.collective, name) in wrong,
        changes_bits=digests.can_differ(configuration.collective, name, configuration.p, configuration.bytes),
        environment=study_settings(algorithm, environment),
        launched_processes=p if p != configuration.p else 0,
    )


def study_settings(algorithm: Algorithm, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an algorithm's collective among those that a study set, written as its settings are.

    A study can set what an algorithm does not vary (``MPIR_CVAR_BCAST_TREE_KVAL=4`` in
    ``[mpi.environment]``).
    """
    library = LIBRARIES.get(family_of(algorithm))
    if library is None:
        return {}
    other_prefixes = [
        prefix
        for name in COLLECTIVES
        if name.startswith(f"{algorithm.collective}_")
        for prefix in library.collective_variables(msgspec.structs.replace(algorithm, collective=name))
    ]
    return {
        name.removeprefix(library.environment_prefix): value
        for name, value in environment.items()
        if name.startswith(library.collective_variables(algorithm))
        and not name.startswith(tuple(other_prefixes))
    }


def is_limited_to_measured_p(algorithm: Algorithm) -> bool:
    """Whether an algorithm must only be used for the measured number of processes."""
    library = LIBRARIES.get(family_of(algorithm))
    return library is not None and library.is_limited_to_measured_p(algorithm)


def family_of(algorithm: Algorithm) -> str:
    """The library family of an algorithm's settings; empty if unknown."""
    for name in algorithm.settings:
        for library in LIBRARIES.values():
            if name.startswith(library.setting_prefixes):
                return library.family
    return ""


def _family(algorithms: Sequence[Algorithm], library: Mapping[str, object]) -> str:
    """The one family that all settings and the provenance name; raises :class:`BadInput` otherwise."""
    recorded_family = str(library.get("family", ""))
    families = {family_of(algorithm) for algorithm in algorithms} | (
        {recorded_family} if recorded_family else set()
    )
    unknown = sorted(families - set(LIBRARIES))
    if unknown or len(families) > 1:
        if "" in families:
            prefixes = [prefix for library in LIBRARIES.values() for prefix in library.setting_prefixes]
            raise BadInput(
                "the settings of these results belong to no known MPI library, whose variables begin with"
                f" {', '.join(prefixes)}; correct --setting of 'offbeat results import'"
            )
        titles_text = ", ".join(sorted(title_of(family, f"'{family}'") for family in families))
        raise BadInput(
            f"these results belong to {titles_text}; a tuning file can be written for one of"
            f" {', '.join(titles())} at a time"
        )
    return next(iter(families), "")


def _version(library: Mapping[str, object]) -> str:
    version = library.get("version", "")
    return ".".join(str(part) for part in version) if isinstance(version, list | tuple) else str(version)
