"""MPICH 4 and 5: launching with hydra, and forcing algorithms by control variables that act at once.

The descriptions of the control variables name the algorithms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from offbeat.base.errors import BadInput
from offbeat.base.reading import LIBRARY_BYTES, map_file, read_file
from offbeat.libraries.families.library import Library, Steering, Variable, by_name
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.placement import Placement
from offbeat.model.study.algorithm import Algorithm
from offbeat.model.study.collectives import COLLECTIVES

AUTO = "auto"
NONBLOCKING_NAME = "nb"
"""Executes the blocking collective by a schedule of its nonblocking form, which has algorithms of its own."""

NEVER_ON_HOST_MEMORY = ("ccl",)
"""Passes GPU buffers to NCCL or RCCL. For buffers in host memory, which are measured here, MPICH executes its
default choice instead, without an error even if FALLBACK_VARIABLE is ``error``."""

NO_ALGORITHMS = (AUTO, *NEVER_ON_HOST_MEMORY)

HIERARCHICAL = "smp"
"""Divides the collective into parts inside nodes and between nodes. Each part is the same collective on
another communicator. The control variable forces ``smp`` there too, where it cannot run, so the part must be
allowed to fall back to the library's own choice."""

FALLBACK_VARIABLE = "MPIR_CVAR_COLLECTIVE_FALLBACK"
SILENT = "silent"
"""The value of FALLBACK_VARIABLE for falling back without a message."""

NONBLOCKING_WRAPPER = "_allcomm_nb"
"""Suffix of the functions that call the nonblocking form of a collective and wait for it."""

DEVICE_COLLECTIVES_OFF = {"MPIR_CVAR_DEVICE_COLLECTIVES": "none"}
"""Device collectives ignore forced algorithms or apply them to parts of a collective. Those of 5.0.2 ignore
the settings on one node. Those of 4.0.2 divide a collective into a part inside nodes and one between nodes,
and force the algorithm on each part."""

PREFIXES = ("MPIR_CVAR_", "MPIR_PARAM_", "MPICH_")
"""MPICH reads each of its variables under three names."""

CHOICE = re.compile(
    r"I?(BARRIER|BCAST|GATHER|SCATTER|ALLGATHER|ALLTOALL|REDUCE|ALLREDUCE|SCAN|EXSCAN|NEIGHBOR)V?W?_\w+"
    r"|(CH4_|CH4_POSIX_)?COLL_SELECTION_\w+|COLLECTIVE_FALLBACK|DEVICE_COLLECTIVES|(ENABLE|MAX)_SMP_\w+"
)
"""Variables, without prefix, that choose algorithms of collectives, or change what they do."""

MENTION = re.compile(r"([a-z][a-z0-9_]*)\s+- ")
FUNCTION = re.compile(rb"MPIR_([A-Z][a-z_]+?)_(?:intra|allcomm)_([a-z0-9_]+)\x00")


