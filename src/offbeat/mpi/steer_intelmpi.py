"""Steering Intel MPI 2021: numbered presets, a launch each, named by what they are seen to run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from offbeat.mpi.installation import Installation
from offbeat.mpi.steering import own_of
from offbeat.mpi.variables import Variable, by_name
from offbeat.study.algorithm import Algorithm

RANGE = re.compile(r"range:\s*(\d+)\s*-\s*(\d+)")
ALIAS = re.compile(r"@Alias:#\s*(I_MPI_ADJUST_\w+)")


class IntelMpiSteering:
    """See :class:`offbeat.mpi.steering.Steering`."""

    variables_regex = "^MPIR_CVAR_USE_[A-Z_]+$"
    deciding_regex = "^MPIR_CVAR_(USE_[A-Z_]+|.*DEVICE_COLLECTIVES?|NOLOCAL)$"
    same_functions_are_duplicates = True

    def environment(self, installation: Installation) -> dict[str, str]:
        """Nothing."""
        return {}

    def tuned_environment(self) -> dict[str, str]:
        """Nothing more: presets give way silently."""
        return {}

    def algorithms(
        self, collective: str, variables: Sequence[Variable], installation: Installation
    ) -> list[Algorithm]:
        """The presets that the variable's description states; preset 0 is the library's own choice."""
        found = by_name(variables).get(f"MPIR_CVAR_USE_{collective.upper()}")
        numbers = RANGE.search(found.description) if found else None
        alias = ALIAS.search(found.description) if found else None
        if not numbers or not alias:
            return []
        return [
            Algorithm(collective=collective, name=f"preset_{number}", settings={alias[1]: str(number)})
            for number in range(max(1, int(numbers[1])), int(numbers[2]) + 1)
        ]

    def with_parameters(
        self, plain: Algorithm, parameters: Mapping[str, str], variables: Sequence[Variable]
    ) -> Algorithm | None:
        """Presets have no parameters."""
        return None

    def switch(self, algorithm: Algorithm, variables: Sequence[Variable]) -> list[str] | None:
        """Writes to the variables succeed and do nothing: a launch each."""
        return None if algorithm.settings else []

    def launch_environment(self, algorithm: Algorithm) -> dict[str, str]:
        """The settings are environment variables already."""
        return dict(algorithm.settings)

    def own(self, collective: str, functions: Sequence[str]) -> list[str]:
        """By the names that Intel MPI has from MPICH."""
        return own_of(collective, functions)

    def what_ran(self, collective: str, functions: Sequence[str]) -> str:
        """The first one entered of this collective: the others are parts of it."""
        return next(iter(own_of(collective, functions)), "")

    def is_by_name(self, algorithm: Algorithm, function: str) -> bool:
        """A preset has no name of its own that could differ."""
        return True

    def named_by_proof(self, algorithm: Algorithm, function: str) -> Algorithm:
        """``preset_5`` that runs MPIR_Reduce_intra_binomial → ``binomial_5``."""
        word = re.sub(r"^.*?_(intra|allcomm)_", "", function).removesuffix("_impl")
        if not word or not algorithm.name.startswith("preset_"):
            return algorithm
        number = algorithm.name.removeprefix("preset_")
        return Algorithm(
            collective=algorithm.collective, name=f"{word}_{number}", settings=algorithm.settings
        )
