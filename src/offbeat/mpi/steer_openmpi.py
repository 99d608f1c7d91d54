"""Steering Open MPI 4.1 and 5.0: the variables of its components ``tuned`` and ``han``.

Those of ``tuned`` act on new communicators. On communicators that span several nodes, Open MPI 5 lets ``han``
decide: its variables say which component gets a whole collective, and which algorithm ``han`` itself uses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from offbeat.mpi.installation import Installation
from offbeat.mpi.variables import Variable, by_name
from offbeat.study.algorithm import Algorithm
from offbeat.study.case import COLLECTIVES

IGNORE = 0
"""The enumeration's value that forces nothing."""

NUMBER = re.compile(r"[0-9]{1,9}")
"""A parameter's value: what fits into the variables' C int."""

KNOBS = {
    "segment": ("_segmentsize",),
    "fanout": ("_chain_fanout", "_tree_fanout"),
    "radix": ("_knomial_radix",),
    "requests": ("_max_requests",),
}
"""Parameters in an algorithm's name, and the endings of the variables of ``tuned`` that hold them."""

KNOBS_OF = {
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
"""Which algorithms use which parameters; the others ignore them, though they have the variables."""

HAN = "han_"
"""How the names of the algorithms of ``han`` begin: ``han_simple``."""

HAN_FUNCTION = "mca_coll_han_"

OTHER_WORDS = {
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
"""Where the enumeration's word and the function's differ, both without ``_`` and ``-``."""


class OpenMpiSteering:
    """See :class:`offbeat.mpi.steering.Steering`."""

    variables_regex = (
        "^coll_(tuned_.*_algorithm(_.*)?"
        "|han_(use_.*_algorithm|[a-z]+_segsize|.*_dynamic_global_communicator_module))$"
    )
    deciding_regex = (
        "^coll_(tuned_(use_dynamic_rules|dynamic_rules_filename|.*_algorithm)|[a-z]+_priority"
        "|han_(use_dynamic_file_rules|dynamic_rules_filename|use_.*_algorithm"
        "|.*_dynamic_global_communicator_module))$"
    )
    same_functions_are_duplicates = True

    def environment(self, installation: Installation) -> dict[str, str]:
        """The component looks at forced algorithms only with dynamic rules switched on."""
        return {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}

    def tuned_environment(self) -> dict[str, str]:
        """Nothing more: forced algorithms give way silently."""
        return {}

    def algorithms(
        self, collective: str, variables: Sequence[Variable], installation: Installation
    ) -> list[Algorithm]:
        """The items of the enumerations of ``tuned`` and ``han``, with the components' default parameters.

        Those of ``han`` are hierarchical: it gives way on communicators inside one node, and on those with
        one process on each node.
        """
        known = by_name(variables)
        name, by_han = _variable(collective), algorithm_of_han_variable(collective)
        to_tuned, to_han = (
            _whole_collective_to(component, collective, known, installation) for component in ("tuned", "han")
        )
        found = [
            Algorithm(collective=collective, name=word, settings={name: value, **to_tuned})
            for value, word in _items(known, name)
        ]
        if to_han:
            found += [
                Algorithm(
                    collective=collective,
                    name=f"{HAN}{word}",
                    settings={by_han: value, **to_han},
                    hierarchical=True,
                )
                for value, word in _items(known, by_han)
            ]
        return found

    def with_parameters(
        self, plain: Algorithm, parameters: Mapping[str, str], variables: Sequence[Variable]
    ) -> Algorithm | None:
        """Sets segment (bytes), fanout, radix or requests, where the algorithm makes use of it."""
        known = by_name(variables)
        settings = dict(plain.settings)
        numbers = {name: str(int(value)) for name, value in parameters.items() if NUMBER.fullmatch(value)}
        if numbers.keys() != parameters.keys():
            return None
        for parameter, value in numbers.items():
            if parameter not in KNOBS_OF.get(plain.collective, {}).get(plain.name, ()):
                return None
            there = [name for name in _variables_of(parameter, plain) if name in known]
            if not there:
                return None
            settings |= dict.fromkeys(there, value)
        inside = ", ".join(f"{parameter}={numbers[parameter]}" for parameter in sorted(numbers))
        return msgspec.structs.replace(plain, name=f"{plain.name}({inside})", settings=settings)

    def switch(self, algorithm: Algorithm, variables: Sequence[Variable]) -> list[str] | None:
        """Through the variables, where they are not constant (allgatherv's are)."""
        known = by_name(variables)
        if not all(name in known and known[name].settable for name in algorithm.settings):
            return None
        return [f"{name}={value}" for name, value in algorithm.settings.items()]

    def launch_environment(self, algorithm: Algorithm) -> dict[str, str]:
        """MCA parameters as environment variables."""
        return {f"OMPI_MCA_{name}": value for name, value in algorithm.settings.items()}

    def own(self, collective: str, functions: Sequence[str]) -> list[str]:
        """Those whose name goes on with the collective behind the component.

        Where ``han`` comes first, only its own: the parts that it divides the collective into, inside nodes
        and between them, are the same collective on smaller communicators, and may be tuned themselves.
        """
        own = [name for name in functions if _own_part(collective, name) is not None]
        if own and own[0].startswith(HAN_FUNCTION):
            return [name for name in own if name.startswith(HAN_FUNCTION)]
        return own

    def what_ran(self, collective: str, functions: Sequence[str]) -> str:
        """The last one entered of this collective: an algorithm that cannot run calls another of its own.

        Of ``han`` the first one: its algorithms call other functions of its own for their parts.
        """
        own = self.own(collective, functions)
        if own and own[0].startswith(HAN_FUNCTION):
            return own[0]
        return own[-1] if own else ""

    def is_by_name(self, algorithm: Algorithm, function: str) -> bool:
        """Compare the component, ``han`` or another, and the words, bare of punctuation."""
        if is_of_han(algorithm.settings) != function.startswith(HAN_FUNCTION):
            return False
        part = _own_part(algorithm.collective, function)
        word = _bare(algorithm.name.removeprefix(HAN).split("(")[0])
        return part is not None and _bare(part) in (word, *OTHER_WORDS.get(word, ()))

    def named_by_proof(self, algorithm: Algorithm, function: str) -> Algorithm:
        """Open MPI names its algorithms itself."""
        return algorithm


def _variable(collective: str) -> str:
    return f"coll_tuned_{collective}_algorithm"


def whole_collective_variable(collective: str) -> str:
    """The variable that says which component gets a collective on communicators that span several nodes."""
    return f"coll_han_{collective}_dynamic_global_communicator_module"


def _variables_of(parameter: str, plain: Algorithm) -> list[str]:
    """The variables that hold a parameter, one or more; the library may lack some of them."""
    if is_of_han(plain.settings):
        return [f"coll_han_{plain.collective}_segsize"] if parameter == "segment" else []
    return [_variable(plain.collective) + end for end in KNOBS[parameter]]


def algorithm_of_han_variable(collective: str) -> str:
    """The variable that says which algorithm ``han`` uses for a collective."""
    return f"coll_han_use_{collective}_algorithm"


def is_of_han(settings: Mapping[str, str]) -> bool:
    """Whether an algorithm's settings choose an algorithm of ``han``."""
    return any(name.startswith("coll_han_use_") for name in settings)


def _items(known: Mapping[str, Variable], name: str) -> list[tuple[str, str]]:
    """Value and name of each algorithm that a variable can choose."""
    items = known[name].items if name in known else []
    return [(str(value), word.replace("-", "_")) for value, word in items if value != IGNORE]


def _whole_collective_to(
    component: str, collective: str, known: Mapping[str, Variable], installation: Installation
) -> dict[str, str]:
    """What gives a whole collective to a component on several nodes, from 5.0: there ``han`` decides, and by
    default divides the collective itself.

    The component's number stands in the variable's description. Nothing where ``han`` lacks the collective,
    and for 4.1, where ``han`` has the lowest priority and never decides.
    """
    variable = known.get(whole_collective_variable(collective))
    number = re.search(rf"(\d+) = {component};", variable.description) if variable else None
    if variable is None or number is None or not installation.is_at_least(5):
        return {}
    return {variable.name: number[1]}


def _bare(word: str) -> str:
    return word.replace("_", "").replace("-", "").lower()


def _own_part(collective: str, function: str) -> str | None:
    """What a function's name says beyond component and collective; None for another collective's function."""
    for component in (
        "ompi_coll_base_",
        "mca_coll_basic_",
        "mca_coll_sm_",
        "mca_coll_han_",
        "mca_coll_adapt_",
    ):
        rest = function.removeprefix(component)
        if rest == function:
            continue
        if _collective_of(rest) != collective:
            return None
        return rest.removeprefix(collective + "_").removeprefix("intra_")
    return None


def _collective_of(rest: str) -> str:
    """The longest collective that a name begins with: ``reduce_scatter_block`` before ``reduce``."""
    return max((name for name in COLLECTIVES if rest.startswith(name + "_")), key=len, default="")
