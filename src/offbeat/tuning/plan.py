"""The tuning plan: which algorithm a library shall use for which processes and sizes, before any library's
format.

A plan holds nothing that was not measured: one rule for each configuration in which an algorithm was
selected, spread to its neighbours by the ranges of :mod:`offbeat.select.coverage`. Everywhere else the
library's default stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.select.coverage import BEYOND, is_overtaken, process_ranges, size_ranges
from offbeat.study.algorithm import DEFAULT, Algorithm, Verdict
from offbeat.study.case import COLLECTIVES
from offbeat.tuning.safety import Wrongs, make_safe
from offbeat.units import format_size

if TYPE_CHECKING:
    from offbeat.select.choose import Choice

FAMILY_NAMES = {"openmpi": "Open MPI", "mpich": "MPICH", "intelmpi": "Intel MPI"}
"""The families that tuning files can be written for, as they are called in sentences."""

SETTINGS_PREFIXES = {
    "coll_tuned_": "openmpi",
    "coll_han_": "openmpi",
    "MPIR_CVAR_": "mpich",
    "I_MPI_": "intelmpi",
}
"""How the variables of each family begin; tells which library an algorithm's settings belong to."""


CLEARLY_BETTER = 0.05
"""The library's own decision stands where it scores better than the choice by more than this share."""


class Rule(Struct, frozen=True, kw_only=True):
    """Use ``algorithm`` for ``p_low`` to ``p_high`` processes and ``bytes_low`` to ``bytes_high`` bytes.

    All four are inclusive; bytes are the message size of the study: bytes per process as the MPI call states
    it. ``p`` and ``bytes`` are the measured configuration that the rule comes from. ``commutative_only`` says
    that the algorithm was seen to compute wrongly with an operation that is not commutative. ``environment``
    holds the variables of this collective that the study itself set, written as the algorithm's settings are.
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
    environment: dict[str, str] = {}

    @property
    def settings(self) -> dict[str, str]:
        """Under which settings the algorithm was measured: its own, and those of the study beside them."""
        return self.environment | self.algorithm.settings


class TuningPlan(Struct, frozen=True, kw_only=True):
    """Rules for one library.

    ``family`` is ``openmpi``, ``mpich`` or ``intelmpi`` (empty without any rule); ``version`` the version
    that was measured, as text, empty if unknown. ``rules`` maps each collective to its rules, ordered by p
    and size, which never overlap. ``several_nodes`` says that processes of more than one node were measured.
    ``notes`` are sentences for the user, ``insisted`` those on rules that stand although they are wrong for
    a legal call. ``simulator`` names what simulated the library, and is empty where
    it was measured; ``partial`` is a sentence for the files' headers where the study is not finished.
    ``beyond`` is the factor by which the smallest and the largest size speak for others.
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

    @property
    def extent(self) -> str:
        """Which sizes a rule holds for, in a sentence."""
        ends = (
            f"from the smallest divided by {self.beyond:.3g} to the largest times {self.beyond:.3g}"
            if self.beyond > 1
            else "neither below the smallest nor above the largest"
        )
        return f"Rules hold up to the geometric mean of neighbouring sizes, {ends}."

    @property
    def origin(self) -> str:
        """Where the choices come from, in a sentence: ``measurements with Open MPI 5.0.11``."""
        return f"simulations ({self.simulator})" if self.simulator else f"measurements with {self.library}"

    @property
    def library(self) -> str:
        """The library in a sentence: ``Open MPI 5.0.11``."""
        return f"{FAMILY_NAMES.get(self.family, 'an unknown library')} {self.version}".strip()


