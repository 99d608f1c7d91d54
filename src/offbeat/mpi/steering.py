"""How a library is made to use an algorithm: the part that differs between the three families.

Each family module (``steer_openmpi``, ``steer_mpich``, ``steer_intelmpi``) offers one :class:`Steering`.
Algorithm names and values are always asked of the library: they move between versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from offbeat.mpi.installation import Installation
from offbeat.mpi.variables import Variable
from offbeat.study.algorithm import DEFAULT, Algorithm


class Steering(Protocol):
    """What the engine needs to know of a family, made for one installation and its variables."""

    variables_regex: str
    """Which control variables to ask the library for."""

    deciding_regex: str
    """Which control variables decide what runs, beside what the call itself says."""

    same_functions_are_duplicates: bool
    """Whether algorithms that enter the same functions are the same: true where the library merely numbers
    its settings, or where each name is a function of its own; false where a function takes further parameters
    from the name."""

    def environment(self, installation: Installation) -> dict[str, str]:
        """Variables under which forced algorithms act, and silent fallbacks show, in every launch."""
        ...

    def tuned_environment(self) -> dict[str, str]:
        """Further variables under which a forced algorithm that cannot run gives way, as one from a tuning
        file does."""
        ...

    def algorithms(
        self, collective: str, variables: Sequence[Variable], installation: Installation
    ) -> list[Algorithm]:
        """Every algorithm of a collective, without ``default``."""
        ...

    def with_parameters(
        self, plain: Algorithm, parameters: Mapping[str, str], variables: Sequence[Variable]
    ) -> Algorithm | None:
        """The algorithm with parameters such as fanout and segment set; None where it has no such
        parameter."""
        ...

    def switch(self, algorithm: Algorithm, variables: Sequence[Variable]) -> list[str] | None:
        """The words of the driver's ``force``; None where the algorithm needs a launch of its own."""
        ...

    def launch_environment(self, algorithm: Algorithm) -> dict[str, str]:
        """The variables that force the algorithm for a whole launch."""
        ...

    def own(self, collective: str, functions: Sequence[str]) -> list[str]:
        """Those of the functions entered that belong to the collective; parts that other collectives do are
        left out, as they may be tuned themselves."""
        ...

    def what_ran(self, collective: str, functions: Sequence[str]) -> str:
        """The one of the functions entered that did the collective's work; empty if none of them is its."""
        ...

    def is_by_name(self, algorithm: Algorithm, function: str) -> bool:
        """Whether a function is the algorithm's own, going by the names."""
        ...

    def named_by_proof(self, algorithm: Algorithm, function: str) -> Algorithm:
        """The algorithm with a better name, where the library itself only numbers its algorithms."""
        ...


def own_of(collective: str, functions: Sequence[str]) -> list[str]:
    """The functions of a collective among names as MPICH makes them, its nonblocking form included.

    ``MPIR_Reduce_scatter_intra_pairwise`` belongs to reduce_scatter, not to reduce;
    ``MPIR_TSP_Ireduce_sched_intra_tree`` and ``MPIR_Ireduce_intra_sched_binomial`` to reduce.
    """
    own = re.compile(rf"_(?:I{collective}|{collective.capitalize()})_(?:sched_)?(?:intra|allcomm)_")
    return [name for name in functions if own.search(name)]


def default_algorithm(collective: str) -> Algorithm:
    """The pseudo-algorithm that leaves the choice to the library."""
    return Algorithm(collective=collective, name=DEFAULT)
