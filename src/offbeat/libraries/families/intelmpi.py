"""Intel MPI 2021: launching with its own hydra, and forcing numbered presets, each in a launch of its own.

Presets are named after the function that they are observed to execute.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from offbeat.libraries.families import mpich
from offbeat.libraries.families.library import Library, Steering, Variable, by_name
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.placement import Placement
from offbeat.model.study.algorithm import Algorithm
from offbeat.model.study.collectives import COLLECTIVES

RANGE = re.compile(r"range:\s*(\d+)\s*-\s*(\d+)")
ALIAS = re.compile(r"@Alias:#\s*(I_MPI_ADJUST_\w+)")


class IntelMpiSteering(Steering):
    """See :class:`offbeat.libraries.families.library.Steering`."""

    variables_regex = "^MPIR_CVAR_USE_[A-Z_]+$"

    def listed_algorithms(
        self, collective: str, variables: Sequence[Variable], installation: Installation
    ) -> list[Algorithm]:
        """The presets that the variable's description states; preset 0 is the library's own choice."""
        variable = by_name(variables).get(f"MPIR_CVAR_USE_{collective.upper()}")
        numbers = RANGE.search(variable.description) if variable else None
        alias = ALIAS.search(variable.description) if variable else None
        if not numbers or not alias:
            return []
        return [
            Algorithm(collective=collective, name=f"preset_{number}", settings={alias[1]: str(number)})
            for number in range(max(1, int(numbers[1])), int(numbers[2]) + 1)
        ]

    def force_arguments(self, algorithm: Algorithm, variables: Sequence[Variable]) -> list[str] | None:
        """Returns None for presets: writes to their variables succeed, but have no effect."""
        return None if algorithm.settings else []

    def functions_of(self, collective: str, functions: Sequence[str]) -> list[str]:
        """Intel MPI's function names are MPICH's."""
        return mpich.MpichSteering().functions_of(collective, functions)

    def named_by_function(self, algorithm: Algorithm, function: str) -> Algorithm:
        """The algorithm ``preset_5`` that executes MPIR_Reduce_intra_binomial becomes ``binomial_5``."""
        word = re.sub(r"^.*?_(intra|allcomm)_", "", function).removesuffix("_impl")
        if not word or not algorithm.name.startswith("preset_"):
            return algorithm
        number = algorithm.name.removeprefix("preset_")
        return msgspec.structs.replace(algorithm, name=f"{word}_{number}")


PINNING_VARIABLES = {
    "own core": {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": "core"},
    "own thread": {"I_MPI_PIN": "1", "I_MPI_PIN_CELL": "unit", "I_MPI_PIN_DOMAIN": "1"},
    "own cores": {"I_MPI_PIN": "0"},
    "oversubscribed": {"I_MPI_PIN": "0"},
}


def arguments(placement: Placement, environment: Mapping[str, str]) -> list[str]:
    """Number of processes, hosts, mapping and variables; environment variables control binding."""
    return ["-np", str(placement.p), *mpich.host_options(placement), *mpich.sorted_genv_options(environment)]


def environment(
    installation: Installation, placement: Placement, user_variables: Mapping[str, str]
) -> dict[str, str]:
    """Variables that any launch needs; the user's own values are kept.

    I_MPI_ROOT, because wheels lack the script that sets it; on one node the shared-memory fabric, because
    probing for a network fails on machines without one; pinning; and permission to place processes in another
    way than the batch system would.
    """
    variables = {"I_MPI_ROOT": str(installation.prefix)}
    if not placement.several_nodes:
        variables["I_MPI_FABRICS"] = "shm"
    if not any(name.startswith("I_MPI_PIN") for name in user_variables):
        variables |= PINNING_VARIABLES[placement.load]
    if placement.ppn and placement.slots is not None:
        variables["I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"] = "0"
    return {
        name: value for name, value in variables.items() if name == "I_MPI_ROOT" or name not in user_variables
    }


def preset_name(algorithm: Algorithm) -> str:
    """Returns ``preset_7`` for ``recursive_doubling_7``: a rule applies to all communicators of a launch, and
    a preset can run other functions on some of them."""
    number = algorithm.settings.get(f"I_MPI_ADJUST_{algorithm.collective.upper()}", "")
    return f"preset_{number}" if number.isdigit() else algorithm.name


FORCING_VARIABLES = frozenset(f"I_MPI_ADJUST_{collective.upper()}" for collective in COLLECTIVES)
"""The variables that force presets; longer names are those of parameters."""


def chooses_algorithms(name: str, value: str) -> bool:
    """See :class:`offbeat.libraries.families.library.Library`."""
    return name.startswith(("I_MPI_ADJUST_", "I_MPI_TUNING"))


LIBRARY = Library(
    family="intelmpi",
    title="Intel MPI",
    wheel="impi-rt",
    version_pattern=r"Intel\(R\) MPI Library (?P<short>\d[\w.]*(?: Update \d+)?)",
    launcher_pattern=r"Intel\(R\) MPI Library.*?Version (?P<short>\d[\w.]*(?: Update \d+)?)",
    header_version=lambda macros: macros.get("I_MPI_VERSION"),
    module_pattern=r"(^|[/_-])impi|intel-?mpi|oneapi|(^|/)mpi/\d",
    srun_plugin="pmi2",
    interfaces_variable="MPIR_CVAR_CH4_NUM_VCIS",
    arguments=arguments,
    environment=environment,
    forwarding_options=mpich.genv_options,
    unbound_variables={"I_MPI_PIN": "0"},
    launcher_folder_on_path=True,
    names_functions=lambda library: False,
    steering=IntelMpiSteering,
    setting_prefixes=("I_MPI_",),
    collective_variables=lambda algorithm: (f"I_MPI_ADJUST_{algorithm.collective.upper()}_",),
    chooses_algorithms=chooses_algorithms,
    forces_algorithms=lambda name: name.startswith("I_MPI_TUNING") or name in FORCING_VARIABLES,
    neutral_value=lambda name: "",  # an empty variable is ignored (2021.18)
    name_in_rule=preset_name,
    applies_to_smaller=True,
    sizeless=dict.fromkeys(
        ("alltoallv", "barrier", "exscan", "scan"), "Intel MPI ignores the message size for this collective"
    ),
)