def plan(
    choices: Sequence[Choice],
    algorithms: Iterable[Algorithm],
    *,
    verdicts: Iterable[Verdict] = (),
    library: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
    allowed: Collection[str] = (),
    beyond: float = BEYOND,
) -> TuningPlan:
    """Make the plan of ``choices`` (of :func:`offbeat.select.choose.choose`) among the study's
    ``algorithms``.

    ``verdicts`` tell which algorithms need a commutative operation, ``library`` is the entry of that name in
    the study's provenance (keys ``family`` and ``version``), ``environment`` the variables that the study
    set, ``beyond`` how far the end sizes speak for others (:mod:`offbeat.select.coverage`). A tuning file
    cannot tell operations, data types, roots or placements apart: where configurations that differ in nothing
    else chose differently, the algorithm chosen most often stands (of equals, the one with the smaller mean
    score). Algorithms that are wrong for a legal call give way to others, unless all that they are wrong for
    is among the ``allowed`` kinds (:mod:`offbeat.tuning.safety`). Raises :class:`BadInput` when the library
    settings of a chosen algorithm are unknown, as they are for measurements made elsewhere.
    """
    known = {(algorithm.collective, algorithm.name): algorithm for algorithm in algorithms}
    verdicts = list(verdicts)
    wrong = {(verdict.collective, verdict.algorithm) for verdict in verdicts if verdict.commutative_only}
    family = str((library or {}).get("family", "")) or next(map(family_of, known.values()), "")
    kept = {key for key, algorithm in known.items() if keeps_to_measured_p(algorithm)}
    safe = make_safe(choices, Wrongs(choices, known, verdicts, family, kept), allowed)
    settled, notes = _worth_changing(safe.choices)
    notes = safe.notes + notes
    chosen, more = _agree(settled)
    notes += more
    scores = {
        (one.configuration.collective, one.configuration.p, one.configuration.bytes): one.scores
        for one in choices
    }
    rules: dict[str, list[Rule]] = {}
    for collective in sorted({key[0] for key in chosen}, key=_collective_order):
        configurations = {(p, size): name for (own, p, size), name in chosen.items() if own == collective}
        reach = _Reach(
            scores={(p, size): scores[own, p, size] for own, p, size in chosen if own == collective},
            beyond=beyond,
        )
        found = _rules(collective, configurations, known, wrong, environment or {}, reach)
        if found:
            rules[collective] = found
    return TuningPlan(
        family=_family([rule.algorithm for some in rules.values() for rule in some], library or {}),
        version=_version(library or {}),
        rules=rules,
        several_nodes=any(choice.configuration.nodes > 1 for choice in choices),
        notes=notes,
        insisted=safe.insisted,
        beyond=beyond,
    )


def _collective_order(collective: str) -> tuple[int, str]:
    return (COLLECTIVES.index(collective) if collective in COLLECTIVES else len(COLLECTIVES), collective)


def _worth_changing(choices: Sequence[Choice]) -> tuple[list[Choice], list[str]]:
    """The choices, and a sentence for each configuration in which the library's own decision does better.

    Such a configuration stays in the list and says ``default``: its neighbours' rules must not spread over
    it.
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
            f"{configuration} is left to the library, whose own decision"
            f" scored {-cost:.0%} better than {choice.algorithm}, the best that it can be made to use."
        )
    return settled, notes


def _agree(choices: Sequence[Choice]) -> tuple[dict[tuple[str, int, int], str], list[str]]:
    """One algorithm for each collective, p and size, and a sentence for every disagreement."""
    configurations: dict[tuple[str, int, int], list[Choice]] = {}
    for choice in choices:
        configurations.setdefault(
            (choice.configuration.collective, choice.configuration.p, choice.configuration.bytes), []
        ).append(choice)
    chosen: dict[tuple[str, int, int], str] = {}
    notes = []
    for key, rivals in configurations.items():
        votes = Counter(rival.algorithm for rival in rivals)
        winner = min(votes, key=lambda name: (-votes[name], _mean_score(name, rivals), name))
        chosen[key] = winner
        if len(votes) > 1:
            others = ", ".join(sorted(name for name in votes if name != winner))
            notes.append(
                f"{key[0]} of {format_size(key[2])} on p={key[1]} was measured in {len(rivals)} ways"
                " (placement, operation, data type or root) that chose differently; a tuning file cannot tell"
                f" them apart and says {winner}, chosen most often, not {others}."
            )
    return chosen, notes


def _mean_score(name: str, rivals: Sequence[Choice]) -> float:
    scores = [rival.scores[name] for rival in rivals if name in rival.scores]
    return sum(scores) / len(scores) if scores else float("inf")


class _Reach(Struct, frozen=True, kw_only=True):
    """How far the choices of one collective hold: the scores of its configurations (p, size), and the
    factor."""

    scores: dict[tuple[int, int], dict[str, float]]
    beyond: float

    def factors(
        self, p: int, sizes: Sequence[int], configurations: Mapping[tuple[int, int], str]
    ) -> tuple[float, float]:
        """How far below the smallest and above the largest size the choices on p processes hold."""
        if len(sizes) < 2:
            return self.beyond, self.beyond
        ends = []
        for last, neighbour in ((sizes[0], sizes[1]), (sizes[-1], sizes[-2])):
            at_last, at_neighbour = self.scores[p, last], self.scores[p, neighbour]
            over = is_overtaken(
                configurations[p, last], (last, at_last), (neighbour, at_neighbour), self.beyond
            )
            ends.append(1.0 if over else self.beyond)
        return ends[0], ends[1]


def _rules(
    collective: str,
    configurations: Mapping[tuple[int, int], str],
    known: Mapping[tuple[str, str], Algorithm],
    wrong: set[tuple[str, str]],
    environment: Mapping[str, str],
    reach: _Reach,
) -> list[Rule]:
    """The rules of one collective from its configurations (p, size) → algorithm, with the ranges that the
    configurations speak for."""
    ps = sorted({p for p, _ in configurations})
    rules = []
    for p, (p_low, p_high) in zip(ps, process_ranges(ps), strict=True):
        sizes = sorted(size for own, size in configurations if own == p)
        held = size_ranges(sizes, *reach.factors(p, sizes, configurations))
        for size, (bytes_low, bytes_high) in zip(sizes, held, strict=True):
            name = configurations[p, size]
            if name == DEFAULT:
                continue
            algorithm = known.get((collective, name))
            if algorithm is None or not algorithm.settings:
                raise BadInput(
                    f"no settings are known for {name}, selected for {collective} on p={p}: it was measured"
                    " elsewhere, and nothing says how to make a library use it. Say it with --setting to"
                    " 'offbeat results import', or measure here with 'offbeat run' and export that study"
                )
            kept = keeps_to_measured_p(algorithm)
            rules.append(
                Rule(
                    collective=collective,
                    p=p,
                    bytes=size,
                    p_low=p if kept else p_low,
                    p_high=p if kept else p_high,
                    bytes_low=bytes_low,
                    bytes_high=bytes_high,
                    algorithm=algorithm,
                    commutative_only=(collective, name) in wrong,
                    environment=study_settings(algorithm, environment),
                )
            )
    return rules


def study_settings(algorithm: Algorithm, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an algorithm's collective among those that a study set, written as its settings are.

    A study can set what an algorithm does not vary (``MPIR_CVAR_BCAST_TREE_KVAL=4`` in
    ``[mpi.environment]``).
    """
    upper = algorithm.collective.upper()
    by_han = (f"OMPI_MCA_coll_han_{algorithm.collective}_",) if algorithm.hierarchical else ()
    prefixes = {
        "openmpi": (f"OMPI_MCA_coll_tuned_{algorithm.collective}_algorithm_", *by_han),
        "mpich": (f"MPIR_CVAR_{upper}_", f"MPIR_CVAR_I{upper}_"),
        "intelmpi": (f"I_MPI_ADJUST_{upper}_",),
    }.get(family_of(algorithm), ())
    longer = [name.upper() for name in COLLECTIVES if name.startswith(f"{algorithm.collective}_")]
    others = tuple(
        f"{start}{name}_" for name in longer for start in ("MPIR_CVAR_", "MPIR_CVAR_I", "I_MPI_ADJUST_")
    )
    return {
        name.removeprefix("OMPI_MCA_"): value
        for name, value in environment.items()
        if name.startswith(prefixes) and not name.startswith(others)
    }


