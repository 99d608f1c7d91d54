"""Steering Open MPI 4.1 and 5.0: the ``tuned`` component's variables, which act on new communicators."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

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
"""Parameters in an algorithm's name, and the endings of the variables that hold them."""

KNOBS_OF = {
    "bcast": {
        "chain": {"segment", "fanout"},
        "pipeline": {"segment"},
        "split_binary_tree": {"segment"},
        "binary_tree": {"segment"},
        "binomial": {"segment"},
        "knomial": {"segment", "radix"},
    },
    "reduce": {
        "chain": {"segment", "fanout", "requests"},
        "pipeline": {"segment", "requests"},
        "binary": {"segment", "requests"},
        "binomial": {"segment", "requests"},
        "in_order_binary": {"segment", "requests"},
    },
    "allreduce": {"segmented_ring": {"segment"}},
    "alltoall": {"linear_sync": {"requests"}},
    "gather": {"linear_sync": {"segment"}},
    "scatter": {"linear_nb": {"requests"}},
}
"""Which algorithms use which parameters; the others ignore them, though they have the variables."""

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

    variables_regex = "^coll_(tuned_.*_algorithm(_.*)?|han_.*_dynamic_global_communicator_module)$"
    deciding_regex = (
        "^coll_(tuned_(use_dynamic_rules|dynamic_rules_filename|.*_algorithm)|[a-z]+_priority"
        "|han_(use_dynamic_file_rules|dynamic_rules_filename|.*_dynamic_global_communicator_module))$"
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
        """The items of the enumeration, with the component's default parameters."""
        name, known = _variable(collective), by_name(variables)
        items = known[name].items if name in known else []
        past_han = _past_han(collective, known, installation)
        return [
            Algorithm(
                collective=collective, name=word.replace("-", "_"), settings={name: str(value), **past_han}
            )
            for value, word in items
            if value != IGNORE
        ]

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
            there = [_variable(plain.collective) + end for end in KNOBS[parameter]]
            there = [name for name in there if name in known]
            if not there:
                return None
            settings |= dict.fromkeys(there, value)
        inside = ", ".join(f"{parameter}={numbers[parameter]}" for parameter in sorted(numbers))
        return Algorithm(collective=plain.collective, name=f"{plain.name}({inside})", settings=settings)

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
        """Those whose name goes on with the collective behind the component."""
        return [name for name in functions if _own_part(collective, name) is not None]

    def what_ran(self, collective: str, functions: Sequence[str]) -> str:
        """The last one entered of this collective: an algorithm that cannot run calls another of its own."""
        own = self.own(collective, functions)
        return own[-1] if own else ""

    def is_by_name(self, algorithm: Algorithm, function: str) -> bool:
        """Compare the words, bare of punctuation."""
        part = _own_part(algorithm.collective, function)
        word = _bare(algorithm.name.split("(")[0])
        return part is not None and _bare(part) in (word, *OTHER_WORDS.get(word, ()))

    def named_by_proof(self, algorithm: Algorithm, function: str) -> Algorithm:
        """Open MPI names its algorithms itself."""
        return algorithm


def _variable(collective: str) -> str:
    return f"coll_tuned_{collective}_algorithm"


def whole_collective_variable(collective: str) -> str:
    """The variable that says which component gets a collective on communicators that span several nodes."""
    return f"coll_han_{collective}_dynamic_global_communicator_module"


def _past_han(collective: str, known: Mapping[str, Variable], installation: Installation) -> dict[str, str]:
    """What gives a whole collective to ``tuned`` where ``han`` would divide it: on several nodes, from 5.0.

    The number of ``tuned`` stands in the variable's description.
    """
    variable = known.get(whole_collective_variable(collective))
    number = re.search(r"(\d+) = tuned", variable.description) if variable else None
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