class MpichSteering(Steering):
    """See :class:`offbeat.libraries.families.library.Steering`."""

    variables_regex = (
        f"^(MPIR_CVAR_[A-Z_]+_INTRA_ALGORITHM|{FALLBACK_VARIABLE}|MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE)$"
    )
    same_functions_are_duplicates = False

    def environment(self, installation: Installation) -> dict[str, str]:
        """A forced algorithm that cannot run reports an error instead of falling back to another one."""
        return {FALLBACK_VARIABLE: "error"}

    def fallback_environment(self) -> dict[str, str]:
        """MPICH falls back silently by default."""
        return {FALLBACK_VARIABLE: SILENT}

    def foreign_choices(self, variables: Sequence[Variable]) -> list[Variable]:
        """Forced algorithms, and the tuning file; algorithms of the device have other variables."""
        forcing_variables = {_variable(prefix + name) for name in COLLECTIVES for prefix in ("", "i")}
        return [
            variable
            for variable in variables
            if (variable.name in forcing_variables and variable.value != "0")
            or (variable.name.endswith("_JSON_FILE") and variable.value)
        ]

    def listed_algorithms(
        self, collective: str, variables: Sequence[Variable], installation: Installation
    ) -> list[Algorithm]:
        """The algorithms in the variable's description; ``nb`` once with each nonblocking algorithm."""
        blocking_variable, nonblocking_variable = _variable(collective), _variable("i" + collective)
        algorithms: list[Algorithm] = []
        for name in _algorithm_names(blocking_variable, collective, variables, installation):
            if name == NONBLOCKING_NAME:
                algorithms += [
                    Algorithm(
                        collective=collective,
                        name=f"{NONBLOCKING_NAME}({inner})",
                        settings={blocking_variable: NONBLOCKING_NAME, nonblocking_variable: inner},
                    )
                    for inner in _algorithm_names(
                        nonblocking_variable, "i" + collective, variables, installation
                    )
                    if inner not in (AUTO, "sched_auto")
                ]
            elif name == HIERARCHICAL:
                settings = {blocking_variable: name, FALLBACK_VARIABLE: SILENT}
                algorithms.append(
                    Algorithm(collective=collective, name=name, settings=settings, hierarchical=True)
                )
            elif name not in NO_ALGORITHMS:
                algorithms.append(
                    Algorithm(collective=collective, name=name, settings={blocking_variable: name})
                )
        return algorithms

    def force_arguments(self, algorithm: Algorithm, variables: Sequence[Variable]) -> list[str] | None:
        """The variables take numbers: the position of a name in the description."""
        variable_of = by_name(variables)
        arguments = []
        for variable, value in algorithm.settings.items():
            settable = variable in variable_of and variable_of[variable].settable
            number = _number(variable_of[variable], value) if settable else None
            if number is None:
                return None
            arguments.append(f"{variable}={number}")
        return arguments

    def functions_of(self, collective: str, functions: Sequence[str]) -> list[str]:
        """The entered functions of the collective and of its nonblocking form.

        ``MPIR_Reduce_scatter_intra_pairwise`` belongs to reduce_scatter, not to reduce;
        ``MPIR_TSP_Ireduce_sched_intra_tree`` and ``MPIR_Ireduce_intra_sched_binomial`` belong to reduce.
        """
        pattern = re.compile(rf"_(?:I{collective}|{collective.capitalize()})_(?:sched_)?(?:intra|allcomm)_")
        return [name for name in functions if pattern.search(name)]

    def identify_executed(self, collective: str, functions: Sequence[str]) -> str:
        """The first function of the collective, except the wrapper of its nonblocking form."""
        of_collective = self.functions_of(collective, functions)
        return next(
            (name for name in of_collective if not name.endswith(NONBLOCKING_WRAPPER)),
            next(iter(of_collective), ""),
        )

    def name_matches(self, algorithm: Algorithm, function: str) -> bool:
        """Names are compared where MPICH may fall back silently; elsewhere it reports an error instead."""
        may_fall_back = algorithm.settings.get(FALLBACK_VARIABLE) == SILENT
        return not may_fall_back or function.endswith(f"_intra_{algorithm.name}")


def _variable(collective: str) -> str:
    return f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM"


def _mentions(variable: Variable) -> list[str]:
    """The names in a description in the order of their numbers, as they are written there."""
    return MENTION.findall(variable.description)


def _algorithm_names(
    variable_name: str, collective: str, variables: Sequence[Variable], installation: Installation
) -> list[str]:
    """The algorithms that a variable offers.

    MPICH 4.0 lacks the space between some names and the sentence before ("algorithmbrucks").
    """
    variable = by_name(variables).get(variable_name)
    if variable is None:
        return []
    suffixes = {AUTO} | names_in_functions(installation.library, collective)
    return [_longest_suffix(mention, suffixes) for mention in _mentions(variable)]


def _longest_suffix(mention: str, names: set[str]) -> str:
    return max((name for name in names if mention.endswith(name)), key=len, default=mention)


def _number(variable: Variable, name: str) -> int | None:
    mentions = _mentions(variable)
    exact = [i for i, mention in enumerate(mentions) if mention == name]
    suffix_positions = [i for i, mention in enumerate(mentions) if mention.endswith(name)]
    # "brucks" is also the end of "k_brucks", but a name glued to a sentence has no underscore before it
    glued_to_sentence = [i for i in suffix_positions if not mentions[i].endswith("_" + name)]
    positions = exact or glued_to_sentence or suffix_positions
    return positions[0] if positions else None


