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
from offbeat.selection.choices.coverage import BEYOND, is_overtaken, process_ranges, size_ranges
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
    processes, and ``launched`` is the measured number of those where it is not ``p``.
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
    launched: int = 0

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
        return self.launched or self.p

    @property
    def settings(self) -> dict[str, str]:
        """The settings with which the algorithm was measured: its own, and those of the study."""
        return self.environment | self.algorithm.settings


class TuningPlan(Struct, frozen=True, kw_only=True):
    """Rules for one library.

    ``family`` is ``openmpi``, ``mpich`` or ``intelmpi`` (empty without any rule); ``version`` is the measured
    version as text, empty if unknown. ``rules`` maps each collective to its rules, ordered by p and size,
    which never overlap. ``several_nodes`` says that processes on more than one node were measured. ``notes``
    are caveats for the user, ``insisted`` those on rules that are wrong for a legal call but were requested.
    ``simulator`` names the simulator of the library, empty if it was measured; ``partial`` is a sentence for
    the files' headers if the study is not finished. ``beyond`` is the factor by which the smallest and the
    largest size cover others. ``sources`` are the entries of a knowledge base that the choices are from, none
    for a study.
    """

    family: str
    version: str
    rules: dict[str, list[Rule]]
    several_nodes: bool = False
    notes: list[str] = []
    insisted: list[str] = []
    simulator: str = ""
    partial: str = ""
    beyond: float = BEYOND
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
        if self.beyond <= 1:
            return f"{middle}, from the first size to the last."
        factor = f"{self.beyond:.3g}"
        return (
            f"{middle}. The first begins at its size divided by {factor}; the last ends at its size times"
            f" {factor}."
        )

    @property
    def origin(self) -> str:
        """The origin of the choices: ``measurements with Open MPI 5.0.11``."""
        if self.simulator:
            return f"simulations ({self.simulator})"
        of = f" of {format_list(self.sources)}" if self.sources else ""
        return f"measurements with {self.library}{of}"

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
    allowed: Collection[str] = (),
    beyond: float = BEYOND,
    keep_slower: bool = False,
) -> TuningPlan:
    """Create the plan of ``choices`` among the study's ``algorithms``.

    ``verdicts`` tell which algorithms need a commutative operation, ``library`` is the entry of that name in
    the study's provenance, ``environment`` the variables that the study set, ``beyond`` how far the smallest
    and the largest size cover others (:mod:`offbeat.selection.choices.coverage`). Choices that score worse
    than the library's default are left out unless ``keep_slower``. If configurations that a tuning file
    cannot distinguish have different choices, the algorithm chosen most often is used (if there are several,
    the one chosen at the largest size, then the one with the smallest mean score). Algorithms that are wrong
    for a legal call are replaced, unless all such calls are of ``allowed`` kinds
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
    limited = {key for key, algorithm in by_name.items() if is_limited_to_measured_p(algorithm)}
    wrong_calls = wrong_calls_of(choices, verdicts, family, limited)
    safe, replaced, insisted = replace_unsafe(choices, wrong_calls, allowed)
    remaining, notes = (list(safe), []) if keep_slower else _leave_to_better_default(safe)
    chosen, more = _one_per_rule(remaining, family)
    scores = {rule_key(one.configuration, family): one.scores for one in choices}
    rules: dict[str, list[Rule]] = {}
    for collective in sorted({key[0] for key in chosen}, key=_collective_order):
        own = {key: one for key, one in chosen.items() if key[0] == collective}
        collective_rules = [
            _rule(own[key], key[1], processes, sizes, by_name, wrong, environment or {}, digests)
            for key, processes, sizes in _ranges(own, scores, beyond)
            if own[key].algorithm != DEFAULT
        ]
        if collective_rules:
            rules[collective] = collective_rules
    return TuningPlan(
        family=_family([rule.algorithm for some in rules.values() for rule in some], library or {}),
        version=_version(library or {}),
        rules=rules,
        several_nodes=any(choice.configuration.nodes > 1 for choice in choices),
        notes=[*replaced, *notes, *more],
        insisted=insisted,
        beyond=beyond,
    )


def _collective_order(collective: str) -> tuple[int, str]:
    return (COLLECTIVES.index(collective) if collective in COLLECTIVES else len(COLLECTIVES), collective)


def _leave_to_better_default(choices: Sequence[Choice]) -> tuple[list[Choice], list[str]]:
    """The choices, and a sentence for each configuration in which the library's default scores better.

    Such a configuration remains in the list as ``default``, so that its neighbours' rules do not cover it.
    """
    settled, notes = [], []
    for choice in choices:
        cost = choice.cost_of_default
        if cost is None or cost >= -CLEARLY_BETTER:
            settled.append(choice)
            continue
        settled.append(msgspec.structs.replace(choice, algorithm=DEFAULT))
        configuration = choice.configuration
        notes.append(
            f"{configuration} is left to the library, whose default"
            f" scores {-cost:.0%} better than {choice.algorithm}, the best algorithm that can be forced."
        )
    return settled, notes


def _one_per_rule(choices: Sequence[Choice], family: str) -> tuple[dict[RuleKey, Choice], list[str]]:
    """One choice for each rule, that of the largest size, and a sentence for every disagreement."""
    rivals_of: dict[RuleKey, list[Choice]] = {}
    for choice in choices:
        rivals_of.setdefault(rule_key(choice.configuration, family), []).append(choice)
    chosen: dict[RuleKey, Choice] = {}
    notes = []
    for key, rivals in rivals_of.items():
        ranked = _ranked(rivals)
        chosen[key] = ranked[0]
        names = list(dict.fromkeys(one.algorithm for one in ranked))
        if len(names) > 1:
            notes.append(_disagreement(key, len(rivals), names, family))
    return chosen, notes


def _ranked(rivals: Sequence[Choice]) -> list[Choice]:
    """The choices of one rule, those of the algorithm that was chosen most often first, by descending size.

    Of algorithms that were chosen equally often, the one chosen at the largest size is the first, then the
    one with the smallest mean score.
    """
    votes = Counter(one.algorithm for one in rivals)
    largest = {
        name: max(one.configuration.bytes for one in rivals if one.algorithm == name) for name in votes
    }
    return sorted(
        rivals,
        key=lambda one: (
            -votes[one.algorithm],
            -largest[one.algorithm],
            _mean_score(one.algorithm, rivals),
            one.algorithm,
            -one.configuration.bytes,
        ),
    )


def _disagreement(key: RuleKey, configurations: int, names: Sequence[str], family: str) -> str:
    """The sentence on different choices of one rule; the first of the algorithms is used."""
    collective, p, size = key
    winner, *others = names
    calls = collective if size is None else f"{collective} of {format_size(size)}"
    what = "size, placement" if size is None else "placement"
    why = f"; {LIBRARIES[family].sizeless[collective]}" if size is None else ""
    return (
        f"{calls} on p={p} was measured in {configurations} ways ({what}, communicators, operation, data type"
        f" or root) with different choices; a tuning file cannot distinguish them and uses {winner}, chosen"
        f" most often, not {', '.join(sorted(others))}{why}."
    )


def _mean_score(name: str, rivals: Sequence[Choice]) -> float:
    scores = [rival.scores[name] for rival in rivals if name in rival.scores]
    return sum(scores) / len(scores) if scores else float("inf")


Scores = Mapping[RuleKey, Mapping[str, float]]
"""The scores of the algorithms before any was replaced."""


def _ranges(
    chosen: Mapping[RuleKey, Choice], scores: Scores, beyond: float
) -> Iterator[tuple[RuleKey, tuple[int, int], tuple[int, int]]]:
    """The rules of one collective, by processes and size: the first and last number of processes, and size,
    that each covers."""
    ps = sorted({p for _, p, _ in chosen})
    for p, processes in zip(ps, process_ranges(ps), strict=True):
        keys = sorted((key for key in chosen if key[1] == p), key=lambda key: chosen[key].configuration.bytes)
        for key, sizes in zip(keys, _sizes_covered(keys, chosen, scores, beyond), strict=True):
            yield key, processes, sizes


def _sizes_covered(
    keys: Sequence[RuleKey], chosen: Mapping[RuleKey, Choice], scores: Scores, beyond: float
) -> list[tuple[int, int]]:
    """The first and last size that each of ``keys`` covers: those of one number of processes, by size."""
    if keys[0][2] is None:
        return [(0, NO_END)]
    return size_ranges(
        [chosen[key].configuration.bytes for key in keys], *_factors(keys, chosen, scores, beyond)
    )


def _factors(
    keys: Sequence[RuleKey], chosen: Mapping[RuleKey, Choice], scores: Scores, beyond: float
) -> tuple[float, float]:
    """The factors by which the first and the last key cover smaller and larger sizes than measured."""
    if len(keys) < 2:
        return beyond, beyond
    ends = []
    for last, neighbour in ((keys[0], keys[1]), (keys[-1], keys[-2])):
        at_last, at_neighbour = ((chosen[key].configuration.bytes, scores[key]) for key in (last, neighbour))
        ends.append(1.0 if is_overtaken(chosen[last].algorithm, at_last, at_neighbour, beyond) else beyond)
    return ends[0], ends[1]


def _rule(
    choice: Choice,
    p: int,
    processes: tuple[int, int],
    sizes: tuple[int, int],
    known: Mapping[tuple[str, str], Algorithm],
    wrong: set[tuple[str, str]],
    environment: Mapping[str, str],
    digests: SumDigests,
) -> Rule:
    """The rule of a choice for a range of processes and of sizes. Raises :class:`BadInput` for an algorithm
    without settings."""
    measured, name = choice.configuration, choice.algorithm
    algorithm = known.get((measured.collective, name))
    if algorithm is None or not algorithm.settings:
        raise BadInput(
            f"no settings are known for {name}, selected for {measured.collective} on p={p}: the"
            " measurements were imported without settings. Give them with --setting to"
            " 'offbeat results import', or measure with 'offbeat run' and export that study"
        )
    is_limited = is_limited_to_measured_p(algorithm)
    return Rule(
        collective=measured.collective,
        p=measured.p,
        bytes=measured.bytes,
        p_low=p if is_limited else processes[0],
        p_high=p if is_limited else processes[1],
        bytes_low=sizes[0],
        bytes_high=sizes[1],
        algorithm=algorithm,
        commutative_only=(measured.collective, name) in wrong,
        changes_bits=digests.can_differ(measured.collective, name, measured.p, measured.bytes),
        environment=study_settings(algorithm, environment),
        launched=p if p != measured.p else 0,
    )


def study_settings(algorithm: Algorithm, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an algorithm's collective among those that a study set, written as its settings are.

    A study can set what an algorithm does not vary (``MPIR_CVAR_BCAST_TREE_KVAL=4`` in
    ``[mpi.environment]``).
    """
    library = LIBRARIES.get(family_of(algorithm))
    if library is None:
        return {}
    others = [
        prefix
        for name in COLLECTIVES
        if name.startswith(f"{algorithm.collective}_")
        for prefix in library.collective_variables(msgspec.structs.replace(algorithm, collective=name))
    ]
    return {
        name.removeprefix(library.environment_prefix): value
        for name, value in environment.items()
        if name.startswith(library.collective_variables(algorithm)) and not name.startswith(tuple(others))
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
    recorded = str(library.get("family", ""))
    families = {family_of(algorithm) for algorithm in algorithms} | ({recorded} if recorded else set())
    unknown = sorted(families - set(LIBRARIES))
    if unknown or len(families) > 1:
        if "" in families:
            prefixes = [prefix for library in LIBRARIES.values() for prefix in library.setting_prefixes]
            raise BadInput(
                "the settings of these results belong to no known MPI library, whose variables begin with"
                f" {', '.join(prefixes)}; correct --setting of 'offbeat results import'"
            )
        named = ", ".join(sorted(title_of(family, f"'{family}'") for family in families))
        raise BadInput(
            f"these results belong to {named}; a tuning file can be written for one of"
            f" {', '.join(titles())} at a time"
        )
    return next(iter(families), "")


def _version(library: Mapping[str, object]) -> str:
    version = library.get("version", "")
    return ".".join(str(part) for part in version) if isinstance(version, list | tuple) else str(version)