def keeps_to_measured_p(algorithm: Algorithm) -> bool:
    """Whether an algorithm must not be used for numbers of processes beside the measured one.

    Open MPI's ``two_proc`` is an error unless p = 2, and two of its algorithms silently become others:
    allgather's recursive doubling unless p is a power of two, neighbor exchange when p is odd. MPICH's cases
    are guarded in its own file format.
    """
    if family_of(algorithm) != "openmpi":
        return False
    name = algorithm.name.replace("-", "_")
    return name.startswith(("two_proc", "neighbor")) or (algorithm.collective, name.partition("(")[0]) == (
        "allgather",
        "recursive_doubling",
    )


def family_of(algorithm: Algorithm) -> str:
    """The library family whose variables an algorithm's settings are; empty when they are nobody's."""
    for name in algorithm.settings:
        for prefix, family in SETTINGS_PREFIXES.items():
            if name.startswith(prefix):
                return family
    return ""


def _family(algorithms: Sequence[Algorithm], library: Mapping[str, object]) -> str:
    """The one family that all settings and the provenance name; raises :class:`BadInput` otherwise."""
    stated = str(library.get("family", ""))
    families = {family_of(algorithm) for algorithm in algorithms} | ({stated} if stated else set())
    unknown = sorted(families - set(FAMILY_NAMES))
    if unknown or len(families) > 1:
        if "" in families:
            raise BadInput(
                "the settings of these results are no MPI library's: they begin with"
                f" {', '.join(SETTINGS_PREFIXES)}; correct --setting of 'offbeat results import'"
            )
        named = ", ".join(sorted(FAMILY_NAMES.get(family, f"'{family}'") for family in families))
        raise BadInput(
            f"these results belong to {named}; a tuning file can be written for one of"
            f" {', '.join(FAMILY_NAMES.values())} at a time"
        )
    return next(iter(families), "")


def _version(library: Mapping[str, object]) -> str:
    version = library.get("version", "")
    return ".".join(str(part) for part in version) if isinstance(version, list | tuple) else str(version)
