"""Steering MPICH 4 and 5: control variables that act at once, named in their descriptions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from offbeat.mpi.installation import Installation
from offbeat.mpi.steering import own_of
from offbeat.mpi.variables import Variable, by_name
from offbeat.study.algorithm import Algorithm

AUTO = "auto"
NONBLOCKING = "nb"
"""Runs the blocking collective through a schedule of its nonblocking sibling, which has algorithms of its
own."""

NEVER_ON_HOST_MEMORY = ("ccl",)
"""Hands GPU buffers to NCCL or RCCL. With buffers in host memory, which are measured here, MPICH runs its
own choice instead, and does not say so even when told to fail."""

NO_ALGORITHMS = (AUTO, *NEVER_ON_HOST_MEMORY)

HIERARCHICAL = "smp"
"""Divides the collective into parts inside nodes and between them. A part is the same collective on another
communicator: the control variable forces ``smp`` there, too, where it does not apply, and the part must be
allowed to give way to the library's own choice."""

FALLBACK_VARIABLE = "MPIR_CVAR_COLLECTIVE_FALLBACK"
SILENT = "silent"
"""What :data:`FALLBACK_VARIABLE` says for giving way without a word."""

PASSES_ON = "_allcomm_nb"
"""The end of the names of functions that call the nonblocking sibling and wait for it."""

MENTION = re.compile(r"([a-z][a-z0-9_]*)\s+- ")
FUNCTION = re.compile(rb"MPIR_([A-Z][a-z_]+?)_(?:intra|allcomm)_([a-z0-9_]+)\x00")


class MpichSteering:
    """See :class:`offbeat.mpi.steering.Steering`."""

    variables_regex = f"^(MPIR_CVAR_[A-Z_]+_INTRA_ALGORITHM|{FALLBACK_VARIABLE})$"
    deciding_regex = (
        "^MPIR_CVAR_(.*_ALGORITHM|.*DEVICE_COLLECTIVES?|.*TUNING_JSON_FILE|NOLOCAL|ENABLE_SMP.*)$"
    )
    same_functions_are_duplicates = False

    def environment(self, installation: Installation) -> dict[str, str]:
        """A forced algorithm that cannot run shall say so instead of giving way to another."""
        return {FALLBACK_VARIABLE: "error"}

    def tuned_environment(self) -> dict[str, str]:
        """Without this word MPICH gives way silently."""
        return {FALLBACK_VARIABLE: SILENT}

    def algorithms(
        self, collective: str, variables: Sequence[Variable], installation: Installation
    ) -> list[Algorithm]:
        """The words of the variable's description; ``nb`` once with each algorithm of the nonblocking
        sibling."""
        own, sibling = _variable(collective), _variable("i" + collective)
        found: list[Algorithm] = []
        for word in _words(own, collective, variables, installation):
            if word == NONBLOCKING:
                found += [
                    Algorithm(
                        collective=collective,
                        name=f"{NONBLOCKING}({inner})",
                        settings={own: NONBLOCKING, sibling: inner},
                    )
                    for inner in _words(sibling, "i" + collective, variables, installation)
                    if inner not in (AUTO, "sched_auto")
                ]
            elif word == HIERARCHICAL:
                settings = {own: word, FALLBACK_VARIABLE: SILENT}
                found.append(
                    Algorithm(collective=collective, name=word, settings=settings, hierarchical=True)
                )
            elif word not in NO_ALGORITHMS:
                found.append(Algorithm(collective=collective, name=word, settings={own: word}))
        return found

    def with_parameters(
        self, plain: Algorithm, parameters: Mapping[str, str], variables: Sequence[Variable]
    ) -> Algorithm | None:
        """None: k and tree types are further variables, which a study can set in [mpi.environment]."""
        return None

    def switch(self, algorithm: Algorithm, variables: Sequence[Variable]) -> list[str] | None:
        """The variables are written as numbers: a word's place in the description."""
        known = by_name(variables)
        words = []
        for name, word in algorithm.settings.items():
            number = _number(known[name], word) if name in known and known[name].settable else None
            if number is None:
                return None
            words.append(f"{name}={number}")
        return words

    def launch_environment(self, algorithm: Algorithm) -> dict[str, str]:
        """In the environment the variables take words."""
        return dict(algorithm.settings)

    def own(self, collective: str, functions: Sequence[str]) -> list[str]:
        """Those of the collective and of its nonblocking sibling."""
        return own_of(collective, functions)

    def what_ran(self, collective: str, functions: Sequence[str]) -> str:
        """The first one entered of this collective, behind the function that passes on to the sibling."""
        own = own_of(collective, functions)
        return next((name for name in own if not name.endswith(PASSES_ON)), next(iter(own), ""))

    def is_by_name(self, algorithm: Algorithm, function: str) -> bool:
        """Names are compared where MPICH may give way silently; else it was told to fail instead."""
        may_give_way = algorithm.settings.get(FALLBACK_VARIABLE) == SILENT
        return not may_give_way or function.endswith(f"_intra_{algorithm.name}")

    def named_by_proof(self, algorithm: Algorithm, function: str) -> Algorithm:
        """MPICH names its algorithms itself."""
        return algorithm


def _variable(collective: str) -> str:
    return f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM"


def _mentions(variable: Variable) -> list[str]:
    """The words of a description in the order of their numbers, as they stand there."""
    return MENTION.findall(variable.description)


def _words(
    name: str, collective: str, variables: Sequence[Variable], installation: Installation
) -> list[str]:
    """The algorithms that a variable offers; MPICH 4.0 runs words into the sentence before
    ("algorithmbrucks")."""
    variable = by_name(variables).get(name)
    if variable is None:
        return []
    known = {AUTO} | function_words(installation.library, collective)
    return [_known_ending(mention, known) for mention in _mentions(variable)]


def _known_ending(mention: str, known: set[str]) -> str:
    return max((word for word in known if mention.endswith(word)), key=len, default=mention)


def _number(variable: Variable, word: str) -> int | None:
    mentions = _mentions(variable)
    exact = [i for i, mention in enumerate(mentions) if mention == word]
    glued = [i for i, mention in enumerate(mentions) if mention.endswith(word)]
    # "brucks" also ends "k_brucks": a word glued to the sentence before it has no underscore in front
    loose = [i for i in glued if not mentions[i].endswith("_" + word)]
    places = exact or loose or glued
    return places[0] if places else None


@cache
def function_words(library: Path, collective: str) -> set[str]:
    """The algorithms of a collective by the function names that the library holds for its tuning files."""
    wanted = collective.capitalize().encode()
    return {match[1].decode() for match in FUNCTION.findall(library.read_bytes()) if match[0] == wanted}