@cache
def names_in_functions(library: Path, collective: str) -> set[str]:
    """The algorithms of a collective by the function names that the library holds for its tuning files."""
    prefix = collective.capitalize().encode()
    return {
        match[1].decode()
        for match in FUNCTION.findall(read_file(library, LIBRARY_BYTES))
        if match[0] == prefix
    }


def arguments(placement: Placement, environment: Mapping[str, str]) -> list[str]:
    """Number of processes, hosts, mapping, binding and variables."""
    options = ["-np", str(placement.p), *host_options(placement)]
    if not placement.mentions("-bind-to", "--bind-to"):
        binding = {"own core": "core", "own thread": "hwthread"}.get(placement.load, "none")
        options += ["-bind-to", binding]
    return options + sorted_genv_options(environment)


def host_options(placement: Placement) -> list[str]:
    """Hosts and processes per host, as every hydra takes them."""
    options: list[str] = []
    if placement.hostfile and not placement.mentions("-f", "-hosts", "-host", "-machinefile", "-hostfile"):
        options += ["-f", str(placement.hostfile)]
    if placement.ppn and not placement.mentions("-ppn", "-perhost"):
        options += ["-ppn", str(placement.ppn)]
    return options


def genv_options(environment: Mapping[str, str]) -> list[str]:
    """Environment variables for all processes, as every hydra takes them."""
    return [option for name, value in environment.items() for option in ("-genv", name, value)]


def sorted_genv_options(environment: Mapping[str, str]) -> list[str]:
    """The options of :func:`genv_options` in alphabetical order."""
    return genv_options(dict(sorted(environment.items())))


def header_version(macros: Mapping[str, str]) -> str | None:
    """Intel MPI's header has MPICH's macros beside its own."""
    return None if "I_MPI_VERSION" in macros else macros.get("MPICH_VERSION")


def names_functions(library: Path) -> bool:
    """Whether a stripped MPICH still holds the names of its algorithm functions, for its error messages."""
    try:
        return re.search(rb"\0MPIR_[A-Z][a-z_]+_intra_[a-z_]+\0", map_file(library)) is not None
    except (OSError, BadInput):
        return False


def chooses_algorithms(name: str, value: str) -> bool:
    """See :class:`offbeat.libraries.families.library.Library`."""
    prefix = next(filter(name.startswith, PREFIXES), None)
    return prefix is not None and CHOICE.fullmatch(name.removeprefix(prefix)) is not None


def neutral_value(name: str) -> str | None:
    """The choice of the algorithm can be left to the library; other variables have to be unset."""
    return AUTO if name.endswith("_ALGORITHM") else "" if name.endswith("_JSON_FILE") else None


def collective_variables(algorithm: Algorithm) -> tuple[str, ...]:
    """The variables of the blocking and of the nonblocking collective."""
    upper = algorithm.collective.upper()
    return (f"MPIR_CVAR_{upper}_", f"MPIR_CVAR_I{upper}_")


LIBRARY = Library(
    family="mpich",
    title="MPICH",
    wheel="mpich",
    version_pattern=r"MPICH Version:\s*(?P<short>\d[\w.]*)",
    launcher_pattern=r"HYDRA build details:\s+Version:\s*(?P<short>\d[\w.]*)",
    header_version=header_version,
    module_pattern=r"mpich",
    srun_plugin="pmi2",
    interfaces_variable="MPIR_CVAR_CH4_NUM_VCIS",
    arguments=arguments,
    steering_environment=DEVICE_COLLECTIVES_OFF,
    forwarding_options=genv_options,
    unbound_options=("-bind-to", "none"),
    names_functions=names_functions,
    steering=MpichSteering,
    setting_prefixes=("MPIR_CVAR_",),
    collective_variables=collective_variables,
    chooses_algorithms=chooses_algorithms,
    forces_algorithms=lambda name: name.endswith(("_ALGORITHM", "_JSON_FILE")),
    neutral_value=neutral_value,
    guarded_calls=("noncommutative",),
    sizeless=dict.fromkeys(
        ("alltoallv", "barrier", "exscan", "gather", "scan", "scatter"),
        "MPICH cannot read the message size for this collective",
    ),
)
